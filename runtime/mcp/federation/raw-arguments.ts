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

const CLOSE = Buffer.from("}}");

/** @param message a call that names a tool @returns what `parseMessage()` would make of its bytes */
export function writeCall(message: MessageJson, args: RawArguments, isModern: boolean): McpMessage {
  const { params, ...others } = message;
  const beginning = `${writeJson(others).slice(0, -1)},"params":${writeJson(params).slice(0, -1)},"arguments":`;
  const before = Buffer.from(beginning);
  const start = before.length;
  const bytes = Buffer.concat([before, args.bytes, CLOSE]);
  const argumentsSpan = { kind: args.kind, start, end: start + args.bytes.length, isEscaped: false };
  const text = (): string | undefined => toolArguments({ bytes, argumentsSpan });
  const facts = { method: "tools/call", tool: String(recordOf(params)["name"]), arguments: readArguments(text) };
  return { ok: true, kind: "request", id: idText(message["id"]), facts, isModern, bytes, argumentsSpan };
}
