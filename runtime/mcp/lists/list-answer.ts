/**
 * Positions of the lists in a response of an MCP server, and the names of their items; also its `instructions`, which
 * count as a list of one item.
 *
 * Untrusted input: the bytes. Promise: every client reads the result alike, so that a client never sees an item that
 * the gateway did not; an ambiguous response is unreadable. Pure.
 */
import { isUtf8 } from "node:buffer";

import type { ListedItem, ResourceType } from "../../policy/reach.ts";
import { foldWords } from "../../policy/mcp/fold-case.ts";
import { ScanError } from "../scan-error.ts";
import { JsonScanner, spanText, type TextSpan } from "../scan.ts";

/**
 * Lists of an MCP server: the method that requests one, the member with the items, and the member that names an item.
 */
export const LISTS = [
  { method: "tools/list", member: "tools", kind: "tool", name: "name" },
  { method: "prompts/list", member: "prompts", kind: "prompt", name: "name" },
  { method: "resources/list", member: "resources", kind: "resource", name: "uri" },
  { method: "resources/directory/read", member: "resources", kind: "resource", name: "uri" },
  { method: "resources/templates/list", member: "resourceTemplates", kind: "template", name: "uriTemplate" },
  { method: "skills/list", member: "skills", kind: "skill", name: "uri" },
] as const satisfies readonly { method: string; member: string; kind: ListedItem["kind"]; name: string }[];

/** Methods whose responses are filtered. The response to `skills/get` has one entry of `skills/list`. */
export const FILTERED_METHODS: ReadonlySet<string> = new Set([...LISTS.map(({ method }) => method), "skills/get"]);

const SKILL = "skill";

/** A text for models in the response to `initialize` and `server/discover`. */
const INSTRUCTIONS = "instructions";

export type ListKind = ListedItem["kind"] | typeof INSTRUCTIONS;

export interface FoundItem {
  /** The item's bytes. */
  readonly start: number;
  readonly end: number;
  /** Name or address of the item, "" for instructions; undefined when it has none that every client reads alike. */
  readonly name: string | undefined;
  /** Resources only. */
  readonly type?: ResourceType;
  /** Digest of the definition, once a lock was compared with it: a known list has the same items again. */
  digest?: string;
}

export interface FoundList {
  readonly kind: ListKind;
  readonly start: number;
  readonly end: number;
  readonly items: readonly FoundItem[];
  /** An entry outside a list, which cannot be removed from its answer. */
  readonly isSingle?: true;
}

export interface ListAnswer {
  /** JSON text of the id. */
  readonly id: string | undefined;
  /** Position of that text; 0 without an id. */
  readonly idStart: number;
  /** Position after the brace that opens the result. */
  readonly resultStart: number;
  readonly lists: readonly FoundList[];
  readonly nextCursor: TextSpan | undefined;
  readonly cacheScope: TextSpan | undefined;
  readonly ttlMs: TextSpan | undefined;
}

type ResultLists = Omit<ListAnswer, "id" | "idStart">;

/** Far above any list that a user could choose from. */
const MAX_ITEMS = 10_000;

// Reused between responses for its arrays; it retains nothing of a response, and no two calls interleave.
const scanner = new JsonScanner();

/** @returns "none" for messages without a list: notifications, requests, errors, other results */
export function readListAnswer(bytes: Buffer): ListAnswer | "none" | "unreadable" {
  return isUtf8(bytes) ? scanner.read(bytes, readWhole, () => "unreadable") : "unreadable";
}

function readWhole(bytes: Buffer): ListAnswer | "none" | "unreadable" {
  if (scanner.peek() !== "object") return "unreadable";
  const answer = readMessage(bytes);
  scanner.finish();
  return answer;
}

const ENVELOPE = ["jsonrpc", "id", "method", "params", "result", "error"];
const RESULT = [...LISTS.map(({ member }) => member), INSTRUCTIONS, SKILL, "nextCursor", "cacheScope", "ttlMs"];
const FOLDED: ReadonlySet<string> = new Set([...ENVELOPE, ...RESULT, ...LISTS.map(({ name }) => name)].map(foldWords));

/** Whether a lenient client could read the key as a known one. */
function isLookAlike(key: string, known: readonly string[]): boolean {
  return !known.includes(key) && FOLDED.has(foldWords(key));
}

function readMessage(bytes: Buffer): ListAnswer | "none" | "unreadable" {
  let id: TextSpan | undefined;
  let result: ResultLists | "other" | undefined;
  let isAnswer = true;
  let isSound = true;
  const mark = scanner.openObject();
  while (scanner.nextKey(mark)) {
    const key = scanner.key();
    if (isLookAlike(key, ENVELOPE)) isSound = false;
    if (key === "result" && scanner.peek() === "object") {
      const read = readResult(bytes);
      if (read === undefined) isSound = false;
      result = read;
      continue;
    }
    if (key === "method" || key === "error") isAnswer = false;
    if (key === "id") id = scanner.take();
    else scanner.skipValue();
  }
  if (result === undefined || result === "other") return isSound ? "none" : "unreadable";
  // A result together with a method or an error is ambiguous.
  if (!isSound || !isAnswer) return "unreadable";
  if (id === undefined) return { id: undefined, idStart: 0, ...result };
  const idStart = id.kind === "text" ? id.start - 1 : id.start;
  return { id: bytes.toString("utf8", idStart, id.kind === "text" ? id.end + 1 : id.end), idStart, ...result };
}

/** @returns undefined when it is ambiguous */
function readResult(bytes: Buffer): ResultLists | "other" | undefined {
  let isSound = true;
  const lists: FoundList[] = [];
  const hints: { nextCursor?: TextSpan; cacheScope?: TextSpan; ttlMs?: TextSpan } = {};
  const mark = scanner.openObject();
  const resultStart = scanner.position;
  while (scanner.nextKey(mark)) {
    const key = scanner.key();
    const list = LISTS.find(({ member }) => member === key);
    if (list !== undefined) {
      const read = scanner.peek() === "array" ? readItems(bytes, list) : undefined;
      if (read) lists.push(read);
      else isSound = false;
      if (!read) scanner.skipValue();
    } else if (key === SKILL) {
      if (scanner.peek() !== "object") {
        isSound = false;
        scanner.skipValue();
        continue;
      }
      const start = scanner.position;
      const name = readName(bytes, "uri");
      const item = { start, end: scanner.position, name };
      lists.push({ kind: SKILL, start, end: item.end, items: [item], isSingle: true });
    } else if (key === INSTRUCTIONS) {
      const { kind, ...span } = scanner.take();
      const quote = kind === "text" ? 1 : 0;
      const item = { start: span.start - quote, end: span.end + quote, name: "" };
      // Some servers write null for an empty list.
      if (kind !== "null") lists.push({ kind: INSTRUCTIONS, start: item.start, end: item.end, items: [item] });
    } else if (key === "nextCursor" || key === "cacheScope" || key === "ttlMs") {
      hints[key] = scanner.take();
    } else {
      if (isLookAlike(key, RESULT)) isSound = false;
      scanner.skipValue();
    }
  }
  if (!isSound) return undefined;
  const { nextCursor, cacheScope, ttlMs } = hints;
  return lists.length === 0 ? "other" : { resultStart, lists, nextCursor, cacheScope, ttlMs };
}

function readItems(bytes: Buffer, { kind, name }: (typeof LISTS)[number]): FoundList {
  scanner.peek();
  const start = scanner.position;
  const items: FoundItem[] = [];
  if (scanner.openArray()) {
    do {
      const isObject = scanner.peek() === "object";
      const itemStart = scanner.position;
      const found = isObject ? readName(bytes, name) : undefined;
      if (!isObject) scanner.skipValue();
      if (items.length === MAX_ITEMS) throw new ScanError("too-many-members");
      const type = kind === "resource" ? typeOf(mimeType) : undefined;
      items.push({ start: itemStart, end: scanner.position, name: found, ...(type && { type }) });
    } while (scanner.nextElement());
  }
  return { kind, start, end: scanner.position, items };
}

/** SEP-2640 names directories by this media type. */
const DIRECTORY = /^\s*inode\/directory\s*(?:;|$)/i;

function typeOf(text: string | undefined): ResourceType | undefined {
  return text === undefined ? "unknown" : DIRECTORY.test(text) ? "directory" : undefined;
}

/** `mimeType` of the item that `readName()` has read last, without another object for each item. */
let mimeType: string | undefined;

function readName(bytes: Buffer, wanted: string): string | undefined {
  mimeType = undefined;
  let name: string | undefined;
  let isSound = true;
  let unusualKeys = 0;
  const otherLength = SNAKE_LENGTHS.get(wanted);
  const mark = scanner.openObject();
  while (scanner.nextKey(mark)) {
    const length = scanner.keyPlainLength();
    const isOther = length !== wanted.length && length !== otherLength;
    if (length !== -1 && isOther && (length !== MIME_TYPE.length || wanted !== "uri")) {
      // Most keys; creating a text for each costs more than skipping it.
      scanner.skipValue();
      continue;
    }
    const key = scanner.key();
    if (key === wanted) {
      const span = scanner.take();
      name = span.kind === "text" ? spanText(bytes, span) : undefined;
      continue;
    }
    if (key === MIME_TYPE) {
      const span = scanner.take();
      mimeType = span.kind === "text" ? spanText(bytes, span) : undefined;
      continue;
    }
    if (!PLAIN_KEY.test(key)) unusualKeys += 1;
    if (unusualKeys > MAX_UNUSUAL_KEYS || foldWords(key) === foldWords(wanted)) isSound = false;
    scanner.skipValue();
  }
  return isSound ? name : undefined;
}

const MIME_TYPE = "mimeType";

/** Length in `snake_case`, since models in Python also read such names. */
const SNAKE_LENGTHS: ReadonlyMap<string, number> = new Map(
  LISTS.map(({ name }) => [name, name.replace(/[A-Z]/g, "_$&").length]),
);

/** Members of items are ASCII; folding others costs more than reading them. */
const MAX_UNUSUAL_KEYS = 4;
const PLAIN_KEY = /^[\x21-\x7e]*$/;
