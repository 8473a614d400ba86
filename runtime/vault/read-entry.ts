/**
 * One entry of a KV engine, version 2, as it is at the server now.
 *
 * Untrusted input: the response. Promise: a value is text of a bounded size, or it is rejected by name and never shown.
 */
import type { VaultSettings } from "../features/process/vault.ts";
import { isRecord, type Members } from "../shared/is-record.ts";
import type { VaultReference } from "../settings/vault-reference.ts";
import { lookUp, type VaultTokens } from "./login.ts";
import type { VaultAnswer, VaultRequests } from "./requests.ts";
import { task } from "../shared/faults/guard.ts";

/** By name; null for a value that is not text. */
export type EntryFields = ReadonlyMap<string, string | null>;

export type EntryAnswer =
  | { readonly ok: true; readonly fields: EntryFields; readonly leaseMs: number }
  | {
      readonly ok: false;
      /** "server": other entries could not be read now either. */
      readonly of: "server" | "entry";
      readonly failure: string;
    };

/** An entry, in the referenced version. */
export interface EntryPlace {
  /** Encoded, below `/v1/`: "kv/data/team-a/app?version=2". Equal paths are equal places. */
  readonly path: string;
  /** For messages: "kv/data/team-a/app". */
  readonly name: string;
  /** The pinned version. */
  readonly version?: number | undefined;
}

export function placeOf({ segments, version }: VaultReference, { mounts }: Pick<VaultSettings, "mounts">): EntryPlace {
  const mount = mounts.find((each) => each.length < segments.length && each.every((part, at) => part === segments[at]));
  const cut = mount?.length ?? 1;
  const parts = [...segments.slice(0, cut), "data", ...segments.slice(cut)];
  const query = version === undefined ? "" : `?version=${version}`;
  return { path: parts.map((part) => encodeURIComponent(part)).join("/") + query, name: parts.join("/"), version };
}

export interface EntryDeps {
  readonly requests: Pick<VaultRequests, "ask">;
  readonly tokens: VaultTokens;
  /** Time without a response to an entry after which the server gets a test request. */
  readonly slowMs: number;
}

export async function readEntry({ requests, tokens, slowMs }: EntryDeps, place: EntryPlace): Promise<EntryAnswer> {
  const had = await tokens.token();
  if (!had.ok) return { ok: false, of: "server", failure: had.failure };
  let looked: Promise<VaultAnswer> | undefined;
  const ask = (token: string): Promise<VaultAnswer> => {
    const slow = setTimeout(
      task("check of the vault's token", () => (looked ??= lookUp(requests, token))),
      slowMs,
    );
    return requests.ask({ method: "GET", path: place.path, token }).finally(() => clearTimeout(slow));
  };
  let answer = await ask(had.token);
  if (answer.ok && answer.status === 403) {
    // The token may have been revoked, or the server restored from a copy without it.
    const other = await tokens.another(had.token);
    if (other && !other.ok) return { ok: false, of: "server", failure: other.failure };
    if (other) answer = await ask(other.token);
  }
  if (answer.ok) return entryOf(answer.status, answer.body, place);
  // One engine that is broken or hangs, or one oversized entry, is not an outage for readers of others.
  if (answer.isAnswered === true) looked ??= lookUp(requests, had.token);
  const isServing = looked !== undefined && (await looked).ok;
  return { ok: false, of: isServing ? "entry" : "server", failure: answer.failure };
}

/** @see https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2#read-secret-version */
function entryOf(status: number, body: Members, { name, version }: EntryPlace): EntryAnswer {
  const failed = (failure: string): EntryAnswer => ({ ok: false, of: "entry", failure });
  const { data } = body;
  if (status === 403)
    return failed(`"${name}" is forbidden (403): the token is not valid, or none of its policies gives "read" there`);
  if (status === 404)
    return failed(missing(version === undefined ? `"${name}"` : `version ${version} of "${name}"`, data));
  if (status !== 200) return failed(`"${name}" is answered with ${status}, must be an entry of KV version 2`);
  const lease = body["lease_duration"];
  // In version 1 of the engine the fields are where version 2 has `data` and `metadata`.
  if (!isRecord(data) || !isRecord(data["metadata"]) || !isRecord(data["data"]))
    return failed(`"${name}" is not an entry of KV version 2; its mount must have that version`);
  const leaseMs = typeof lease === "number" && Number.isFinite(lease) && lease > 0 ? lease * 1000 : 0;
  const fields = Object.entries(data["data"]).map(([field, value]) => [field, textOf(value)] as const);
  return { ok: true, fields: new Map(fields), leaseMs };
}

function textOf(value: unknown): string | null {
  return typeof value === "string" ? value : null;
}

/** The 404 for a deleted version has a body that says so. */
function missing(what: string, data: unknown): string {
  const metadata = isRecord(data) ? data["metadata"] : undefined;
  // OpenBao also responds like this if the mount has version 1.
  if (!isRecord(metadata)) return `${what} is missing (404), must be there, in a mount of KV version 2`;
  return metadata["destroyed"] === true
    ? `${what} was destroyed (404), must be one that is there`
    : `${what} was deleted (404), must be restored or written again`;
}

const MAX_SECRET_BYTES = 64 * 1024;

export type FieldValue =
  | { readonly ok: true; readonly value: string }
  | { readonly ok: false; readonly failure: string };

export function fieldOf(fields: EntryFields, field: string, { name }: EntryPlace): FieldValue {
  const refuse = (failure: string) => ({ ok: false, failure }) as const;
  const value = fields.get(field);
  if (value === undefined) return refuse(`"${name}" has no field "${field}"`);
  if (value === null) return refuse(`the field "${field}" of "${name}" is not text, must be text`);
  if (Buffer.byteLength(value) > MAX_SECRET_BYTES)
    return refuse(`the field "${field}" of "${name}" has more than ${MAX_SECRET_BYTES} bytes`);
  // As for a file: `field=@file` includes a newline by accident.
  return { ok: true, value: value.replace(/\r?\n$/, "") };
}
