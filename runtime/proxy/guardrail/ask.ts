/**
 * Asks a route's guardrail about one call or result (`mcp.server.guardrail`).
 *
 * Untrusted input: the guardrail's answer. Promises: it gets no header, cookie, token or credential of the request; only a
 * verdict in a complete 200 counts; time, size and connections are bounded; it never throws.
 */
import { createHmac, randomUUID } from "node:crypto";

import type { GuardrailVerdict } from "../../audit/guardrail-note.ts";
import type { Guardrail } from "../../features/mcp/guardrail.ts";
import type { Exchange } from "../../http/exchange.ts";
import type { SafeAnswer, SafeFetch } from "../../http/fetch/safe-fetch.ts";
import { signedHeaders } from "../../http/signed-message.ts";
import {
  type GuardedPart,
  type GuardrailReply,
  phaseOf,
  questionBody,
  readVerdict,
} from "../../mcp/guardrail/verdict.ts";
import { type Clock, epochSeconds } from "../../shared/clock.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { createRateLimit, type RateLimiter } from "../../shared/rate-limit.ts";
import type { RequestContext } from "../request-context.ts";

export interface GuardrailDeps {
  /** Absent: no guardrail can be asked, so that it gives no verdict. */
  readonly guardrailFetch?: SafeFetch;
  readonly clock: Clock;
  readonly log: Log;
  /** For metrics. @param verdict kind */
  readonly countVerdict?: (
    route: string,
    phase: ReturnType<typeof phaseOf>,
    verdict: GuardrailReply["kind"],
    durationMs: number,
  ) => void;
  /** Warnings in the log, by route. */
  readonly guardrailWarnings?: RateLimiter;
}

/** One warning a minute for each route. */
export function createGuardrailWarnings(deps: { readonly clock: Clock }): RateLimiter {
  return createRateLimit(deps, 1, 1 / 60);
}

/** Beyond the part itself, which a verdict repeats when it changes it. */
const MAX_OTHER_BYTES = 4_096;

export interface GuardrailCheck {
  readonly part: GuardedPart;
  /** JSON text. */
  readonly text: string;
  /** Limit for a part that replaces it. */
  readonly maxBytes: number;
  /** The exchange has ended. */
  readonly signal: AbortSignal;
}

export async function askGuardrail(
  deps: GuardrailDeps,
  context: RequestContext,
  guardrail: Guardrail,
  { part, text, maxBytes, signal }: GuardrailCheck,
): Promise<GuardrailReply> {
  const startMs = performance.now();
  const { exchange, prepared, principal, message, tasks } = context;
  const body = questionBody({
    requestId: exchange.id,
    route: prepared.route.key,
    user: principal?.user,
    clientId: principal?.clientId,
    method: message?.facts.method,
    tool: message?.facts.tool ?? (tasks?.task?.tool || undefined),
    part,
    text,
  });
  const limits = { maxBytes: maxBytes + MAX_OTHER_BYTES, signal };
  const answer = holds(exchange, COPIES * text.length)
    ? await fetchAnswer(deps, guardrail, prepared.route.owner, { body, ...limits })
    : "not enough memory";
  const verdict = verdictOf(answer, part);
  // A client that disconnects does not count as a failure of the guardrail.
  if (!signal.aborted) reportVerdict(deps, context, part, verdict, performance.now() - startMs);
  return verdict;
}

/** Also holds of earlier checks count, so that a stream with many results holds as much as the largest needs. */
function holds(exchange: Exchange, bytes: number): boolean {
  const more = bytes - (HELD.get(exchange) ?? 0);
  if (more <= 0) return true;
  if (!exchange.hold(more)) return false;
  HELD.set(exchange, bytes);
  return true;
}

const HELD = new WeakMap<Exchange, number>();
/** A waiting part is held as it came, as text, and twice in the request. */
const COPIES = 4;

async function fetchAnswer(
  { guardrailFetch, clock }: GuardrailDeps,
  { url, keys, timeoutMs, reach }: Guardrail,
  owner: string,
  request: { readonly body: string; readonly maxBytes: number; readonly signal: AbortSignal },
): Promise<SafeAnswer | string> {
  try {
    const signature = signedHeaders(keys, { id: randomUUID(), timestamp: epochSeconds(clock), body: request.body });
    const answer = await guardrailFetch?.({
      url,
      target: { kind: "configured", reach },
      method: "POST",
      headers: { "content-type": "application/json", ...signature },
      timeoutMs,
      // An owner must not get more by naming more hosts.
      party: reach === undefined ? new URL(url).host : `owner ${owner}`,
      ...request,
    });
    return answer ?? "no guardrail can be asked";
  } catch (error) {
    return errorText(error);
  }
}

function verdictOf(answer: SafeAnswer | string, part: GuardedPart): GuardrailReply {
  if (typeof answer === "string") return { kind: "error", reason: answer };
  if (!answer.ok) return { kind: "error", reason: answer.detail };
  if (answer.status !== 200) return { kind: "error", reason: `it answered ${answer.status}` };
  return readVerdict(answer.body, part) ?? { kind: "error", reason: "its answer is not a verdict" };
}

/** Also for a call or result that the guardrail could not be asked about. */
export function reportVerdict(
  deps: GuardrailDeps,
  { prepared: { route }, exchange }: RequestContext,
  part: GuardedPart,
  verdict: GuardrailReply,
  durationMs: number,
): void {
  const phase = phaseOf(part);
  deps.countVerdict?.(route.key, phase, verdict.kind, durationMs);
  if (verdict.kind !== "error" || (deps.guardrailWarnings?.take(route.key) ?? 0) > 0) return;
  const { reason } = verdict;
  deps.log.warn({ request: exchange.id, route: route.key, phase, reason }, "guardrail gave no usable verdict");
}

/** The verdict in records. */
export function verdictNote({ isShadow }: Guardrail, verdict: GuardrailReply): GuardrailVerdict {
  return { verdict: verdict.kind, reason: verdict.kind === "pass" ? "" : verdict.reason, isShadow };
}

/** Keyed: records must not let readers guess what was removed. */
export function guardedDigest({ keys }: Guardrail, text: string): string {
  return createHmac("sha256", keys[0] ?? "")
    .update(`arguments\n${text}`)
    .digest("hex");
}
