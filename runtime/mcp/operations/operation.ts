/**
 * One request or notification of an MCP client, in OpenTelemetry's semantic conventions for MCP.
 *
 * Promise: `labels()` returns values from small sets, except the names of tools and prompts, which the client chose.
 *
 * @see OpenTelemetry, Semantic conventions for Model Context Protocol, status: development
 */
import { type AnswerKind, answerKind } from "./answer-kind.ts";
import { METHODS as REQUESTS, type McpMessage } from "../message.ts";

export interface OperationLabels {
  readonly method: string;
  /** Tool of `tools/call`, as the client wrote it. */
  readonly tool: string | undefined;
  /** Prompt of `prompts/get`, as the client wrote it. */
  readonly prompt: string | undefined;
  /** A revision of MCP; undefined if the request names none. */
  readonly protocolVersion: string | undefined;
  readonly httpVersion: string;
  /** The response was read, and is not a failure. */
  readonly isGood: boolean;
  /** Code of a JSON-RPC error. */
  readonly code: string | undefined;
  /** Present if and only if the operation failed. */
  readonly errorType: string | undefined;
}

const OTHER = "_OTHER";
const METHODS: ReadonlySet<string> = new Set([
  ...REQUESTS,
  "notifications/cancelled",
  "notifications/initialized",
  "notifications/progress",
  "notifications/roots/list_changed",
]);
export const REVISIONS: ReadonlySet<string> = new Set([
  "2024-11-05",
  "2025-03-26",
  "2025-06-18",
  "2025-11-25",
  "2026-07-28",
]);
/** Codes reserved by JSON-RPC for itself and for servers, including MCP's, and our own; servers may send any number. */
const CODE = /^-(?:32700|3260[0-3]|320[0-9]{2}|31403|31429)$/;

export class Operation {
  readonly #message: McpMessage;
  readonly #method: string;
  readonly #protocolVersion: string | undefined;
  readonly #httpVersion: string;
  #answer: AnswerKind | undefined;

  /** @param protocolVersion from the request's header */
  constructor(message: McpMessage, method: string, protocolVersion: string | undefined, httpVersion: string) {
    this.#message = message;
    this.#method = method;
    this.#protocolVersion = protocolVersion;
    this.#httpVersion = httpVersion;
  }

  /** A piece of the response, on its way to the client. */
  see(piece: Buffer): void {
    if (this.#answer !== undefined || this.#message.kind !== "request") return;
    this.#answer = answerKind(piece, this.#method === "tools/call");
  }

  /** The response is a JSON-RPC error of the gateway. */
  failed(code: number): void {
    this.#answer = String(code);
  }

  /** @param status of the response; 0 when it was aborted */
  labels(status: number): OperationLabels {
    const { facts } = this.#message;
    const method = this.#method;
    const version = this.#protocolVersion;
    const kind = this.#answer;
    const isResult = kind === undefined || kind === "result" || kind === "tool_error";
    const code = isResult ? undefined : CODE.test(kind) ? kind : OTHER;
    const failure = code ?? (status >= 400 ? String(status) : kind === "tool_error" ? kind : undefined);
    const errorType = status === 0 ? "cut" : failure;
    return {
      method: known(METHODS, method),
      tool: method === "tools/call" ? facts.tool : undefined,
      prompt: method === "prompts/get" ? facts.prompt : undefined,
      protocolVersion: version === undefined ? undefined : known(REVISIONS, version),
      httpVersion: this.#httpVersion,
      isGood: kind === "result" && errorType === undefined,
      code,
      errorType,
    };
  }
}

function known(names: ReadonlySet<string>, name: string): string {
  return names.has(name) ? name : OTHER;
}
