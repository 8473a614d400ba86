/**
 * Browser flow that connects several upstreams and returns to its origin.
 *
 * Tickets carry a flow from a page on another of our hosts to the host of the routes. Promise: a ticket is sealed by
 * the gateway for one user and valid for ten minutes. Its return address was checked when it was created.
 */
import type { CompiledRoute } from "../../../config/compiled.ts";
import type { Snapshot } from "../../../config/snapshot.ts";
import type { Keys } from "../../../shared/keys.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import { oneOfEachOwner, reaches } from "../../../identity/application-reach.ts";
import { FLOW_SECONDS, type ConnectFlow } from "../connection-records.ts";
import { CONNECT_PATH } from "../target.ts";

export interface ConnectTickets {
  /** URL on the routes' host that starts or restarts this flow for this user. */
  url(origin: string, userId: string, connectFlow: ConnectFlow): string;
  open(ticket: string, userId: string): ConnectFlow | undefined;
}

interface Wire {
  readonly user: string;
  readonly journey: ConnectFlow;
  readonly expiresAt: number;
}

const CONTEXT = "connect ticket";

export function createTickets(deps: { readonly keys: Keys; readonly clock: Clock }): ConnectTickets {
  const sealer = deps.keys.sealer("vault");
  return {
    url(origin, userId, connectFlow) {
      const wire: Wire = { user: userId, journey: connectFlow, expiresAt: epochSeconds(deps.clock) + FLOW_SECONDS };
      return `${origin}${CONNECT_PATH}?ticket=${sealer.seal(JSON.stringify(wire), CONTEXT)}`;
    },
    open(ticket, userId) {
      const bytes = sealer.open(ticket, CONTEXT);
      if (!bytes) return undefined;
      const wire = JSON.parse(bytes.toString()) as Wire;
      return wire.user === userId && wire.expiresAt > epochSeconds(deps.clock) ? wire.journey : undefined;
    },
  };
}

/**
 * Checks the `redirect_url` of a connect request.
 *
 * It must have the host (and port) of an MCP client route whose application may call one of the servers, with https
 * unless that route is plain http in development. Otherwise the gateway would be an open redirector.
 *
 * @param servers servers to connect
 * @returns the normalized URL, or undefined
 */
export function allowedConnectRedirect(
  text: string | undefined,
  snapshot: Snapshot,
  servers: readonly CompiledRoute[],
): string | undefined {
  // Browsers read a backslash as a slash and drop control characters, so the URL would lead elsewhere than it seems.
  if (text === undefined || /[\\\s\p{Cc}]/u.test(text) || !/^https?:\/\//i.test(text) || !URL.canParse(text))
    return undefined;
  const url = new URL(text);
  if (url.username !== "" || url.password !== "") return undefined;
  const clients = snapshot.routes.filter(({ mcp, origin }) => mcp?.kind === "client" && origin === url.origin);
  const isReached = (client: CompiledRoute): boolean => servers.some((server) => reaches(client, server));
  return oneOfEachOwner(clients).some(isReached) ? url.href : undefined;
}

/**
 * Return address after a failure, which tells an application the cause.
 *
 * @param failure one of our own codes, never external text
 */
export function returnAddress({ returnTo, tellsErrors }: ConnectFlow, failure: string): string {
  if (tellsErrors !== true) return returnTo;
  const url = new URL(returnTo);
  // Remove the result of an earlier attempt, if the application reuses its URL. Otherwise the query stays unchanged.
  if (url.searchParams.has("connect_error")) url.searchParams.delete("connect_error");
  url.search = `${url.search === "" ? "?" : `${url.search}&`}connect_error=${failure}`;
  return url.href;
}
