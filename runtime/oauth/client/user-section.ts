/** MCP servers on the account page, and the form that disconnects one. */
import type { CompiledRoute } from "../../config/compiled.ts";
import { findRoute, type Snapshot } from "../../config/snapshot.ts";
import type { Exchange } from "../../http/exchange.ts";
import { clientRecipes } from "../../features/mcp/known-clients.ts";
import { redirect } from "../../http/respond.ts";
import type { Html } from "../../pages/html.ts";
import { serversSection } from "../../pages/mcp-servers.ts";
import { mayReachSomething } from "../../policy/reach.ts";
import type { Blocks } from "../../identity/blocks.ts";
import type { Principal } from "../../identity/principal.ts";
import type { BrowserSessions, Csrf } from "../../identity/interfaces.ts";
import { findSite } from "../../identity/sites.ts";
import { readUserForm } from "../../identity/users/user-form.ts";
import { respondFailure } from "./connect/failure-page.ts";
import type { ConnectTickets } from "./connect/connect-flow.ts";
import { findTarget } from "./target.ts";

export const DISCONNECT_PATH = "/.gateway/mcp/disconnect";

export type ConnectionState = "connected" | "disconnected" | "not-needed";

/** @returns undefined if there is nothing to show */
export type UserSection = (principal: Principal, snapshot: Snapshot, host: string) => Promise<Html | undefined>;

export interface UserSectionDeps {
  readonly browser: BrowserSessions;
  readonly csrf: Csrf;
  /** Blocked servers are hidden. */
  readonly blocks?: Pick<Blocks, "find"> | undefined;
  readonly tickets: ConnectTickets;
  stateOf(userId: string, route: CompiledRoute): Promise<ConnectionState>;
  disconnect(userId: string, route: CompiledRoute): Promise<boolean>;
}

const FORM = "disconnect";
const MAX_FORM_BYTES = 8_192;

const FAILURES = { "not-here": "not-here", foreign: "foreign-form", unavailable: "store-unavailable" } as const;

export function createUserSection(deps: UserSectionDeps): {
  readonly render: UserSection;
  /** `POST /.gateway/mcp/disconnect`, from the account page. */
  disconnectByForm(exchange: Exchange, snapshot: Snapshot): Promise<void>;
} {
  return {
    async render(principal, snapshot, host) {
      const site = findSite(snapshot, host);
      if (!snapshot.settings.mcpEnabled || !site) return undefined;
      const reachable = snapshot.routes.filter(
        (route) =>
          route.mcp?.kind === "server" &&
          mayReachSomething(route.policy, principal.user) &&
          !deps.blocks?.find({ routeKey: route.key }),
      );
      if (reachable.length === 0) return undefined;
      const returnTo = `${site.authenticateOrigin}/.gateway/`;
      const csrfToken = deps.csrf.token(principal, FORM);
      const servers = await Promise.all(
        reachable.map(async (route) => {
          const url = findTarget(route)?.server.resource ?? route.origin;
          return {
            name: route.name,
            url,
            recipes: clientRecipes(route.name, url, snapshot.settings.mcpAllowedClientIdDomains),
            state: await deps.stateOf(principal.user.id, route),
            connectUrl: deps.tickets.url(route.origin, principal.user.id, {
              returnTo,
              routes: [route.key],
              back: "Back to your page",
            }),
            disconnect: { action: DISCONNECT_PATH, route: route.key, csrfToken },
          };
        }),
      );
      return serversSection(servers);
    },

    async disconnectByForm(exchange, snapshot) {
      const sent = await readUserForm(exchange, snapshot, {
        name: FORM,
        maxBytes: MAX_FORM_BYTES,
        csrf: deps.csrf,
        principal: () => deps.browser.principal(exchange, snapshot),
      });
      if (!sent.ok) return respondFailure(exchange, FAILURES[sent.reason]);
      const route = findRoute(snapshot, sent.values.get("route"));
      if (route) await deps.disconnect(sent.principal.user.id, route);
      redirect(exchange, 303, `${sent.site.origin}/.gateway/`);
    },
  };
}
