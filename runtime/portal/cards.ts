/**
 * The portal's cards: MCP servers and web applications that the signed-in user can reach.
 *
 * A route is shown if the policy could allow this user any request. The same function decides about lists of servers
 * and tools. Bounded: at most MOST_SHOWN cards; the search finds others.
 */
import type { CompiledRoute } from "../config/compiled.ts";
import type { Snapshot } from "../config/snapshot.ts";
import type { UpstreamStatus } from "../features/balancing/apply-state.ts";
import { iconPath } from "../features/catalog/icon.ts";
import { clientRecipes } from "../features/mcp/known-clients.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Blocks } from "../identity/blocks.ts";
import type { Principal } from "../identity/principal.ts";
import { findSite } from "../identity/sites.ts";
import type { UserSection } from "../identity/users/user-endpoints.ts";
import type { FindServerState } from "../oauth/client/user-section.ts";
import { findTarget } from "../oauth/client/target.ts";
import type { KnownTools } from "../policy/mcp/tool-names.ts";
import { cardsSection, type CardLink, type CardParts, type CardsView, type SetupParts } from "../pages/portal/cards.ts";
import { findReach, mayReachSomething, mayUse } from "../policy/reach.ts";
import { parseQuery } from "../shared/http/query.ts";
import { visibleText } from "../shared/json/visible-text.ts";

export interface CardsDeps {
  /** Hides blocked routes. */
  readonly blocks: Pick<Blocks, "find">;
  /** State of the user's account at the upstream, with its actions. */
  readonly serverState: FindServerState;
  /** Tool names of a server that this user can know. */
  readonly knownTools: (route: CompiledRoute, userId: string) => KnownTools;
  /** Status of upstreams in this process. */
  readonly upstreams: () => readonly Pick<UpstreamStatus, "route" | "healthy">[];
}

const MOST_SHOWN = 60;
const MOST_TOOLS_SHOWN = 100;
const MAX_SEARCH_CHARACTERS = 100;
const PAGE = "/.gateway/";

const TYPES = [
  ["", "All"],
  ["server", "MCP servers"],
  ["app", "Web apps"],
] as const;

interface Asked {
  readonly search: string;
  readonly type: "" | "server" | "app";
  /** Key of the route with open set-up instructions. */
  readonly setup: string | undefined;
}

export function cardsUserSection(deps: CardsDeps): UserSection {
  return async (principal, snapshot, host, exchange) => {
    if (!findSite(snapshot, host)) return undefined;
    const asked = readAsked(exchange);
    const mine = snapshot.routes.filter((route) => isShown(deps, snapshot, principal, route));
    const found = mine.filter((route) => isFound(deps, principal, route, asked.search.toLowerCase()));
    const ofType = found.filter((route) => asked.type === "" || kindOf(route) === asked.type);
    const shown = ofType.slice(0, MOST_SHOWN);
    const down = routesDown(deps.upstreams());
    const view: CardsView = {
      cards: await Promise.all(
        shown.map((route) => cardOf(deps, principal, snapshot, { host, asked, route, isDown: down.has(route.key) })),
      ),
      search: visibleText(asked.search),
      tabs: TYPES.map(([type, name]) => ({
        href: addressOf({ ...asked, type, setup: undefined }),
        name,
        count: found.filter((route) => type === "" || kindOf(route) === type).length,
        isCurrent: type === asked.type,
      })),
      isCut: ofType.length > shown.length,
      setup: setupOf(deps, principal, snapshot, { asked, routes: mine }),
    };
    return cardsSection(view);
  };
}

/** Routes without a healthy upstream. */
function routesDown(upstreams: ReturnType<CardsDeps["upstreams"]>): ReadonlySet<string> {
  const up = new Set(upstreams.filter(({ healthy }) => healthy).map(({ route }) => route));
  return new Set(upstreams.map(({ route }) => route).filter((route) => !up.has(route)));
}

function readAsked(exchange: Exchange): Asked {
  const query = parseQuery(exchange.query);
  const values = query.ok ? query.values : new Map<string, string>();
  const type = TYPES.find(([each]) => each === values.get("type"))?.[0] ?? "";
  const search = (values.get("q") ?? "").trim().slice(0, MAX_SEARCH_CHARACTERS);
  return { search, type, setup: values.get("setup") };
}

function addressOf({ search, type, setup }: Asked): string {
  const query = new URLSearchParams();
  if (search !== "") query.set("q", search);
  if (type !== "") query.set("type", type);
  if (setup !== undefined) query.set("setup", setup);
  const text = query.toString();
  return `${PAGE}${text === "" ? "" : `?${text}`}${setup === undefined ? "" : "#setup"}`;
}

function kindOf({ mcp }: CompiledRoute): "server" | "app" {
  return mcp?.kind === "server" ? "server" : "app";
}

function isShown({ blocks }: CardsDeps, { settings }: Snapshot, { user }: Principal, route: CompiledRoute): boolean {
  if (blocks.find({ routeKey: route.key })) return false;
  if (route.mcp?.kind === "server") return settings.mcpEnabled && mayReachSomething(route.policy, user);
  // Patterns and wildcard hosts have no single URL to open. Redirects lead to other cards' pages.
  if (route.isWildcard || route.match.kind === "regex" || route.answer?.kind === "redirect") return false;
  return findReach(route.policy, user, true).may !== "none";
}

/** Searches name, description, URL and tool names. */
function isFound(deps: CardsDeps, { user }: Principal, route: CompiledRoute, search: string): boolean {
  if (search === "") return true;
  const texts = [route.name, route.about.title, route.about.description ?? "", urlOf(route)];
  if (texts.some((text) => text.toLowerCase().includes(search))) return true;
  if (kindOf(route) !== "server") return false;
  const named = deps.knownTools(route, user.id).names.filter((name) => name.toLowerCase().includes(search));
  return named.some((name) => mayUse(route.policy, user, { kind: "tool", name }));
}

function urlOf(route: CompiledRoute): string {
  if (kindOf(route) === "server") return findTarget(route)?.server.resource ?? route.origin;
  return `${route.origin}${route.match.kind === "exact" ? route.match.path : `${route.base}/`}`;
}

/** Known tools that the user can call. */
function ownTools({ knownTools }: CardsDeps, user: Principal["user"], route: CompiledRoute): KnownTools {
  const { names, isComplete } = knownTools(route, user.id);
  return { names: names.filter((name) => mayUse(route.policy, user, { kind: "tool", name })), isComplete };
}

async function cardOf(
  deps: CardsDeps,
  principal: Principal,
  snapshot: Snapshot,
  {
    host,
    asked,
    route,
    isDown,
  }: { readonly host: string; readonly asked: Asked; readonly route: CompiledRoute; readonly isDown: boolean },
): Promise<CardParts> {
  const kind = kindOf(route);
  const server = kind === "server" ? await deps.serverState(principal, snapshot, host, route) : undefined;
  const tools = kind === "server" ? ownTools(deps, principal.user, route) : undefined;
  return {
    name: visibleText(route.about.title),
    icon: pathOfIcon(route),
    links: linksOf(route),
    description: visibleText(route.about.description ?? ""),
    kind,
    url: urlOf(route),
    state: isDown ? "unavailable" : server === undefined || server.state === "not-needed" ? "ready" : server.state,
    tools: tools?.isComplete === true ? tools.names.length : undefined,
    connectUrl: server?.connectUrl,
    setupHref: addressOf({ ...asked, setup: route.key }),
    disconnect: server?.state === "connected" ? server.disconnect : undefined,
  };
}

function pathOfIcon({ about: { icon } }: CompiledRoute): string | undefined {
  return icon && iconPath(icon);
}

function linksOf({ about }: CompiledRoute): readonly CardLink[] {
  const { documentationUrl, contact } = about;
  return [
    ...(documentationUrl === undefined ? [] : [{ text: "Documentation", href: documentationUrl }]),
    ...(contact === undefined ? [] : [{ text: "Contact", href: contact }]),
  ];
}

function setupOf(
  deps: CardsDeps,
  { user }: Principal,
  { settings }: Snapshot,
  { asked, routes }: { readonly asked: Asked; readonly routes: readonly CompiledRoute[] },
): SetupParts | undefined {
  const route = routes.find(({ key, mcp }) => key === asked.setup && mcp?.kind === "server");
  if (!route) return undefined;
  const url = urlOf(route);
  const { names, isComplete } = ownTools(deps, user, route);
  return {
    name: visibleText(route.about.title),
    icon: pathOfIcon(route),
    url,
    recipes: clientRecipes(route.name, url, settings.mcpAllowedClientIdDomains),
    tools: names.slice(0, MOST_TOOLS_SHOWN).map(visibleText),
    areAllTools: isComplete && names.length <= MOST_TOOLS_SHOWN,
    closeHref: addressOf({ ...asked, setup: undefined }),
  };
}
