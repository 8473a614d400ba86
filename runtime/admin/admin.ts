/**
 * The admin listener: health and readiness for orchestrators, status and metrics for operators.
 *
 * Untrusted input: every request. Promises: nothing but `/healthz` and `/readyz` answers without the token, and these
 * two tell no names; answers are never cached; no request changes anything.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isIPv6 } from "node:net";

import type { Bundle } from "../bundle/bundle.ts";
import { parseListener } from "../config/values.ts";
import { errorText, GatewayError } from "../errors.ts";
import type { Log } from "../log.ts";
import type { Closable } from "../ports.ts";
import type { Store } from "../store/store.ts";
import { bundleSeries } from "./bundle-series.ts";
import { hostAllowed, refuseToken } from "./gate.ts";
import type { Metrics } from "./metrics.ts";
import { storeHealth } from "./store-health.ts";

export interface AdminDeps {
  /** "host:port"; port 0 = any free one. */
  readonly address: string;
  /** Undefined: only `/healthz` and `/readyz` answer. */
  readonly token: string | undefined;
  readonly bundle: Pick<Bundle, "current" | "status" | "subscribe" | "sealKey">;
  readonly metrics: Metrics;
  readonly isDraining: () => boolean;
  readonly store: Pick<Store, "get">;
  readonly log: Log;
  /** Of this program, for `/status`. */
  readonly version?: string;
}

export interface Admin extends Closable {
  /** "127.0.0.1:9901". */
  readonly address: string;
  /** "http://127.0.0.1:9901". */
  readonly origin: string;
}

interface Answer {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  readonly headers?: Readonly<Record<string, string>>;
}

const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };

/** Listens. @throws GatewayError `admin.address`, `admin.listen` */
export async function createAdmin(deps: AdminDeps): Promise<Admin> {
  const parsed = parseListener(deps.address);
  if (!parsed.ok) throw new GatewayError("admin.address", `Cannot listen on "${deps.address}": ${parsed.wish}`);
  const { host, port } = parsed.value;
  const answer = createAnswers(deps, host);

  const server = createServer(
    { maxHeaderSize: 16_384, headersTimeout: 10_000, requestTimeout: 10_000, keepAliveTimeout: 5_000 },
    (request, response) => {
      answer(request)
        .catch((error: unknown): Answer => {
          deps.log.error({ err: error }, "admin request failed");
          return json(500, { error: "internal" });
        })
        .then((ready) => write(request, response, ready))
        .catch((error: unknown) => {
          deps.log.error({ err: error }, "admin answer failed");
          response.destroy();
        });
    },
  );
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(
        new GatewayError("admin.listen", `Cannot listen on "${deps.address}": ${errorText(error)}`, { cause: error }),
      ),
    );
    server.listen({ port, ...(host === "" ? {} : { host }) }, resolve);
  });
  for (const series of bundleSeries(deps.bundle)) deps.metrics.register(series);
  const unsubscribe = deps.bundle.subscribe((next) => deps.metrics.keepRoutes(next.routes));
  const bound = server.address();
  const boundPort = typeof bound === "object" && bound !== null ? bound.port : port;
  // Everywhere is also here.
  const shown = host === "" || host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const address = `${isIPv6(shown) ? `[${shown}]` : shown}:${boundPort}`;

  return {
    address,
    origin: `http://${address}`,
    async close() {
      unsubscribe();
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function createAnswers(deps: AdminDeps, host: string): (request: IncomingMessage) => Promise<Answer> {
  const { bundle, metrics, token, isDraining } = deps;
  const isStoreHealthy = storeHealth(deps.store);
  const startedMs = performance.now();

  return async (request) => {
    if (!hostAllowed(request.headers.host, host)) return json(421, { error: "host" });
    const path = (request.url ?? "").split("?", 1)[0];
    const isOpen = path === "/healthz" || path === "/readyz";
    // Before the path is looked up: without the token nobody learns which there are.
    const refusal = isOpen ? undefined : refuseToken(request.headers.authorization, token);
    if (refusal === "no-token-set")
      return json(403, { error: "token", message: 'set "admin_token" to use this address' });
    if (refusal) return json(401, { error: "token" }, { "www-authenticate": "Bearer" });
    if (request.method !== "GET" && request.method !== "HEAD")
      return json(405, { error: "method" }, { allow: "GET, HEAD" });
    switch (path) {
      case "/healthz":
        return { status: 200, type: "text/plain; charset=utf-8", body: "ok\n" };
      case "/readyz":
        return readiness();
      case "/status":
        return json(200, await status());
      case "/metrics":
        return { status: 200, type: metrics.contentType, body: await metrics.text() };
      default:
        return json(404, { error: "path" });
    }
  };

  async function readiness(): Promise<Answer> {
    const { digest, generation, lastError } = bundle.status();
    const draining = isDraining();
    const store = (await isStoreHealthy()) ? "ok" : "down";
    const ready = !draining && store === "ok" && generation > 0;
    // A refused change does not make this process unready: it serves the last good configuration.
    return json(ready ? 200 : 503, { ready, digest, generation, draining, store, reload: lastError ? "failed" : "ok" });
  }

  async function status(): Promise<object> {
    return {
      version: deps.version ?? "",
      node: process.version,
      uptime_seconds: Math.floor((performance.now() - startedMs) / 1000),
      draining: isDraining(),
      store: (await isStoreHealthy()) ? "ok" : "down",
      bundle: bundle.status(),
      // Public: secrets for this gateway are sealed to it.
      seal_key: bundle.sealKey ?? null,
      counters: metrics.totals(),
    };
  }
}

function json(status: number, value: object, headers: Readonly<Record<string, string>> = {}): Answer {
  return { status, type: "application/json", body: `${JSON.stringify(value)}\n`, headers };
}

function write(request: IncomingMessage, response: ServerResponse, { status, type, body, headers }: Answer): void {
  // A body that nobody asked for is not read; the connection ends with the answer.
  if (request.headers["content-length"] !== undefined || request.headers["transfer-encoding"] !== undefined) {
    response.shouldKeepAlive = false;
  }
  response.writeHead(status, {
    ...HEADERS,
    "content-type": type,
    "content-length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(request.method === "HEAD" ? undefined : body);
}
