/**
 * Discovery by domain: `/.well-known/ai-catalog.json` names the server cards, each of which says how to connect to one
 * server. On the host of the sign-in pages the catalog has all servers, on others those of the host.
 *
 * @see SEP-2127; modelcontextprotocol/experimental-ext-server-card, docs/discovery.md
 */
import { AI_CATALOG_PATH, SERVER_CARDS_PATH } from "../features/catalog/paths.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { findSite } from "../identity/sites.ts";
import { entriesOf, mayFind, type CatalogEntry } from "./entries.ts";
import { type CatalogDeps, readerOf, respondDocument, respondNotFound } from "./reader.ts";
import { findEntry } from "./registry.ts";

const CARD_TYPE = "application/mcp-server-card+json";
const CARD_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
const CATALOG_TYPE = "application/ai-catalog+json";
/** The format has no pages. */
const MAX_ENTRIES = 1_000;
const MAX_AGE_SECONDS = 3_600;

export function cardEndpoints(deps: CatalogDeps): readonly Endpoint[] {
  return [
    {
      methods: ["GET"],
      path: AI_CATALOG_PATH,
      cors: true,
      mcp: true,
      async handle(exchange, snapshot) {
        const reader = await readerOf(deps, exchange, snapshot);
        if (reader === undefined) return;
        const isWhole = findSite(snapshot, exchange.host)?.authenticates === true;
        const entries: object[] = [];
        for (const entry of entriesOf(snapshot)) {
          if (entries.length === MAX_ENTRIES) break;
          if ((isWhole || entry.route.host === exchange.host) && mayFind(deps.blocks, reader, entry))
            entries.push(catalogEntry(entry));
        }
        const document = { specVersion: "1.0", entries };
        respondDocument(exchange, reader, document, { type: CATALOG_TYPE, maxAgeSeconds: MAX_AGE_SECONDS });
      },
    },
    {
      methods: ["GET"],
      path: `${SERVER_CARDS_PATH}/*`,
      cors: true,
      mcp: true,
      async handle(exchange, snapshot) {
        const reader = await readerOf(deps, exchange, snapshot);
        if (reader === undefined) return;
        const entry = findEntry(snapshot, exchange.path.slice(SERVER_CARDS_PATH.length + 1));
        if (!entry || entry.route.host !== exchange.host || !mayFind(deps.blocks, reader, entry))
          return respondNotFound(exchange);
        const card = { $schema: CARD_SCHEMA, ...entry.about };
        respondDocument(exchange, reader, card, { type: CARD_TYPE, maxAgeSeconds: MAX_AGE_SECONDS });
      },
    },
  ];
}

function catalogEntry({ name, route }: CatalogEntry): object {
  return {
    identifier: `urn:air:${route.hostname}:mcp:${name.slice(name.indexOf("/") + 1)}`,
    type: CARD_TYPE,
    url: `${route.origin}${SERVER_CARDS_PATH}/${name}`,
  };
}
