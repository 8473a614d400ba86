/** Parts of a route needed for an explanation, for an active route or one in a file. */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { CheckedRoute } from "../../config/load.ts";
import { compileHistoryRules } from "../../features/mcp/compile-history.ts";
import { compileMembers } from "../../features/mcp/members.ts";
import { ownerOfRoute } from "../../shared/route-key.ts";
import { clearTools, clearToolsOfDocument, type BlockedTools, type ClearTools } from "../../mcp/clear-tools.ts";
import { routeHistory, type RouteHistory } from "../../limits/history/plan.ts";
import { writtenClasses } from "../../features/mcp/tool-lock.ts";
import { bindToolClasses } from "../../policy/bind-tool-classes.ts";
import { routePolicy } from "../../policy/access-keys.ts";
import { type CompiledPolicy, compilePolicy } from "../../policy/evaluate.ts";
import { compileShadow, type Shadow } from "../../policy/shadow.ts";

/** Settings of a federated route. */
export interface FederatedSettings {
  /** Keys of the members' routes by prefix. */
  readonly members: ReadonlyMap<string, string>;
  readonly resourcePrefixes: readonly (readonly [string, string])[];
}

/** Messages with tool names that an upstream might read as others are rejected. */
export interface ExplainedRoute extends ClearTools {
  readonly key: string;
  /** "" if `from` is not a URL. */
  readonly host: string;
  readonly isMcp: boolean;
  readonly isMcpServer: boolean;
  readonly policy: CompiledPolicy;
  readonly shadow: Shadow | undefined;
  /** Its rules over earlier calls. */
  readonly history: RouteHistory | undefined;
  /** Its guardrail also decides. */
  readonly hasGuardrail: boolean;
  /** Set on federated routes, whose members decide as well. */
  readonly federated: FederatedSettings | undefined;
}

/** @throws GatewayError `policy.invalid`; never for a checked route */
export function explainedRoute({ key, doc }: Pick<CheckedRoute, "key" | "doc">): ExplainedRoute {
  const server = doc.mcp?.server;
  const classes = writtenClasses(server?.tool_lock);
  const policy = bindToolClasses(compilePolicy(routePolicy(doc)), classes);
  return {
    key,
    host: URL.parse(doc.from)?.host ?? "",
    isMcp: doc.mcp !== undefined,
    isMcpServer: server !== undefined,
    ...clearToolsOfDocument(policy, doc),
    policy,
    shadow: compileShadow(doc, classes),
    history: routeHistory(key, compileHistoryRules(server?.history_rules, classes)),
    hasGuardrail: server?.guardrail !== undefined && server.guardrail.shadow !== true,
    federated:
      server && federatedOf(compileMembers(server, ownerOfRoute(key)), Object.entries(server.resource_prefixes ?? {})),
  };
}

/** Uses the same policy object that decides requests. */
export function explainedActive(route: CompiledRoute, blocks: BlockedTools): ExplainedRoute {
  const { key, origin, mcp, policy, shadow } = route;
  const server = mcp?.kind === "server" ? mcp : undefined;
  return {
    key,
    host: URL.parse(origin)?.host ?? "",
    isMcp: mcp !== undefined,
    isMcpServer: server !== undefined,
    ...clearTools(route, blocks),
    policy,
    shadow,
    history: routeHistory(key, server?.historyRules),
    hasGuardrail: server?.guardrail?.isShadow === false,
    federated: server && federatedOf(server.members, server.resourcePrefixes),
  };
}

function federatedOf(
  members: FederatedSettings["members"] | undefined,
  resourcePrefixes: FederatedSettings["resourcePrefixes"],
): FederatedSettings | undefined {
  return members && { members, resourcePrefixes };
}
