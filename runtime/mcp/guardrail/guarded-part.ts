/**
 * The part of a server's message that a guardrail checks: the result or error of a response, or of a finished task in a
 * notification.
 *
 * Untrusted input: the message. Promise: a message that a client could read as a response has its part found, or is
 * unreadable. Pure.
 */
import { membersOf } from "./members-of.ts";
import { sameId } from "../message-id.ts";
import { foldWords } from "../../policy/mcp/fold-case.ts";
import { spanText, type TextSpan } from "../scan.ts";
import type { GuardedPart } from "./verdict.ts";

export interface FoundPart {
  readonly part: Exclude<GuardedPart, "arguments">;
  readonly span: TextSpan;
  /** JSON text of the response's ID; undefined: a notification, or an error that responds to no request. */
  readonly id: string | undefined;
}

const MEMBERS: ReadonlySet<string> = new Set(["jsonrpc", "id", "method", "params", "result", "error"]);
const PARTS = ["result", "error"] as const;

/**
 * @param exemptId JSON text of the ID of a request whose own response is not checked
 * @param isHttpError it can be an error of HTTP, which clients read as a response only if it is one of JSON-RPC
 * @returns "none": nothing to check
 */
export function findGuardedPart(
  bytes: Buffer,
  exemptId: string | undefined,
  isHttpError = false,
): FoundPart | "none" | "unreadable" {
  const members = membersOf(bytes);
  if (members === undefined) return mayBeMessage(bytes) ? "unreadable" : "none";
  if (isHttpError && ![...members.keys()].some((name) => foldWords(name) === "jsonrpc")) return "none";
  const idSpan = members.get("id");
  const id = idSpan && idText(bytes, idSpan);
  const isResponse = !members.has("method");
  // Servers that cannot read a request give an HTTP error without its ID.
  const isExempt = sameId(id, exemptId) || (isHttpError && id === undefined);
  if (isResponse && exemptId !== undefined && isExempt) return "none";
  if ([...members.keys()].some((name) => !MEMBERS.has(name) && MEMBERS.has(foldWords(name)))) return "unreadable";
  const [part, ...others] = PARTS.filter((name) => members.has(name));
  if (part === undefined) return isResponse ? "none" : ofParams(bytes, members.get("params"));
  const span = members.get(part);
  if (!isResponse || span?.kind !== "object" || others.length > 0) return "unreadable";
  if (idSpan !== undefined && idSpan.kind !== "null" && id === undefined) return "unreadable";
  return { part, span, id };
}

/** Characters that no text has: of UTF-16 and UTF-32, and those where some clients end lines of events. */
// oxlint-disable-next-line no-control-regex -- exactly these are meant
const FOREIGN = /[\0\v\f\x1c-\x1e]/;

/** Some clients look for events whatever the type of a response. */
const EVENT = /(?:^|[\r\n])data:[ \t]*[[{]/;

/** Whether a client could read an object or a list from the text. */
function mayBeMessage(bytes: Buffer): boolean {
  const text = bytes.toString("latin1");
  if (FOREIGN.test(text) || EVENT.test(text)) return true;
  const start = bytes.toString("utf8", 0, MAX_SPACE).trimStart();
  return start === "" ? bytes.length > MAX_SPACE : /^[{[]/.test(start);
}

const MAX_SPACE = 1_024;

/** A notification about a task has its result in `params`. */
function ofParams(bytes: Buffer, params: TextSpan | undefined): FoundPart | "none" | "unreadable" {
  if (params?.kind !== "object") return "none";
  const members = membersOf(bytes.subarray(params.start, params.end));
  if (members === undefined) return "unreadable";
  const [part, ...others] = PARTS.filter((name) => members.get(name)?.kind === "object");
  const span = part && members.get(part);
  if (part === undefined || span === undefined) return "none";
  if (others.length > 0) return "unreadable";
  return { part, span: { ...span, start: params.start + span.start, end: params.start + span.end }, id: undefined };
}

function idText(bytes: Buffer, span: TextSpan): string | undefined {
  if (span.kind === "text") return JSON.stringify(spanText(bytes, span));
  return span.kind === "number" ? bytes.toString("latin1", span.start, span.end) : undefined;
}
