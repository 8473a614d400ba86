/**
 * `/.gateway/scim/v2/<directory>/…`: a provider provisions users and groups (SCIM 2.0, RFC 7643 and 7644).
 *
 * Untrusted input: everything, until the token is verified; then the body, which is bounded and parsed strictly.
 * Promises: after a success response the change is stored, and revocations are complete. What cannot be done now gets
 * 503 with the time after which to retry.
 */
import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";

import type { Snapshot } from "../config/snapshot.ts";
import { type Endpoint, endpointOverStore } from "../http/endpoint.ts";
import type { Exchange } from "../http/exchange.ts";
import type { Clock } from "../shared/clock.ts";
import { createRateLimit } from "../shared/rate-limit.ts";
import { respondNotThere } from "../identity/logout/answers.ts";
import { ScimRefusal } from "./scim/refusal.ts";
import { findSite } from "../identity/sites.ts";
import { respondRefusal, respondScim, type ScimDeps, type ScimRequest } from "./body.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import { parseQuery } from "../shared/http/query.ts";
import type { Log } from "../shared/log.ts";
import { resourceTypes, schemas, serviceProviderConfig } from "./scim/documents.ts";
import { listBody } from "./scim/list-query.ts";
import { authorize } from "./authorize.ts";
import { handleGroups } from "./group-requests.ts";
import { isResourceId } from "./resources.ts";
import { handleUsers } from "./user-requests.ts";

export const SCIM_PATH = "/.gateway/scim/v2";

/** Wrong tokens per peer address. */
const FAILURES = { burst: 60, perSecond: 2 };
/** Concurrent requests of one directory in this process. Providers send only a few at a time, and the bodies are in memory. */
const MAX_UNDER_WAY = 16;
/** Leaves CPU time for other requests during a first load of all users. Providers are far slower otherwise. */
const MAX_PER_SECOND = 600;
const METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE"];

export function scimEndpoints(
  parts: Omit<ScimDeps, "failures" | "pace" | "turn"> & { readonly clock: Clock },
): readonly Endpoint[] {
  const failures = createRateLimit(parts, FAILURES.burst, FAILURES.perSecond);
  const deps: ScimDeps = { ...parts, failures, pace: createPace(MAX_PER_SECOND), turn: createTurns() };
  const underWay = new Map<string, number>();
  const endpoint: Endpoint = {
    methods: METHODS,
    path: `${SCIM_PATH}/*`,
    handle: (exchange, snapshot) => handle(deps, underWay, exchange, snapshot),
  };
  return [endpointOverStore(endpoint, parts.log, respondStoreAway)];
}

/** Spaces requests evenly: concurrent ones run one at a time. */
function createPace(perSecond: number): () => Promise<void> {
  const eachMs = 1000 / perSecond;
  let nextMs = 0;
  return async () => {
    const nowMs = performance.now();
    nextMs = Math.max(nowMs, nextMs + eachMs);
    if (nextMs > nowMs) await delay(nextMs - nowMs);
  };
}

function createTurns(): () => Promise<void> {
  let last = Promise.resolve();
  return () => (last = last.then(() => nextTurn()));
}

function respondStoreAway(exchange: Exchange): void {
  respondRefusal(exchange, new ScimRefusal(503, "This cannot be done at the moment"));
}

async function handle(
  deps: ScimDeps,
  underWay: Map<string, number>,
  exchange: Exchange,
  snapshot: Snapshot,
): Promise<void> {
  const site = findSite(snapshot, exchange.host);
  const { directories } = snapshot.settings;
  if (site?.authenticates !== true || directories.length === 0) return respondNotThere(exchange);
  const [name = "", type = "", id, ...more] = exchange.path.slice(SCIM_PATH.length + 1).split("/");
  // Authenticate before anything else is checked.
  const authorized = authorize(deps.failures, exchange, directories, name);
  if (!authorized.ok) {
    const { seconds } = authorized;
    deps.log.warn({ request: exchange.id, peer: exchange.remoteAddress }, "SCIM token rejected");
    if (seconds > 0)
      return respondRefusal(exchange, new ScimRefusal(429, "Too many requests"), ["retry-after", String(seconds)]);
    return respondRefusal(exchange, new ScimRefusal(401, "The token is missing or wrong"), [
      "www-authenticate",
      "Bearer",
    ]);
  }

  const { directory } = authorized;
  const count = underWay.get(directory.name) ?? 0;
  if (count >= MAX_UNDER_WAY)
    return respondRefusal(exchange, new ScimRefusal(429, "Too many requests at a time"), ["retry-after", "1"]);
  underWay.set(directory.name, count + 1);
  try {
    await deps.pace();
    const query = parseQuery(exchange.query);
    if (!query.ok) throw new ScimRefusal(400, "The query cannot be read", "invalidValue");
    const base = `${site.origin}${SCIM_PATH}/${directory.name}`;
    if (more.length > 0) throw new ScimRefusal(404, "There is nothing at this address");
    await answer({ ...deps, exchange, directory, base, id, parameters: query.values }, type);
  } catch (error) {
    if (exchange.started || !isForClient(error)) throw error;
    respondRefusal(exchange, toRefusal(deps.log, exchange, error));
  } finally {
    const left = (underWay.get(directory.name) ?? 1) - 1;
    if (left === 0) underWay.delete(directory.name);
    else underWay.set(directory.name, left);
  }
}

async function answer(request: ScimRequest, type: string): Promise<void> {
  const { exchange, id, base } = request;
  const isReading = exchange.method === "GET" || exchange.method === "HEAD";
  switch (type) {
    case "Users":
    case "Groups": {
      if (id !== undefined && !isResourceId(id)) throw new ScimRefusal(404, "There is no such resource");
      const isAllowed = id === undefined ? isReading || exchange.method === "POST" : exchange.method !== "POST";
      if (!isAllowed) throw new ScimRefusal(404, "There is nothing for this method at this address");
      return type === "Users" ? handleUsers(request) : handleGroups(request);
    }
    case "ServiceProviderConfig": {
      if (id !== undefined || !isReading) break;
      return respondScim(exchange, 200, serviceProviderConfig(base));
    }
    case "ResourceTypes":
    case "Schemas": {
      if (!isReading) break;
      const known = type === "Schemas" ? schemas(base) : resourceTypes(base);
      if (id === undefined) return respondScim(exchange, 200, listBody([...known.values()], known.size, 1));
      const found = known.get(decodedId(id));
      if (found) return respondScim(exchange, 200, found);
      break;
    }
    default:
  }
  throw new ScimRefusal(404, "There is nothing at this address");
}

/** Schema names contain colons, which some clients encode. */
function decodedId(id: string): string {
  return id.replaceAll(/%3a/gi, ":");
}

/** Temporary failures of other parts, such as a record that keeps changing, also get a SCIM response. */
function isForClient(error: unknown): error is ScimRefusal | GatewayError {
  return error instanceof ScimRefusal || (error instanceof GatewayError && error.code !== "store.unavailable");
}

function toRefusal(log: Log, exchange: Exchange, error: ScimRefusal | GatewayError): ScimRefusal {
  if (error instanceof ScimRefusal) return error;
  log.warn({ request: exchange.id, reason: errorText(error) }, "SCIM request failed");
  return new ScimRefusal(503, "This cannot be done at the moment");
}
