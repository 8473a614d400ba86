/**
 * `tool_scopes`: scopes that an OAuth client lacks for a tool and must request. SDKs do so automatically (step-up).
 *
 * Checked only for calls that the policy allows: no client is asked to request scopes for a call that would be denied anyway.
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

/**
 * Rate limit for clients that sign in again with the same scopes and would loop forever: three times at first, then once in
 * 20 s.
 */
export function createScopeChallenges(deps: { readonly clock: Clock }): RateLimiter {
  return createRateLimit(deps, 3, 1 / 20);
}

/** @returns the scopes that the call needs; undefined when none is missing */
export function missingScopes({ prepared, principal, message, tasks }: RequestContext): readonly string[] | undefined {
  const { mcp } = prepared.route;
  if (mcp?.kind !== "server" || mcp.toolScopes === undefined || principal === undefined) return undefined;
  const tool = message?.facts.tool ?? tasks?.task?.tool;
  if (tool === undefined || !isOAuthClient(principal)) return undefined;
  const needed = scopesOfTool(mcp.toolScopes, tool);
  const { scopes = [] } = principal;
  return needed.every((scope) => scopes.includes(scope)) ? undefined : needed;
}

/** Tokens from a user's session or an administrator are issued without scopes and need none. */
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
