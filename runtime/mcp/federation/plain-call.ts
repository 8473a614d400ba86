/**
 * Calls of tools with nothing but what all clients send: a name, arguments, and members of `_meta` that the protocol defines. They
 * are written for a member without being parsed.
 *
 * Promise: a member gets the same message as if the call had been parsed (eras.ts, raw-arguments.ts). Pure.
 */
import { CLIENT_CAPABILITIES, META_CLIENT, PROTOCOL_VERSION } from "../members.ts";
import { isBesideArguments, type McpMessage } from "../message.ts";
import { spanText, type TextSpan } from "../scan.ts";
import { CLIENT_INFO, MODERN } from "./eras.ts";
import { COUNTED_LENGTH, PROTO, writeJson } from "./json.ts";
import { callOf, type RawArguments } from "./raw-arguments.ts";

export interface PlainCall {
  /** JSON text. */
  readonly id: string;
  readonly tool: string;
  readonly args: RawArguments;
  /** JSON text of what a client of the later revision declares; "" for another one. */
  readonly capabilities: string;
  /** JSON text; "" for none. */
  readonly progressToken: string;
}

/** More is parsed. */
const MAX_BYTES = 1_024;

/** @returns undefined: the message must be parsed */
export function readPlainCall(message: McpMessage): PlainCall | undefined {
  const { bytes, plain, argumentsSpan, id, facts, isModern } = message;
  if (plain === undefined || argumentsSpan === undefined) return undefined;
  if (id === undefined || facts.tool === undefined) return undefined;
  // Such a one may be refused.
  if (bytes.length - argumentsSpan.end + argumentsSpan.start > COUNTED_LENGTH) return undefined;
  if (isBesideArguments(message, PROTO)) return undefined;
  const { version, capabilities, progressToken } = plain;
  if (isModern) {
    if (version === undefined || spanText(bytes, version) !== MODERN || capabilities?.kind !== "object")
      return undefined;
  } else if (version || capabilities) return undefined;
  const declared = shortText(bytes, capabilities);
  const token = shortText(bytes, progressToken);
  if (declared === undefined || token === undefined) return undefined;
  // Later steps search for names as a parsed and written message has them.
  if (declared.includes("\\")) return undefined;
  const { kind, start, end } = argumentsSpan;
  const args = { kind, bytes: bytes.subarray(start, end) };
  return { id, tool: facts.tool, args, capabilities: declared, progressToken: token };
}

/** @param name of the tool as the member knows it @param capabilities JSON text, for a member of the later revision */
export function writePlainCall(
  { id, args, progressToken }: PlainCall,
  name: string,
  memberIsModern: boolean,
  capabilities: string,
): McpMessage {
  const own = progressToken === "" ? "" : `"progressToken":${progressToken}`;
  const ofHop = memberIsModern ? `${META_OF_HOP}${capabilities}` : "";
  const between = own !== "" && ofHop !== "" ? "," : "";
  const meta = own === "" && ofHop === "" ? "" : `,"_meta":{${own}${between}${ofHop}}`;
  const beginning = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":${writeJson(name)}${meta}${ARGUMENTS}`;
  const call = callOf(beginning, args, { id, tool: name, isModern: memberIsModern });
  // They are the last member of `_meta`.
  const end = (call.argumentsSpan?.start ?? 0) - ARGUMENTS.length - 1;
  const start = end - Buffer.byteLength(capabilities);
  const span = memberIsModern ? ({ kind: "object", start, end, isEscaped: false } as const) : undefined;
  return { ...call, plain: { version: undefined, capabilities: span, progressToken: undefined } };
}

const ARGUMENTS = ',"arguments":';

const META_OF_HOP = `"${PROTOCOL_VERSION}":"${MODERN}","${META_CLIENT}":${writeJson(CLIENT_INFO)},"${CLIENT_CAPABILITIES}":`;

/** JSON text; "" for none; undefined for a long one. */
function shortText(bytes: Buffer, span: TextSpan | undefined): string | undefined {
  if (span === undefined) return "";
  if (span.end - span.start > MAX_BYTES) return undefined;
  const quote = span.kind === "text" ? 1 : 0;
  return bytes.toString("utf8", span.start - quote, span.end + quote);
}
