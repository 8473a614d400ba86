/**
 * What is approved of a tool call: everything that its message gives the tool.
 *
 * Untrusted input: the message, known to be good JSON without a member twice. Promise: two messages with the same text give
 * the tool the same, number by number as it was written. Of `_meta` only what is another one in each sending is left out: the
 * progress token and the trace. Pure.
 */
import { canonicalJson, parseVerbatim } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";
import type { McpMessage } from "../message.ts";

/** Reading numbers as they were written costs ten times what reading them does: longer messages nobody could approve. */
const MAX_MESSAGE_BYTES = 65_536;

/**
 * @param fields the client's own header fields, which its server gets, too
 * @returns canonical JSON of `params` without the tool's name, in a list with the fields where there are some; undefined when
 * the message is too long
 */
export function givenToTool(
  { bytes }: Pick<McpMessage, "bytes">,
  fields: readonly (readonly [name: string, value: string])[] = [],
): string | undefined {
  if (bytes.length > MAX_MESSAGE_BYTES) return undefined;
  const message = parseVerbatim(bytes.toString("utf8"));
  const params = isRecord(message) && isRecord(message["params"]) ? message["params"] : {};
  const { name: _name, _meta: meta, ...others } = params;
  const kept = keptOf(meta);
  const given = kept === undefined ? others : { ...others, _meta: kept };
  return canonicalJson(fields.length === 0 ? given : [given, fields]);
}

/** @returns undefined when nothing is left */
function keptOf(meta: unknown): unknown {
  if (!isRecord(meta)) return meta;
  const kept = Object.entries(meta).filter(([name]) => !OF_ONE_SENDING.has(name));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

const OF_ONE_SENDING: ReadonlySet<string> = new Set(["progressToken", "traceparent", "tracestate", "baggage"]);
