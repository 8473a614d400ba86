/**
 * The one reading of an MCP message on which policy decides.
 *
 * Untrusted input: bytes and headers. Promise: a message that is accepted means the same to every upstream, so the
 * original bytes may be forwarded once policy has agreed. Anything that parsers, protocol revisions or headers could
 * read differently is rejected. Pure: no I/O. @see MCP 2025-11-25 and 2026-07-28, Streamable HTTP; RFC 8259; JSON-RPC
 * 2.0
 */
import { isUtf8 } from "node:buffer";

import type { McpFacts } from "../policy/facts.ts";
import { readArguments } from "../policy/mcp/argument-values.ts";
import { readEnvelope } from "./envelope.ts";
import type { Envelope } from "./envelope.ts";
import { isIdentityCoding, isJsonMediaType } from "./message-headers.ts";
import type { MessageHeaders } from "./message-headers.ts";
import { foldWords } from "../policy/mcp/fold-case.ts";
import { checkMirrors, matchParams } from "./mirrors.ts";
import { isPlainToolName, type ToolNameCheck } from "../policy/mcp/tool-names.ts";
import { refusal } from "./refusals.ts";
import type { McpRefusal, RefusalReason } from "./refusals.ts";
import { spanText } from "./scan.ts";
import type { TextSpan } from "./scan.ts";

export interface MessageOptions {
  /**
   * For rules that name tools: whether they can decide about a name that is not plain. Default: all names are accepted.
   */
  readonly isClearTool?: ToolNameCheck | undefined;
}

export interface McpMessage {
  readonly ok: true;
  readonly kind: "request" | "notification" | "response";
  /** JSON text of the ID, as sent: large integers are not rounded. */
  readonly id: string | undefined;
  /** Facts for policy: method, and for `tools/call` the tool. {} for a posted response. */
  readonly facts: McpFacts;
  /** The message follows revision 2026-07-28 or a later one: no sessions, closing the stream cancels. */
  readonly isModern: boolean;
  /** The message as received, known to be unambiguous. */
  readonly bytes: Buffer;
  /** Position of the tool's arguments in `bytes`; see `toolArguments`. */
  readonly argumentsSpan: TextSpan | undefined;
  /** Present if a call has nothing but a name, arguments and these. */
  readonly plain: PlainMembers | undefined;
}

/** Positions of members of `_meta`. */
export type PlainMembers = Pick<Envelope, "version" | "capabilities" | "progressToken">;

export function parseMessage(
  bytes: Buffer,
  headers: MessageHeaders,
  options: MessageOptions = {},
): McpMessage | McpRefusal {
  if (headers.repeated === "content" || !isJsonMediaType(headers.contentType)) return refusal("mcp-media-type");
  if (!isIdentityCoding(headers.contentEncoding)) return refusal("mcp-content-encoding");
  const hasByteOrderMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  if (hasByteOrderMark || !isUtf8(bytes)) return refusal("mcp-not-utf8");
  const envelope = readEnvelope(bytes);
  if (typeof envelope === "string") return refusal(envelope);
  const message = validateShape(bytes, envelope, options);
  if (!message.ok) return message;
  return validateHeaders(message, envelope, headers);
}

/** JSON text of the tool's arguments, as sent; undefined when the message calls no tool or has no arguments. */
export function toolArguments({
  bytes,
  argumentsSpan,
}: Pick<McpMessage, "bytes" | "argumentsSpan">): string | undefined {
  return argumentsText(bytes, argumentsSpan);
}

/** Messages with shorter arguments are searched as a whole: mostly the text is nowhere. */
const SHORT_ARGUMENTS = 1_024;

/**
 * Whether a message contains a text outside the tool's arguments, which may be long and have no meaning here.
 * @param text ASCII
 */
export function isBesideArguments(
  { bytes, argumentsSpan }: Pick<McpMessage, "bytes" | "argumentsSpan">,
  text: Buffer | string,
): boolean {
  if (argumentsSpan === undefined) return bytes.includes(text);
  const { start, end } = argumentsSpan;
  if (end - start <= SHORT_ARGUMENTS) {
    const first = bytes.indexOf(text);
    if (first < 0 || first >= end || first + text.length <= start) return first >= 0;
  } else if (bytes.subarray(0, start).includes(text)) return true;
  return bytes.indexOf(text, end) >= 0;
}

function argumentsText(bytes: Buffer, span: TextSpan | undefined): string | undefined {
  return span?.kind === "object" ? bytes.toString("utf8", span.start, span.end) : undefined;
}

/** JSON-RPC 2.0 §4–5 as MCP narrows it: ids are strings or integers, params an object. */
function validateShape(bytes: Buffer, envelope: Envelope, options: MessageOptions): McpMessage | McpRefusal {
  if (!isVersion2(bytes, envelope.jsonrpc)) return refusal("mcp-invalid-message");
  const id = envelope.id && idText(bytes, envelope.id);
  if (envelope.id && id === undefined) return refusal("mcp-invalid-message");
  if (!envelope.method) return validateResponse(bytes, envelope, id);

  if (envelope.result || envelope.error) return refusal("mcp-invalid-message", id);
  const method = isWritten(bytes, envelope.method, CALL) ? "tools/call" : methodOf(bytes, envelope.method);
  if (method === undefined) return refusal("mcp-invalid-message", id);
  const paramsKind = envelope.params?.kind;
  if (paramsKind !== undefined && paramsKind !== "object" && paramsKind !== "null") {
    return refusal("mcp-invalid-message", id);
  }
  const kind = id === undefined ? "notification" : "request";
  if (method !== "tools/call") {
    const facts = factsOf(bytes, method, envelope);
    if (typeof facts === "string") return refusal(facts, id);
    return { ok: true, kind, id, facts, isModern: false, bytes, argumentsSpan: undefined, plain: undefined };
  }
  const tool = plainText(bytes, envelope.name);
  const argumentsKind = envelope.arguments?.kind ?? "object";
  if (tool === undefined || tool === "") return refusal("mcp-invalid-tool-call", id);
  if (isUnclear(tool, options)) return refusal("mcp-unclear-tool-name", id);
  if (argumentsKind !== "object" && argumentsKind !== "null") return refusal("mcp-invalid-tool-call", id);
  const argumentsSpan = envelope.arguments;
  const facts = { method, tool, arguments: readArguments(() => argumentsText(bytes, argumentsSpan)) };
  return { ok: true, kind, id, facts, isModern: false, bytes, argumentsSpan, plain: plainMembers(envelope) };
}

function plainMembers(envelope: Envelope): PlainMembers | undefined {
  const { hasOthers, uri, taskId, ref } = envelope;
  return hasOthers || uri || taskId || ref ? undefined : envelope;
}

export function isUnclear(tool: string, { isClearTool }: MessageOptions): boolean {
  return isClearTool !== undefined && !isPlainToolName(tool) && !isClearTool(tool);
}

/** @returns undefined for one that is rejected */
function methodOf(bytes: Buffer, span: TextSpan): string | undefined {
  const method = plainText(bytes, span);
  if (method === undefined || !METHOD.test(method)) return undefined;
  // An upstream that compares methods loosely would run a method that the gateway did not see.
  return METHODS.has(method) || !FOLDED_METHODS.has(method.toLowerCase()) ? method : undefined;
}

/** Facts of a message that calls no tool. A message without a name has none: the upstream rejects it. */
function factsOf(bytes: Buffer, method: string, envelope: Envelope): McpFacts | RefusalReason {
  switch (method) {
    case "prompts/get": {
      if (!envelope.name) return { method };
      const prompt = plainText(bytes, envelope.name);
      return prompt === undefined ? "mcp-invalid-message" : { method, prompt };
    }
    case "resources/directory/read":
    case "resources/read":
    case "resources/subscribe":
    case "resources/unsubscribe":
    case "skills/get": {
      if (!envelope.uri) return { method };
      const resource = plainText(bytes, envelope.uri);
      return resource === undefined ? "mcp-invalid-message" : { method, resource };
    }
    case "completion/complete":
      return completedFacts(bytes, method, envelope.ref);
    default:
      return { method };
  }
}

/** A completion reveals values of the prompt or the resource template that it is for. */
function completedFacts(bytes: Buffer, method: string, span: TextSpan | undefined): McpFacts | RefusalReason {
  if (!span) return { method };
  if (span.kind !== "object") return "mcp-invalid-message";
  const ref = JSON.parse(bytes.toString("utf8", span.start, span.end)) as Readonly<Record<string, unknown>>;
  if (Object.keys(ref).some((key) => !REF_MEMBERS.has(key) && REF_MEMBERS.has(foldWords(key))))
    return "mcp-look-alike-key";
  const { type, name, uri } = ref;
  if (type === "ref/prompt" && isPlain(name)) return { method, prompt: name };
  if (type === "ref/resource" && isPlain(uri)) return { method, resource: uri };
  return "mcp-invalid-message";
}

const REF_MEMBERS: ReadonlySet<string> = new Set(["type", "name", "uri"]);

/** A response to the server's request: `result` or `error`, without members of a request. */
function validateResponse(bytes: Buffer, envelope: Envelope, id: string | undefined): McpMessage | McpRefusal {
  const { result, error, params } = envelope;
  const isResult = result !== undefined && result.kind === "object" && error === undefined && id !== undefined;
  // An error may lack an id: the client could not read the request.
  const isError = error !== undefined && error.kind === "object" && result === undefined;
  if (params || !(isResult || isError)) return refusal("mcp-invalid-message", id);
  const [facts, argumentsSpan] = [{}, undefined];
  return { ok: true, kind: "response", id, facts, isModern: false, bytes, argumentsSpan, plain: undefined };
}

function validateHeaders(message: McpMessage, envelope: Envelope, headers: MessageHeaders): McpMessage | McpRefusal {
  const { bytes } = message;
  const verdict = checkMirrors(headers, {
    isRequest: message.kind === "request",
    method: message.facts.method,
    version: textOf(bytes, envelope.version),
    hasVersion: envelope.version !== undefined,
    name: message.facts.tool ?? textOf(bytes, envelope.name),
    uri: textOf(bytes, envelope.uri),
    taskId: textOf(bytes, envelope.taskId),
  });
  if (verdict === "mismatch" || (headers.params && !matchParams(headers.params, toolArguments(message))))
    return refusal("mcp-header-mismatch", message.id);
  return verdict === "modern" ? { ...message, isModern: true } : message;
}

/** Requests of clients, of all revisions: rules name them and their subjects. */
export const METHODS: ReadonlySet<string> = new Set([
  "completion/complete",
  "initialize",
  "logging/setLevel",
  "ping",
  "prompts/get",
  "prompts/list",
  "resources/directory/read",
  "resources/list",
  "resources/read",
  "resources/subscribe",
  "resources/templates/list",
  "resources/unsubscribe",
  "server/discover",
  "skills/get",
  "skills/list",
  "subscriptions/listen",
  "tasks/cancel",
  "tasks/get",
  "tasks/list",
  "tasks/result",
  "tasks/update",
  "tools/call",
  "tools/list",
]);
const FOLDED_METHODS: ReadonlySet<string> = new Set([...METHODS].map((method) => method.toLowerCase()));

/** Visible ASCII: all methods of MCP are, and other characters could be compared loosely. */
const METHOD = /^[\x21-\x7e]{1,256}$/;
function isVersion2(bytes: Buffer, span: TextSpan | undefined): boolean {
  return isWritten(bytes, span, VERSION_2) || plainText(bytes, span) === "2.0";
}

const CALL = Buffer.from("tools/call");
const VERSION_2 = Buffer.from("2.0");

/** Whether a text has these bytes. Without escapes: compares before a new text is made, which V8 would hash for each look-up. */
function isWritten(bytes: Buffer, span: TextSpan | undefined, text: Buffer): boolean {
  if (span?.kind !== "text" || span.end - span.start !== text.length) return false;
  for (let at = 0; at < text.length; at += 1) if (bytes[span.start + at] !== text[at]) return false;
  return true;
}

/**
 * JSON text of a valid ID. `null`, fractions, exponents and everything else are rejected: MCP allows strings and
 * integers.
 */
function idText(bytes: Buffer, span: TextSpan): string | undefined {
  if (span.kind === "text") return bytes.toString("utf8", span.start - 1, span.end + 1);
  if (span.kind !== "number") return undefined;
  const text = bytes.toString("latin1", span.start, span.end);
  return /^-?[0-9]+$/.test(text) ? text : undefined;
}

function textOf(bytes: Buffer, span: TextSpan | undefined): string | undefined {
  return span?.kind === "text" ? spanText(bytes, span) : undefined;
}

function plainText(bytes: Buffer, span: TextSpan | undefined): string | undefined {
  const text = textOf(bytes, span);
  return isPlain(text) ? text : undefined;
}

/**
 * Text that policy can decide on: no lone surrogates, which parsers replace, no control characters, at which C
 * truncates.
 */
export function isPlain(text: unknown): text is string {
  // oxlint-disable-next-line no-control-regex -- exactly these are meant
  return typeof text === "string" && !/[\0-\x1f\x7f-\x9f]/.test(text) && text.isWellFormed();
}
