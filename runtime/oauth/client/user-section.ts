/** The state of a user's account at the upstream of an MCP server, for the portal, and the form that disconnects it. */
import type { CompiledRoute } from "../../config/compiled.ts";
import { findRoute, type Snapshot } from "../../config/snapshot.ts";
import type { Exchange } from "../../http/exchange.ts";
import { redirect } from "../../http/respond.ts";
import type { Principal } from "../../identity/principal.ts";
import type { BrowserSessions, Csrf } from "../../identity/interfaces.ts";
import { findSite } from "../../identity/sites.ts";
import { readUserForm } from "../../identity/users/user-form.ts";
import { respondFailure } from "./connect/failure-page.ts";
import type { ConnectTickets } from "./connect/connect-flow.ts";

export const DISCONNECT_PATH = "/.gateway/mcp/disconnect";

export type ConnectionState = "connected" | "disconnected" | "not-needed";

export interface ServerState {
  readonly state: ConnectionState;
  /** URL where the user connects an account. */
  readonly connectUrl: string;
  readonly disconnect: { readonly action: string; readonly route: string; readonly csrfToken: string };
}

/** @param host of the portal */
export type FindServerState = (
  principal: Principal,
  snapshot: Snapshot,
  host: string,
  route: CompiledRoute,
) => Promise<ServerState>;

export interface UserSectionDeps {
  readonly browser: BrowserSessions;
  readonly csrf: Csrf;
  readonly tickets: ConnectTickets;
  stateOf(userId: string, route: CompiledRoute): Promise<ConnectionState>;
  disconnect(userId: string, route: CompiledRoute): Promise<boolean>;
}

const FORM = "disconnect";
const MAX_FORM_BYTES = 8_192;

const FAILURES = { "not-here": "not-here", foreign: "foreign-form", unavailable: "store-unavailable" } as const;

export function createUserSection(deps: UserSectionDeps): {
  readonly serverState: FindServerState;
  /** `POST /.gateway/mcp/disconnect`, from the portal. */
  disconnectByForm(exchange: Exchange, snapshot: Snapshot): Promise<void>;
} {
  return {
    async serverState(principal, snapshot, host, route) {
      const { id } = principal.user;
      const returnTo = `${findSite(snapshot, host)?.authenticateOrigin ?? ""}/.gateway/`;
      return {
        state: await deps.stateOf(id, route),
        connectUrl: deps.tickets.url(route.origin, id, { returnTo, routes: [route.key], back: "Back to your page" }),
        disconnect: { action: DISCONNECT_PATH, route: route.key, csrfToken: deps.csrf.token(principal, FORM) },
      };
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
