/**
 * A Vault or OpenBao as far as this project asks one, since neither can be installed here: KV version 2, logins by JWT,
 * Kubernetes and AppRole, tokens that end, policies, namespaces; sealed, standby, hanging. Strict: it refuses what the real
 * one refuses, with its status and the shape of its body.
 *
 * @see https://developer.hashicorp.com/vault/api-docs/secret/kv/kv-v2, …/auth/{jwt,kubernetes,approle}, …/auth/token
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createSecureServer } from "node:https";
import type { AddressInfo } from "node:net";

import { canonicalJson } from "../../runtime/shared/canonical-json.ts";
import type { Clock } from "../../runtime/shared/clock.ts";

type Fields = Readonly<Record<string, unknown>>;
type Version = { fields: Fields; deleted?: true; destroyed?: true };

export interface FakeVaultOptions {
  readonly clock: Clock;
  /** Seconds of a token. Default 3600. */
  readonly tokenSeconds?: number;
  readonly renewable?: boolean;
  /** Longest life of a token however often it is renewed, in seconds. */
  readonly maxSeconds?: number;
  readonly namespace?: string;
  /** Mounts of KV version 2; others are not there, but for "kv1", which is of version 1. */
  readonly mounts?: readonly string[];
  readonly tls?: { readonly cert: string; readonly key: string };
}

export interface FakeVault {
  readonly origin: string;
  /** "POST auth/jwt/login", "GET kv/data/app?version=2", in their order. */
  readonly requests: string[];
  /** Its failure, instead of a correct response. */
  mode:
    | "active"
    | "sealed"
    | "hanging"
    | "broken"
    | "huge"
    | "limited"
    | { readonly redirectTo: (path: string) => string }
    | { readonly body: string; readonly headers?: Readonly<Record<string, string>> };
  /** Accepted logins: the mount and the required fields. */
  login(mount: string, shown: Fields): void;
  /** A token that is valid without a login. */
  addToken(token: string): void;
  revokeTokens(): void;
  write(path: string, fields: Fields): void;
  remove(path: string, how: "deleted" | "destroyed"): void;
  /** Makes a path unreadable. */
  forbid(path: string): void;
  /** Its engine fails, and no other. */
  break(path: string, status: number): void;
  /** Its engine does not answer, and all others do. */
  hang(path: string): void;
  /** Ends the connections on which it hangs. */
  hangUp(): void;
  close(): Promise<void>;
}

export async function startFakeVault(options: FakeVaultOptions): Promise<FakeVault> {
  const { clock, tokenSeconds = 3600, renewable = true, maxSeconds = Infinity, mounts = ["kv"] } = options;
  const logins = new Map<string, Fields>();
  const tokens = new Map<string, { endsAtMs: number; diesAtMs: number }>();
  const entries = new Map<string, Version[]>();
  const forbidden = new Set<string>();
  const broken = new Map<string, number>();
  const hanging = new Set<string>();
  const requests: string[] = [];
  const open = new Set<ServerResponse>();

  const answer = (response: ServerResponse, status: number, body?: unknown): void => {
    response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
    response.end(body === undefined ? "" : JSON.stringify(body));
  };
  const refuse = (response: ServerResponse, status: number, ...errors: string[]): void =>
    answer(response, status, { errors });

  async function handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? "/", "http://vault.test");
    requests.push(`${request.method} ${url.pathname.slice("/v1/".length)}${url.search}`);
    const { mode } = vault;
    if (typeof mode === "object" && "body" in mode) return void response.writeHead(200, mode.headers).end(mode.body);
    if (mode === "hanging") return void open.add(response);
    if (typeof mode === "object") {
      response.writeHead(307, { location: mode.redirectTo(url.pathname + url.search) });
      return void response.end();
    }
    if (mode === "sealed") return refuse(response, 503, "Vault is sealed");
    if (mode === "limited") return refuse(response, 429, "request path: rate limit quota exceeded");
    if (mode === "broken") return void response.writeHead(502).end("<html>bad gateway</html>");
    if (mode === "huge") return answer(response, 200, { data: "x".repeat(3 * 1024 * 1024) });
    if (request.headers["x-vault-request"] !== "true") return refuse(response, 412, "missing X-Vault-Request");
    if (request.headers["x-vault-namespace"] !== options.namespace)
      return refuse(response, 404, "no handler for route");
    if (!url.pathname.startsWith("/v1/") || url.pathname.includes("//")) return refuse(response, 404);
    const path = url.pathname.slice("/v1/".length);
    if (path.startsWith("auth/") && path.endsWith("/login"))
      return logIn(path, await bodyOf(request), request, response);
    const token = request.headers["x-vault-token"];
    const held = typeof token === "string" ? tokens.get(token) : undefined;
    if (!held || held.endsAtMs <= clock.now()) return refuse(response, 403, "permission denied");
    if (path === "auth/token/lookup-self") return answer(response, 200, { data: { policies: ["default", "x"] } });
    if (path === "auth/token/renew-self" && request.method === "POST") {
      if (!renewable) return refuse(response, 400, "lease is not renewable");
      held.endsAtMs = Math.min(clock.now() + tokenSeconds * 1000, held.diesAtMs);
      return answer(response, 200, { auth: authOf(String(token), (held.endsAtMs - clock.now()) / 1000) });
    }
    if (request.method === "GET") return read(path, url.searchParams.get("version"), response);
    return refuse(response, 405, "unsupported operation");
  }

  function logIn(path: string, shown: Fields, request: IncomingMessage, response: ServerResponse): void {
    if (request.method !== "POST") return refuse(response, 405, "unsupported operation");
    const wanted = logins.get(path.slice("auth/".length, -"/login".length));
    if (!wanted) return refuse(response, 403, "permission denied");
    const isGood = canonicalJson(shown) === canonicalJson(wanted);
    if (!isGood) return refuse(response, 400, "error validating token: invalid role or secret hunter2");
    const token = `hvs.${randomUUID()}`;
    tokens.set(token, { endsAtMs: clock.now() + tokenSeconds * 1000, diesAtMs: clock.now() + maxSeconds * 1000 });
    answer(response, 200, { auth: authOf(token, tokenSeconds) });
  }

  function authOf(token: string, seconds: number) {
    return {
      client_token: token,
      lease_duration: Math.floor(seconds),
      renewable,
      token_type: "service",
      policies: ["x"],
    };
  }

  function read(path: string, version: string | null, response: ServerResponse): void {
    if (hanging.has(path)) return void open.add(response);
    const status = broken.get(path);
    if (status !== undefined) return refuse(response, status, "internal error");
    if (forbidden.has(path)) return refuse(response, 403, "1 error occurred:\n\t* permission denied\n\n");
    // Version 1 has no "data" in its paths: OpenBao finds nothing there, unless an entry is really called so.
    if (path.startsWith("kv1/"))
      return path !== "kv1/data/odd"
        ? answer(response, 404, { errors: [] })
        : answer(response, 200, { lease_duration: 2_764_800, data: { password: "of version 1" } });
    const mount = mounts.find((each) => path.startsWith(`${each}/`));
    if (mount === undefined) return refuse(response, 404, `no handler for route "${path}"`);
    if (!path.startsWith(`${mount}/data/`)) {
      const warning =
        "Invalid path for a versioned K/V secrets engine. See the API docs for the appropriate API endpoints.";
      return answer(response, 404, { data: null, warnings: [warning] });
    }
    const versions = entries.get(decodeURIComponent(path));
    const number = version === null ? (versions?.length ?? 0) : Number(version);
    const found = versions?.[number - 1];
    if (!found) return refuse(response, 404);
    const { fields, deleted = false, destroyed = false } = found;
    const time = "2026-11-23T10:00:00.000000000Z";
    const metadata = {
      created_time: time,
      custom_metadata: null,
      deletion_time: deleted ? time : "",
      destroyed,
      version: number,
    };
    const isGone = deleted || destroyed;
    const common = { request_id: randomUUID(), lease_id: "", renewable: false, lease_duration: 0 };
    answer(response, isGone ? 404 : 200, { ...common, data: { data: isGone ? null : fields, metadata } });
  }

  const listener = (request: IncomingMessage, response: ServerResponse): void => void handle(request, response);
  const server = options.tls ? createSecureServer(options.tls, listener) : createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  const vault: FakeVault = {
    origin: options.tls ? `https://localhost:${port}` : `http://127.0.0.1:${port}`,
    requests,
    mode: "active",
    login: (mount, shown) => void logins.set(mount, shown),
    addToken: (token) => void tokens.set(token, { endsAtMs: Infinity, diesAtMs: Infinity }),
    revokeTokens: () => tokens.clear(),
    write: (path, fields) => void entries.set(path, [...(entries.get(path) ?? []), { fields }]),
    remove(path, how) {
      const last = entries.get(path)?.at(-1);
      if (last) last[how] = true;
    },
    forbid: (path) => void forbidden.add(path),
    break: (path, status) => void broken.set(path, status),
    hang: (path) => void hanging.add(path),
    hangUp() {
      for (const response of open) response.destroy();
    },
    close: () =>
      new Promise<void>((resolve) => {
        vault.hangUp();
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return vault;
}

async function bodyOf(request: IncomingMessage): Promise<Fields> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString()) as Fields;
}
