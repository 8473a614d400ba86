/**
 * Only the authorization server, on a real socket: everything of issuer/ over HTTP, with users and the identity provider
 * played by the test. Every host of the configuration is reached through one port, as behind a load balancer.
 */
import { afterEach } from "vitest";

import { createIssuer, type IssuerModule } from "../../runtime/oauth/server/issuer.ts";
import { createUpstream } from "../../runtime/oauth/client/upstream.ts";
import type { IssuerDeps } from "../../runtime/oauth/server/deps.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import type { Snapshot } from "../../runtime/config/snapshot.ts";
import { readCookie } from "../../runtime/http/cookies.ts";
import { respondText } from "../../runtime/http/respond.ts";
import { createHttpServer } from "../../runtime/http/listener/server.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { epochSeconds } from "../../runtime/shared/clock.ts";
import { createEndpointFinder } from "../../runtime/proxy/endpoints.ts";
import { createProofs } from "../../runtime/identity/dpop/proofs.ts";
import { createAuthenticator } from "../../runtime/identity/authenticate.ts";
import type { Blocks } from "../../runtime/identity/blocks.ts";
import { createCookies } from "../../runtime/identity/cookie.ts";
import { createCsrf } from "../../runtime/identity/csrf.ts";
import { createExternalTokens, type ExternalTokens } from "../../runtime/identity/external-token.ts";
import { createRecords } from "../../runtime/identity/identity-records.ts";
import { createIssuerKeys } from "../../runtime/issuers/issuer-keys.ts";
import type { SafeFetch } from "../../runtime/http/fetch/safe-fetch.ts";
import type { User } from "../../runtime/identity/principal.ts";
import { createRevocations } from "../../runtime/identity/revocations.ts";
import type { Authenticator, Revocations } from "../../runtime/identity/interfaces.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import { recordFormats } from "../../runtime/record-kinds.ts";
import { withFormats } from "../../runtime/store/formats.ts";
import type { Store } from "../../runtime/store/store.ts";
import { createBrowser, createSend, type Browser, type Send } from "./browser.ts";
import { createTestClock, type TestClock } from "./clock.ts";
import { snapshotFrom } from "./config.ts";
import {
  createOAuthClient,
  signInClient,
  type OAuthClient,
  type SignedInClient,
  type SignInOptions,
} from "./oauth-client.ts";
import { userId } from "./users.ts";

export const ORIGIN = "https://mcp.example.com";
export const RESOURCE = `${ORIGIN}/mcp`;

/** One MCP server with its own host, open to all signed-in users. */
export const ONE_SERVER = `
runtime_flags: { mcp: true }
routes:
  - name: tools
    from: https://mcp.example.com
    to: http://127.0.0.1:9
    policy: [{ allow: { and: [authenticated_user: true] } }]
    mcp: { server: { path: /mcp } }
`;

export interface TestIssuerOptions {
  /** Default `ONE_SERVER`. */
  readonly yaml?: string;
  readonly clock?: TestClock;
  /** A store that outlives this issuer, for restarts and for two replicas. */
  readonly store?: Store;
  readonly log?: IssuerDeps["log"];
  readonly fetchClientDocument?: IssuerDeps["fetchClientDocument"];
  readonly blocks?: Blocks;
  /** Fetches keys of trusted issuers; absent: no assertions are accepted. */
  readonly issuerFetch?: SafeFetch;
  /** Reaches MCP servers; absent: no upstream is ever connected. */
  readonly upstreamFetch?: SafeFetch;
  /** Longest wait for those servers. */
  readonly lookMs?: number;
}

/** The identity provider, as the issuer sees it. */
export interface TestIdentities {
  /** Users that exist, by id. */
  readonly users: Map<string, User>;
  /** Result of a refresh at the provider. */
  refreshOutcome: "ok" | "refused" | "unavailable";
  /** Number of refresh requests. */
  refreshes: number;
  /** When set, a refresh waits for it. */
  gate: Promise<void> | undefined;
}

export interface TestIssuer {
  readonly port: number;
  readonly clock: TestClock;
  readonly store: Store;
  readonly issuer: IssuerModule;
  readonly identities: TestIdentities;
  readonly externalTokens: ExternalTokens;
  /** Used by routes to verify a token. */
  readonly callers: Authenticator;
  readonly revocations: Revocations;
  readonly send: Send;
  /** Activates another configuration. */
  reconfigure(yaml: string): void;
  /** A browser in which this user is signed in on every host; no user when absent. */
  browser(userId?: string): Browser;
  oauth(options?: { readonly resource?: string; readonly userId?: string }): OAuthClient;
  /** Registers, consents as this user, and gets tokens. */
  signIn(options?: Partial<SignInOptions> & { readonly userId?: string }): Promise<SignedInClient>;
  close(): Promise<void>;
}

/** Seconds that a browser session lasts in these tests. */
export const SESSION_SECONDS = 3600;

export async function startIssuer(options: TestIssuerOptions = {}): Promise<TestIssuer> {
  const clock = options.clock ?? createTestClock();
  const store = withFormats(options.store ?? createMemoryStore({ clock }), recordFormats);
  const log = options.log ?? silentLog();
  const keys = createKeys([Buffer.alloc(32, 7)]);
  let snapshot: Snapshot = snapshotFrom(options.yaml ?? ONE_SERVER);
  const snapshots = { current: () => snapshot, subscribe: () => () => {} };
  const externalTokens = createExternalTokens({ keys, clock });
  const revocations = createRevocations({ store, clock, log, longestLifetime: () => 24 * 3600 });
  const identities: TestIdentities = { users: new Map(), refreshOutcome: "ok", refreshes: 0, gate: undefined };
  for (const id of ["alice", "bob"]) identities.users.set(id, testUser(id));

  const callers = createAuthenticator({
    store,
    records: createRecords(store),
    snapshots,
    identities: {
      load: async (userId) => identities.users.get(userId),
      providerTokens: () => Promise.reject(new Error("no provider")),
    },
    externalTokens,
    cookies: createCookies({ keys, clock }),
    revocations,
    clock,
    log,
  });
  const upstream =
    options.upstreamFetch &&
    createUpstream({
      snapshots,
      store,
      keys,
      log,
      clock,
      fetch: options.upstreamFetch,
      lookMs: options.lookMs,
      development: false,
      csrf: createCsrf({ keys }),
      browser: undefined as never,
      idJags: undefined as never,
      findServers: () => [],
    });
  const issuer = createIssuer({
    snapshots,
    store,
    keys,
    log,
    clock,
    upstream,
    ...(options.issuerFetch && { issuerKeys: createIssuerKeys({ fetch: options.issuerFetch, clock, log }) }),
    ...(options.fetchClientDocument && { fetchClientDocument: options.fetchClientDocument }),
    session: {
      externalTokens,
      proofs: createProofs({ keys, clock }),
      revocations,
      callers,
      ...(options.blocks && { blocks: options.blocks }),
      csrf: createCsrf({ keys }),
      identities: {
        find: async (userId) => identities.users.get(userId),
        async refresh(userId) {
          identities.refreshes += 1;
          await identities.gate;
          const user = identities.users.get(userId);
          if (identities.refreshOutcome !== "ok") return { ok: false, reason: identities.refreshOutcome };
          return user ? { ok: true, user } : { ok: false, reason: "refused" };
        },
      },
      assertedUsers: {
        async record({ userId: id, email }) {
          const user = identities.users.get(id) ?? { id, email, name: "", groups: [], claims: {}, version: 1 };
          identities.users.set(id, user);
          return user;
        },
      },
      current: async (principal) => (revocations.isRevoked(principal.revocationKeys) ? undefined : principal),
      browser: {
        async principal(exchange) {
          const user = identities.users.get(readCookie(exchange, "test_user") ?? "");
          if (!user) return { ok: false, reason: "missing" };
          const sessionId = `session-of-${user.id}`;
          const expiresAt = epochSeconds(clock) + SESSION_SECONDS;
          return {
            ok: true,
            principal: {
              kind: "session",
              user,
              sid: sessionId,
              sessionId,
              expiresAt,
              revocationKeys: [`session:${sessionId}`],
            },
          };
        },
        requireSignIn: async (exchange) => respondText(exchange, 401, "the sign-in page"),
      },
    },
  });

  const finder = createEndpointFinder({ endpoints: issuer.endpoints, log });
  const server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: true,
    log,
    handle(exchange) {
      if (finder.answer(exchange, snapshot) || finder.answerBelowRoute(exchange, snapshot)) return;
      respondText(exchange, 404, "an upstream would answer");
    },
  });
  const send = createSend({ via: server.port });

  const browser = (userId?: string): Browser => {
    const made = createBrowser(send);
    const hosts = ["auth.example.com", ...snapshot.routes.map((route) => route.hostname)];
    if (userId !== undefined) for (const host of hosts) made.setCookie(host, "test_user", userId);
    return made;
  };

  return {
    port: server.port,
    clock,
    store,
    issuer,
    identities,
    externalTokens,
    callers,
    revocations,
    send,
    reconfigure: (yaml) => void (snapshot = snapshotFrom(yaml)),
    browser,
    oauth: ({ resource = RESOURCE, userId = "alice" } = {}) =>
      createOAuthClient({ resource, send, browser: browser(userId) }),
    signIn: ({ userId = "alice", ...rest } = {}) =>
      signInClient({ resource: RESOURCE, send, browser: browser(userId), ...rest }),
    async close() {
      await server.close({ timeoutMs: 100 });
      await issuer.close();
      await upstream?.close();
      await revocations.close();
    },
  };
}

export function testUser(name: string, issuer?: string): User {
  return { id: userId(name, issuer), email: `${name}@example.com`, name, groups: [], claims: {}, version: 1 };
}

/** Starts issuers that end with each test. Call it once at the top of a test file. */
export function useIssuers(): (options?: TestIssuerOptions) => Promise<TestIssuer> {
  let running: TestIssuer[] = [];
  afterEach(async () => {
    await Promise.all(running.map((issuer) => issuer.close()));
    running = [];
  });
  return async (options) => {
    const issuer = await startIssuer(options);
    running.push(issuer);
    return issuer;
  };
}
