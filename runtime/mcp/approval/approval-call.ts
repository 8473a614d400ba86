/**
 * The approved content of a tool call: everything that its message passes to the tool.
 *
 * Untrusted input: the message, already valid JSON without repeated members. Promise: two messages with the same text
 * pass the same to the tool, numbers as written. From `_meta` it omits only what differs each time a call is sent: the
 * progress token and the trace, and only in their proper shape. Pure.
 */
import { canonicalJson, NumberToken, parseVerbatim } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";
import type { McpMessage } from "../message.ts";

/** Reading numbers as written costs ten times an ordinary parse, and a user could not review a longer message. */
const MAX_MESSAGE_BYTES = 65_536;

/**
 * @param fields the client's own header fields, which its server also gets
 * @returns canonical JSON of `params` without the tool's name, in a list with the fields if there are some; undefined
 *   when the message is too long
 */
export function givenToTool(
  { bytes }: Pick<McpMessage, "bytes">,
  fields: readonly (readonly [name: string, value: string])[] = [],
): string | undefined {
  if (bytes.length > MAX_MESSAGE_BYTES) return undefined;
  const message = parseVerbatim(bytes.toString("utf8"));
  const params = isRecord(message) && isRecord(message["params"]) ? message["params"] : {};
  const { name: _name, _meta: meta, ...others } = params;
  const keptMeta = keptOf(meta);
  const given = keptMeta === undefined ? others : { ...others, _meta: keptMeta };
  return canonicalJson(fields.length === 0 ? given : [given, fields]);
}

/** @returns undefined when nothing remains */
function keptOf(meta: unknown): unknown {
  if (!isRecord(meta)) return meta;
  const entries = Object.entries(meta).filter(([name, value]) => OF_ONE_SENDING.get(name)?.(value) !== true);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

/**
 * Members of the lists of W3C Trace Context and W3C Baggage. Neither can contain JSON: baggage has no quotation marks.
 */
const STATE = /^[a-z0-9][a-z0-9_*/@-]*=[\x20-\x7e]*$/;
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+";
const TEXT = "[!#-+.-:<-[\\]-~-]*";
const ITEM = new RegExp(`^${TOKEN}[ \t]*=[ \t]*${TEXT}(?:[ \t]*;[ \t]*${TOKEN}(?:[ \t]*=[ \t]*${TEXT})?)*$`);

function isText(value: unknown, maxCharacters: number, shape: RegExp): boolean {
  return typeof value === "string" && value.length <= maxCharacters && shape.test(value);
}

function isListText(value: unknown, maxCharacters: number, member: RegExp): boolean {
  if (typeof value !== "string" || value.length > maxCharacters) return false;
  return value.split(",").every((each) => each.trim() === "" || member.test(each.trim()));
}

/**
 * Members that differ each time a call is sent, with their shape. In any other shape the tool's server could read them.
 */
const OF_ONE_SENDING: ReadonlyMap<string, (value: unknown) => boolean> = new Map([
  ["progressToken", (value) => isText(value instanceof NumberToken ? value.text : value, 128, /^[\x20-\x7e]*$/)],
  ["traceparent", (value) => isText(value, 128, /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-[0-9a-f-]*)?$/)],
  ["tracestate", (value) => isListText(value, 512, STATE)],
  ["baggage", (value) => isListText(value, 8192, ITEM)],
]);
