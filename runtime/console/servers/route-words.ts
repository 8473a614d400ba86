/** Facts about a route, as labels and texts. */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { RateLimit } from "../../features/limits/compiled.ts";

export type RouteKind = (typeof ROUTE_KINDS)[number][0];

export const ROUTE_KINDS = [
  ["server", "MCP server"],
  ["client", "MCP client application"],
  ["web", "Web application"],
  ["redirect", "Redirect"],
  ["response", "Static response"],
] as const;

export function kindOf({ mcp, answer }: Pick<CompiledRoute, "mcp" | "answer">): RouteKind {
  return mcp?.kind ?? answer?.kind ?? "web";
}

export function kindText(kind: RouteKind): string {
  return ROUTE_KINDS.find(([each]) => each === kind)?.[1] ?? kind;
}

/** "https://app.example.com/api": where it is reached. */
export function addressOf({ origin, match, mcp }: Pick<CompiledRoute, "origin" | "match" | "mcp">): string {
  if (mcp?.kind === "server") return mcp.resource;
  switch (match.kind) {
    case "exact":
      return origin + match.path;
    case "prefix":
      return match.prefix === "/" ? origin : origin + match.prefix;
    case "regex":
      return `${origin} ${match.pattern}`;
  }
  return match satisfies never;
}

/** Label and text, in the order of the page; what a route says nothing of has no row. */
export function routeFacts(route: CompiledRoute): readonly (readonly [label: string, text: string])[] {
  const { mcp, answer, match, rewrite, timeoutMs, idleTimeoutMs } = route;
  const server = mcp?.kind === "server" ? mcp : undefined;
  return [
    ["Paths", pathText(match)],
    ...(rewrite === undefined
      ? []
      : [
          row(
            "Upstream path",
            rewrite.kind === "prefix" ? `begins with ${JSON.stringify(rewrite.text)} instead` : "changed by a pattern",
          ),
        ]),
    ...(answer === undefined ? [] : [row("Answer", answerText(answer))]),
    ...(answer === undefined && server?.members === undefined
      ? [
          row("Timeout", timeoutMs === 0 ? "none" : spanText(timeoutMs)),
          row("Idle timeout", silenceText(timeoutMs, idleTimeoutMs)),
          row("WebSockets", route.allowWebsockets ? "accepted" : "refused"),
        ]
      : []),
    ...(route.allowsAnonymous ? [row("Anonymous access", "some requests may pass")] : []),
    ...(route.rateLimits ?? []).map((limit) => row(`Limit ${limit.name}`, limitText(limit))),
    ...upstreamLimits(route),
    ...(server
      ? [
          row("Maximum request size", `${server.maxRequestBytes.toLocaleString("en")} bytes`),
          row("Lists", server.filtersLists ? "filtered by policy" : "whole"),
          ...(server.members === undefined
            ? [row("Upstream authentication", upstreamSignIn(server.upstreamOAuth))]
            : [row("Members", membersText(server.members, "__* ")), ...startsOf(server.resourcePrefixes)]),
          ...(server.toolScopes ? [row("Scopes for tools", scopesText(server.toolScopes.tools))] : []),
          ...(server.allowedApplications.length > 0
            ? [row("Applications of other owners", server.allowedApplications.join(", "))]
            : []),
        ]
      : []),
    ...(route.policy.approve.length > 0 ? [row("Approvals", "some tool calls need one, see the policy")] : []),
    ...(route.shadow
      ? [
          row(
            "Shadow policy",
            `${route.shadow.candidates.length} candidate${route.shadow.candidates.length === 1 ? "" : "s"}, decided and not enforced`,
          ),
        ]
      : []),
  ];
}

function row(label: string, text: string): readonly [string, string] {
  return [label, text];
}

function pathText(match: CompiledRoute["match"]): string {
  switch (match.kind) {
    case "exact":
      return `only ${match.path}`;
    case "prefix":
      return match.prefix === "/" ? "all" : `${match.prefix} and below`;
    case "regex":
      return `matching ${match.pattern}`;
  }
  return match satisfies never;
}

function answerText(answer: NonNullable<CompiledRoute["answer"]>): string {
  if (answer.kind === "response") return `status ${answer.status}, ${Buffer.byteLength(answer.body)} bytes of text`;
  const { status, scheme, host, port, path, prefix, query, stripQuery } = answer;
  const changes = [
    ["scheme", scheme],
    ["host", host],
    ["port", port],
    ["path", path],
    ["beginning of the path", prefix],
    ["query", stripQuery ? "none" : query],
  ].flatMap(([name, value]) => (value === undefined ? [] : [`${name} ${value}`]));
  return `redirect with status ${status}; ${changes.length === 0 ? "to the same address" : changes.join(", ")}`;
}

function silenceText(timeoutMs: number, idleTimeoutMs: number | undefined): string {
  if (idleTimeoutMs === 0) return "no limit";
  if (idleTimeoutMs !== undefined) return spanText(idleTimeoutMs);
  return timeoutMs === 0 ? "no limit" : `${spanText(timeoutMs)}, no limit for streams`;
}

function limitText({ most, windowMs, perUser, perClient, perTool, tools, countsAlone }: RateLimit): string {
  const per = [...(perUser ? ["user"] : []), ...(perClient ? ["client"] : []), ...(perTool ? ["tool"] : [])];
  return [
    windowMs === undefined ? `${most} at a time` : `${most} in ${spanText(windowMs)}`,
    per.length === 0 ? "All routes" : `for each ${per.join(" and ")}`,
    ...(tools === undefined ? [] : [`calls of ${[...tools].join(", ")}`]),
    countsAlone ? "per process while the store is unavailable" : "rejected while the store is unavailable",
  ].join("; ");
}

function upstreamLimits({ to }: CompiledRoute): readonly (readonly [string, string])[] {
  const limits = to.find(({ connect }) => connect?.limits)?.connect?.limits;
  if (!limits) return [];
  const { maxConnections, maxPending, maxRequests } = limits;
  const texts = [
    ...(maxConnections === undefined ? [] : [`${maxConnections} connections`]),
    ...(maxPending === undefined ? [] : [`${maxPending} waiting for one`]),
    ...(maxRequests === undefined ? [] : [`${maxRequests} requests at a time`]),
  ];
  return texts.length === 0 ? [] : [row("Limits per upstream", texts.join(", "))];
}

/** @param after the first text of each pair */
function membersText(pairs: Iterable<readonly [string, string]>, after: string): string {
  return [...pairs].map(([one, other]) => `${one}${after}→ ${other}`).join(", ");
}

function startsOf(starts: Server["resourcePrefixes"]): readonly (readonly [string, string])[] {
  return starts.length === 0 ? [] : [row("Resources", membersText(starts, "* "))];
}

type Server = Extract<NonNullable<CompiledRoute["mcp"]>, { kind: "server" }>;

function upstreamSignIn(oauth: Server["upstreamOAuth"]): string {
  if (oauth === undefined) return "as the upstream asks; users connect their accounts where it does";
  switch (oauth.direct?.kind) {
    case undefined:
      return "users connect their accounts";
    case "id_jag":
      return "by the identity provider, for each user";
    case "workload":
      return "by the gateway's platform, one token for the route";
    case "client_credentials":
      return "by the gateway's own client, one token for the route";
  }
  return oauth.direct satisfies never;
}

function scopesText(tools: ReadonlyMap<string, readonly string[]>): string {
  return [...tools].map(([scope, names]) => `${scope} for ${names.join(", ")}`).join("; ");
}

/** "90 s", "15 min", "2 h": exact. */
export function spanText(ms: number): string {
  const units = [
    [86_400_000, "d"],
    [3_600_000, "h"],
    [60_000, "min"],
    [1000, "s"],
  ] as const;
  // Seconds up to two minutes: "90 s" reads better than "1.5 min".
  const [size, unit] = units.find(([each]) => ms % each === 0 && (ms >= 2 * each || ms === each)) ?? [1, "ms"];
  return `${ms / size} ${unit}`;
}
