/**
 * Calls of tools, with the arguments as bytes.
 *
 * Promise: the member gets the client's arguments unchanged. Pure.
 */
import { readArguments } from "../../policy/mcp/argument-values.ts";
import { toolArguments, type McpMessage } from "../message.ts";
import type { TextSpan } from "../scan.ts";
import { idText, readMessage, readMessageText, recordOf, writeJson, type MessageJson } from "./json.ts";

export interface RawArguments {
  readonly kind: TextSpan["kind"];
  readonly bytes: Buffer;
}

export interface ClientMessage {
  /** Without the arguments of a tool. */
  readonly body: MessageJson;
  readonly args: RawArguments | undefined;
}

/** @returns undefined for a message that cannot be read */
export function readClientMessage({ bytes, argumentsSpan }: McpMessage): ClientMessage | undefined {
  if (argumentsSpan === undefined) {
    const body = readMessage(bytes);
    return body && { body, args: undefined };
  }
  const { kind, start, end } = argumentsSpan;
  const others = readMessageText(`${bytes.toString("utf8", 0, start)}0${bytes.toString("utf8", end)}`);
  if (others === undefined) return undefined;
  const { arguments: _, ...params } = recordOf(others["params"]);
  return { body: { ...others, params }, args: { kind, bytes: bytes.subarray(start, end) } };
}

/** @param message a call that names a tool @returns what `parseMessage()` would make of its bytes */
export function writeCall(message: MessageJson, args: RawArguments, isModern: boolean): McpMessage {
  const tool = String(recordOf(message["params"])["name"]);
  return callOf(`${openCall(message)},"arguments":`, args, { id: idText(message["id"]), tool, isModern });
}

/** @param beginning JSON of the call up to its arguments @returns what `parseMessage()` would make of its bytes */
export function callOf(
  beginning: string,
  args: RawArguments,
  { id, tool, isModern }: { readonly id: string | undefined; readonly tool: string; readonly isModern: boolean },
): McpMessage {
  const start = Buffer.byteLength(beginning);
  const end = start + args.bytes.length;
  const bytes = Buffer.allocUnsafe(end + 2);
  bytes.write(beginning);
  args.bytes.copy(bytes, start);
  bytes.write("}}", end);
  const argumentsSpan = { kind: args.kind, start, end, isEscaped: false };
  const text = (): string | undefined => toolArguments({ bytes, argumentsSpan });
  const facts = { method: "tools/call", tool, arguments: readArguments(text) };
  return { ok: true, kind: "request", id, facts, isModern, bytes, argumentsSpan, plain: undefined };
}

/** @returns its text with `params` at the end, both without their closing braces */
function openCall(message: MessageJson): string {
  if (Object.keys(message).at(-1) === "params") return writeJson(message).slice(0, -2);
  const { params, ...others } = message;
  return `${writeJson(others).slice(0, -1)},"params":${writeJson(params).slice(0, -1)}`;
}
