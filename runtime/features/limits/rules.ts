/** Rules between the members of a route's `rate_limits`, and with its other settings. */
import { errorAt, type UnplacedProblem, type Report } from "../../settings/problem.ts";
import { parseDuration } from "../../settings/values.ts";
import type { LimitsDoc } from "./settings.ts";

/** Every request checks each limit. */
const MAX_LIMITS = 10;
const MAX_TOOLS = 100;
const SHORTEST_WINDOW_MS = 1_000;
const LONGEST_WINDOW_MS = 30 * 86_400_000;

type LimitDoc = NonNullable<LimitsDoc["rate_limits"]>[number];

/** @param isMcpServer whether the route is an MCP server */
export function rateLimitRules({ rate_limits: limits = [] }: LimitsDoc, isMcpServer: boolean, report: Report): void {
  if (limits.length > MAX_LIMITS)
    report(errorAt(["rate_limits"], `has ${limits.length} limits, must have at most ${MAX_LIMITS}`));
  const names = new Set<string>();
  for (const [index, limit] of limits.entries()) {
    const path = ["rate_limits", index];
    // An invalid name is absent here.
    const { name }: Partial<LimitDoc> = limit;
    if (name !== undefined && names.has(name))
      report(errorAt([...path, "name"], `is "${name}", the name of another limit`));
    if (name !== undefined) names.add(name);
    countRules(limit, path, report);
    toolRules(limit, path, isMcpServer, report);
  }
}

function countRules({ requests, concurrency, window }: LimitDoc, path: UnplacedProblem["path"], report: Report): void {
  if (requests === undefined && concurrency === undefined)
    report(errorAt(path, 'must have "requests" or "concurrency"'));
  if (requests !== undefined && concurrency !== undefined)
    report(errorAt([...path, "concurrency"], 'cannot be combined with "requests", must be a separate limit'));
  if (window === undefined) return;
  if (concurrency !== undefined)
    report(errorAt([...path, "window"], 'applies to "requests", cannot be combined with "concurrency"'));
  const parsed = parseDuration(window);
  if (parsed.ok && (parsed.value < SHORTEST_WINDOW_MS || parsed.value > LONGEST_WINDOW_MS))
    report(errorAt([...path, "window"], `is "${window}", must be from "1s" to "30d"`));
}

function toolRules(
  { per = [], tools }: LimitDoc,
  path: UnplacedProblem["path"],
  isMcpServer: boolean,
  report: Report,
): void {
  for (const [at, key] of per.entries())
    if (per.indexOf(key) !== at) report(errorAt([...path, "per", at], `"${key}" is listed twice`));
  if (tools === undefined) {
    // Callers choose the tool name: a count for each invented name would be no limit.
    if (per.includes("tool")) report(errorAt([...path, "per"], 'has "tool", requires "tools", the names to count'));
    return;
  }
  if (!isMcpServer) report(errorAt([...path, "tools"], 'requires a route with "mcp.server"'));
  if (tools.length === 0 || tools.length > MAX_TOOLS)
    report(errorAt([...path, "tools"], `has ${tools.length} names, must have 1 to ${MAX_TOOLS}`));
}
