/**
 * `tool_scopes`: what an OAuth client was not given for a tool it has to ask for, which SDKs do by themselves (step-up).
 *
 * Of what policy lets pass alone: nobody is led to ask for what would be denied all the same.
 */
import { scopesOfTool } from "../../features/mcp/tool-scopes.ts";
import { missingScopeAnswer } from "../../mcp/refuse.ts";
import type { Principal } from "../../identity/principal.ts";
import { createRateLimit, type RateLimiter } from "../../shared/rate-limit.ts";
import type { Clock } from "../../shared/clock.ts";
import type { ChallengeDeps } from "../mcp-route.ts";
import type { RequestContext } from "../request-context.ts";
import { answerWire } from "./answer-wire.ts";

export interface ScopeDeps extends Pick<ChallengeDeps, "challenge"> {
  readonly scopeChallenges: RateLimiter;
}

/** Clients that only sign in again with what they had would do so for ever: three times at once, then once in 20 s. */
export function createScopeChallenges(deps: { readonly clock: Clock }): RateLimiter {
  return createRateLimit(deps, 3, 1 / 20);
}

/** @returns what the call needs; undefined when nothing is missing */
export function missingScopes({ prepared, principal, message, tasks }: RequestContext): readonly string[] | undefined {
  const { mcp } = prepared.route;
  if (mcp?.kind !== "server" || mcp.toolScopes === undefined || principal === undefined) return undefined;
  const tool = message?.facts.tool ?? tasks?.task?.tool;
  if (tool === undefined || !isOAuthClient(principal)) return undefined;
  const needed = scopesOfTool(mcp.toolScopes, tool);
  const { scopes = [] } = principal;
  return needed.every((scope) => scopes.includes(scope)) ? undefined : needed;
}

/** Tokens that a person's session or an administrator made were never asked for with a scope, and have them all. */
function isOAuthClient({ kind, clientId }: Principal): boolean {
  return kind === "grant" || kind === "workload" || (kind === "service-account" && clientId !== undefined);
}

export function answerMissingScopes(
  { challenge, scopeChallenges }: ScopeDeps,
  context: RequestContext,
  needed: readonly string[],
): void {
  const { exchange, prepared, principal } = context;
  const { route } = prepared;
  const waitSeconds = scopeChallenges.take(`${principal?.grantId ?? principal?.sid ?? ""} ${needed.join(" ")}`);
  const value = challenge(route, route.origin, "insufficient-scope", exchange.path, needed);
  const wire = missingScopeAnswer(needed, exchange.id);
  answerWire(context, waitSeconds > 0 ? wire : { ...wire, headers: [...wire.headers, "www-authenticate", value] });
}
