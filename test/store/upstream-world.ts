/**
 * The upstream side on a given store, toward a server that exists only as answers: its addresses must be the same whenever
 * stored records are made and opened.
 */
import type { SafeAnswer, SafeFetch } from "../../runtime/http/fetch/safe-fetch.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import type { Clock } from "../../runtime/shared/clock.ts";
import { recordFormats } from "../../runtime/record-kinds.ts";
import type { Principal } from "../../runtime/identity/principal.ts";
import { withFormats } from "../../runtime/store/formats.ts";
import type { Store } from "../../runtime/store/store.ts";
import { createConnectionChanges } from "../../runtime/oauth/client/changes.ts";
import { createBoundIssuers } from "../../runtime/oauth/client/discovery/bound-issuer.ts";
import { createClientChooser } from "../../runtime/oauth/client/connect/client-choice.ts";
import { createFlows, type Flows } from "../../runtime/oauth/client/connect/flow.ts";
import { createNeeds, type Needs } from "../../runtime/oauth/client/need.ts";
import { findTarget, type UpstreamTarget } from "../../runtime/oauth/client/target.ts";
import { createUpstreamTokenStore, type UpstreamTokenStore } from "../../runtime/oauth/client/tokens/token-store.ts";
import type { Snapshot } from "../../runtime/config/snapshot.ts";
import { routeNamed, snapshotFrom } from "../support/config.ts";
import { userId } from "../support/users.ts";

const SERVER = "https://upstream.example.com";
export const ROUTE_SECRET = "route-secret-of-the-fixture";
export const REGISTERED_SECRET = "registered-secret-of-the-fixture";

const YAML = `
runtime_flags: { mcp: true }
mcp_allowed_as_metadata_domains: [upstream.example.com]
routes:
  - name: auto
    from: https://auto.example.com
    to: ${SERVER}
    mcp: { server: { path: /mcp } }
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
  - name: static
    from: https://static.example.com
    to: ${SERVER}
    mcp:
      server:
        path: /mcp
        upstream_oauth2:
          client_id: route-client
          client_secret: ${ROUTE_SECRET}
          endpoint: { auth_url: "${SERVER}/authorize", token_url: "${SERVER}/token" }
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`;

export interface UpstreamWorld {
  readonly snapshot: Snapshot;
  readonly tokenStore: UpstreamTokenStore;
  readonly flows: Flows;
  readonly needs: Needs;
  target(route: "auto" | "static"): UpstreamTarget;
  /** What the token endpoint was asked, with the Authorization header as "authorization". */
  readonly tokenRequests: URLSearchParams[];
  /** Paths asked for. */
  readonly asked: string[];
  /** The token endpoint refuses from now on. */
  refuses: boolean;
  /** Path of the issuer that the upstream names, "" at first; each has endpoints of its own below it. */
  issuerPath: string;
  close(): Promise<void>;
}

/** A person in a browser session of their own. */
export function personNamed(name: string, issuer?: string): Principal {
  return {
    kind: "session",
    user: { id: userId(name, issuer), email: `${name}@example.com`, name, groups: [], claims: {}, version: 1 },
    sid: `session-of-${name}${issuer ?? ""}`,
    sessionId: `session-of-${name}${issuer ?? ""}`,
    expiresAt: Number.MAX_SAFE_INTEGER,
    revocationKeys: [],
  };
}

export function openUpstreamWorld(raw: Store, clock: Clock): UpstreamWorld {
  const store = withFormats(raw, recordFormats);
  const keys = createKeys([Buffer.alloc(32, 5)]);
  const log = silentLog();
  const snapshot = snapshotFrom(YAML);
  const snapshots = { current: () => snapshot, subscribe: () => () => {} };
  const fetch: SafeFetch = async (request) => answer(world, request);
  const development = false;
  const issuers = createBoundIssuers({ store, keys, clock, log });
  const clients = createClientChooser({ store, keys, fetch, clock, log, issuers });
  const changes = createConnectionChanges({ store, clock, log });
  const needs = createNeeds({ issuers, store, snapshots, fetch, development, clock, log });
  const tokenStore = createUpstreamTokenStore({ store, snapshots, keys, clients, changes, needs, fetch, clock, log });
  const world: UpstreamWorld = {
    snapshot,
    tokenStore,
    needs,
    flows: createFlows({
      isBlocked: () => false,
      store,
      keys,
      fetch,
      development,
      clients,
      needs,
      tokenStore,
      clock,
      log,
    }),
    target(name) {
      const target = findTarget(routeNamed(snapshot, name));
      if (!target) throw new Error(`Cannot find the target of ${name}`);
      return target;
    },
    tokenRequests: [],
    asked: [],
    refuses: false,
    issuerPath: "",
    async close() {
      await changes.close();
      await tokenStore.close();
    },
  };
  return world;
}

function answer(world: UpstreamWorld, request: Parameters<SafeFetch>[0]): SafeAnswer {
  const { origin, pathname } = new URL(request.url);
  world.asked.push(pathname);
  if (origin !== SERVER) return json(404, {});
  switch (pathname) {
    case "/mcp": {
      const metadata = `${SERVER}/.well-known/oauth-protected-resource/mcp`;
      return json(401, {}, { "www-authenticate": `Bearer resource_metadata="${metadata}", scope="read"` });
    }
    case "/.well-known/oauth-protected-resource/mcp":
      return json(200, { resource: `${SERVER}/mcp`, authorization_servers: [SERVER + world.issuerPath] });
    case `/.well-known/oauth-authorization-server${world.issuerPath}`:
      return json(200, {
        issuer: SERVER + world.issuerPath,
        authorization_endpoint: `${SERVER}${world.issuerPath}/authorize`,
        token_endpoint: `${SERVER}${world.issuerPath}/token`,
        registration_endpoint: `${SERVER}/register`,
        response_types_supported: ["code"],
        code_challenge_methods_supported: ["S256"],
        token_endpoint_auth_methods_supported: ["client_secret_basic"],
      });
    case "/register":
      return json(201, {
        client_id: "registered-client",
        client_secret: REGISTERED_SECRET,
        client_secret_expires_at: 0,
        token_endpoint_auth_method: "client_secret_basic",
      });
    case "/token": {
      const form = new URLSearchParams(request.body);
      const { authorization } = Object.fromEntries(
        Object.entries(request.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
      );
      if (authorization !== undefined) form.set("authorization", authorization);
      world.tokenRequests.push(form);
      if (world.refuses) return json(400, { error: "invalid_grant" });
      const given = form.get("code") ?? form.get("refresh_token") ?? "";
      const tokens = { access_token: `access-for-${given}`, refresh_token: `refresh-for-${given}` };
      return json(200, { ...tokens, token_type: "Bearer", expires_in: 3600, scope: "read" });
    }
    default:
      return json(404, {});
  }
}

function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): SafeAnswer {
  const type = { "content-type": "application/json" };
  return { ok: true, status, headers: { ...type, ...headers }, body: Buffer.from(JSON.stringify(body)) };
}
