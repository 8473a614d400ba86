/** The vault and what hangs on it, on a store that can break and an upstream that can lie; several of them are replicas. */
import { pino } from "pino";

import type { Snapshot } from "../../runtime/config/snapshot.ts";
import { createSafeFetch, type SafeFetch } from "../../runtime/http/fetch/safe-fetch.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { createTokenAttacher, type TokenAttacher } from "../../runtime/oauth/client/attach-token.ts";
import { createConnectionChanges, type ConnectionChanges } from "../../runtime/oauth/client/changes.ts";
import { createBoundIssuers } from "../../runtime/oauth/client/discovery/bound-issuer.ts";
import { createClientChooser } from "../../runtime/oauth/client/connect/client-choice.ts";
import type { FlowRecord } from "../../runtime/oauth/client/connection-records.ts";
import { findTarget, type UpstreamTarget } from "../../runtime/oauth/client/target.ts";
import { createUpstreamTokenStore, type UpstreamTokenStore } from "../../runtime/oauth/client/tokens/token-store.ts";
import type { Store } from "../../runtime/store/store.ts";
import { createTestClock, type TestClock } from "./clock.ts";
import { routeNamed, snapshotFrom } from "./config.ts";
import { createBreakableStore, type BreakableStore } from "./store.ts";
import { startUpstreamService, type UpstreamService } from "./upstream-service.ts";
import { createNeeds } from "../../runtime/oauth/client/need.ts";

export interface TokenStoreReplica {
  readonly tokenStore: UpstreamTokenStore;
  readonly changes: ConnectionChanges;
  readonly attacher: TokenAttacher;
}

export interface TokenStoreBench {
  readonly service: UpstreamService;
  readonly store: BreakableStore;
  readonly clock: TestClock;
  readonly target: UpstreamTarget;
  snapshot: Snapshot;
  /** Passes every request on, until a test puts something in its way. */
  intercept: (request: Parameters<SafeFetch>[0], send: SafeFetch) => ReturnType<SafeFetch>;
  /** @param over of the store that it shares with the others */
  replica(over?: Partial<Store>): TokenStoreReplica;
  /** Stores tokens for a user as a completed flow would. */
  connect(userId: string, more?: { readonly expiresAt?: number; readonly refresh?: boolean }): Promise<string>;
  log(): string;
  close(): Promise<void>;
}

export const VAULT_CLIENT_SECRET = "route-client-secret-sentinel";

export function vaultYaml(service: UpstreamService, secret = VAULT_CLIENT_SECRET): string {
  return `
runtime_flags: { mcp: true }
development: true
address: 127.0.0.1:0
mcp_allowed_as_metadata_domains: ["127.0.0.1"]
routes:
  - name: server
    from: http://localhost:1
    to: ${service.origin}
    mcp:
      server:
        path: /mcp
        upstream_oauth2:
          client_id: route-client
          client_secret: ${secret}
          endpoint: { auth_url: "${service.origin}/authorize", token_url: "${service.origin}/token" }
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`;
}

export async function startTokenStoreBench(): Promise<TokenStoreBench> {
  const service = await startUpstreamService();
  service.clients.set("route-client", { secret: VAULT_CLIENT_SECRET, redirectUris: [] });
  const clock = createTestClock();
  const store = createBreakableStore(clock);
  const keys = createKeys([Buffer.alloc(32, 3)]);
  const send = createSafeFetch({ development: true });
  let text = "";
  const log = pino({ level: "trace" }, { write: (line: string) => void (text += line) });
  const snapshot = snapshotFrom(vaultYaml(service));
  const target = findTarget(routeNamed(snapshot, "server"));
  if (!target) throw new Error("the route is no MCP server route");
  const replicas: TokenStoreReplica[] = [];

  const bench: TokenStoreBench = {
    service,
    store,
    clock,
    target,
    snapshot,
    intercept: (request, pass) => pass(request),
    replica(over = {}) {
      const shared = { ...store.store, ...over };
      const snapshots = { current: () => bench.snapshot, subscribe: () => () => {} };
      const fetch: SafeFetch = (request) => bench.intercept(request, send);
      const issuers = createBoundIssuers({ store: shared, keys, clock, log });
      const clients = createClientChooser({ store: shared, keys, fetch, clock, log, issuers });
      const changes = createConnectionChanges({ store: shared, clock, log });
      const tokenStore = createUpstreamTokenStore({
        store: shared,
        snapshots,
        keys,
        clients,
        changes,
        needs: createNeeds({ issuers, store: shared, snapshots, fetch, development: true, clock, log }),
        fetch,
        clock,
        log,
      });
      const replica = {
        tokenStore,
        changes,
        attacher: createTokenAttacher({ tokenStore, snapshots, changes, clock, log }),
      };
      replicas.push(replica);
      return replica;
    },
    async connect(userId, more = {}) {
      const access = `access-sentinel-${userId}`;
      const refresh = `refresh-sentinel-${userId}`;
      const issued = { clientId: "route-client", scope: "read", resource: target.url };
      service.accessTokens.set(access, issued);
      service.refreshTokens.set(refresh, issued);
      service.secrets.add(access).add(refresh);
      const flow = {
        schema: 1,
        userId,
        routeKey: target.route.key,
        server: { tokenEndpoint: `${service.origin}/token`, revocationEndpoint: `${service.origin}/revoke` },
        client: { kind: "route", clientId: "route-client", authMethod: "client_secret_basic" },
        resource: target.url,
        scopes: ["read"],
      } as unknown as FlowRecord;
      const keeper = bench.replica();
      await keeper.tokenStore.keep(flow, target, {
        accessToken: access,
        ...(more.refresh === false ? {} : { refreshToken: refresh }),
        ...(more.expiresAt === undefined ? {} : { expiresAt: more.expiresAt }),
      });
      return access;
    },
    log: () => text,
    async close() {
      for (const { tokenStore, changes } of replicas) {
        await changes.close();
        await tokenStore.close();
      }
      await service.close();
    },
  };
  return bench;
}
