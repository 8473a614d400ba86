/**
 * Only identity/ on real sockets, for sign-in and sessions: the production listener and endpoints, a development identity
 * provider, and instead of the proxy a handler that names the signed-in user. Several gateways on one store are several
 * replicas.
 */
import { Writable } from "node:stream";

import {
  startIdentityProvider,
  type IdentityProvider,
  type IdentityProviderOptions,
} from "../../examples/demo/identity-provider.ts";
import type { Snapshot, Snapshots } from "../../runtime/config/snapshot.ts";
import type { Endpoint } from "../../runtime/http/endpoint.ts";
import type { Exchange } from "../../runtime/http/exchange.ts";
import { respondError, respondJson } from "../../runtime/http/respond.ts";
import type { OperatorFetch } from "../../runtime/http/fetch/operator-fetch.ts";
import { createHttpServer } from "../../runtime/http/listener/server.ts";
import { createKeys, type Keys } from "../../runtime/shared/keys.ts";
import { createLog, type Log } from "../../runtime/shared/log.ts";
import type { Clock, SignOutResult, TokenRefresh } from "../../runtime/shared/clock.ts";
import { createEndpointFinder } from "../../runtime/proxy/endpoints.ts";
import { createSafeFetch } from "../../runtime/http/fetch/safe-fetch.ts";
import { createIssuerKeys } from "../../runtime/issuers/issuer-keys.ts";
import { createPeople, type People } from "../../runtime/people.ts";
import { callbackPath } from "../../runtime/identity/sign-in/choose-provider.ts";
import { createBrowser, type Browser } from "./scripted-browser.ts";
import { createTestClock, type TestClock } from "./clock.ts";
import { snapshotFrom } from "./config.ts";
import { recordFormats } from "../../runtime/record-kinds.ts";
import { withFormats } from "../../runtime/store/formats.ts";
import type { Store } from "../../runtime/store/store.ts";
import { createBreakableStore, type BreakableStore } from "./store.ts";

export const APP = "https://app.example.com";
export const WIKI = "https://wiki.example.com";
export const AUTH = "https://auth.example.com";
export const CLIENT_SECRET = "provider-client-secret-sentinel";

export interface Replica {
  readonly port: number;
  readonly session: People;
  close(): Promise<void>;
}

export interface SessionBench {
  readonly idp: IdentityProvider;
  readonly store: BreakableStore;
  readonly clock: TestClock;
  readonly session: People;
  /** Everything logged so far, by all replicas. */
  readonly logged: () => string;
  /** Sign-outs as they are counted, "page ok". */
  readonly signOuts: readonly string[];
  /** Outcomes of refreshes at the provider, as they are counted. */
  readonly refreshes: readonly string[];
  /** Port of the first replica. */
  readonly firstPort: number;
  /** Replaces the configuration of all replicas. */
  configure(yaml: string): void;
  readonly snapshot: () => Snapshot;
  /** A browser for which all hosts answer at the first replica, except those mapped to another one. */
  browser(elsewhere?: Readonly<Record<string, Replica>>): Browser;
  replica(options?: { readonly development?: boolean }): Promise<Replica>;
  close(): Promise<void>;
}

export interface SessionBenchOptions {
  readonly idp?: Partial<IdentityProviderOptions>;
  /** Appended to the configuration. */
  readonly settings?: string;
  /** Instead of an empty one. */
  readonly store?: Store;
  /** Between the gateway and the provider. */
  readonly fetch?: OperatorFetch;
  /** The provider is not the first one, but the issuer of this name. */
  readonly issuerName?: string;
  /** Addresses of another part, on every replica. */
  readonly endpoints?: (parts: {
    readonly session: People;
    readonly snapshots: Snapshots;
    readonly store: Store;
    readonly keys: Keys;
    readonly clock: Clock;
    readonly log: Log;
  }) => readonly Endpoint[];
}

/** `shared_secret` of every replica, for tests that seal something themselves. */
export const BENCH_SECRET = Buffer.alloc(32, 7);

/** The configuration that `startSessionBench` begins with. */
export function benchConfig(issuer: string, settings = ""): string {
  return `
authenticate_service_url: ${AUTH}
idp_provider_url: ${issuer}
idp_client_id: gateway
idp_client_secret: ${CLIENT_SECRET}
development: true
${settings}
routes:
  - { name: app, from: ${APP}, to: "http://127.0.0.1:9", policy: [{ allow: { and: [{ authenticated_user: true }] } }] }
  - { name: wiki, from: ${WIKI}, to: "http://127.0.0.1:9", policy: [{ allow: { and: [{ authenticated_user: true }] } }] }
`;
}

export async function startSessionBench(options: SessionBenchOptions = {}): Promise<SessionBench> {
  const idp = await startIdentityProvider({
    clients: [
      {
        client_id: "gateway",
        client_secret: CLIENT_SECRET,
        redirect_uris: [AUTH, APP, WIKI].map((origin) => origin + callbackPath(options.issuerName)),
        post_logout_redirect_uris: [`${AUTH}/.gateway/signed_out`],
      },
    ],
    ...options.idp,
  });
  // Whole seconds of the real time: the provider has no test clock.
  const clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  const store = createBreakableStore(clock, options.store);
  let log = "";
  const configured = (yaml: string, generation?: number): Snapshot => {
    const made = snapshotFrom(yaml, generation === undefined ? {} : { generation });
    const { idp: settings } = made.settings;
    const { issuerName } = options;
    if (issuerName === undefined || settings === undefined) return made;
    return { ...made, settings: { ...made.settings, idp: undefined, providers: [{ ...settings, issuerName }] } };
  };
  let snapshot = configured(benchConfig(idp.issuer, options.settings));
  const snapshots: Snapshots = { current: () => snapshot, subscribe: () => () => {} };
  const collect = new Writable({
    write(chunk: Buffer, _encoding, done) {
      log += chunk.toString();
      done();
    },
  });
  const replicas: Replica[] = [];
  const signOuts: string[] = [];
  const refreshes: string[] = [];
  const replica = async (how: { readonly development?: boolean } = {}): Promise<Replica> => {
    const started = await startReplica({
      snapshots,
      store,
      clock,
      collect,
      development: how.development ?? true,
      onSignOut: ({ kind, result }) => void signOuts.push(`${kind} ${result}`),
      onRefresh: ({ result }) => void refreshes.push(result),
      ...(options.fetch && { fetch: options.fetch }),
      more: options.endpoints,
    });
    replicas.push(started);
    return started;
  };
  const first = await replica();

  return {
    idp,
    store,
    clock,
    session: first.session,
    firstPort: first.port,
    logged: () => log,
    signOuts,
    refreshes,
    configure: (yaml) => void (snapshot = configured(yaml, snapshot.generation + 1)),
    snapshot: () => snapshot,
    browser: (elsewhere = {}) =>
      createBrowser({
        listeners: {
          [APP]: first.port,
          [WIKI]: first.port,
          [AUTH]: first.port,
          ...Object.fromEntries(Object.entries(elsewhere).map(([origin, { port }]) => [origin, port])),
        },
      }),
    replica,
    async close() {
      for (const each of replicas) await each.close();
      await store.store.close();
      await idp.close();
    },
  };
}

interface ReplicaDeps {
  readonly snapshots: Snapshots;
  readonly store: BreakableStore;
  readonly clock: Clock;
  readonly collect: Writable;
  readonly development: boolean;
  readonly fetch?: OperatorFetch;
  readonly more: SessionBenchOptions["endpoints"];
  readonly onSignOut: (signOut: SignOutResult) => void;
  readonly onRefresh: (refresh: TokenRefresh) => void;
}

async function startReplica({
  snapshots,
  store,
  clock,
  collect,
  development,
  fetch,
  more,
  onSignOut,
  onRefresh,
}: ReplicaDeps): Promise<Replica> {
  const log = createLog({ level: "trace", destination: collect });
  const keys = createKeys([BENCH_SECRET]);
  const session = createPeople({
    snapshots,
    store: withFormats(store.store, recordFormats),
    issuerKeys: createIssuerKeys({ fetch: createSafeFetch({ development }), clock, log }),
    keys,
    boot: { development, signingKeys: [] },
    log,
    clock,
    ...(fetch && { fetch }),
    onSignOut,
    onRefresh,
  });
  const endpoints = createEndpointFinder({
    endpoints: [...session.endpoints, ...(more?.({ session, snapshots, store: store.store, keys, clock, log }) ?? [])],
    log,
  });
  const server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: true,
    log,
    handle(exchange) {
      const snapshot = snapshots.current();
      if (!endpoints.answer(exchange, snapshot)) void answerAsApplication(exchange, session, snapshot);
    },
  });
  return {
    port: server.port,
    session,
    async close() {
      await server.close({ timeoutMs: 100 });
      await session.close();
    },
  };
}

/** The application behind the routes: names the signed-in user, or redirects to the sign-in. */
async function answerAsApplication(exchange: Exchange, session: People, snapshot: Snapshot): Promise<void> {
  const found = await session.authenticator.cookie(exchange);
  if (found.ok) {
    const { user, sid } = found.principal;
    respondJson(exchange, 200, { path: exchange.path + exchange.query, user, sid });
    return;
  }
  if (found.reason === "unavailable")
    respondError(exchange, 503, { code: "session.unavailable", message: "unavailable" });
  else await session.signIn.redirect(exchange, snapshot);
}
