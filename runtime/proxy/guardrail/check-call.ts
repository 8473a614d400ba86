/**
 * Step: the guardrail's verdict about a tool call that policy allows, if only after an approval.
 *
 * Promises: the verdict is enforced by the decision that follows (decide.ts), so that changed arguments are decided like those
 * of a client: by policy, scopes, tool lock, approvals, history rules and limits. A verdict can change nothing but the
 * arguments.
 */
import type { Guardrail } from "../../features/mcp/guardrail.ts";
import { clearTools } from "../../mcp/clear-tools.ts";
import { denialOf, guardrailDecision } from "../../mcp/guardrail/denial.ts";
import type { GuardrailReply } from "../../mcp/guardrail/verdict.ts";
import { withValue } from "../../mcp/guardrail/members-of.ts";
import { readMessageHeaders } from "../../mcp/message-headers.ts";
import { parseMessage, toolArguments, type McpMessage } from "../../mcp/message.ts";
import { missingScopes } from "../answers/require-scopes.ts";
import { mayContinue, type DecideDeps } from "../decide.ts";
import type { MessageDeps } from "../mcp-route.ts";
import type { RequestContext } from "../request-context.ts";
import type { Step, StepOutcome } from "../steps.ts";
import { askGuardrail, guardedDigest, reportVerdict, verdictNote, type GuardrailDeps } from "./ask.ts";

type CheckDeps = DecideDeps & GuardrailDeps & MessageDeps;

export function checkByGuardrail(deps: CheckDeps): Step {
  return (context) => {
    const { message, prepared } = context;
    const { guardrail } = prepared;
    if (guardrail === undefined || message?.facts.method !== "tools/call") return "next";
    // Other denials come first: the guardrail does not see what would not be forwarded.
    if (!mayContinue(deps, context) || missingScopes(context) !== undefined) return "next";
    return check(deps, context, guardrail, message);
  };
}

async function check(
  deps: CheckDeps,
  context: RequestContext,
  guardrail: Guardrail,
  message: McpMessage,
): Promise<StepOutcome> {
  const { exchange, prepared } = context;
  const leaving = new AbortController();
  exchange.onClose(() => leaving.abort());
  const { mcp } = prepared.route;
  const maxBytes = mcp?.kind === "server" ? mcp.maxRequestBytes : 0;
  const before = argumentsOf(message);
  const asked = { part: "arguments", text: before, maxBytes, signal: leaving.signal } as const;
  const verdict = await askGuardrail(deps, context, guardrail, asked);
  if (leaving.signal.aborted) return "done";
  const changed = verdict.kind === "mutate" ? changedMessage(deps, context, message, verdict, maxBytes) : undefined;
  const final: GuardrailReply = typeof changed === "string" ? { kind: "error", reason: changed } : verdict;
  if (final !== verdict) reportVerdict(deps, context, "arguments", final, 0);
  const { isShadow } = guardrail;
  const isChanged = typeof changed === "object";
  const note = {
    ...verdictNote(guardrail, final),
    digests: isChanged
      ? ([guardedDigest(guardrail, before), guardedDigest(guardrail, argumentsOf(changed))] as const)
      : undefined,
  };
  const isDenied = !isShadow && (final.kind === "deny" || final.kind === "error");
  context.guardrail = { note, ...(isDenied && { denial: guardrailDecision(denialOf(final)) }) };
  if (isChanged && !isShadow) context.message = changed;
  return "next";
}

function argumentsOf(message: McpMessage): string {
  return toolArguments(message) ?? "{}";
}

/** @returns the message with other arguments, read again; or why there is none */
function changedMessage(
  { blocks }: CheckDeps,
  { exchange, prepared }: RequestContext,
  message: McpMessage,
  { value }: Extract<GuardrailReply, { readonly kind: "mutate" }>,
  maxBytes: number,
): McpMessage | string {
  if (message.argumentsSpan === undefined) return "it changes arguments of a call that has none";
  const bytes = withValue(message.bytes, message.argumentsSpan, value);
  if (bytes.length > maxBytes) return 'it makes the message longer than "max_request_bytes"';
  const read = parseMessage(bytes, readMessageHeaders(exchange.rawHeaders), clearTools(prepared.route, blocks));
  if (!read.ok) return `it makes a message that is not accepted (${read.reason})`;
  const isSame = read.id === message.id && read.facts.tool === message.facts.tool && read.kind === message.kind;
  return isSame ? read : "it makes another call";
}
