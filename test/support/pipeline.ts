/**
 * The whole proxy from YAML, with everything around it in memory: owners of credentials, sign-in, assertions, tokens,
 * revocation. For tests and for the benchmark, which only replace the upstream. For the proxy only; gateway.ts has the whole
 * gateway.
 *
 * Routes in the YAML use separate hosts ("https://app.example"); requests name them in Host.
 */
import type { Snapshot, Snapshots } from "../../runtime/config/snapshot.ts";
import { parseCookies } from "../../runtime/http/cookies.ts";
import { respondError } from "../../runtime/http/respond.ts";
import type { Certificates } from "../../runtime/http/listener/certificates.ts";
import { createHttpServer, type HttpServer } from "../../runtime/http/listener/server.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog, type Log } from "../../runtime/shared/log.ts";
import type { Exchange } from "../../runtime/http/exchange.ts";
import type { RecordWriter } from "../../runtime/audit/record-writer.ts";
import { systemClock, type Clock } from "../../runtime/shared/clock.ts";
import { createProxy, type Proxy, type ProxyDeps } from "../../runtime/proxy/handle.ts";
import type { AuthResult, Principal } from "../../runtime/identity/principal.ts";
import { createProofs } from "../../runtime/identity/dpop/proofs.ts";
import type { Authenticator, Revocations } from "../../runtime/identity/interfaces.ts";
import { snapshotFrom } from "./config.ts";
import { userId } from "./users.ts";

export interface PipelineOptions extends Partial<Omit<ProxyDeps, "snapshots">> {
  /** Makes the listener speak TLS. */
  readonly certificates?: Certificates;
  /** See `send_timeout`; no limit when absent. */
  readonly sendTimeoutMs?: number;
  /** Of all clients together, see `http/admission/parties.ts`. */
  readonly maxHeldBytes?: number;
  /** A snapshot made elsewhere, instead of the YAML. */
  readonly snapshot?: Snapshot;
}

export interface Pipeline {
  readonly port: number;
  readonly origin: string;
  readonly server: HttpServer;
  readonly proxy: Proxy;
  /** One parsed line for each check. */
  readonly records: readonly Record<string, unknown>[];
  readonly revocations: TestRevocations;
  /** Activates another configuration. */
  swap(yaml: string): void;
  close(options?: { readonly timeoutMs?: number }): Promise<void>;
}

/** `Authorization: Bearer gwt_alice` and `Cookie: gateway_session=alice` are alice@example.com's. */
export async function startPipeline(yaml: string, options: PipelineOptions = {}): Promise<Pipeline> {
  const snapshots = swappable(options.snapshot ?? snapshotFrom(yaml));
  const clock: Clock = options.clock ?? systemClock;
  const log: Log = options.log ?? silentLog();
  const revocations = createTestRevocations();
  const records: Record<string, unknown>[] = [];
  const proxy = createProxy({
    endpoints: [],
    authenticator: createTestAuthenticator(clock),
    signIn: {
      redirect(exchange) {
        const isNavigation = exchange.method === "GET" || exchange.method === "HEAD";
        if (isNavigation) exchange.respond(302, ["location", "https://auth.example/.gateway/sign_in"]);
        else respondError(exchange, 401, { code: "sign-in.required", message: "Unauthorized" });
        return Promise.resolve();
      },
    },
    assertions: { sign: ({ user }, route, host = route.hostname) => `assertion.${user.id}.${host}` },
    applicationTokens: { mint: (principal) => `gwt_application_${principal.user.id}` },
    revocations,
    records: collecting(records),
    keys: createKeys([Buffer.alloc(32, 7)]),
    proofs: createProofs({ keys: createKeys([Buffer.alloc(32, 7)]), clock }),
    challenge: (route, _origin, failure) =>
      `Bearer resource_metadata="${route.origin}/.well-known/oauth-protected-resource"${failure === "missing" ? "" : ', error="invalid_token"'}`,
    ...options,
    snapshots,
    log,
    clock,
  });
  const server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: options.certificates === undefined,
    certificates: options.certificates,
    sendTimeoutMs: options.sendTimeoutMs,
    maxHeldBytes: options.maxHeldBytes,
    log,
    handle: (exchange) => proxy.handle(exchange),
  });
  return {
    port: server.port,
    origin: server.origin,
    server,
    proxy,
    records,
    revocations,
    swap: (next) => snapshots.swap(snapshotFrom(next)),
    async close({ timeoutMs = 2_000 } = {}) {
      proxy.drain();
      await server.close({ timeoutMs });
      await proxy.close({ timeoutMs });
    },
  };
}

/** A principal as sessions would make it. */
export function testPrincipal(name: string, expiresAt: number, overrides: Partial<Principal> = {}): Principal {
  return {
    kind: "session",
    user: {
      id: userId(name),
      email: `${name}@example.com`,
      name,
      groups: name === "alice" ? ["staff", "admins"] : ["staff"],
      claims: { sub: name, email: `${name}@example.com`, department: "research" },
      version: 1,
    },
    sid: `sid-${name}`,
    sessionId: `session-${name}`,
    expiresAt,
    revocationKeys: [`session:session-${name}`, `user:${name}`],
    ...overrides,
  };
}

/** One principal object per name and kind, like the cache of the real one. Throws for "boom"; "down" is unavailable. */
export function createTestAuthenticator(clock: Clock): Authenticator {
  const known = new Map<string, AuthResult>();
  const find = (name: string, kind: Principal["kind"]): AuthResult => {
    if (name === "boom") throw new Error("the authenticator failed");
    if (name === "down") return { ok: false, reason: "unavailable" };
    if (!/^[a-z]+$/.test(name)) return { ok: false, reason: "malformed" };
    const key = `${kind} ${name}`;
    let result = known.get(key);
    if (!result) {
      const expiresAt = Math.floor(clock.now() / 1000) + 3600;
      result = { ok: true, principal: testPrincipal(name, expiresAt, { kind }) };
      known.set(key, result);
    }
    return result;
  };
  const cookie = (exchange: Exchange): AuthResult => {
    const name = parseCookies(exchange).get("gateway_session");
    return name === undefined ? { ok: false, reason: "missing" } : find(name, "session");
  };
  return {
    bearer: (token) => (token.startsWith("gwt_") ? find(token.slice(4), "grant") : { ok: false, reason: "malformed" }),
    cookie,
    cookieAgain: (exchange) => Promise.resolve(cookie(exchange)),
    providerTokens: (principal) =>
      Promise.resolve({ accessToken: `access-${principal.user.id}`, idToken: `id-${principal.user.id}` }),
  };
}

export interface TestRevocations extends Revocations {
  revokeNow(key: string): void;
}

export function createTestRevocations(): TestRevocations {
  const revoked = new Set<string>();
  const listeners = new Set<(key: string) => void>();
  const revokeNow = (key: string): void => {
    revoked.add(key);
    for (const listener of listeners) listener(key);
  };
  return {
    isRevoked: (keys) => keys.some((key) => revoked.has(key)),
    get epoch() {
      return revoked.size;
    },
    revoke(key) {
      revokeNow(key);
      return Promise.resolve();
    },
    revokeNow,
    change: () => Promise.resolve(),
    hasChanged: () => false,
    endHere: revokeNow,
    isPending: () => false,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Stores records as objects, so that a line that is not JSON fails the test. */
function collecting(records: Record<string, unknown>[]): RecordWriter {
  return {
    write(line) {
      records.push(JSON.parse(line) as Record<string, unknown>);
      return undefined;
    },
    flush: () => Promise.resolve(),
    reopen: () => {},
    close: () => Promise.resolve(),
  };
}

function swappable(first: Snapshot): Snapshots & { swap(next: Snapshot): void } {
  let current = first;
  const listeners = new Set<Parameters<Snapshots["subscribe"]>[0]>();
  return {
    ...fixedSnapshot(first),
    current: () => current,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    swap(next) {
      const previous = current;
      current = { ...next, generation: previous.generation + 1 };
      for (const listener of listeners) listener(current, previous);
    },
  };
}

/** A configuration that stays as it is. */
export function fixedSnapshot(snapshot: Snapshot): Snapshots {
  return { current: () => snapshot, subscribe: () => () => {} };
}
