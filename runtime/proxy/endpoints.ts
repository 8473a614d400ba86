/**
 * The gateway's own addresses. Promise: requests to them are answered by the gateway, if only with 404, and never reach an
 * upstream: an upstream that responded below `/.gateway/` could speak in our name.
 */
import { append } from "../shared/linear/append.ts";
import { AI_CATALOG_PATH } from "../features/catalog/paths.ts";
import { isOwnPath } from "../features/routing/own-paths.ts";
import type { Snapshot } from "../config/snapshot.ts";
import { errorText } from "../shared/errors.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { Exchange } from "../http/exchange.ts";
import { respondError } from "../http/respond.ts";
import type { Log } from "../shared/log.ts";
import { answerEndpointPreflight, openToEveryone } from "./cors.ts";

export interface EndpointFinder {
  /** @returns true when the path is the gateway's, and the exchange is or will be answered */
  answer(exchange: Exchange, snapshot: Snapshot): boolean;
  /** The same for endpoints at the end of an MCP route's own path; call it only for such a route. */
  answerBelowRoute(exchange: Exchange, snapshot: Snapshot): boolean;
}

export function createEndpointFinder(deps: {
  readonly endpoints: readonly Endpoint[];
  readonly log: Log;
}): EndpointFinder {
  const exact = new Map<string, Endpoint[]>();
  const below: { readonly path: string; readonly endpoint: Endpoint }[] = [];
  const suffixes: { readonly suffix: string; readonly endpoint: Endpoint }[] = [];
  const addExact = (path: string, endpoint: Endpoint): void => {
    append(exact, path, endpoint);
  };
  for (const endpoint of deps.endpoints) {
    if (endpoint.path.startsWith("*")) suffixes.push({ suffix: endpoint.path.slice(1), endpoint });
    else if (endpoint.path.endsWith("/*")) {
      addExact(endpoint.path.slice(0, -2), endpoint);
      below.push({ path: endpoint.path.slice(0, -1), endpoint });
    } else addExact(endpoint.path, endpoint);
  }
  below.sort((left, right) => right.path.length - left.path.length);

  const find = (path: string): readonly Endpoint[] => {
    const found = exact.get(path);
    if (found) return found;
    const longest = below.find((each) => path.startsWith(each.path))?.path;
    return longest === undefined ? [] : below.filter((each) => each.path === longest).map(({ endpoint }) => endpoint);
  };

  const serve = (exchange: Exchange, snapshot: Snapshot, found: readonly Endpoint[]): void => {
    const active = found.filter((endpoint) => endpoint.mcp !== true || snapshot.settings.mcpEnabled);
    if (active.length === 0) {
      respondError(exchange, 404, { code: "endpoint.not-found", message: "There is nothing at this address" });
      return;
    }
    const method = exchange.method === "HEAD" ? "GET" : exchange.method;
    const endpoint = active.find(({ methods }) => methods.includes(exchange.method) || methods.includes(method));
    const cors = active.some((each) => each.cors === true);
    if (!endpoint) {
      const allowed = allowedMethods(active, cors);
      if (cors && exchange.method === "OPTIONS") answerEndpointPreflight(exchange, allowed);
      else
        respondError(exchange, 405, { code: "endpoint.method", message: "This address does not accept this method" }, [
          "allow",
          allowed,
        ]);
      return;
    }
    if (endpoint.cors === true) openToEveryone(exchange);
    run(endpoint, exchange, snapshot);
  };

  const run = (endpoint: Endpoint, exchange: Exchange, snapshot: Snapshot): void => {
    const fail = (error: unknown): void => {
      deps.log.error({ request: exchange.id, endpoint: endpoint.path, reason: errorText(error) }, "endpoint failed");
      if (exchange.started) exchange.abort();
      else respondError(exchange, 500, { code: "internal", message: "The gateway failed to handle the request" });
    };
    try {
      const result = endpoint.handle(exchange, snapshot);
      if (result instanceof Promise) result.catch(fail);
    } catch (error) {
      fail(error);
    }
  };

  return {
    answer(exchange, snapshot) {
      const { path } = exchange;
      // All own addresses start with a dot segment name; nearly no other path does.
      if (path.charCodeAt(1) !== 46) return false;
      const isCatalog = path === AI_CATALOG_PATH && snapshot.settings.mcpCatalog !== undefined;
      if (!isCatalog && !isOwnPath(path)) return false;
      serve(exchange, snapshot, find(path));
      return true;
    },
    answerBelowRoute(exchange, snapshot) {
      if (!exchange.path.includes("/.well-known/")) return false;
      const found = suffixes.filter(({ suffix }) => exchange.path.endsWith(suffix)).map(({ endpoint }) => endpoint);
      if (found.length === 0) return false;
      serve(exchange, snapshot, found);
      return true;
    },
  };
}

function allowedMethods(endpoints: readonly Endpoint[], cors: boolean): string {
  const methods = new Set(endpoints.flatMap(({ methods }) => methods));
  if (methods.has("GET")) methods.add("HEAD");
  if (cors) methods.add("OPTIONS");
  return [...methods].sort().join(", ");
}
