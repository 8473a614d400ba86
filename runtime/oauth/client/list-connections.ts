/** Users' connections for the pages that show them, without tokens. */
import { findRoute, type Snapshots } from "../../config/snapshot.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { pageOf, type PageOf, type PageRequest } from "../../store/page-of.ts";
import type { Store, StoredRecord } from "../../store/store.ts";
import { upstreamTokenKey, upstreamTokenTag, type UpstreamTokenRecord } from "./connection-records.ts";
import { findTarget } from "./target.ts";

/** ended: the user has to connect again. stale: for an upstream or a client that the route no longer has. */
export type ConnectionState = "connected" | "expired" | "ended" | "stale";

export interface UpstreamConnection {
  readonly id: string;
  readonly userId: string;
  readonly routeKey: string;
  readonly state: ConnectionState;
  /** Reason why the connection ended. */
  readonly ended?: "refused" | "expired";
  /** Host of the authorization server. */
  readonly server: string;
  readonly scopes: readonly string[];
  /** Epoch seconds of the server's last response. */
  readonly obtainedAt: number;
  /** Expiry of the token; absent if the server sent none. */
  readonly expiresAt?: number;
  readonly canRefresh: boolean;
}

export interface ConnectionCount {
  readonly connected: number;
  /** Connections whose users have to connect again. */
  readonly ended: number;
}

export interface ConnectionCounts {
  readonly byRoute: ReadonlyMap<string, ConnectionCount>;
  /** The count is incomplete. */
  readonly isCut: boolean;
}

export interface Connections {
  page(userId: string, page: PageRequest): Promise<PageOf<UpstreamConnection>>;
  /** Cached for some seconds. */
  counts(): Promise<ConnectionCounts>;
}

/** Maximum number counted, to bound the cost. */
const MAX_COUNTED = 5_000;
const PAGE = 500;
const COUNTED_FOR_MS = 15_000;
const PREFIX = "vault:";

export function createConnections(deps: {
  readonly store: Store;
  readonly snapshots: Snapshots;
  readonly clock: Clock;
}): Connections {
  const { store, snapshots, clock } = deps;
  let last: { readonly atMs: number; readonly counts: Promise<ConnectionCounts> } | undefined;

  /** Key of this user's connection of this route under the current configuration. */
  const keyNow = (userId: string, routeKey: string): string | undefined => {
    const route = findRoute(snapshots.current(), routeKey);
    const target = route && findTarget(route);
    return target && upstreamTokenKey(userId, target);
  };

  const count = async (): Promise<ConnectionCounts> => {
    const byRoute = new Map<string, { connected: number; ended: number }>();
    let after: string | undefined;
    let seen = 0;
    do {
      const page = await pageOf<UpstreamTokenRecord, UpstreamTokenRecord>(
        store,
        { prefix: PREFIX },
        { after, limit: PAGE },
        ({ value }) => value,
      );
      for (const { routeKey, ended, tokens } of page.found) {
        const known = byRoute.get(routeKey) ?? { connected: 0, ended: 0 };
        if (ended === undefined && tokens !== undefined) known.connected += 1;
        else known.ended += 1;
        byRoute.set(routeKey, known);
      }
      seen += page.found.length;
      after = page.next;
    } while (after !== undefined && seen < MAX_COUNTED);
    return { byRoute, isCut: after !== undefined };
  };

  return {
    async page(userId, page) {
      const { found, ...rest } = await pageConnections({ store, clock }, userId, page);
      const isStale = ({ id, routeKey }: UpstreamConnection): boolean => keyNow(userId, routeKey) !== PREFIX + id;
      return { ...rest, found: found.map((each) => (isStale(each) ? { ...each, state: "stale" } : each)) };
    },
    counts() {
      const now = clock.now();
      if (!last || now - last.atMs > COUNTED_FOR_MS) {
        const counts = count();
        last = { atMs: now, counts };
        counts.catch(() => (last = undefined));
      }
      return last.counts;
    },
  };
}

interface ListDeps {
  readonly store: Store;
  readonly clock: Clock;
}

/** Does not detect stale connections. @param userId only this user's connections; undefined: all users' */
export function pageConnections(
  { store, clock }: ListDeps,
  userId: string | undefined,
  page: PageRequest,
): Promise<PageOf<UpstreamConnection>> {
  const tag = userId === undefined ? undefined : upstreamTokenTag(userId);
  return pageOf<UpstreamTokenRecord, UpstreamConnection>(store, { prefix: PREFIX, tag }, page, (each) =>
    toConnection(each, clock),
  );
}

/** Likewise for a single connection. */
export async function findConnection({ store, clock }: ListDeps, id: string): Promise<UpstreamConnection | undefined> {
  const record = await store.get<UpstreamTokenRecord>(PREFIX + id);
  return record && toConnection(record, clock);
}

function toConnection({ key, value }: StoredRecord<UpstreamTokenRecord>, clock: Clock): UpstreamConnection {
  const isOver = value.expiresAt !== undefined && value.expiresAt <= epochSeconds(clock) && !value.canRefresh;
  const isEnded = value.ended !== undefined || value.tokens === undefined;
  return {
    id: key.slice(PREFIX.length),
    userId: value.userId,
    routeKey: value.routeKey,
    state: isEnded ? "ended" : isOver ? "expired" : "connected",
    ...(value.ended === undefined ? {} : { ended: value.ended }),
    server: hostOf(value.server.issuer ?? value.server.tokenEndpoint),
    scopes: value.scopes,
    obtainedAt: value.obtainedAt,
    ...(value.expiresAt === undefined ? {} : { expiresAt: value.expiresAt }),
    canRefresh: value.canRefresh,
  };
}

function hostOf(url: string): string {
  return URL.canParse(url) ? new URL(url).host : url;
}
