/**
 * IDs of JSON-RPC messages, which servers may write in another form than their clients: `"a\\/b"` is `"a/b"`.
 *
 * Untrusted input: messages of upstreams. Promise: IDs that a client can distinguish are never equal here. Pure.
 */
import { NumberToken, parseVerbatim } from "../shared/canonical-json.ts";
import { isRecord } from "../shared/is-record.ts";

/** One text for all forms of an ID. @param json its JSON text */
export function idKey(json: string | undefined): string | undefined {
  if (json === undefined || INTEGER.test(json)) return json;
  const value = JSON.parse(json) as unknown;
  if (typeof value !== "number") return JSON.stringify(value);
  // A client that reads exactly distinguishes larger ones.
  return Number.isSafeInteger(value) ? String(value) : json;
}

const INTEGER = /^(?:0|-?[1-9][0-9]*)$/;

/** @param one JSON text @param other JSON text */
export function sameId(one: string | undefined, other: string | undefined): boolean {
  return one === other || idKey(one) === idKey(other);
}

/**
 * Whether a message ends the wait for a response: a result or an error with this ID.
 *
 * @param isAlone it is the whole response: an error without an ID then also ends the wait
 */
export function repliesTo(bytes: Buffer, id: string | undefined, isAlone = false): boolean {
  let message: unknown;
  try {
    message = parseVerbatim(bytes.toString("utf8"));
  } catch {
    return false;
  }
  if (!isRecord(message) || Object.hasOwn(message, "method")) return false;
  const written = message["id"];
  const isError = Object.hasOwn(message, "error");
  if (written === undefined || written === null) return isAlone && isError;
  const text = written instanceof NumberToken ? written.text : JSON.stringify(written);
  return (isError || Object.hasOwn(message, "result")) && sameId(text, id);
}
