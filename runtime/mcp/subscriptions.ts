/**
 * The resources that a `subscriptions/listen` message subscribes to (MCP 2026-07-28).
 *
 * Untrusted input: the message, already valid JSON without repeated members. Promise: every server reads the result
 * alike; the rest of the message stays byte for byte. Pure.
 */
import { isRecord } from "../shared/is-record.ts";
import { spanAt } from "../policy/mcp/argument-span.ts";
import { foldWords } from "../policy/mcp/fold-case.ts";
import { isPlain } from "./message.ts";

const PLACE = ["params", "notifications", "resourceSubscriptions"] as const;

/** @returns the URIs; undefined for no subscription, "unreadable" when servers could read others */
export function readSubscriptions(bytes: Buffer): readonly string[] | "unreadable" | undefined {
  let value = JSON.parse(bytes.toString("utf8")) as unknown;
  for (const name of PLACE) {
    if (value === undefined || value === null) return undefined;
    if (!isRecord(value)) return "unreadable";
    if (Object.keys(value).some((key) => key !== name && foldWords(key) === foldWords(name))) return "unreadable";
    value = Object.hasOwn(value, name) ? value[name] : undefined;
  }
  if (value === undefined || value === null) return undefined;
  return Array.isArray(value) && value.every(isPlain) ? value : "unreadable";
}

/** The same message, for these URIs. @param bytes for which `readSubscriptions` returned some */
export function withSubscriptions(bytes: Buffer, uris: readonly string[]): Buffer {
  const text = bytes.toString("utf8");
  const [start, end] = spanAt(text, PLACE);
  return Buffer.from(text.slice(0, start) + JSON.stringify(uris) + text.slice(end));
}
