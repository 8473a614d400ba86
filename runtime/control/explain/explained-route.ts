/** What explaining reads of a route, of the one in force and of one in a file. */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { CheckedRoute } from "../../config/load.ts";
import { routePolicy } from "../../policy/access-keys.ts";
import { type CompiledPolicy, compilePolicy } from "../../policy/evaluate.ts";
import { compileShadow, type Shadow } from "../../policy/shadow.ts";

export interface ExplainedRoute {
  readonly key: string;
  /** "" where `from` has none that can be asked for. */
  readonly host: string;
  readonly isMcp: boolean;
  readonly isMcpServer: boolean;
  /** Messages with tool names that an upstream might read as others are refused. */
  readonly needsPlainTools: boolean;
  readonly policy: CompiledPolicy;
  readonly shadow: Shadow | undefined;
}

/** @throws GatewayError `policy.invalid`; not of a checked route */
export function explainedRoute({ key, doc }: Pick<CheckedRoute, "key" | "doc">): ExplainedRoute {
  const policy = compilePolicy(routePolicy(doc));
  const server = doc.mcp?.server;
  const limitsTools = doc.rate_limits?.some(({ tools }) => tools !== undefined) === true;
  return {
    key,
    host: URL.parse(doc.from)?.host ?? "",
    isMcp: doc.mcp !== undefined,
    isMcpServer: server !== undefined,
    needsPlainTools: policy.needsTool || limitsTools || server?.tool_scopes !== undefined,
    policy,
    shadow: compileShadow(doc),
  };
}

/** The very policy that requests are decided by. @param hasBlockedTools a tool is blocked there */
export function explainedInForce(route: CompiledRoute, hasBlockedTools: boolean): ExplainedRoute {
  const { key, origin, mcp, policy, shadow, rateLimits } = route;
  const server = mcp?.kind === "server" ? mcp : undefined;
  const limitsTools = rateLimits?.some(({ tools }) => tools !== undefined) === true;
  return {
    key,
    host: URL.parse(origin)?.host ?? "",
    isMcp: mcp !== undefined,
    isMcpServer: server !== undefined,
    needsPlainTools: policy.needsTool || limitsTools || server?.toolScopes !== undefined || hasBlockedTools,
    policy,
    shadow,
  };
}
