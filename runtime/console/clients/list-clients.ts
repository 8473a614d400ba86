/** OAuth clients page by page, and one client with its grants. */
import {
  CLIENT,
  grantTypesText,
  toClient,
  type Client,
  type SeenOfClients,
} from "../../administration/kinds/client.ts";
import { createRecords } from "../../identity/identity-records.ts";
import { isClientIdUrl } from "../../oauth/server/clients/client-document.ts";
import { pageClients } from "../../oauth/server/clients/pre-registered.ts";
import { clientKey, type ClientRecord } from "../../oauth/server/grant-records.ts";
import { pageGrants } from "../../oauth/server/list-access.ts";
import { fullTable } from "../../pages/console/columns.ts";
import { tableBody, type ClientView } from "../../pages/console/people/clients.ts";
import { consoleTime, emptyState, filterForm } from "../../pages/console/pieces.ts";
import type { Html } from "../../pages/html.ts";
import type { StoredRecord } from "../../store/store.ts";
import { addressOfId, addressOfList, placeIn } from "../addresses.ts";
import { lookThrough, pagesOfSearch, SEARCHED_PAGE } from "../look-through.ts";
import { objectTable } from "../objects/object-table.ts";
import { vouchedBy } from "../people/person-view.ts";
import type { ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { clientTabs } from "./tabs.ts";
import type { ClientsDeps } from "./deps.ts";
import { isTagText, seenClients } from "./seen-clients.ts";

const COUNTED_GRANTS = 20;
const GRANTS_PAGE = 50;
const MAX_SEARCH_CHARACTERS = 2048;

export async function clientsBody(deps: ClientsDeps, { query }: ConsoleRequest): Promise<Html> {
  const { store, blocks } = deps;
  const search = (query.get("q") ?? "").trim().slice(0, MAX_SEARCH_CHARACTERS);
  const after = placeIn(clientKey(""), query.get("after"));
  const known = after === undefined ? await byAddress(deps, search) : [];
  const wanted = search.toLowerCase();
  const looked = await lookThrough<ClientRecord>((page) => pageClients(store, page), {
    after,
    room: SEARCHED_PAGE - known.length,
    isMeant: wanted === "" ? undefined : (record) => isMeant(record, wanted),
  });
  const clients = [...known, ...looked.found.map(toClient)];
  const grants = clients.map(async ({ id }) => [id, await grantsText(deps, id)] as const);
  const seen: SeenOfClients = {
    emails: new Map(),
    clientHref: (id) => addressOfId("clients/client", id),
    vouchedBy: ({ id, record }) => vouchedBy(id, record ? new Map([[id, record.value]]) : new Map()),
    isBlocked: (clientId) => blocks.find({ clientId }) !== undefined,
    grants: new Map(await Promise.all(grants)),
  };
  const table = search === "" ? CLIENT.table : { ...CLIENT.table, empty: NOT_FOUND };
  return tableBody({
    tabs: clientTabs("clients"),
    filter: filterForm(addressOfList("clients"), [{ name: "q", label: "ID or name", value: search, type: "search" }]),
    table: objectTable(table, clients, seen, { draw: fullTable }),
    pages: pagesOfSearch("clients", { search, after, looked }),
    more: after === undefined ? await seenClients(deps, search) : undefined,
  });
}

const NOT_FOUND = emptyState("No matching clients", "Search by the whole URL for clients identified by a document.");

/** One that is identified by its own address has no record here, only grants. */
async function byAddress({ store }: ClientsDeps, search: string): Promise<readonly Client[]> {
  if (!isClientIdUrl(search) || !isTagText(search)) return [];
  const [grant] = (await pageGrants(store, { clientId: search }, { limit: 1 })).found;
  return grant ? [{ id: search, grant }] : [];
}

function isMeant({ key, value }: StoredRecord<ClientRecord>, wanted: string): boolean {
  return [key.slice(clientKey("").length), value.metadata.client_name ?? ""].some((text) =>
    text.toLowerCase().includes(wanted),
  );
}

async function grantsText({ store }: ClientsDeps, clientId: string): Promise<string> {
  const { found, next } = await pageGrants(store, { clientId }, { limit: COUNTED_GRANTS });
  return next === undefined ? String(found.length) : `${found.length} or more`;
}

/** @returns undefined: no such client, and nothing was ever granted to it */
export async function clientView(
  deps: ClientsDeps,
  visit: ConsoleRequest,
  id: string,
): Promise<ClientView | undefined> {
  const { store } = deps;
  if (!isTagText(id)) return undefined;
  const after = placeIn("grant:", visit.query.get("after"));
  const [record, grants] = await Promise.all([
    store.get<ClientRecord>(clientKey(id)),
    pageGrants(store, { clientId: id }, { after, limit: GRANTS_PAGE }),
  ]);
  if (!record && grants.found.length === 0) return undefined;
  const { identities } = createRecords(store);
  const users = [...new Set(grants.found.map(({ userId }) => userId))];
  const emails = new Map(
    await Promise.all(
      users.map(async (userId) => [userId, (await identities.get(userId))?.value.email ?? ""] as const),
    ),
  );
  const here = addressOfId("clients/client", id);
  return {
    list: addressOfList("clients"),
    facts: factsOf(id, record?.value, grants.found[0]?.clientName),
    end: visit.rights.may("operator")
      ? {
          href: `${addressOfId("clients/client", id, { do: "end-client" })}#reason`,
          anchor: "end-client",
          text: "Delete client",
          of: "",
        }
      : undefined,
    grants: {
      rows: grants.found.map((grant) => ({
        id: grant.id,
        who: showUntrusted(emails.get(grant.userId) || grant.userId),
        href: addressOfId("people", grant.userId),
        server: showUntrusted(grant.audience),
        scope: showUntrusted(grant.scope),
        beganMs: grant.createdAt * 1000,
        endsMs: grant.expiresAt * 1000,
      })),
      isCut: grants.next !== undefined,
    },
    pages: {
      first: after === undefined ? undefined : here,
      next: grants.next === undefined ? undefined : addressOfId("clients/client", id, { after: grants.next }),
      nextText: "More grants",
    },
  };
}

function factsOf(id: string, record: ClientRecord | undefined, grantedName: string | undefined): ClientView["facts"] {
  const metadata = record?.metadata;
  const name = metadata?.client_name ?? grantedName ?? "";
  const verifiedBy = vouchedBy(id, record ? new Map([[id, record]]) : new Map());
  const time = (seconds: number | undefined) =>
    seconds === undefined ? undefined : consoleTime(seconds * 1000, "minute");
  return [
    ["Name", `${showUntrusted(name)} (${verifiedBy === undefined ? "unverified" : `verified by ${verifiedBy}`})`],
    ["ID", showUntrusted(id, 2048)],
    ["Issuer", record && showUntrusted(record.issuer)],
    ["Redirect URIs", metadata?.redirect_uris.map((uri) => showUntrusted(uri, 500)).join(", ")],
    ["Grant types", record && grantTypesText(record)],
    [
      "Client authentication",
      metadata?.token_endpoint_auth_method === "none" ? "none (public client)" : metadata?.token_endpoint_auth_method,
    ],
    ["Website (self-reported)", metadata?.client_uri && showUntrusted(metadata.client_uri)],
    [
      "Software (self-reported)",
      metadata?.software_id && showUntrusted(`${metadata.software_id} ${metadata.software_version ?? ""}`),
    ],
    ["Scopes", metadata && showUntrusted(metadata.scope)],
    ["Registered", time(record?.issuedAt)],
    ["Last used", time(record?.usedAt)],
  ];
}
