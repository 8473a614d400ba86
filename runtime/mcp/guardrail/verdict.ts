/**
 * The exchange with a guardrail: what it is asked, and its answer.
 *
 * Untrusted input: the answer. Promise: an answer counts only if it is a verdict in the documented form; a reason is one short
 * line without control characters. Pure.
 */
import type { UserFacts } from "../../policy/facts.ts";
import { membersOf } from "./members-of.ts";
import { spanText } from "../scan.ts";

/** The part that is checked, and that a verdict can replace. */
export type GuardedPart = "arguments" | "result" | "error";

export type GuardrailReply =
  | { readonly kind: "pass" }
  | { readonly kind: "deny"; readonly reason: string }
  /** @param value JSON text of an object that replaces the part */
  | { readonly kind: "mutate"; readonly value: Buffer; readonly reason: string }
  /** No verdict. @param reason for records, without parts of the answer */
  | { readonly kind: "error"; readonly reason: string };

/** Phase of a check, in the question, metrics and the log. */
export function phaseOf(part: GuardedPart): "request" | "response" {
  return part === "arguments" ? "request" : "response";
}

export interface GuardrailQuestion {
  readonly requestId: string;
  /** Key of the route. */
  readonly route: string;
  readonly user: Pick<UserFacts, "id" | "email"> | undefined;
  readonly clientId: string | undefined;
  readonly method: string | undefined;
  readonly tool: string | undefined;
  readonly part: GuardedPart;
  /** JSON text, as sent. */
  readonly text: string;
}

/** Body of the request to the guardrail. */
export function questionBody({
  requestId,
  route,
  user,
  clientId,
  method,
  tool,
  part,
  text,
}: GuardrailQuestion): string {
  const head = JSON.stringify({
    version: 1,
    phase: phaseOf(part),
    request_id: requestId,
    route,
    ...(user && { user: { id: user.id, email: user.email } }),
    client_id: clientId,
    method,
    tool,
  });
  return `${head.slice(0, -1)},"${part}":${text}}`;
}

const MAX_REASON = 200;

/** @returns undefined for anything but a verdict */
export function readVerdict(bytes: Buffer, part: GuardedPart): GuardrailReply | undefined {
  const members = membersOf(bytes);
  const named = members?.get("verdict");
  if (members === undefined || named?.kind !== "text") return undefined;
  const kind = spanText(bytes, named);
  const written = members.get("reason");
  if (written !== undefined && written.kind !== "text") return undefined;
  const reason = written === undefined ? "" : oneLine(spanText(bytes, written));
  const value = members.get(part);
  const known = 1 + (written === undefined ? 0 : 1) + (value === undefined ? 0 : 1);
  if (members.size !== known || (kind === "mutate") !== (value !== undefined)) return undefined;
  if (kind === "pass") return { kind };
  if (kind === "deny") return { kind, reason };
  if (kind !== "mutate" || value?.kind !== "object") return undefined;
  return { kind, reason, value: bytes.subarray(value.start, value.end) };
}

function oneLine(text: string): string {
  const line = text
    .slice(0, 8 * MAX_REASON)
    .replaceAll(/[\p{C}\p{Z}]+/gu, " ")
    .trim();
  return line.length > MAX_REASON ? `${line.slice(0, MAX_REASON).toWellFormed()}…` : line;
}
