/**
 * Listed tools compared with the lock; the same for everything else that a lock can cover
 * (features/mcp/locked-items.ts).
 *
 * Untrusted input: the response, already known to be unambiguous (lists/list-answer.ts). Promises: an item matches only
 * if its whole definition does; of several with one name, all count as changed if one is. Pure, except for a memory of
 * digests.
 */
import { hash } from "node:crypto";

import { itemKey } from "../../features/mcp/locked-items.ts";
import type { ToolLock } from "../../features/mcp/tool-lock.ts";
import { toolDigest } from "../../features/mcp/tool-lock-file.ts";
import { parseExactJson, type ValueBudget } from "../../shared/json/exact-json.ts";
import type { FoundItem, ListAnswer } from "../lists/list-answer.ts";

export type DriftKind =
  /** The definition differs from all in the lock under its key. */
  | "changed"
  /** The lock has no definition with its key, or it has no key that every client reads alike. */
  | "unlocked";

export interface ToolDrift {
  /** See locked-items.ts; the key of the name "" for an item without a name. */
  readonly key: string;
  readonly kind: DriftKind;
  /** Digest of the listed definition; undefined where it is not needed, and for an unreadable one. */
  readonly digest: string | undefined;
}

export interface ToolsCheck {
  /** One for each key. */
  readonly drifts: readonly ToolDrift[];
  readonly drifted: ReadonlySet<FoundItem>;
  /** Keys of items that match the lock, with the digest. */
  readonly reviewed: ReadonlyMap<string, string>;
  /** Text of a drifted definition, as listed; undefined for one that is too long to store. */
  readonly textOf: (key: string) => string | undefined;
}

export function checkTools(lock: ToolLock, memory: DigestMemory, bytes: Buffer, { lists }: ListAnswer): ToolsCheck {
  const drifts = new Map<string, ToolDrift>();
  const reviewed = new Map<string, string>();
  let room = MAX_NEW_BYTES;
  const budget = { values: MAX_NEW_VALUES };
  const found = lists.flatMap(({ kind, items }) =>
    kind !== "resource" && lock.kinds.has(kind)
      ? items.map((item) => ({ item, key: itemKey(kind, item.name ?? "") }))
      : [],
  );
  for (const { item, key } of found) {
    if (drifts.has(key)) continue;
    const digests = lock.items.get(key);
    if (digests === undefined) {
      drifts.set(key, { key, kind: "unlocked", digest: undefined });
      continue;
    }
    let { digest } = item;
    if (digest === undefined) {
      const definition = bytes.subarray(item.start, item.end);
      digest = memory.knownOf(definition);
      if (digest === undefined && definition.length <= room) {
        room -= definition.length;
        digest = memory.digestOf(definition, budget, 2 * lock.items.size);
      }
      if (digest !== undefined) item.digest = digest;
    }
    if (digest !== undefined && digests.has(digest)) reviewed.set(key, digest);
    else drifts.set(key, { key, kind: "changed", digest });
  }
  for (const key of drifts.keys()) reviewed.delete(key);
  const drifted = drifts.size === 0 ? NONE : new Set(found.flatMap(({ item, key }) => (drifts.has(key) ? [item] : [])));
  let firstByKey: ReadonlyMap<string, FoundItem> | undefined;
  const textOf = (key: string): string | undefined => {
    firstByKey ??= new Map(found.toReversed().map((each) => [each.key, each.item]));
    const item = firstByKey.get(key);
    return item === undefined || item.end - item.start > MAX_KEPT_BYTES
      ? undefined
      : bytes.toString("utf8", item.start, item.end);
  };
  return { drifts: [...drifts.values()], drifted, reviewed, textOf };
}

/** Limit for one definition that is stored to be shown. */
const MAX_KEPT_BYTES = 32 * 1024;

const NONE: ReadonlySet<FoundItem> = new Set();

/** Limit for unknown definitions in one response, so that no server can block this process for longer. */
const MAX_NEW_BYTES = 2 * 1024 * 1024;
/** About the number of values in ordinary definitions of this size. */
const MAX_NEW_VALUES = 100_000;

/**
 * Digests of definitions by their bytes: servers send the same ones repeatedly, and canonicalizing them is expensive.
 */
export class DigestMemory {
  #known = new Map<string, string>();

  knownOf(bytes: Buffer): string | undefined {
    return this.#known.get(keyOf(bytes));
  }

  /**
   * Digest of an unknown definition.
   *
   * @param atLeast so many are remembered: a list with more would be read again each time
   * @returns undefined for an unreadable one
   */
  digestOf(bytes: Buffer, budget: ValueBudget, atLeast: number): string | undefined {
    const definition = parseExactJson(bytes.toString("utf8"), budget);
    if (definition === undefined) return undefined;
    const digest = toolDigest(definition);
    if (this.#known.size >= Math.max(MAX_KNOWN, atLeast)) this.#known.clear();
    this.#known.set(keyOf(bytes), digest);
    return digest;
  }
}

function keyOf(bytes: Buffer): string {
  return hash("sha256", bytes, "base64url");
}

/** Limit for one server, unless its lock has more; each takes about 200 bytes. */
const MAX_KNOWN = 2_000;
