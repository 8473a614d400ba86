/** The shared secrets of a configuration, since when they are in use, and the running processes that have them. */
import { type PresenceRow, readPresence } from "../../bundle/presence.ts";
import { readBoot } from "../../bundle/boot.ts";
import { readSources } from "../../bundle/sources.ts";
import { SECRET_TAG, type SharedSecretUse } from "../../bundle/secret-use.ts";
import { AUDIT_KEY_NAME } from "../../audit/chain/checkpoint.ts";
import { createNoteSigner } from "../../audit/chain/signed-note.ts";
import { loadAssertionKeys } from "../../identity/tokens/assertion-keys.ts";
import { openRecords } from "../../record-kinds.ts";
import { systemClock } from "../../shared/clock.ts";
import { GatewayError } from "../../shared/errors.ts";
import { createKeys, secretIds } from "../../shared/keys.ts";
import { silentLog } from "../../shared/log.ts";
import { createSealing } from "../../bundle/secrets.ts";
import { findNeeds, type KeyNeed } from "./needs.ts";

export interface SecretState {
  /** Reveals nothing about the secret. */
  readonly id: string;
  /** "next": never was the current one of a process. "unknown": a process has it, but not the configuration. */
  readonly role: "current" | "previous" | "next" | "unknown";
  /** Period in which it was the current one of a process, epoch seconds; absent: none is known. */
  readonly since?: number;
  readonly until?: number;
  /** Names of running processes that have it, and of those that have it as current. */
  readonly had: readonly string[];
  readonly current: readonly string[];
  /** Records that need a previous secret. */
  readonly needs: readonly KeyNeed[];
}

export interface PublicKeyState {
  readonly use: "signing_key" | "seal_key" | "audit";
  /** Key ID of a public key; for `audit` the key itself, in the form for `gateway audit verify --key`. */
  readonly id: string;
  /** The current key of a kind signs or seals new data; the others are only accepted. */
  readonly role: "current" | "other";
  /** The shared secret that it is derived from; absent: it is a separate setting. */
  readonly secret?: string;
}

export interface KeyState {
  readonly secrets: readonly SecretState[];
  readonly publicKeys: readonly PublicKeyState[];
  /** Names of all running processes. */
  readonly processes: readonly string[];
  /** Processes that do not report their secrets: of an older version, or without `shared_secret`. */
  readonly silent: readonly string[];
}

/** @throws GatewayError `config.invalid`, `config.secret`, `keys.no-secret`, `commands.memory`, `store.open`, `store.unavailable` */
export async function readKeyState(config: string): Promise<KeyState> {
  const { settings, sealing, vault } = await readBoot(config);
  await vault?.close();
  if (!sealing) throw new GatewayError("keys.no-secret", "Cannot list keys: no shared_secret is set");
  if (settings.storageUrl === "memory:") {
    const message = 'Cannot open store "memory:": only the running process has its records';
    throw new GatewayError("commands.memory", `${message}, set storage_url to a database`);
  }
  const store = await openRecords(settings.storageUrl, { clock: systemClock, log: silentLog() });
  try {
    const keys = createKeys(settings.sharedSecrets);
    const ids = secretIds(keys);
    const rows = await readPresence(store);
    const listed = (await store.list<SharedSecretUse>(SECRET_TAG)).map(({ value }) => value);
    const uses = new Map(listed.map((use) => [use.id, use]));
    const old = ids.slice(1).flatMap((id, index) => {
      const secret = settings.sharedSecrets[index + 1];
      return secret ? [{ id, secret, usedUntil: usedUntil(id) }] : [];
    });
    const files = (await readSources([config])).map(({ text }) => text);
    const needs = await findNeeds(store, files, old);
    const roleOf = (id: string): SecretState["role"] => {
      const place = ids.indexOf(id);
      if (place <= 0) return place === 0 ? "current" : "unknown";
      // Older versions did not report it, so it may have been the current one.
      const wasUsed = uses.has(id) || namesOf(rows, isCurrent(id)).length > 0 || needs.get(id)?.hasSealed === true;
      return wasUsed ? "previous" : "next";
    };
    const foreign = rows.flatMap(({ secrets = [] }) => secrets).filter((id) => !ids.includes(id));
    return {
      secrets: [...new Set([...ids, ...foreign])].map((id) => ({
        id,
        role: roleOf(id),
        ...timesOf(uses.get(id)),
        had: namesOf(rows, ({ secrets }) => secrets?.includes(id) === true),
        current: namesOf(rows, isCurrent(id)),
        needs: roleOf(id) === "previous" ? (needs.get(id)?.needs ?? []) : [],
      })),
      publicKeys: await publicKeys(settings),
      processes: namesOf(rows, () => true),
      silent: namesOf(rows, ({ secrets }) => secrets === undefined),
    };

    /** While a process has it as current, new data also needs it. */
    function usedUntil(id: string): number | undefined {
      return rows.some(isCurrent(id)) ? undefined : uses.get(id)?.until;
    }
  } finally {
    await store.close();
  }
}

function timesOf(use: SharedSecretUse | undefined): Pick<SecretState, "since" | "until"> {
  return use ? { since: use.since, until: use.until } : {};
}

function isCurrent(id: string): (row: PresenceRow) => boolean {
  return ({ secrets }) => secrets?.[0] === id;
}

function namesOf(rows: readonly PresenceRow[], has: (row: PresenceRow) => boolean): readonly string[] {
  return rows.filter((row) => has(row)).map(({ id }) => id);
}

async function publicKeys(settings: {
  readonly sharedSecrets: readonly Buffer[];
  readonly signingKeys: readonly string[];
  readonly audit: boolean;
}): Promise<readonly PublicKeyState[]> {
  const found: PublicKeyState[] = [];
  const roleAt = (index: number): PublicKeyState["role"] => (index === 0 ? "current" : "other");
  for (const [index, pem] of settings.signingKeys.entries()) {
    const [key] = loadAssertionKeys([pem], createKeys(settings.sharedSecrets));
    if (key) found.push({ use: "signing_key", id: key.kid, role: roleAt(index) });
  }
  for (const [index, each] of settings.sharedSecrets.entries()) {
    const keys = createKeys([each]);
    const [secret = ""] = secretIds(keys);
    const of = { role: roleAt(index), secret };
    if (settings.signingKeys.length === 0) {
      for (const { kid } of loadAssertionKeys([], keys)) found.push({ use: "signing_key", id: kid, ...of });
    }
    found.push({ use: "seal_key", id: (await createSealing(keys)).publicJwk.kid ?? "", ...of });
    if (settings.audit) {
      for (const seed of keys.derive("audit-signing")) {
        found.push({ use: "audit", id: createNoteSigner(AUDIT_KEY_NAME, seed).verifierKey, ...of });
      }
    }
  }
  return found;
}
