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
const SKIPPED_STEP = 500;
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
  const { cursor, limit } = asked;
  const begin = firstAfter(entries, cursor.after) + cursor.skipped;
  const found: CatalogEntry[] = [];
  let at = begin;
  // One more than the page shows: a cursor must not reveal servers that the reader may not find.
  for (; at < entries.length && found.length <= limit && at - begin < MAX_LOOKED_AT; at += 1) {
    const entry = entries[at];
    if (entry && isAsked(asked, entry) && mayFind(deps.blocks, reader, entry)) found.push(entry);
  }
  const isFull = found.length > limit;
  const servers = found.slice(0, limit);
  const after = servers.at(-1)?.name ?? cursor.after;
  const next = { after, skipped: isFull ? 0 : inSteps(at - firstAfter(entries, after)) };
  respond(exchange, reader, {
    servers: servers.map(serverOf),
    metadata: { count: servers.length, ...((isFull || at < entries.length) && { nextCursor: writeCursor(next) }) },
  });
}

/** After a server that the reader may find, and some others. */
interface Cursor {
  /** "": from the start. */
  readonly after: string;
  readonly skipped: number;
}

/** Only whole steps: exact numbers would let readers count the servers that they may not find. */
function inSteps(count: number): number {
  return count - (count % SKIPPED_STEP);
}

function writeCursor({ after, skipped }: Cursor): string {
  return Buffer.from(skipped === 0 ? after : `${after}:${skipped}`).toString("base64url");
}

function readCursor(cursor: string): Cursor | undefined {
  const text = Buffer.from(cursor, "base64url").toString();
  const [whole, after = "", skipped = "0"] = CURSOR.exec(text) ?? [];
  const isCursor =
    whole !== undefined && (whole !== "" || cursor === "") && inSteps(Number(skipped)) === Number(skipped);
  return !isCursor ? undefined : { after, skipped: Number(skipped) };
}

const CURSOR = /^([A-Za-z0-9.-]+\/[A-Za-z0-9._-]+)?(?::([0-9]{1,7}))?$/;

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
  readonly cursor: Cursor;
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
  const cursor = readCursor(values.get("cursor") ?? "");
  if (cursor === undefined) return '"cursor" is not one of this registry';
  return {
    limit: Math.min(Number(limit), MAX_LIMIT),
    cursor,
    search: search.toLowerCase(),
    version: values.get("version"),
  };
}

function isAsked({ search, version }: Asked, { about }: CatalogEntry): boolean {
  if (version !== undefined && version !== "latest" && version !== about.version) return false;
  return [about.name, about.title, about.description].some((text) => text.toLowerCase().includes(search));
}
