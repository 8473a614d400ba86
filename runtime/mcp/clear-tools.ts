/** Tool names that a route's rules can decide about: its policy, scopes, history rules, rate limits, and blocks. */
import type { CompiledRoute } from "../config/compiled.ts";
import type { CheckedRoute } from "../config/load.ts";
import { compileHistoryRules, criteriaOfHistory, type HistoryRule } from "../features/mcp/compile-history.ts";
import { compileToolScopes, type ToolScopes } from "../features/mcp/tool-scopes.ts";
import type { Blocks } from "../identity/blocks.ts";
import type { CompiledPolicy } from "../policy/evaluate.ts";
import type { StringMatch } from "../policy/match.ts";
import { toolNameCheck, type ToolNameCheck } from "../policy/mcp/tool-names.ts";

/** `isClearTool` is undefined if no rule names a tool: then no name needs a check. */
export interface ClearTools {
  readonly isClearTool: ToolNameCheck | undefined;
}

/** Parts of a route that name tools. */
interface ToolRules {
  readonly policy: Pick<CompiledPolicy, "toolMatches">;
  readonly toolScopes: ToolScopes | undefined;
  readonly history: readonly HistoryRule[] | undefined;
  readonly limits: readonly { readonly tools?: Iterable<string> | undefined }[] | undefined;
}

export type BlockedTools = Pick<Blocks, "hasTools" | "blockedTools">;

export function clearTools(route: CompiledRoute, blocks: BlockedTools | undefined): ClearTools {
  const known = checkOf(route);
  if (blocks?.hasTools(route.key) !== true) return known;
  const { isClearTool } = known;
  // Created per message: needed rarely, and only for a while.
  const isClearOfBlocks = lazily(() => toolNameCheck([{ in: blocks.blockedTools(route.key) }]));
  return { isClearTool: (name) => isClearOfBlocks(name) && (isClearTool === undefined || isClearTool(name)) };
}

const checks = new WeakMap<CompiledRoute, ClearTools>();

function checkOf(route: CompiledRoute): ClearTools {
  const earlier = checks.get(route);
  if (earlier) return earlier;
  const { policy, mcp, rateLimits } = route;
  const server = mcp?.kind === "server" ? mcp : undefined;
  const made = clearToolsOf({
    policy,
    toolScopes: server?.toolScopes,
    history: server?.historyRules,
    limits: rateLimits,
  });
  checks.set(route, made);
  return made;
}

/** The same for a route that is not active. @param policy of its document */
export function clearToolsOfDocument(
  policy: CompiledPolicy,
  { mcp, rate_limits: limits }: CheckedRoute["doc"],
): ClearTools {
  const toolScopes = compileToolScopes(mcp?.server?.tool_scopes);
  return clearToolsOf({ policy, toolScopes, history: compileHistoryRules(mcp?.server?.history_rules), limits });
}

function clearToolsOf(rules: ToolRules): ClearTools {
  const matches = toolMatches(rules);
  return { isClearTool: matches.length === 0 ? undefined : lazily(() => toolNameCheck(matches)) };
}

function toolMatches({ policy, toolScopes, history, limits = [] }: ToolRules): readonly StringMatch[] {
  return [
    ...[policy, ...criteriaOfHistory(history)].flatMap((each) => each.toolMatches),
    ...(toolScopes === undefined || toolScopes.exact.size === 0 ? [] : [{ in: [...toolScopes.exact.keys()] }]),
    ...(toolScopes?.prefixes ?? []).map(([prefix]) => ({ starts_with: prefix })),
    ...limits.flatMap(({ tools }) => (tools === undefined ? [] : [{ in: [...tools] }])),
  ];
}

/** Most routes never see a name that is not plain, so the check is created on demand. */
function lazily(make: () => ToolNameCheck): ToolNameCheck {
  let made: ToolNameCheck | undefined;
  return (name) => (made ??= make())(name);
}
