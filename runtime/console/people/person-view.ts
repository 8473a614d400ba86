/** Everything that acts for one user, for their page. Each part is bounded, and the page says where a part is cut. */
import type { Kind, KindQuery, SeenOfUser, ShownKind } from "../../administration/kind.ts";
import { KINDS } from "../../administration/kinds.ts";
import { CONNECTION } from "../../administration/kinds/connection.ts";
import type { UserFacts } from "../../policy/facts.ts";
import { storedFacts, toUser } from "../../identity/claims-record.ts";
import { createRecords, type IdentityRecord } from "../../identity/identity-records.ts";
import { listDevices } from "../../identity/devices/devices.ts";
import type { UpstreamConnection } from "../../oauth/client/list-connections.ts";
import { isClientIdUrl } from "../../oauth/server/clients/client-document.ts";
import { clientKey, type ClientRecord } from "../../oauth/server/grant-records.ts";
import type { ActiveGrant } from "../../oauth/server/list-access.ts";
import { actionLink, type ActionLink } from "../../pages/console/objects.ts";
import { fullTable } from "../../pages/console/columns.ts";
import type { PersonView, Section } from "../../pages/console/people/person.ts";
import { consoleTime } from "../../pages/console/pieces.ts";
import { describeBlock } from "../../policy/blocks.ts";
import type { KeptRecord } from "../../record-store/record-reader.ts";
import { parseUserId, providerNameOf } from "../../shared/user-id.ts";
import { addressOfId, addressOfList } from "../addresses.ts";
import type { ConsoleRequest } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { callWords } from "../call-words.ts";
import { objectTable } from "../objects/object-table.ts";
import { readFigures, WEEK } from "../servers/route-figures.ts";
import type { PeopleDeps } from "./deps.ts";
import { personReach } from "./person-reach.ts";

/** Per kind. */
export const MOST_SHOWN = 100;
const SHOWN_DECISIONS = 10;
/** In which the last addresses of sessions are looked for. */
const LOOKED_AT_DECISIONS = 100;
const MAX_GROUPS = 200;
const LONG = 1000;

type UserKind = ShownKind<object, PeopleDeps, SeenOfUser> & Required<Pick<Kind, "ofUser">>;

/** A user has one connection of each route, which names it here; and which are of an earlier configuration is known here. */
const CONNECTION_OF_USER = {
  ...CONNECTION,
  idOf: ({ routeKey }: UpstreamConnection) => routeKey,
  page: ({ connections }: PeopleDeps, { filters, ...page }: KindQuery) =>
    connections.page(filters.get("user") ?? "", page),
};

/** Kinds whose objects belong to users, in the order of the page. */
export const USER_KINDS = (
  KINDS.map((kind) => (kind.name === CONNECTION.name ? CONNECTION_OF_USER : kind)).filter(
    ({ ofUser }) => ofUser,
  ) as unknown as readonly UserKind[]
).toSorted((a, b) => a.ofUser.order - b.ofUser.order);

/** Where the browser comes back to, and which row has the link. */
export function anchorOf(of: string, id: string): string {
  return `${of}-${Buffer.from(id).toString("base64url")}`;
}

/** @returns undefined for an unknown user */
export async function personView(
  deps: PeopleDeps,
  visit: ConsoleRequest,
  userId: string,
): Promise<PersonView | undefined> {
  const { store } = deps;
  const page = { limit: MOST_SHOWN, filters: new Map([["user", userId]]) };
  const [identity, pages, devices, decisions, figures] = await Promise.all([
    createRecords(store).identities.get(userId),
    Promise.all(USER_KINDS.map(async (kind) => [kind, await kind.page(deps, page)] as const)),
    listDevices({ store }, userId),
    decisionsOf(deps, userId),
    readFigures(deps.records, visit, { user: userId }, WEEK),
  ]);
  if (!identity && pages.every(([, { found }]) => found.length === 0)) return undefined;
  const grants = pages.flatMap(([{ name }, { found }]) => (name === "grant" ? (found as readonly ActiveGrant[]) : []));
  const clients = await clientRecords(deps, [...new Set(grants.map(({ clientId }) => clientId))]);
  const facts = identity ? storedFacts(identity.value) : undefined;
  const email = facts?.email ?? "";
  const block = deps.blocks.find({ user: { id: userId, email } });
  const mayEnd = visit.rights.may("operator");
  const seen = {
    emails: new Map([[userId, email]]),
    sessionId: visit.principal.sessionId,
    deviceNames: new Map(devices.map(({ device }) => [device.id, device.name])),
    lastFrom: lastAddresses(decisions),
    vouchedBy: (clientId: string) => vouchedBy(clientId, clients),
    clientHref: (clientId: string) => addressOfId("clients/client", clientId),
    routeHref: (routeKey: string) => addressOfId("servers", routeKey),
  };
  const section = ([kind, { found, next }]: (typeof pages)[number]): Section => ({
    heading: found.length > 0 || !kind.ofUser.hidesWhenEmpty ? kind.ofUser.heading : undefined,
    table: objectTable(kind.table, found, { ...seen, link: linkOf(kind, mayEnd, userId) }, { draw: fullTable }),
    rows: found.length,
    isCut: next !== undefined,
  });
  return {
    facts: factsOf(userId, facts, identity, identity && toUser(identity.value, visit.snapshot.settings).email),
    block: block && blockText(describeBlock(block)),
    actions: mayEnd ? personActions(userId, block !== undefined) : [],
    sections: pages.map(section),
    decisions: decisionsView(decisions, userId),
    name: showUntrusted(facts?.name || email || userId),
    list: addressOfList("people"),
    reach: personReach(deps, visit.snapshot, identity?.value),
    figures,
  };
}

/** @param name of the action */
function objectLink(userId: string, name: string, id: string, text: string, of: string): ActionLink {
  return {
    href: `${addressOfId("people", userId, { do: name, of: id })}#reason`,
    anchor: name.startsWith(END) ? anchorOf(name.slice(END.length), id) : `${name}-${id}`,
    text,
    of,
  };
}

/** Prefix of the anchors of its rows: that of `end-device` is "device". */
export function anchorName<T extends object, D, S>({ actions }: Kind<T, D, S>): string {
  return actions.find(({ path }) => path === "end")?.name.slice(END.length) ?? "";
}

const END = "end-";

/** Links from objects of users to the page that asks again, which is the user's. */
export function linkOf<T extends object, D, S>(
  kind: Kind<T, D, S>,
  mayEnd: boolean,
  userId?: string,
): SeenOfUser["link"] {
  return (name, of, text, about) => {
    const thing = of as T;
    const user = userId ?? kind.userOf(thing) ?? "";
    return mayEnd ? actionLink(objectLink(user, name, kind.idOf(thing), text, about)) : undefined;
  };
}

function personActions(userId: string, isBlocked: boolean): readonly ActionLink[] {
  const link = (what: string, text: string): ActionLink => ({
    href: `${addressOfId("people", userId, { do: what })}#reason`,
    anchor: what,
    text,
    of: "",
  });
  return [link("end-all", "Revoke all access"), isBlocked ? link("unblock", "Unblock") : link("block", "Block")];
}

function factsOf(
  userId: string,
  facts: Pick<UserFacts, "email" | "name" | "groups" | "leftOut"> | undefined,
  identity: { readonly value: IdentityRecord; readonly expiresAt?: number } | undefined,
  countedEmail: string | undefined,
): PersonView["facts"] {
  if (!facts || !identity) {
    const kind = parseUserId(userId)?.kind ?? "person";
    const text = kind === "person" ? "Profile data has expired" : "Service account";
    return [
      ["ID", showUntrusted(userId)],
      ["Status", text],
    ];
  }
  const { confirmedAt, refusedAt, refreshDueAt } = identity.value;
  const groups = facts.groups.slice(0, MAX_GROUPS).map((group) => showUntrusted(group));
  const more = facts.groups.length > groups.length ? ` and ${facts.groups.length - groups.length} more` : "";
  return [
    ["Email", showUntrusted(facts.email) + (facts.email === countedEmail ? "" : " (not used by policy)")],
    ["Name", showUntrusted(facts.name)],
    ["ID", showUntrusted(userId)],
    ["Identity provider", showUntrusted(providerNameOf(userId))],
    [
      "Groups",
      facts.leftOut?.groups === true
        ? "unknown: omitted by the provider"
        : groups.length === 0
          ? "none"
          : groups.join(", ") + more,
    ],
    ["Last refreshed", consoleTime(confirmedAt * 1000)],
    ["Next refresh", refreshDueAt === undefined ? "at the next sign-in" : consoleTime(refreshDueAt * 1000)],
    ["Rejected by the provider", refusedAt === undefined ? undefined : consoleTime(refusedAt * 1000)],
    [
      "Profile expires",
      identity.expiresAt === undefined ? undefined : consoleTime(identity.expiresAt * 1000, "minute"),
    ],
  ];
}

function blockText({ reason, since, until, by }: ReturnType<typeof describeBlock>): string {
  const end = until === "" ? "until that is lifted" : `until ${until}`;
  return showUntrusted(`Since ${since}, ${end}, by ${by}${reason === "" ? "" : `: ${reason}`}`, LONG);
}

/** Those that are registered here. */
async function clientRecords(
  { store }: PeopleDeps,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ClientRecord>> {
  const registered = ids.filter((id) => !isClientIdUrl(id));
  const found = await Promise.all(
    registered.map(async (id) => [id, await store.get<ClientRecord>(clientKey(id))] as const),
  );
  return new Map(found.flatMap(([id, record]) => (record ? [[id, record.value] as const] : [])));
}

/** @returns undefined: its name is its own word */
export function vouchedBy(clientId: string, clients: ReadonlyMap<string, ClientRecord>): string | undefined {
  if (isClientIdUrl(clientId)) return showUntrusted(URL.canParse(clientId) ? new URL(clientId).host : clientId);
  return clients.get(clientId)?.preRegistered === true ? "an administrator" : undefined;
}

type Decisions = readonly KeptRecord[] | "failed" | undefined;

async function decisionsOf({ records }: PeopleDeps, userId: string): Promise<Decisions> {
  if (!records) return undefined;
  try {
    const page = await records.find({ kind: "decision", user: userId, order: "newest", limit: LOOKED_AT_DECISIONS });
    return page.records;
  } catch {
    return "failed";
  }
}

/** By session: the newest record comes first. */
function lastAddresses(decisions: Decisions): ReadonlyMap<string, string> {
  const addresses = new Map<string, string>();
  if (typeof decisions === "object")
    for (const { value } of decisions) {
      const { "session-id": session, ip } = value;
      if (typeof session === "string" && typeof ip === "string" && !addresses.has(session))
        addresses.set(session, showUntrusted(ip));
    }
  return addresses;
}

function decisionsView(decisions: Decisions, userId: string): PersonView["decisions"] {
  if (typeof decisions !== "object") return decisions;
  return {
    rows: decisions.slice(0, SHOWN_DECISIONS).map((record) => ({
      href: addressOfId("decisions", record.id),
      timeMs: record.timeMs,
      outcome: record.outcome,
      route: showUntrusted(record.route ?? ""),
      what: callWords(record),
      from: typeof record.value["ip"] === "string" ? showUntrusted(record.value["ip"]) : "",
    })),
    all: addressOfList("decisions", { user: userId }),
  };
}
