/**
 * The Internal Tokens: one per user, route, upstream and configured client (D17).
 *
 * Promises: one refresh per connection at a time, across all replicas. New tokens are stored before they are used. An
 * unreachable server never invalidates a token. A rejection ends the connection once. The client's secret is read for
 * each request. If the response of a rotating server was lost, the old refresh token is tried once more, and a
 * rejection ends the connection.
 */
import type { Snapshots } from "../../../config/snapshot.ts";
import { GatewayError } from "../../../shared/errors.ts";
import type { Keys } from "../../../shared/keys.ts";
import { epochSeconds } from "../../../shared/clock.ts";
import type { ConnectionChanges } from "../changes.ts";
import {
  upstreamTokenKey,
  type FlowRecord,
  type ServerReference,
  type UpstreamTokenRecord,
} from "../connection-records.ts";
import { configuredServer, isSameIssuer, referenceOf } from "../discovery/metadata.ts";
import type { Needs } from "../need.ts";
import { joinScopes } from "../scopes.ts";
import { currentRoute, sentResource, type UpstreamTarget } from "../target.ts";
import { revokeToken, type TokenSet } from "../connect/token-endpoint.ts";
import { createUpstreamTokenRecords, NONE, type Held, type SealedTokens } from "./token-records.ts";
import { createRefresher, type RefreshDeps } from "./token-refresh.ts";

export interface UpstreamTokenStoreDeps extends Omit<RefreshDeps, "records" | "asking"> {
  readonly snapshots: Snapshots;
  readonly keys: Keys;
  readonly changes: Pick<ConnectionChanges, "announce">;
  readonly needs: Pick<Needs, "discover">;
}

export type StepUp = "connect" | "exhausted";

export interface UpstreamTokenStore {
  /** Returns the current token, refreshed first if it has expired. @throws GatewayError `store.unavailable` */
  hold(userId: string, target: UpstreamTarget): Promise<Held>;
  /**
   * Returns a token that replaces this one: refreshed now, unless that was done already.
   *
   * @param isRefused the upstream rejected the token, so it must not be returned
   */
  replace(userId: string, target: UpstreamTarget, accessToken: string, isRefused: boolean): Promise<Held>;
  find(userId: string, target: UpstreamTarget): Promise<UpstreamTokenRecord | undefined>;
  /** Stores the tokens of a completed flow. */
  keep(flow: FlowRecord, target: UpstreamTarget, tokens: TokenSet): Promise<void>;
  /** Ends the connection: the user has to connect again. */
  end(userId: string, target: UpstreamTarget, why: "refused" | "expired", accessToken?: string): Promise<void>;
  /** Records that the upstream requires more scope. `exhausted`: too many demands, another flow would not help. */
  requireScopes(userId: string, target: UpstreamTarget, scopes: readonly string[]): Promise<StepUp>;
  /** Deletes the tokens here first, then revokes them at the server. @returns true if there were any */
  disconnect(userId: string, target: UpstreamTarget, by?: string): Promise<boolean>;
  close(): Promise<void>;
}

const MAX_CONFLICTS = 5;
/** MCP authorization, "Scope Challenge Handling": clients SHOULD limit retries. With the first flow there are three. */
const MAX_STEP_UPS = 2;
const STEP_UP_SECONDS = 3600;

export function createUpstreamTokenStore(deps: UpstreamTokenStoreDeps): UpstreamTokenStore {
  const { store, clock, log } = deps;
  const records = createUpstreamTokenRecords(deps);
  const { read, put, seal, open, held, isExpired, end } = records;

  const asking: RefreshDeps["asking"] = async (target, record, tokens) => {
    const server = await serverOf(deps.needs, target, record, tokens);
    if (server === undefined) return undefined;
    return {
      server,
      client: record.client,
      ...(await deps.clients.credentialsOf(record.client, currentRoute(deps.snapshots, target), server)),
      resource: sentResource(target, record.resource),
      upstreamUrl: target.url,
      reach: target.reach,
      settings: deps.snapshots.current().settings,
    };
  };

  const refresher = createRefresher({ ...deps, records, asking });
  const { replace } = refresher;

  return {
    replace,
    async find(userId, target) {
      return (await read(upstreamTokenKey(userId, target)))?.value;
    },
    async hold(userId, target) {
      const key = upstreamTokenKey(userId, target);
      const stored = await read(key);
      if (!stored) return NONE;
      const now = held(key, stored.value);
      return now.kind === "token" && isExpired(stored.value) ? replace(userId, target, now.accessToken, false) : now;
    },
    async keep(flow, target, tokens) {
      const key = upstreamTokenKey(flow.userId, target);
      const { accessToken, refreshToken, expiresAt, scopes } = tokens;
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const earlier = await read(key);
        const record: UpstreamTokenRecord = {
          schema: 1,
          userId: flow.userId,
          routeKey: flow.routeKey,
          server: flow.server,
          client: flow.client,
          resource: flow.resource,
          tokens: seal(
            key,
            { access: accessToken, ...(refreshToken === undefined ? {} : { refresh: refreshToken }) },
            flow,
          ),
          canRefresh: refreshToken !== undefined,
          ...(expiresAt === undefined ? {} : { expiresAt }),
          scopes: scopes ?? flow.scopes,
          // The flow just requested them, whatever the result.
          wantedScopes: [],
          stepUps: earlier?.value.stepUps ?? 0,
          stepUpsFrom: earlier?.value.stepUpsFrom ?? epochSeconds(clock),
          obtainedAt: epochSeconds(clock),
        };
        if ((await put(key, record, earlier?.version ?? 0)).ok) {
          refresher.reset(key);
          await deps.changes.announce(flow);
          return;
        }
      }
      throw new GatewayError("vault.conflict", "Cannot store an upstream token: the record keeps changing");
    },
    async end(userId, target, why, accessToken) {
      const key = upstreamTokenKey(userId, target);
      const stored = await read(key);
      if (!stored || stored.value.ended !== undefined) return;
      // A newer token stays.
      if (accessToken !== undefined && open(key, stored.value)?.access !== accessToken) return;
      await end(key, stored, why);
    },
    async requireScopes(userId, target, scopes) {
      const key = upstreamTokenKey(userId, target);
      // Without names of missing scopes, a new flow would bring the same token.
      if (scopes.length === 0) return "exhausted";
      for (let attempt = 0; attempt < MAX_CONFLICTS; attempt += 1) {
        const stored = await read(key);
        if (!stored) return "connect";
        const record = stored.value;
        const now = epochSeconds(clock);
        const isNewRound = record.stepUpsFrom + STEP_UP_SECONDS <= now;
        const stepUps = isNewRound ? 0 : record.stepUps;
        if (stepUps >= MAX_STEP_UPS) return "exhausted";
        // The token stays valid for its scopes. Only the next flow requests more.
        const next: UpstreamTokenRecord = {
          ...record,
          wantedScopes: joinScopes(record.wantedScopes, scopes),
          stepUps: stepUps + 1,
          stepUpsFrom: isNewRound ? now : record.stepUpsFrom,
        };
        if ((await put(key, next, stored.version)).ok) return "connect";
      }
      return "exhausted";
    },
    async disconnect(userId, target, by) {
      const key = upstreamTokenKey(userId, target);
      const taken = await store.take<UpstreamTokenRecord>(key);
      // Before the slow request to the server: from now on no process sends the token.
      if (taken) await deps.changes.announce({ userId, routeKey: target.route.key });
      const tokens = taken && open(key, taken.value);
      if (!taken || !tokens) return taken !== undefined;
      const asks = await asking(target, taken.value, tokens);
      if (asks === undefined) return true;
      const refreshRevoked =
        tokens.refresh !== undefined &&
        (await revokeToken(deps, asks, { value: tokens.refresh, hint: "refresh_token" }));
      const accessRevoked = await revokeToken(deps, asks, { value: tokens.access, hint: "access_token" });
      const fields = { route: target.route.key, user: userId, revoked: refreshRevoked || accessRevoked };
      if (by === undefined) log.info({ ...fields }, "upstream account disconnected by its user");
      else log.info({ ...fields, by }, "upstream account disconnected by an administrator");
      return true;
    },
    close: () => refresher.close(),
  };
}

/** Earlier versions did not seal the server: it is discovered again. */
async function serverOf(
  needs: UpstreamTokenStoreDeps["needs"],
  target: UpstreamTarget,
  record: UpstreamTokenRecord,
  tokens: SealedTokens,
): Promise<ServerReference | undefined> {
  if (tokens.bound !== undefined) return record.server;
  const endpoint = target.oauth?.endpoint;
  if (target.mode === "static" && endpoint) return referenceOf(configuredServer(endpoint));
  const found = await needs.discover(target, { isChallenged: true });
  // The upstream may name another server now, which must not get tokens of the original one.
  const isSame = found.ok && isSameIssuer(found.value.server.issuer ?? "", record.server.issuer ?? "");
  return isSame ? referenceOf(found.value.server) : undefined;
}
