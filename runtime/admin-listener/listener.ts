/**
 * The admin listener: access control, and routing of paths.
 *
 * Untrusted input: every request. Promises: only `/healthz` and `/readyz` respond without a token, and these two reveal
 * no names; an owner's token covers only that owner; responses are never cached; bodies are read only by endpoints that
 * bound them.
 */
import type { IncomingMessage, ServerResponse } from "node:http";
import { isIPv6 } from "node:net";
import type { TLSSocket } from "node:tls";

import type { OwnerPublishToken } from "../features/process/compiled.ts";
import { parseListener } from "../settings/values.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import { readWhole } from "../shared/http/pieces.ts";
import type { Certificates } from "../http/listener/certificates.ts";
import { resumesEnded } from "../http/listener/client-certificate.ts";
import { takeInTurn, TCP_KEEP_ALIVE } from "../http/listener/connections-h1.ts";
import type { Log } from "../shared/log.ts";
import type { Closable } from "../shared/clock.ts";
import {
  json,
  TokenRefused,
  type AdminEndpoint,
  type AdminRequest,
  type AdminReply,
  type TokenRefusal,
} from "./answer.ts";
import type { PublishWorkloads } from "./publish-workloads.ts";
import { type AdminCaller, createTokenGate, hostAllowed, type TokenGate } from "./gate.ts";
import type { MintedTokens } from "./minted-tokens.ts";
import { outsideScope, scopedStatus } from "./publish-scope.ts";
import type { StoreStatus } from "./store/store-status.ts";
import { goOnAfterErrors } from "../http/listener/listen.ts";
import { createAdminServer } from "./tls.ts";

/** Content about one process, or about several together. */
export interface AdminPages {
  readiness(): Promise<{ readonly ready: boolean } & StoreStatus>;
  status(): Promise<object>;
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>;
}

export interface AdminListenerDeps {
  /** "host:port"; port 0 = any free one. */
  readonly address: string;
  /** Canonical host names of the listener, in addition to that of `address`, IP addresses and localhost. */
  readonly hosts?: ReadonlySet<string> | undefined;
  /** Undefined: plain HTTP. */
  readonly certificates?: Certificates | undefined;
  /** The operator's token. Without any token only `/healthz` and `/readyz` respond. */
  readonly token: string | undefined;
  /** Tokens of owners, for their own slices. */
  readonly publishTokens?: readonly OwnerPublishToken[] | undefined;
  /** Tokens issued for minutes. */
  readonly mintedTokens?: Pick<MintedTokens, "find"> | undefined;
  /** Jobs that can have one issued. */
  readonly workloads?: PublishWorkloads | undefined;
  readonly pages: AdminPages;
  readonly endpoints?: readonly AdminEndpoint[];
  /** Open connections; more are closed immediately. Default: no limit but the system's. */
  readonly maxConnections?: number | undefined;
  readonly log: Log;
}

export interface Admin extends Closable {
  /** "127.0.0.1:9901". */
  readonly address: string;
  /** "http://127.0.0.1:9901"; https with certificates. */
  readonly origin: string;
}

const HEADERS = { "cache-control": "no-store", "x-content-type-options": "nosniff", "referrer-policy": "no-referrer" };

const HTTP_OPTIONS = {
  maxHeaderSize: 16_384,
  headersTimeout: 10_000,
  // For a whole request to arrive: a slice of many routes over a slow line.
  requestTimeout: 60_000,
  keepAliveTimeout: 5_000,
  connectionsCheckingInterval: 5_000,
  // Our own response has the headers of all responses.
  requireHostHeader: false,
  ...TCP_KEEP_ALIVE,
} as const;

/** Starts listening. @throws GatewayError `admin.address`, `admin.listen` */
export async function createAdminListener(deps: AdminListenerDeps): Promise<Admin> {
  const parsed = parseListener(deps.address);
  if (!parsed.ok) throw new GatewayError("admin.address", `Cannot listen on "${deps.address}": ${parsed.problem}`);
  const { host, port } = parsed.value;
  const answer = createAnswers(deps, host);

  const sockets = createAdminServer(HTTP_OPTIONS, deps.certificates, deps.log);
  const { server } = sockets;
  if (deps.maxConnections !== undefined) server.maxConnections = deps.maxConnections;
  const connections = takeInTurn(
    server,
    deps.certificates !== undefined,
    (request, response, expectation) => {
      if (expectation === "continue") response.writeContinue();
      const answered = expectation === "unmet" ? Promise.resolve(json(417, { error: "expectation" })) : answer(request);
      answered
        .catch((error: unknown): AdminReply => {
          deps.log.error({ err: error }, "admin request failed");
          return json(500, { error: "internal" });
        })
        .then((ready) => write(request, response, ready))
        .catch((error: unknown) => {
          deps.log.error({ err: error }, "cannot send admin response");
          response.destroy();
        });
    },
    { log: deps.log },
  );
  sockets.takeConnections((socket) => connections.add(socket));
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error) =>
      reject(
        new GatewayError("admin.listen", `Cannot listen on "${deps.address}": ${errorText(error)}`, { cause: error }),
      ),
    );
    server.listen({ port, ...(host === "" ? {} : { host }) }, resolve);
  });
  goOnAfterErrors(server, deps.log);
  const bound = server.address();
  const boundPort = typeof bound === "object" && bound !== null ? bound.port : port;
  // A wildcard address includes loopback.
  const shown = host === "" || host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;
  const address = `${isIPv6(shown) ? `[${shown}]` : shown}:${boundPort}`;

  return {
    address,
    origin: `${deps.certificates ? "https" : "http"}://${address}`,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      sockets.cutFresh();
      await closed;
    },
  };
}

function createAnswers(
  {
    token,
    publishTokens = [],
    mintedTokens,
    workloads,
    pages,
    hosts = new Set(),
    certificates,
    endpoints = [],
  }: AdminListenerDeps,
  host: string,
): (request: IncomingMessage) => Promise<AdminReply> {
  const names = host === "" ? hosts : new Set([...hosts, host]);
  const asksForCertificate = certificates?.clients !== undefined;
  const callerOf = createTokenGate(token, publishTokens, mintedTokens, workloads);
  return async (request) => {
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    const socket = request.socket as TLSSocket;
    const certificateMissing = asksForCertificate && (!socket.authorized || resumesEnded(socket));
    const isOpen = path === "/healthz" || path === "/readyz";
    // Pipelines may use any host name; a web page with a rebound name does not have the token.
    const atPath = endpoints.find((each) => each.handles(path));
    const isOurName = hostAllowed(request.headers.host, names);
    // A request that is rejected anyway does not query the store for issued tokens.
    const isHopeless = certificateMissing || (!isOurName && atPath?.anyHost !== true);
    const authenticated = isOpen || isHopeless ? "missing" : await callerOf(request.headers.authorization);
    const [caller, tokenRefusal] = typeof authenticated === "string" ? [undefined, authenticated] : [authenticated];
    const scope = caller?.scope;
    const endpoint = tokenRefusal ? undefined : atPath;
    const anyHost = endpoint?.anyHost === true;
    if (request.headers.host === undefined) return json(400, { error: "host" }, { connection: "close" });
    if (!anyHost && !isOurName) return json(421, { error: "host" });
    if (certificateMissing && !isOpen)
      return json(403, { error: "certificate", message: "a client certificate that this gateway trusts is required" });
    // Before the path is looked up: without the token no caller learns which paths exist.
    const refusal = isOpen ? undefined : tokenRefusal;
    if (refusal) return tokenRefused(refusal);
    const isForOwners = isOpen || path === "/status" || endpoint?.forOwners === true;
    if (scope && !isForOwners) return outsideScope(scope);
    if (caller?.rights && !isOpen && endpoint?.forWorkloads !== true)
      return json(403, {
        error: "token",
        message: "the token of a platform can only issue publish tokens",
      });
    if (endpoint) {
      try {
        return await endpoint.answer(readable(request, path, caller, callerOf));
      } catch (error) {
        if (error instanceof TokenRefused) return tokenRefused(error.refusal);
        throw error;
      }
    }
    if (request.method !== "GET" && request.method !== "HEAD")
      return json(405, { error: "method" }, { allow: "GET, HEAD" });
    switch (path) {
      case "/healthz":
        return { status: 200, type: "text/plain; charset=utf-8", body: "ok\n" };
      case "/readyz": {
        const needsStore = storeRequired(request.url ?? "");
        if (needsStore === undefined)
          return json(400, { error: "query", message: 'the query must be "store=required" or empty' });
        const readiness = await pages.readiness();
        const ready = readiness.ready && !(needsStore && readiness.store !== "ok");
        return json(ready ? 200 : 503, { ...readiness, ready });
      }
      case "/status":
        return json(200, scope ? scopedStatus(await pages.status(), scope) : await pages.status());
      case "/metrics": {
        const { contentType, text } = await pages.metrics();
        return { status: 200, type: contentType, body: text };
      }
      default:
        return json(404, { error: "path" });
    }
  };
}

/**
 * For balancers that send requests on when no replica is ready: one replica without its store is then ejected
 * immediately.
 */
function storeRequired(url: string): boolean | undefined {
  const values = new URLSearchParams(url.split("?").slice(1).join("?")).getAll("store");
  return values.every((each) => each === "required") ? values.length > 0 : undefined;
}

function tokenRefused(refusal: TokenRefusal): AdminReply {
  switch (refusal) {
    case "no-token-set":
      return json(403, { error: "token", message: 'set "admin_token" to use this address' });
    case "unavailable":
      return json(
        503,
        { error: "store", message: "the token cannot be checked now, try again" },
        { "retry-after": "1" },
      );
    default:
      return json(401, { error: "token" }, { "www-authenticate": "Bearer" });
  }
}

function readable(
  request: IncomingMessage,
  path: string,
  caller: AdminCaller | undefined,
  callerOf: TokenGate,
): AdminRequest {
  return {
    method: request.method ?? "",
    path,
    query: (request.url ?? "").slice(path.length + 1),
    headers: request.headers,
    caller: caller?.name ?? "admin_token",
    scope: caller?.scope,
    token: caller?.token,
    rights: caller?.rights,
    async readBody(maxBytes) {
      const body = await readWhole(request as AsyncIterable<Buffer>, maxBytes);
      if (!body) return undefined;
      const caller = await callerOf(request.headers.authorization);
      if (typeof caller === "string") throw new TokenRefused(caller);
      return body;
    },
  };
}

function write(request: IncomingMessage, response: ServerResponse, { status, type, body, headers }: AdminReply): void {
  // An unexpected body is not read; the connection closes with the response.
  if (!request.complete || request.headers["transfer-encoding"] !== undefined) response.shouldKeepAlive = false;
  response.writeHead(status, {
    ...HEADERS,
    "content-type": type,
    "content-length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(request.method === "HEAD" ? undefined : body);
}
