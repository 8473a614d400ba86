/** Data for screens of the console about servers, users and clients: a store in memory with all kinds of records. */
import type { AdminAction } from "../../runtime/audit/action-record.ts";
import type { Snapshot } from "../../runtime/config/snapshot.ts";
import { createMintedTokens } from "../../runtime/admin-listener/minted-tokens.ts";
import type { ConsoleRights, ConsoleRole, Screen, ConsoleRequest } from "../../runtime/console/screen.ts";
import { openBlocks } from "../../runtime/identity/blocks.ts";
import {
  createRecords,
  DEVICES_TAG,
  identityTags,
  SESSIONS_TAG,
  userTag,
} from "../../runtime/identity/identity-records.ts";
import type { IdentityRecord } from "../../runtime/identity/identity-records.ts";
import { createRevocations } from "../../runtime/identity/revocations.ts";
import { createToolLocks } from "../../runtime/mcp/tool-locks/tool-locks.ts";
import { createConnections } from "../../runtime/oauth/client/list-connections.ts";
import { upstreamTokenKey, type UpstreamTokenRecord } from "../../runtime/oauth/client/connection-records.ts";
import { findTarget } from "../../runtime/oauth/client/target.ts";
import {
  clientKey,
  clientTags,
  consentKey,
  GRANTS_TAG,
  ownerTags,
  storeGrant,
} from "../../runtime/oauth/server/grant-records.ts";
import type { CountQuery, KeptRecord, RecordCounts, RecordQuery } from "../../runtime/record-store/record-reader.ts";
import { epochSeconds } from "../../runtime/shared/clock.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import type { UserId } from "../../runtime/shared/user-id.ts";
import type { UpstreamStatus } from "../../runtime/features/balancing/apply-state.ts";
import { createTestClock } from "./clock.ts";
import { snapshotFrom, type SnapshotOptions } from "./config.ts";
import { createBreakableStore } from "./store.ts";
import { userId } from "./users.ts";
import type { ServersDeps } from "../../runtime/console/servers/deps.ts";
import type { PeopleDeps } from "../../runtime/console/people/deps.ts";
import type { ClientsDeps } from "../../runtime/console/clients/deps.ts";

export type ConsoleWorld = Awaited<ReturnType<typeof openConsoleWorld>>;

export async function openConsoleWorld(yaml: string, options: SnapshotOptions = {}) {
  const clock = createTestClock();
  const breakable = createBreakableStore(clock);
  const { store } = breakable;
  const snapshot = snapshotFrom(yaml, options);
  const log = silentLog();
  const revocations = createRevocations({ store, clock, log, longestLifetime: () => 3600 });
  const blocks = await openBlocks({ store, clock, log });
  const actions: AdminAction[] = [];
  const disconnected: string[] = [];
  const records: KeptRecord[] = [];
  const queries: RecordQuery[] = [];
  const upstreams: UpstreamStatus[] = [];
  const toolLocks = createToolLocks();
  const now = epochSeconds(clock);
  const connections = createConnections({
    store,
    clock,
    snapshots: { current: () => snapshot, subscribe: () => () => {} },
  });
  const recordAction = (action: AdminAction): void => void actions.push(action);
  const reader = {
    async find(query: RecordQuery) {
      queries.push(query);
      if (breakable.broken) throw new Error("away");
      return { records: records.slice(0, query.limit), isPartial: false };
    },
    async count({ route, user, slots }: CountQuery): Promise<RecordCounts> {
      if (breakable.broken) throw new Error("away");
      const counts: Partial<Record<KeptRecord["outcome"], number>> = {};
      for (const record of records)
        if ((route === undefined || record.route === route) && (user === undefined || record.userId === user))
          counts[record.outcome] = (counts[record.outcome] ?? 0) + 1;
      return { slots: Array.from({ length: slots }, (_, at) => (at === slots - 1 ? counts : {})) };
    },
  };
  const publishTokens = createMintedTokens({ store, clock });
  const people: PeopleDeps = {
    store,
    revocations,
    publishTokens,
    blocks,
    connections,
    async disconnect(user, route, by) {
      disconnected.push(`${user} ${route.key} ${by}`);
      return store.delete(upstreamTokenKey(user, targetOf(snapshot, route.key)));
    },
    records: reader,
    recordAction,
    clock,
    log,
  };
  const servers: ServersDeps = {
    store,
    blocks,
    connections,
    toolLocks,
    upstreams: () => upstreams,
    records: reader,
    recordAction,
  };
  const clients: ClientsDeps = {
    store,
    revocations,
    blocks,
    records: reader,
    publishTokens,
    recordAction,
  };

  return {
    clock,
    breakable,
    store,
    snapshot,
    blocks,
    actions,
    disconnected,
    records,
    queries,
    upstreams,
    toolLocks,
    people,
    servers,
    clients,
    async addPerson(
      subject: string,
      facts: Partial<Pick<IdentityRecord, "email" | "name" | "groups" | "refusedAt">> = {},
    ) {
      const id = userId(subject);
      const record: IdentityRecord = {
        userId: id,
        providerUrl: "https://idp.example.com",
        providerClientId: "gateway",
        version: 1,
        email: "",
        name: "",
        groups: [],
        claims: {},
        leftOut: null,
        accessToken: "sealed",
        confirmedAt: now - 60,
        confirmations: 1,
        signIns: 1,
        ...facts,
      };
      await createRecords(store).identities.put(id, record, { expiresAt: now + 86_400, tags: identityTags(record) });
      return id;
    },
    async addSession(of: UserId, id: string, deviceIds: readonly string[] = []) {
      const devices = deviceIds.map((each) => ({ key: each, id: each }));
      await createRecords(store).sessions.put(
        id,
        { userId: of, createdAt: now - 600, ...(devices.length > 0 && { devices }) },
        { expiresAt: now + 3600, tags: [SESSIONS_TAG, userTag(of)] },
      );
    },
    async addGrant(of: UserId, id: string, clientId = "gwc_aaaaaaaaaaaaaaaaaaaaaa", clientName = "An app") {
      const [issuer, audience, scope] = ["https://mcp.example.com", "https://mcp.example.com/a", "mcp"];
      await storeGrant(
        store,
        id,
        {
          schema: 1,
          issuer,
          clientId,
          clientName,
          userId: of,
          audience,
          scope,
          createdAt: now - 60,
          sessionExpiresAt: now + 600,
        },
        now + 6000,
      );
      await store.put(
        consentKey(`${id}-consent`),
        { schema: 1, userId: of, clientId, clientName, audience, metadataHash: "h", scope, grantedAt: now - 60 },
        { expiresAt: now + 9000, tags: ownerTags({ userId: of, clientId }) },
      );
    },
    async addClient(
      id: string,
      name: string,
      more: { readonly preRegistered?: true; readonly redirectUris?: readonly string[] } = {},
    ) {
      const metadata = {
        redirect_uris: more.redirectUris ?? ["https://app.example.org/callback"],
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
        response_types: ["code"],
        scope: "mcp",
        client_name: name,
        client_uri: "https://evil.example/phish",
      };
      const value = {
        schema: 1,
        issuer: "https://mcp.example.com",
        metadata,
        issuedAt: now - 100,
        ...(more.preRegistered && { preRegistered: true }),
      };
      await store.put(clientKey(id), value, { tags: clientTags(id) });
    },
    async addConnection(of: UserId, routeKey: string, more: Partial<UpstreamTokenRecord> = {}) {
      const record: UpstreamTokenRecord = {
        schema: 1,
        userId: of,
        routeKey,
        server: { issuer: "https://auth.upstream.example", tokenEndpoint: "https://auth.upstream.example/token" },
        client: { kind: "route", clientId: "c", authMethod: "none" },
        resource: "https://upstream.example",
        tokens: "sealed-tokens-sentinel",
        canRefresh: true,
        scopes: ["read", "write"],
        wantedScopes: [],
        stepUps: 0,
        stepUpsFrom: 0,
        obtainedAt: now - 30,
        ...more,
      };
      await store.put(upstreamTokenKey(of, targetOf(snapshot, routeKey)), record, { tags: [userTag(of)] });
    },
    async addDevice(of: UserId, id: string, name: string) {
      await createRecords(store).devices.put(
        `hash-${id}`,
        {
          id,
          userId: of,
          name,
          type: "enclave_only",
          rpId: "auth.example.com",
          credentialId: "c",
          publicKey: "p",
          counter: 0,
          transports: [],
          isSynced: false,
          createdAt: now - 500,
          usedAt: now - 400,
          withdrawals: 0,
        },
        { expiresAt: now + 86_400, tags: [DEVICES_TAG, userTag(of)] },
      );
    },
    async close() {
      breakable.broken = false;
      await blocks.close();
      await revocations.close();
      await store.close();
    },
    grantsTag: GRANTS_TAG,
  };
}

function targetOf(snapshot: Snapshot, routeKey: string) {
  const route = snapshot.routes.find(({ key }) => key === routeKey);
  const target = route && findTarget(route);
  if (!target) throw new Error(`Cannot find what route "${routeKey}" connects to`);
  return target;
}

/** Roles for everything, and for owners only. */
export function rightsTo(
  roles: readonly ConsoleRole[],
  byOwner: Readonly<Record<string, readonly ConsoleRole[]>> = {},
): ConsoleRights {
  const own = new Map(Object.entries(byOwner).map(([owner, some]) => [owner, new Set(some)]));
  return {
    roles: new Set(roles),
    byOwner: own,
    owners: roles.includes("viewer") ? undefined : [...own.keys()],
    may: (role, owner) => roles.includes(role) || (owner !== undefined && own.get(owner)?.has(role) === true),
  };
}

export const OPERATOR = rightsTo(["viewer", "operator"]);
export const VIEWER = rightsTo(["viewer"]);

/** @param address path below the screen's, with its query: "alice?do=block" */
export function visitTo(
  { snapshot, clock }: Pick<ConsoleWorld, "snapshot" | "clock">,
  address: string,
  rights = OPERATOR,
): ConsoleRequest {
  const { pathname, searchParams } = new URL(address, "https://auth.example.com/");
  const id = userId("admin");
  const visit: Omit<ConsoleRequest, "exchange"> = {
    snapshot,
    rights,
    principal: {
      kind: "session",
      user: { id, email: "admin@example.com", name: "", groups: [], claims: {}, version: 1 },
      sid: "own",
      sessionId: "own",
      expiresAt: epochSeconds(clock) + 60,
      revocationKeys: [],
    },
    path: pathname
      .split("/")
      .filter((part) => part !== "")
      .map(decodeURIComponent),
    query: new Map(searchParams),
    now: clock.now(),
    csrf: (form) => `token-for-${form}`,
  };
  // These screens read nothing of the request itself.
  return visit as ConsoleRequest;
}

/** The markup of a page; undefined: there is nothing. */
export async function shown(screen: Screen, visit: ConsoleRequest): Promise<string | undefined> {
  return (await screen.show(visit))?.body.toString();
}

export async function act(
  screen: Screen,
  visit: ConsoleRequest,
  action: string,
  form: Readonly<Record<string, string>>,
) {
  const found = screen.actions?.[action];
  if (!found) throw new Error(`Cannot do "${action}": there is no such action`);
  return found.run(visit, new Map(Object.entries(form)));
}

/** Text of markup, with one space between words. */
export function textOfMarkup(markup: string | undefined): string {
  return (markup ?? "")
    .replace(/<[^>]*>/g, " ")
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
    .replace(/\s+/g, " ");
}
