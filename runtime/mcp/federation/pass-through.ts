/**
 * Responses of members whose bytes go to the client as they came: nothing in them belongs to one hop or one member.
 *
 * Untrusted input: the member's response. Promises: bytes that pass are one JSON object with exactly `jsonrpc`, the ID of this
 * request and a result, whatever parser the client has; all other responses are parsed and written (relay.ts). Pure.
 */
import { isUtf8 } from "node:buffer";

import { isRecord } from "../../shared/is-record.ts";
import { isCachedMethod, isOfHop } from "./eras.ts";
import { isWithinLimits, type MessageJson } from "./json.ts";

export interface PassedResponse {
  /** JSON text of the ID, the same in the client's message and in the member's. */
  readonly id: string;
  readonly method: unknown;
  readonly clientIsModern: boolean;
}

/** @returns the response for the client; undefined: it must be parsed and written */
export function passThrough(bytes: Buffer, { id, method, clientIsModern }: PassedResponse): Buffer | undefined {
  if ((clientIsModern && isCachedMethod(method)) || !isUtf8(bytes)) return undefined;
  // The fastest decoding: other characters than those of ASCII occur only in texts, whose meaning is not needed.
  const text = bytes.toString("latin1");
  const place = placeOfResult(text, id);
  if (place === undefined || !isWithinLimits(text) || mayNameApp(text)) return undefined;
  const { start, end } = place;
  const read = readResult(text.slice(start, end));
  if (read === undefined) return undefined;
  const { result, length } = read;
  const { resultType } = result;
  if (OF_MEMBER.some((name) => result[name] !== undefined)) return undefined;
  if (resultType !== undefined && (!clientIsModern || resultType !== "complete")) return undefined;
  const isUntyped = clientIsModern && resultType === undefined;
  if (!isUntyped && start + length === end) return bytes;
  const isEmpty = Object.keys(result).length === 0;
  const type = isUntyped ? `${isEmpty ? "" : ","}"resultType":"complete"` : "";
  return Buffer.concat([bytes.subarray(0, start + length - 1), Buffer.from(`${type}}`), bytes.subarray(end)]);
}

/** Members of results that clients get in another form. */
const OF_MEMBER = ["_meta", "task", "taskId", "requestState", "inputRequests", "ttlMs", "cacheScope"] as const;

const RESULT = '"result":';

/** Where the result is, if the other members are those of a response to this request, in the form that servers give them. */
function placeOfResult(text: string, id: string): { readonly start: number; readonly end: number } | undefined {
  const members = ['"jsonrpc":"2.0"', `"id":${id}`];
  const take = (isThere: (member: string) => boolean): string | undefined => {
    const at = members.findIndex(isThere);
    return at === -1 ? undefined : members.splice(at, 1)[0];
  };
  let start = 1;
  for (let found = take(before); found !== undefined; found = take(before)) start += found.length + 1;
  if (text[0] !== "{" || !text.startsWith(RESULT, start)) return undefined;
  let end = text.length;
  while (end > start && WHITE_SPACE.has(text[end - 1] as string)) end -= 1;
  end -= 1;
  if (text[end] !== "}") return undefined;
  for (let found = take(behind); found !== undefined; found = take(behind)) end -= found.length + 1;
  return members.length === 0 ? { start: start + RESULT.length, end } : undefined;

  function before(member: string): boolean {
    return text.startsWith(`${member},`, start);
  }
  function behind(member: string): boolean {
    return text.endsWith(`,${member}`, end);
  }
}

const WHITE_SPACE: ReadonlySet<string> = new Set([" ", "\t", "\n", "\r"]);

interface ReadResult {
  /** Without `_meta` that belongs to one hop. */
  readonly result: MessageJson;
  /** Length of its text, with the closing brace. */
  readonly length: number;
}

/** @param text alone it must be one JSON value, so that it cannot contain the end of the message */
function readResult(text: string): ReadResult | undefined {
  const meta = text.includes(META) ? text.lastIndexOf(META) : -1;
  if (meta === -1) {
    const result = parsed(text);
    return result && { result, length: text.length };
  }
  // The SDK of 2026-07-28 adds the server's name to the end of each result. Both parts must be JSON values alone.
  const others = text.slice(0, text[meta - 1] === "," ? meta - 1 : meta);
  const result = parsed(`${others}}`);
  const values = parsed(text.slice(meta + META.length, -1));
  if (!text.endsWith("}") || !result || !values || !Object.keys(values).every(isOfHop)) return undefined;
  return { result, length: others.length + 1 };
}

const META = '"_meta":';

function parsed(text: string): MessageJson | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isRecord(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether an address of an app can be in it, also where a member is written twice. */
function mayNameApp(text: string): boolean {
  return text.includes("ui:") || (text.includes("\\u00") && ESCAPED_APP.test(text));
}

const ESCAPED_APP = /\\u00(?:75|69|3a)/i;
