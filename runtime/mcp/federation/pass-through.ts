/**
 * Responses of members whose bytes go to the client as they came: nothing in them belongs to one hop or one member.
 *
 * Untrusted input: the member's response. Promises: bytes that pass are one JSON object with exactly `jsonrpc`, the ID of this
 * request and a result, whatever parser the client has; all other responses are parsed and written (relay.ts). Pure.
 */
import { isUtf8 } from "node:buffer";

import { byHash, exactMember } from "../members.ts";
import { JsonScanner, spanText } from "../scan.ts";
import { isCachedMethod, isOfHop } from "./eras.ts";
import { COUNTED_LENGTH, isWithinLimits, PROTO } from "./json.ts";

export interface PassedResponse {
  /** JSON text of the ID, the same in the client's message and in the member's. */
  readonly id: string;
  readonly method: unknown;
  readonly clientIsModern: boolean;
}

// Reused for its arrays; it retains nothing of a response, and no two calls interleave.
const scanner = new JsonScanner();

/** @returns the response for the client; undefined: it must be parsed and written */
export function passThrough(bytes: Buffer, { id, method, clientIsModern }: PassedResponse): Buffer | undefined {
  if ((clientIsModern && isCachedMethod(method)) || !isUtf8(bytes)) return undefined;
  const place = placeOfResult(bytes, id);
  if (place === undefined || bytes.includes(PROTO) || bytes.includes(APP) || isTooLong(bytes)) return undefined;
  const { start, end } = place;
  const read = readResult(bytes.subarray(start, end));
  if (read === undefined || (read.hasCodes && ESCAPED_APP.test(bytes.toString("latin1")))) return undefined;
  const { type, length, isEmpty, hasMeta } = read;
  if (type !== undefined && (!clientIsModern || type !== "complete")) return undefined;
  const isUntyped = clientIsModern && type === undefined;
  if (!isUntyped && !hasMeta) return bytes;
  const added = isUntyped ? `${isEmpty ? "" : ","}"resultType":"complete"` : "";
  return Buffer.concat([bytes.subarray(0, start + length), Buffer.from(`${added}}`), bytes.subarray(end)]);
}

/** Members of results that clients get in another form. */
const OF_MEMBER = ["task", "taskId", "requestState", "inputRequests", "ttlMs", "cacheScope"] as const;
const KNOWN = byHash([...OF_MEMBER, "_meta", "resultType"]);
const APP = Buffer.from("ui:");
/** Part of an address of an app, in any form. */
const ESCAPED_APP = /\\u00(?:75|69|3a)/i;

const RESULT = '"result":';

/** Where the result is, if the other members are those of a response to this request, in the form that servers give them. */
function placeOfResult(bytes: Buffer, id: string): { readonly start: number; readonly end: number } | undefined {
  const most = id.length + MOST_AROUND;
  const [from, to] = [bytes.toString("latin1", 0, most), bytes.toString("latin1", Math.max(0, bytes.length - most))];
  const own = `"id":${id}`;
  let hasVersion = false;
  let hasId = false;
  let start = 1;
  for (;;) {
    if (!hasVersion && from.startsWith(VERSION_BEFORE, start)) {
      hasVersion = true;
      start += VERSION_BEFORE.length;
    } else if (!hasId && from.startsWith(own, start) && from[start + own.length] === ",") {
      hasId = true;
      start += own.length + 1;
    } else break;
  }
  if (from[0] !== "{" || !from.startsWith(RESULT, start)) return undefined;
  let end = to.length;
  while (end > 0 && WHITE_SPACE.has(to[end - 1] as string)) end -= 1;
  end -= 1;
  if (to[end] !== "}") return undefined;
  for (;;) {
    if (!hasVersion && to.endsWith(VERSION_BEHIND, end)) {
      hasVersion = true;
      end -= VERSION_BEHIND.length;
    } else if (!hasId && to.endsWith(own, end) && to[end - own.length - 1] === ",") {
      hasId = true;
      end -= own.length + 1;
    } else break;
  }
  if (!hasVersion || !hasId) return undefined;
  return { start: start + RESULT.length, end: bytes.length - to.length + end };
}

const VERSION_BEFORE = '"jsonrpc":"2.0",';
const VERSION_BEHIND = ',"jsonrpc":"2.0"';
/** Longer than the members and the white space around a result, without the ID. */
const MOST_AROUND = 64;
const WHITE_SPACE: ReadonlySet<string> = new Set([" ", "\t", "\n", "\r"]);

interface ReadResult {
  readonly type: string | undefined;
  readonly isEmpty: boolean;
  readonly hasMeta: boolean;
  /** Length of its text before `_meta` or the closing brace. */
  readonly length: number;
  readonly hasCodes: boolean;
}

/** @param bytes alone they must be one JSON object, so that they cannot contain the end of the message */
function readResult(bytes: Buffer): ReadResult | undefined {
  return scanner.read(bytes, readMembers, () => undefined);
}

function readMembers(bytes: Buffer): ReadResult | undefined {
  if (scanner.peek() !== "object") return undefined;
  const mark = scanner.openObject();
  let type: string | undefined;
  let isEmpty = true;
  let hasMeta = false;
  let { position: length } = scanner;
  while (scanner.nextKey(mark)) {
    // The SDK of 2026-07-28 adds `_meta` with the server's name to the end of each result.
    if (hasMeta || scanner.keyPlainLength() < 0) return undefined;
    const member = exactMember(scanner, KNOWN);
    if (member === "_meta") {
      hasMeta = true;
      if (!skipMetaOfHop()) return undefined;
      continue;
    }
    isEmpty = false;
    if (member === "resultType") {
      const span = scanner.take();
      if (span.kind !== "text") return undefined;
      type = spanText(bytes, span);
    } else if (member === undefined) scanner.skipValue();
    else return undefined;
    length = scanner.position;
  }
  scanner.finish();
  return { type, isEmpty, hasMeta, length, hasCodes: scanner.hasCodes };
}

/** @returns false: it has members that belong to the message */
function skipMetaOfHop(): boolean {
  if (scanner.peek() !== "object") return false;
  const mark = scanner.openObject();
  while (scanner.nextKey(mark)) {
    if (!isOfHop(scanner.key())) return false;
    scanner.skipValue();
  }
  return true;
}

function isTooLong(bytes: Buffer): boolean {
  return bytes.length > COUNTED_LENGTH && !isWithinLimits(bytes.toString("latin1"));
}
