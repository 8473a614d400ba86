/**
 * Tools as a server lists them, beside those that were reviewed.
 *
 * Untrusted input: the answer, already known to have one reading (lists/list-answer.ts). Promises: a tool is as reviewed only
 * when its whole definition is; of several with one name all count as changed when one is. Pure, but for a memory of digests.
 */
import { hash } from "node:crypto";

import type { ToolLock } from "../../features/mcp/tool-lock.ts";
import { toolDigest } from "../../features/mcp/tool-lock-file.ts";
import { parseExactJson, type ValueBudget } from "../../shared/json/exact-json.ts";
import type { FoundItem, ListAnswer } from "../lists/list-answer.ts";

export type DriftKind =
  /** Another definition than one that was reviewed under its name. */
  | "changed"
  /** Nothing was reviewed under its name, or it has none that everybody reads alike. */
  | "unlocked";

export interface ToolDrift {
  /** "" for what has no name. */
  readonly tool: string;
  readonly kind: DriftKind;
  /** Of the definition that was listed; undefined where nobody needs it, and for what cannot be read. */
  readonly digest: string | undefined;
}

export interface ToolsCheck {
  /** One for each name. */
  readonly drifts: readonly ToolDrift[];
  readonly drifted: ReadonlySet<FoundItem>;
  /** Names of tools that were listed as reviewed, with the digest. */
  readonly reviewed: ReadonlyMap<string, string>;
  /** Text of a definition that drifts, as it was listed; undefined for one that is too long to be kept. */
  readonly textOf: (tool: string) => string | undefined;
}

export function checkTools(lock: ToolLock, memory: DigestMemory, bytes: Buffer, { lists }: ListAnswer): ToolsCheck {
  const drifts = new Map<string, ToolDrift>();
  const reviewed = new Map<string, string>();
  let room = MAX_NEW_BYTES;
  const budget = { values: MAX_NEW_VALUES };
  const items = lists.flatMap((list) => (list.kind === "tool" ? list.items : []));
  for (const item of items) {
    const { name = "" } = item;
    if (drifts.has(name)) continue;
    const digests = lock.tools.get(name);
    if (digests === undefined) {
      drifts.set(name, { tool: name, kind: "unlocked", digest: undefined });
      continue;
    }
    const definition = bytes.subarray(item.start, item.end);
    let digest = memory.knownOf(definition);
    if (digest === undefined && definition.length <= room) {
      room -= definition.length;
      digest = memory.digestOf(definition, budget);
    }
    if (digest !== undefined && digests.has(digest)) reviewed.set(name, digest);
    else drifts.set(name, { tool: name, kind: "changed", digest });
  }
  for (const name of drifts.keys()) reviewed.delete(name);
  const drifted = drifts.size === 0 ? NONE : new Set(items.filter(({ name = "" }) => drifts.has(name)));
  let firstByName: ReadonlyMap<string, FoundItem> | undefined;
  const textOf = (tool: string): string | undefined => {
    firstByName ??= new Map(items.toReversed().map((item) => [item.name ?? "", item]));
    const item = firstByName.get(tool);
    return item === undefined || item.end - item.start > MAX_KEPT_BYTES
      ? undefined
      : bytes.toString("utf8", item.start, item.end);
  };
  return { drifts: [...drifts.values()], drifted, reviewed, textOf };
}

/** Of one definition, to be shown to people. */
const MAX_KEPT_BYTES = 32 * 1024;

const NONE: ReadonlySet<FoundItem> = new Set();

/** Of definitions that nobody has seen before, in one answer: no server holds this process longer than these take. */
const MAX_NEW_BYTES = 2 * 1024 * 1024;
/** Ordinary definitions of so many bytes have about as many. */
const MAX_NEW_VALUES = 100_000;

/** Digests of definitions by their bytes: servers send the same ones again and again, and bringing them into order costs. */
export class DigestMemory {
  #known = new Map<string, string>();

  knownOf(bytes: Buffer): string | undefined {
    return this.#known.get(keyOf(bytes));
  }

  /** Of one that is not known. @returns undefined for what cannot be read */
  digestOf(bytes: Buffer, budget: ValueBudget): string | undefined {
    const definition = parseExactJson(bytes.toString("utf8"), budget);
    if (definition === undefined) return undefined;
    const digest = toolDigest(definition);
    if (this.#known.size === MAX_KNOWN) this.#known.clear();
    this.#known.set(keyOf(bytes), digest);
    return digest;
  }
}

function keyOf(bytes: Buffer): string {
  return hash("sha256", bytes, "base64url");
}

/** Of one server; each takes some 200 bytes. */
const MAX_KNOWN = 2_000;
