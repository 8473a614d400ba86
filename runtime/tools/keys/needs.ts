/**
 * Records that need a shared secret other than the current one.
 *
 * A sealed value in the store starts with the ID of its key, anywhere in a record, and settings that Terraform sealed
 * name theirs: both are found without opening anything. For data held only by browsers and clients (cookies, refresh
 * tokens, tokens of service accounts) the time of creation decides.
 */
import { decodeProtectedHeader } from "jose";

import type { GrantRecord } from "../../oauth/server/grant-records.ts";
import type { ServiceAccountRecord, SessionRecord } from "../../identity/identity-records.ts";
import { createPublishedSlices } from "../../bundle/published.ts";
import { createSealing } from "../../bundle/secrets.ts";
import { USE_EVERY_SECONDS } from "../../bundle/secret-use.ts";
import { recordFormats } from "../../record-kinds.ts";
import { isRecord } from "../../shared/is-record.ts";
import { createKeys, KEY_PURPOSES, sealBeginning } from "../../shared/keys.ts";
import { everyPage } from "../../store/page-of.ts";
import type { Store, StoredRecord } from "../../store/store.ts";

export interface OldSecret {
  readonly id: string;
  readonly secret: Buffer;
  /** Epoch seconds; absent when unknown: then all data of browsers and clients counts as made with it. */
  readonly usedUntil: number | undefined;
}

export interface KeyNeed {
  /** Kind of the records; "slice": active published ones, "file": those of the configuration. */
  readonly kind: string;
  readonly count: number;
  /** When the last of them expires, epoch seconds; absent when one of them does not expire. */
  readonly until?: number;
}

export interface KeyNeeds {
  readonly needs: readonly KeyNeed[];
  /** Something is sealed with it, which shows that it was the current one of a process. */
  readonly hasSealed: boolean;
}

const PAGE = 500;
const SEAL_BEGINNING_LENGTH = 8;
/** The header of a sealed setting (JWE, RFC 7516 §3.1). */
const SEALED_SETTING = /eyJ[\w-]+(?=\.)/g;

/** @param files texts of the configuration's files @returns needs by the secret's ID */
export async function findNeeds(
  store: Store,
  files: readonly string[],
  old: readonly OldSecret[],
): Promise<ReadonlyMap<string, KeyNeeds>> {
  const sealed = new Set<string>();
  const found = new Map(old.map(({ id }) => [id, new Map<string, { count: number; until: number }>()]));
  const add = (id: string, kind: string, expiresAt = Infinity): void => {
    const needs = found.get(id);
    const { count = 0, until = 0 } = needs?.get(kind) ?? {};
    needs?.set(kind, { count: count + 1, until: Math.max(until, expiresAt) });
  };
  const prefixes = sealBeginnings(old);
  const sealIds = await settingIds(old);
  for (const text of files) for (const id of sealedFor(text, sealIds)) add(id, "file");
  for (const { text } of (await createPublishedSlices({ store }).read()).slices) {
    for (const id of sealedFor(text, sealIds)) add(id, "slice");
  }
  for (const kind of [...Object.keys(recordFormats), "kept"]) {
    for await (const records of everyPage<unknown>(store, `${kind}:`, PAGE)) {
      for (const record of records) {
        const ids = new Set<string>();
        collectSeals(record.value, prefixes, ids);
        for (const id of ids) sealed.add(id);
        const madeAt = heldSince(kind, record);
        for (const { id, usedUntil = Infinity } of old) {
          if (madeAt !== undefined && madeAt <= usedUntil + USE_EVERY_SECONDS) ids.add(id);
        }
        for (const id of ids) add(id, kind, record.expiresAt);
      }
    }
  }
  return new Map(
    [...found].map(([id, needs]) => [
      id,
      {
        needs: [...needs].map(([kind, { count, until }]) => ({ kind, count, ...(until !== Infinity && { until }) })),
        hasSealed: sealed.has(id),
      },
    ]),
  );
}

/** Latest creation time of data that a browser or client holds because of the record; undefined: there is none. */
function heldSince(kind: string, { value }: StoredRecord<unknown>): number | undefined {
  if (kind === "session") return (value as SessionRecord).createdAt;
  if (kind === "service-account") {
    const { clientId, createdAt } = value as ServiceAccountRecord;
    return clientId === undefined ? createdAt : undefined;
  }
  if (kind !== "grant") return undefined;
  const { createdAt, refresh } = value as GrantRecord;
  return refresh?.rotated.at(-1)?.rotatedAt ?? createdAt;
}

function collectSeals(value: unknown, prefixes: ReadonlyMap<string, string>, ids: Set<string>): void {
  if (typeof value === "string") {
    const id = prefixes.get(value.slice(0, SEAL_BEGINNING_LENGTH));
    if (id !== undefined) ids.add(id);
  } else if (Array.isArray(value)) {
    for (const each of value) collectSeals(each, prefixes, ids);
  } else if (isRecord(value)) {
    for (const each of Object.values(value)) collectSeals(each, prefixes, ids);
  }
}

function sealBeginnings(old: readonly OldSecret[]): ReadonlyMap<string, string> {
  return new Map(
    old.flatMap(({ id, secret }) => {
      const keys = createKeys([secret]);
      return KEY_PURPOSES.flatMap((purpose) => keys.derive(purpose).map((key) => [sealBeginning(key), id] as const));
    }),
  );
}

async function settingIds(old: readonly OldSecret[]): Promise<ReadonlyMap<string, string>> {
  return new Map(
    await Promise.all(
      old.map(async ({ id, secret }) => {
        const { publicJwk } = await createSealing(createKeys([secret]));
        return [publicJwk.kid ?? "", id] as const;
      }),
    ),
  );
}

function sealedFor(text: string, sealIds: ReadonlyMap<string, string>): ReadonlySet<string> {
  const ids = [...text.matchAll(SEALED_SETTING)].flatMap(([header]) => sealIds.get(kidOf(header)) ?? []);
  return new Set(ids);
}

function kidOf(header: string): string {
  try {
    return decodeProtectedHeader(`${header}....`).kid ?? "";
  } catch {
    // Another text with the same start.
    return "";
  }
}
