/**
 * The search box of each page: an exact request ID or email address leads straight to its page, anything else finds users, servers,
 * tools and clients, a few each.
 *
 * Promises: nothing is found that the administrator cannot open; each source has its own time limit and looks at a bounded number of
 * records.
 */
import { createRecords, emailTag, type IdentityRecord } from "../../identity/identity-records.ts";
import { redirect } from "../../http/respond.ts";
import { kindOfKey, nameOfKey } from "../../features/mcp/locked-items.ts";
import { toolLockOf } from "../../mcp/tool-locks/tool-locks.ts";
import { pageClients } from "../../oauth/server/clients/pre-registered.ts";
import { clientKey, type ClientRecord } from "../../oauth/server/grant-records.ts";
import { type FoundGroup, type FoundRow, searchBody } from "../../pages/console/search.ts";
import type { RecordReader } from "../../record-store/record-reader.ts";
import { within } from "../../shared/clock.ts";
import { pageOf } from "../../store/page-of.ts";
import type { Store, StoredRecord } from "../../store/store.ts";
import { addressOfId, addressOfList } from "../addresses.ts";
import { lookThrough } from "../look-through.ts";
import type { ConsoleRequest, Screen } from "../screen.ts";
import { visibleRoutes } from "../servers/list-servers.ts";
import { addressOf } from "../servers/route-words.ts";
import { showUntrusted } from "../show-untrusted.ts";

export const SEARCH_PATH = "search";

export interface SearchDeps {
  readonly store: Store;
  /** Undefined: no records are stored. */
  readonly records: Pick<RecordReader, "find"> | undefined;
}

const SHOWN = 5;
const MAX_CHARACTERS = 256;
const GROUP_WITHIN_MS = 1_500;
const MAX_TEXT = 120;

export function searchScreen(deps: SearchDeps): Screen {
  return {
    path: SEARCH_PATH,
    group: "",
    icon: "search",
    name: "Search",
    isHidden: true,
    async respond(visit) {
      const to = visit.path.length === 0 ? await exactPage(deps, visit) : undefined;
      if (to === undefined) return false;
      redirect(visit.exchange, 302, to);
      return true;
    },
    async show(visit) {
      if (visit.path.length > 0) return undefined;
      const asked = askedOf(visit);
      const groups = asked === "" ? [] : await findGroups(deps, visit, asked);
      return { title: "Search", body: searchBody({ asked: showUntrusted(asked), groups }) };
    },
  };
}

function askedOf({ query }: Pick<ConsoleRequest, "query">): string {
  const asked = (query.get("q") ?? "").trim().slice(0, MAX_CHARACTERS);
  return asked.isWellFormed() && !asked.includes("\0") ? asked : "";
}

const cut = (text: string): string => showUntrusted(text, MAX_TEXT);

/** Of the one decision with this request ID, or the one user with this email address or ID. */
async function exactPage({ store, records }: SearchDeps, visit: ConsoleRequest): Promise<string | undefined> {
  const asked = askedOf(visit);
  const { rights } = visit;
  if (asked === "" || asked.includes(" ")) return undefined;
  const owners = rights.owners;
  const isName = asked.includes("@");
  const [found, users] = await Promise.all([
    records && !isName
      ? orNothing(
          records
            .find({ kind: "decision", request: asked, order: "newest", limit: 2, ...(owners && { owners }) })
            .then((page) => page.records),
        )
      : [],
    rights.may("viewer") ? orNothing(exactUsers(store, asked)) : [],
  ]);
  const [record, ...otherRecords] = found;
  if (record)
    return otherRecords.length === 0
      ? addressOfId("decisions", record.id)
      : addressOfList("decisions", { request: asked });
  const [user] = users;
  return user && users.length === 1 ? addressOfId("people", user.userId) : undefined;
}

async function exactUsers(store: Store, asked: string): Promise<readonly IdentityRecord[]> {
  const byId = await createRecords(store).identities.get(asked);
  const byEmail = await store.page<IdentityRecord>({ prefix: "identity:", tag: emailTag(asked), limit: SHOWN });
  const all = [...(byId ? [byId] : []), ...byEmail].map(({ value }) => value);
  return [...new Map(all.map((each) => [each.userId, each])).values()];
}

async function findGroups(
  { store, records }: SearchDeps,
  visit: ConsoleRequest,
  asked: string,
): Promise<readonly FoundGroup[]> {
  const wanted = asked.toLowerCase();
  // Users and clients belong to no owner.
  const isWhole = visit.rights.may("viewer");
  const [users, clients, calledTools, callers] = await Promise.all([
    isWhole ? inTime(findUsers(store, wanted)) : [],
    isWhole ? inTime(findClients(store, wanted)) : [],
    orNothing(findInRecords(records, visit, "tool", asked)),
    orNothing(findInRecords(records, visit, "client", asked)),
  ]);
  const withoutKnown = (rows: readonly FoundRow[], known: FoundGroup["rows"]): readonly FoundRow[] =>
    known === "failed" ? rows : rows.filter(({ name }) => known.every((each) => each.name !== name));
  const tools = findTools(visit, wanted);
  const group = (name: string, screen: string, rows: FoundGroup["rows"]): readonly FoundGroup[] =>
    rows === "failed" || rows.length > 0 ? [{ name, href: addressOfList(screen, { q: asked }), rows }] : [];
  return [
    ...group("Users", "people", users),
    ...group("Servers and apps", "servers", findServers(visit, wanted)),
    ...group("Tools", "decisions", [...withoutKnown(calledTools, tools), ...tools]).map((each) => ({
      ...each,
      href: undefined,
    })),
    ...group("Clients", "clients", clients === "failed" ? clients : [...withoutKnown(callers, clients), ...clients]),
  ];
}

/** A tool or client that decisions name exactly so; of a tool also its access. */
async function findInRecords(
  records: SearchDeps["records"],
  visit: ConsoleRequest,
  by: "tool" | "client",
  asked: string,
): Promise<readonly FoundRow[]> {
  const { owners } = visit.rights;
  const query = { kind: "decision", [by]: asked, order: "newest", limit: 1, ...(owners && { owners }) } as const;
  const [record] = (await records?.find(query))?.records ?? [];
  if (!record) return [];
  const text = `Decisions, the last one ${cut(by === "tool" ? `on ${record.route ?? ""}` : `for ${record.email || record.userId || "no user"}`)}`;
  const found = { name: cut(asked), isCode: by === "tool" };
  const route = by === "tool" ? visibleRoutes(visit).find(({ key }) => key === record.route) : undefined;
  return [
    { ...found, href: addressOfList("decisions", { [by]: asked }), text },
    ...(route ? [{ ...found, href: toolAddress(route.key, asked), text: `Access on ${cut(route.key)}` }] : []),
  ];
}

async function findUsers(store: Store, wanted: string): Promise<readonly FoundRow[]> {
  const { found } = await lookThrough<IdentityRecord>(
    (page) =>
      pageOf<IdentityRecord, StoredRecord<IdentityRecord>>(store, { prefix: "identity:" }, page, (record) => record),
    {
      after: undefined,
      room: SHOWN,
      isMeant: ({ value }) =>
        [value.userId, value.email, value.name].some((text) => text.toLowerCase().includes(wanted)),
    },
  );
  return found.map(({ value: { userId, email, name } }) => ({
    href: addressOfId("people", userId),
    name: cut(email || userId),
    text: cut(name),
  }));
}

async function findClients(store: Store, wanted: string): Promise<readonly FoundRow[]> {
  const idOf = ({ key }: StoredRecord<ClientRecord>): string => key.slice(clientKey("").length);
  const { found } = await lookThrough<ClientRecord>((page) => pageClients(store, page), {
    after: undefined,
    room: SHOWN,
    isMeant: (record) =>
      [idOf(record), record.value.metadata.client_name ?? ""].some((text) => text.toLowerCase().includes(wanted)),
  });
  return found.map((record) => ({
    href: addressOfId("clients/client", idOf(record)),
    name: cut(record.value.metadata.client_name ?? idOf(record)),
    text: cut(idOf(record)),
  }));
}

function findServers(visit: ConsoleRequest, wanted: string): readonly FoundRow[] {
  return visibleRoutes(visit)
    .filter((route) => [route.key, route.name, addressOf(route)].some((text) => text.toLowerCase().includes(wanted)))
    .slice(0, SHOWN)
    .map((route) => ({ href: addressOfId("servers", route.key), name: cut(route.name), text: cut(addressOf(route)) }));
}

/** The part of a server's page that says which groups can call the tool. */
function toolAddress(routeKey: string, tool: string): string {
  return addressOfId("servers", routeKey, { tool });
}

/** Of the tools that locks name. */
function findTools(visit: ConsoleRequest, wanted: string): readonly FoundRow[] {
  const rows: FoundRow[] = [];
  for (const route of visibleRoutes(visit)) {
    for (const key of toolLockOf(route)?.items.keys() ?? []) {
      const tool = kindOfKey(key) === "tool" ? nameOfKey(key) : undefined;
      if (tool === undefined || !tool.toLowerCase().includes(wanted)) continue;
      rows.push({ href: toolAddress(route.key, tool), name: cut(tool), text: cut(route.key), isCode: true });
      if (rows.length === SHOWN) return rows;
    }
  }
  return rows;
}

function inTime(work: Promise<readonly FoundRow[]>): Promise<FoundGroup["rows"]> {
  return within<FoundGroup["rows"]>(
    GROUP_WITHIN_MS,
    work.catch(() => "failed" as const),
    () => "failed",
  );
}

function orNothing<T>(work: Promise<readonly T[]>): Promise<readonly T[]> {
  return within<readonly T[]>(
    GROUP_WITHIN_MS,
    work.catch(() => []),
    () => [],
  );
}
