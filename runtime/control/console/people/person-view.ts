/** What acts in one person's name, for their page. Each part is bounded; what is cut off is told. */
import type { UserFacts } from "../../../policy/facts.ts";
import { storedFacts } from "../../../identity/claims-record.ts";
import { createRecords, type IdentityRecord } from "../../../identity/identity-records.ts";
import { listDevices, type LivingDevice } from "../../../identity/devices/devices.ts";
import { pageSessions } from "../../../identity/users/list-sessions.ts";
import { isClientIdUrl } from "../../../oauth/server/clients/client-document.ts";
import { clientKey, type ClientRecord } from "../../../oauth/server/grant-records.ts";
import { pageConsents, pageGrants } from "../../../oauth/server/list-access.ts";
import type { EndLink, Listed, PersonView } from "../../../pages/console/people/person.ts";
import { consoleTime } from "../../../pages/console/pieces.ts";
import { describeBlock } from "../../../policy/blocks.ts";
import type { KeptRecord } from "../../../record-store/record-reader.ts";
import { parseUserId, providerNameOf } from "../../../shared/user-id.ts";
import type { PageOf } from "../../../store/page-of.ts";
import { addressOfId, addressOfList } from "../addresses.ts";
import type { Visit } from "../screen.ts";
import { strange } from "../strange.ts";
import { callWords } from "../call-words.ts";
import type { PeopleDeps } from "./people.ts";

/** Of each kind. */
export const MOST_SHOWN = 100;
const SHOWN_DECISIONS = 10;
/** In which the last addresses of sessions are looked for. */
const LOOKED_AT_DECISIONS = 100;
const MAX_GROUPS = 200;
const LONG = 1000;

/** One of those that are ended one by one, in the order of the page. */
export type EndKind = "session" | "grant" | "approval" | "connection" | "device";

/** Where the browser comes back to, and which row has the link. */
export function anchorOf(kind: EndKind, id: string): string {
  return `${kind}-${Buffer.from(id).toString("base64url")}`;
}

/** @returns undefined when nothing is known of anybody by this id */
export async function personView(deps: PeopleDeps, visit: Visit, userId: string): Promise<PersonView | undefined> {
  const { store } = deps;
  const page = { limit: MOST_SHOWN };
  const [identity, sessions, grants, consents, connections, devices, decisions] = await Promise.all([
    createRecords(store).identities.get(userId),
    pageSessions(store, userId, page),
    pageGrants(store, { userId }, page),
    pageConsents(store, userId, page),
    deps.connections.page(userId, page),
    listDevices({ store }, userId),
    decisionsOf(deps, userId),
  ]);
  const all = [sessions, grants, consents, connections];
  const isKnown = identity || devices.length > 0 || all.some(({ found }) => found.length > 0);
  if (!isKnown) return undefined;
  const clients = await clientRecords(deps, [...new Set(grants.found.map(({ clientId }) => clientId))]);
  const facts = identity ? storedFacts(identity.value) : undefined;
  const email = facts?.email ?? "";
  const block = deps.blocks.find({ user: { id: userId, email } });
  const mayEnd = visit.rights.may("operator");
  const end = (kind: EndKind, id: string, text: string, of: string): EndLink | undefined =>
    mayEnd
      ? {
          href: `${addressOfId("people", userId, { do: `end-${kind}`, of: id })}#reason`,
          anchor: anchorOf(kind, id),
          text,
          of,
        }
      : undefined;
  const names = new Map(devices.map(({ device }) => [device.id, device.name]));
  const lastFrom = lastAddresses(decisions);
  return {
    facts: factsOf(userId, facts, identity),
    block: block && blockText(describeBlock(block)),
    actions: mayEnd ? personActions(userId, block !== undefined) : [],
    sessions: listed(sessions, ({ id, createdAt, expiresAt, deviceIds }) => ({
      id,
      beganMs: createdAt * 1000,
      endsMs: expiresAt * 1000,
      isYours: id === visit.principal.sessionId,
      devices: deviceIds.map((each) => strange(names.get(each) ?? each)),
      lastFrom: lastFrom.get(id),
      end: end("session", id, "End", `session ${id}`),
    })),
    grants: listed(grants, (grant) => ({
      id: grant.id,
      client: strange(grant.clientName),
      clientHref: addressOfId("clients/client", grant.clientId),
      vouchedBy: vouchedBy(grant.clientId, clients),
      server: strange(grant.audience),
      scope: strange(grant.scope),
      beganMs: grant.createdAt * 1000,
      endsMs: grant.expiresAt * 1000,
      end: end("grant", grant.id, "End", `access of ${strange(grant.clientName)}`),
    })),
    approvals: listed(consents, ({ key, clientName, audience, grantedAt, expiresAt }) => ({
      client: strange(clientName),
      server: strange(audience),
      givenMs: grantedAt * 1000,
      endsMs: expiresAt * 1000,
      end: end("approval", key, "Withdraw", `approval of ${strange(clientName)}`),
    })),
    connections: listed(connections, (connection) => ({
      route: strange(connection.routeKey),
      routeHref: addressOfId("servers", connection.routeKey),
      server: strange(connection.server),
      state: connection.state,
      scopes: strange(connection.scopes.join(" ")),
      since: connection.obtainedAt * 1000,
      // Nobody uses what belongs to an earlier configuration, and nothing finds it again.
      end:
        connection.state === "stale"
          ? undefined
          : end("connection", connection.routeKey, "End", `connection of ${strange(connection.routeKey)}`),
    })),
    devices: {
      rows: devices.map((each) => ({ ...deviceFacts(each), links: mayEnd ? deviceLinks(each) : [] })),
      isCut: false,
    },
    decisions: decisionsView(decisions, userId),
  };
}

/** Facts that the list of all devices has, too. */
export function deviceFacts({ device }: LivingDevice) {
  return {
    id: device.id,
    name: strange(device.name),
    type:
      device.type === "enclave_only" ? (device.isSynced ? "built in, synced" : "built in") : "security key or other",
    isApproved: device.approvedAt !== undefined,
    usedMs: device.usedAt * 1000,
  };
}

export function deviceLinks({ device }: LivingDevice): readonly EndLink[] {
  const { id, userId, name, approvedAt } = device;
  const link = (what: string, text: string): EndLink => ({
    href: `${addressOfId("people", userId, { do: what, of: id })}#reason`,
    anchor: what === "end-device" ? anchorOf("device", id) : `${what}-${id}`,
    text,
    of: `device ${strange(name)}`,
  });
  return [
    approvedAt === undefined ? link("approve-device", "Approve") : link("withdraw-device", "Withdraw approval"),
    link("end-device", "End"),
  ];
}

function personActions(userId: string, isBlocked: boolean): readonly EndLink[] {
  const link = (what: string, text: string): EndLink => ({
    href: `${addressOfId("people", userId, { do: what })}#reason`,
    anchor: what,
    text,
    of: "",
  });
  return [link("end-all", "End all access"), isBlocked ? link("unblock", "Lift the block") : link("block", "Block")];
}

function factsOf(
  userId: string,
  facts: Pick<UserFacts, "email" | "name" | "groups" | "leftOut"> | undefined,
  identity: { readonly value: IdentityRecord; readonly expiresAt?: number } | undefined,
): PersonView["facts"] {
  if (!facts || !identity) {
    const kind = parseUserId(userId)?.kind ?? "person";
    const text =
      kind === "person" ? "Nothing is kept of the last sign-in any more" : "A machine, which does not sign in";
    return [
      ["Id", strange(userId)],
      ["Known", text],
    ];
  }
  const { confirmedAt, refusedAt, refreshDueAt } = identity.value;
  const groups = facts.groups.slice(0, MAX_GROUPS).map((group) => strange(group));
  const more = facts.groups.length > groups.length ? ` and ${facts.groups.length - groups.length} more` : "";
  return [
    ["E-mail address", strange(facts.email)],
    ["Name", strange(facts.name)],
    ["Id", strange(userId)],
    ["Signs in at", strange(providerNameOf(userId))],
    [
      "Groups, as last seen",
      facts.leftOut?.groups === true
        ? "not known: the provider left them out"
        : groups.length === 0
          ? "none"
          : groups.join(", ") + more,
    ],
    ["Last confirmed by the provider", consoleTime(confirmedAt * 1000)],
    ["Asked again", refreshDueAt === undefined ? "at the next sign-in" : consoleTime(refreshDueAt * 1000)],
    ["Refused by the provider", refusedAt === undefined ? undefined : consoleTime(refusedAt * 1000)],
    ["Forgotten", identity.expiresAt === undefined ? undefined : consoleTime(identity.expiresAt * 1000, "minute")],
  ];
}

function blockText({ reason, since, until, by }: ReturnType<typeof describeBlock>): string {
  const end = until === "" ? "until that is lifted" : `until ${until}`;
  return strange(`Since ${since}, ${end}, by ${by}${reason === "" ? "" : `: ${reason}`}`, LONG);
}

function listed<T, R>({ found, next }: PageOf<T>, make: (each: T) => R): Listed<R> {
  return { rows: found.map(make), isCut: next !== undefined };
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
  if (isClientIdUrl(clientId)) return strange(URL.canParse(clientId) ? new URL(clientId).host : clientId);
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
        addresses.set(session, strange(ip));
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
      route: strange(record.route ?? ""),
      what: callWords(record),
      from: typeof record.value["ip"] === "string" ? strange(record.value["ip"]) : "",
    })),
    all: addressOfList("decisions", { user: userId }),
  };
}
