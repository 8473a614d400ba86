/**
 * The MCP registry API, version 0.1, read only: `GET /.gateway/registry/v0.1/servers`, and the versions of a server, of which
 * there is the current one. Served on the host of the sign-in pages.
 *
 * Untrusted input: path and query. Promise: a reader gets servers that they may find, and no sign of others.
 * @see modelcontextprotocol/registry, docs/reference/api/openapi.yaml
 */
import type { Snapshot } from "../config/snapshot.ts";
import { REGISTRY_PATH } from "../features/catalog/paths.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { Exchange } from "../http/exchange.ts";
import { respondError } from "../http/respond.ts";
import { findSite } from "../identity/sites.ts";
import { parseQuery } from "../shared/http/query.ts";
import { entriesOf, mayFind, type CatalogEntry, type Reader } from "./entries.ts";
import { type CatalogDeps, readerOf, respondDocument, respondNotFound } from "./reader.ts";

const SERVERS = `${REGISTRY_PATH}/v0.1/servers`;
const SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";
const OFFICIAL = "io.modelcontextprotocol.registry/official";
const DEFAULT_LIMIT = 30;
const MAX_LIMIT = 100;
/** Servers that one request looks at: a page can have fewer than its limit, and a cursor. */
const MAX_LOOKED_AT = 2_000;
const MAX_SEARCH_CHARACTERS = 100;
const MAX_AGE_SECONDS = 60;

export function registryEndpoint(deps: CatalogDeps): Endpoint {
  return {
    methods: ["GET"],
    path: `${REGISTRY_PATH}/*`,
    cors: true,
    mcp: true,
    async handle(exchange, snapshot) {
      if (findSite(snapshot, exchange.host)?.authenticates !== true) return respondNotFound(exchange);
      const reader = await readerOf(deps, exchange, snapshot);
      if (reader === undefined) return;
      if (exchange.path === SERVERS) return respondList(deps, exchange, snapshot, reader);
      respondServer(deps, exchange, snapshot, reader);
    },
  };
}

function respondList(deps: CatalogDeps, exchange: Exchange, snapshot: Snapshot, reader: Reader): void {
  const asked = readAsked(exchange);
  if (typeof asked === "string")
    return respondError(exchange, 400, { code: "catalog.bad-request", message: asked }, NO_CACHE);
  const entries = entriesOf(snapshot);
  const begin = asked.after === undefined ? 0 : firstAfter(entries, asked.after);
  const found: CatalogEntry[] = [];
  let at = begin;
  for (; at < entries.length && found.length < asked.limit && at - begin < MAX_LOOKED_AT; at += 1) {
    const entry = entries[at];
    if (entry && isAsked(asked, entry) && mayFind(deps.blocks, reader, entry)) found.push(entry);
  }
  const last = at < entries.length ? entries[at - 1] : undefined;
  respond(exchange, reader, {
    servers: found.map(serverOf),
    metadata: { count: found.length, ...(last && { nextCursor: Buffer.from(last.name).toString("base64url") }) },
  });
}

const NO_CACHE = ["cache-control", "no-store"];

/** `/<host>/<name>/versions` or `/<host>/<name>/versions/<version>`; an escaped slash in the name has been decoded. */
function respondServer(deps: CatalogDeps, exchange: Exchange, snapshot: Snapshot, reader: Reader): void {
  const [, name, version] = SERVER.exec(exchange.path.slice(SERVERS.length)) ?? [];
  const entry = name === undefined ? undefined : findEntry(snapshot, name);
  if (!exchange.path.startsWith(`${SERVERS}/`) || !entry || !mayFind(deps.blocks, reader, entry))
    return respondNotFound(exchange);
  if (version === undefined) return respond(exchange, reader, { servers: [serverOf(entry)], metadata: { count: 1 } });
  if (version !== "latest" && version.replaceAll("%2B", "+") !== entry.about.version) return respondNotFound(exchange);
  respond(exchange, reader, serverOf(entry));
}

const SERVER = /^\/([A-Za-z0-9.-]+\/[A-Za-z0-9._-]+)\/versions(?:\/([^/]+))?$/;

export function findEntry(snapshot: Snapshot, name: string): CatalogEntry | undefined {
  const entries = entriesOf(snapshot);
  const entry = entries[firstAfter(entries, name) - 1];
  return entry?.name === name ? entry : undefined;
}

/** Index of the first entry with a greater name. */
function firstAfter(entries: readonly CatalogEntry[], name: string): number {
  let low = 0;
  let high = entries.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((entries[middle]?.name ?? "") <= name) low = middle + 1;
    else high = middle;
  }
  return low;
}

function serverOf({ about }: CatalogEntry): object {
  return {
    server: { $schema: SERVER_SCHEMA, ...about },
    // Times are not known: the same for all replicas, they would need a record of each change.
    _meta: { [OFFICIAL]: { status: "active", isLatest: true } },
  };
}

function respond(exchange: Exchange, reader: Reader, document: object): void {
  respondDocument(exchange, reader, document, { type: "application/json", maxAgeSeconds: MAX_AGE_SECONDS });
}

interface Asked {
  readonly limit: number;
  readonly after: string | undefined;
  readonly search: string;
  readonly version: string | undefined;
}

/** @returns a text: why the query is invalid */
function readAsked(exchange: Exchange): Asked | string {
  const query = parseQuery(exchange.query);
  if (!query.ok) return "The query cannot be read";
  const { values } = query;
  const limit = values.get("limit") ?? String(DEFAULT_LIMIT);
  if (!/^[1-9][0-9]{0,5}$/.test(limit)) return '"limit" must be a number from 1';
  const since = values.get("updated_since");
  if (since !== undefined && !(/^\d{4}-\d\d-\d\dT/.test(since) && Number.isFinite(Date.parse(since))))
    return '"updated_since" must be a time such as "2026-11-30T12:00:00Z"';
  const search = values.get("search") ?? "";
  if (search.length > MAX_SEARCH_CHARACTERS) return `"search" must have at most ${MAX_SEARCH_CHARACTERS} characters`;
  const cursor = values.get("cursor");
  const after = cursor === undefined || cursor === "" ? undefined : Buffer.from(cursor, "base64url").toString();
  if (after !== undefined && !/^[A-Za-z0-9.-]+\/[A-Za-z0-9._-]+$/.test(after))
    return '"cursor" is not one of this registry';
  return {
    limit: Math.min(Number(limit), MAX_LIMIT),
    after,
    search: search.toLowerCase(),
    version: values.get("version"),
  };
}

function isAsked({ search, version }: Asked, { about }: CatalogEntry): boolean {
  if (version !== undefined && version !== "latest" && version !== about.version) return false;
  return [about.name, about.title, about.description].some((text) => text.toLowerCase().includes(search));
}
