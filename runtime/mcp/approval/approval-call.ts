/**
 * What is approved of a tool call: everything that its message gives the tool.
 *
 * Untrusted input: the message, known to be good JSON without a member twice. Promise: two messages with the same text give
 * the tool the same, number by number as it was written; `_meta` alone, which is about the message, is left out. Pure.
 */
import { canonicalJson, parseVerbatim } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";
import type { McpMessage } from "../message.ts";

/** Reading numbers as they were written costs ten times what reading them does: longer messages nobody could approve. */
const MAX_MESSAGE_BYTES = 65_536;

/** @returns canonical JSON of `params` without the tool's name and `_meta`; undefined when the message is too long */
export function givenToTool({ bytes }: Pick<McpMessage, "bytes">): string | undefined {
  if (bytes.length > MAX_MESSAGE_BYTES) return undefined;
  const message = parseVerbatim(bytes.toString("utf8"));
  const params = isRecord(message) && isRecord(message["params"]) ? message["params"] : {};
  const given = Object.entries(params).filter(([name]) => name !== "name" && name !== "_meta");
  return canonicalJson(Object.fromEntries(given));
}
