/**
 * WebSocket, one state machine: one allowed handshake upstream, then both directions as bytes until either side, or the right
 * to them, ends.
 *
 * Untrusted input: the upstream's response. Promises: the gateway makes each side's handshake, so that neither key is passed
 * through; a response other than 101 goes to the client unchanged; the connection is registered with the open streams and
 * closed when the right to it ends (D11). HTTP/1.1 and HTTP/2 clients (RFC 8441) get the same upstream.
 */
import { request as plainRequest, type ClientRequest, type IncomingMessage } from "node:http";
import { request as secureRequest } from "node:https";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";

import type { Upstream } from "../../features/connection/compiled.ts";
import { errorText } from "../../shared/errors.ts";
import { guard } from "../../shared/faults/guard.ts";
import { endBroken } from "../../http/end-broken.ts";
import { headerTraits } from "../../shared/http/header-traits.ts";
import { isFinalStatus } from "../../shared/http/status.ts";
import { AnswerFields } from "../../upstreams/http1/head-lines.ts";
import type { UpgradeOffer } from "../../http/exchange.ts";
import { acceptOf, HANDSHAKE_NAMES, newKey, WEBSOCKET_VERSION } from "../../http/listener/websocket.ts";
import { answerFailure } from "./failure.ts";
import type { ForwardDeps } from "./forwarding.ts";
import type { UpstreamFailure } from "../../features/connection/failure.ts";
import type { UpstreamHeaders } from "../../upstreams/transport-types.ts";
import type { RequestContext } from "../request-context.ts";
import type { Step } from "../steps.ts";
import { RequestLoop } from "./hop-count.ts";
import { requestHeaders } from "./request-headers.ts";
import { responseHeaders } from "./response-headers.ts";
import { refuseStream, StreamAdmission } from "./stream-admission.ts";
import { endpointOf } from "../../upstreams/endpoint.ts";
import { failureOf } from "../../upstreams/failure.ts";
import { connectGuard } from "../../upstreams/reach.ts";
import { upstreamPath } from "./upstream-path.ts";
import { ignore } from "../../shared/ignore.ts";

const CONNECT_TIMEOUT_MS = 10_000;
/** WebSocket has no half-open connections: once one side has ended, the other one has this long for its last messages. */
const HALF_OPEN_MS = 5_000;
/** A peer that disappeared is detected after this time plus about ten seconds. */
const KEEP_ALIVE_MS = 60_000;

/** Step: responds to every outcome of a WebSocket request, so it is the last one for them. */
export function upgrade(deps: ForwardDeps): Step {
  return (context) => {
    const { upgrade: offer } = context.exchange;
    if (offer === undefined) return "next";
    openTunnel(deps, context, offer);
    return "done";
  };
}

function openTunnel(deps: ForwardDeps, context: RequestContext, offer: UpgradeOffer): void {
  const { prepared, principal, snapshot, exchange } = context;
  // Before the upstream is contacted; checked again when it has responded.
  if (!deps.streams.hasRoom({ principal, snapshot, isEndless: true })) {
    const status = refuseStream(exchange);
    deps.metrics?.answered(prepared.route, status, 0);
    return;
  }
  const upstream = prepared.balancer.pick(deps.clock, context);
  const release = upstream && deps.transport.reserve(upstream, exchange.party);
  if (upstream === undefined || release === undefined) {
    const status = answerFailure(context, upstream === undefined ? "unhealthy" : "overloaded");
    deps.metrics?.answered(prepared.route, status, 0);
    return;
  }
  const tunnel = new Tunnel(deps, context, offer, upstream, release);
  try {
    tunnel.begin();
  } catch (error) {
    tunnel.fail(error instanceof RequestLoop ? "loop" : failureOf(error as Error), errorText(error));
  }
}

class Tunnel {
  readonly isEndless = true;
  readonly endsWithCredential = true;
  readonly #deps: ForwardDeps;
  readonly #context: RequestContext;
  readonly #offer: UpgradeOffer;
  readonly #upstream: Upstream;
  readonly #admission: StreamAdmission;
  #request: ClientRequest | undefined;
  #client: Duplex | undefined;
  #server: Duplex | undefined;
  #timer: NodeJS.Timeout | undefined;
  readonly #release: () => void;

  /** @param release gives back the slot among the upstream's requests */
  constructor(
    deps: ForwardDeps,
    context: RequestContext,
    offer: UpgradeOffer,
    upstream: Upstream,
    release: () => void,
  ) {
    this.#deps = deps;
    this.#context = context;
    this.#offer = offer;
    this.#upstream = upstream;
    this.#release = release;
    this.#admission = new StreamAdmission(deps, context, this);
    this.#admission.track(upstream);
    // The exchange guards its listeners.
    context.exchange.onClose(() => this.#clientGone());
  }

  begin(): void {
    const { prepared } = this.#context;
    const { host, port, secure } = endpointOf(this.#upstream);
    const key = newKey();
    const headers: string[] = [];
    this.#admission.attempt(this.#upstream);
    const given = requestHeaders(this.#deps, this.#context, this.#upstream);
    for (let index = 0; index < given.length; index += 2) {
      const name = given[index] as string;
      if (!HANDSHAKE_NAMES.has(name.toLowerCase())) headers.push(name, given[index + 1] as string);
    }
    headers.push("Connection", "Upgrade", "Upgrade", "websocket");
    headers.push("Sec-WebSocket-Key", key, "Sec-WebSocket-Version", WEBSOCKET_VERSION);
    const request = (secure ? secureRequest : plainRequest)({
      host,
      port,
      path: upstreamPath(this.#context, this.#upstream),
      headers,
      agent: false,
      ...connectGuard(this.#upstream),
      ...this.#upstream.connect?.tls,
    });
    this.#request = request;
    const timeoutMs = prepared.route.timeoutMs === 0 ? CONNECT_TIMEOUT_MS : prepared.route.timeoutMs;
    this.#timer = setTimeout(
      guard(this, () => this.fail("timeout", "no answer to the handshake")),
      timeoutMs,
    );
    request.on(
      "upgrade",
      guard(this, (answer: IncomingMessage, socket: Duplex, rest: Buffer) => this.#upgraded(answer, socket, rest, key)),
    );
    request.on(
      "response",
      guard(this, (answer: IncomingMessage) => this.#answered(answer)),
    );
    request.on(
      "error",
      guard(this, (error: Error) => this.fail(failureOf(error), errorText(error))),
    );
    request.end();
  }

  /** Ends the tunnel: the right to it has ended. */
  end(): void {
    if (this.#admission.isFinished) return;
    if (this.#client === undefined) this.#context.exchange.abort();
    this.#finish(0);
  }

  fail(failure: UpstreamFailure, detail: string): void {
    if (this.#admission.isFinished) return;
    const { exchange } = this.#context;
    this.#admission.failed(failure);
    this.#admission.report(failure, detail, this.#upstream);
    if (exchange.started) exchange.abort();
    this.#finish(exchange.started ? 0 : answerFailure(this.#context, failure));
  }

  /** Handles a bug of ours: ends this request, in any state. */
  broke(error: unknown): void {
    const { exchange } = this.#context;
    const isTunnel = this.#client !== undefined;
    try {
      this.#finish(isTunnel ? 101 : exchange.started ? 0 : 500);
    } finally {
      this.#request?.destroy();
      // After its event "upgrade" a request no longer ends its connection.
      this.#request?.socket?.destroy();
      this.#client?.destroy();
      endBroken(exchange, error);
    }
  }

  #upgraded(answer: IncomingMessage, socket: Duplex, rest: Buffer, key: string): void {
    socket.on("error", ignore);
    if (this.#admission.isFinished) {
      socket.destroy();
      return;
    }
    this.#server = socket;
    if (
      answer.headers.upgrade?.toLowerCase() !== "websocket" ||
      answer.headers["sec-websocket-accept"] !== acceptOf(key)
    ) {
      this.fail("protocol", "the answer to the handshake is not WebSocket's");
      return;
    }
    clearTimeout(this.#timer);
    this.#admission.answered(101);
    if (this.#isRefused(this.#admission.admit())) return;
    const client = this.#offer.accept(this.#handshakeHeaders(answer));
    this.#client = client;
    if (rest.length > 0) socket.unshift(rest);
    client.on("error", ignore);
    for (const side of [client, socket]) {
      side.once(
        "close",
        guard(this, () => this.#finish(101)),
      );
      side.once(
        "end",
        guard(this, () => this.#endSoon()),
      );
    }
    (socket as Socket).setKeepAlive(true, KEEP_ALIVE_MS);
    // All messages pass this socket, in both directions.
    const { idleTimeoutMs = 0 } = this.#context.prepared.route;
    if (idleTimeoutMs > 0)
      (socket as Socket).setTimeout(
        idleTimeoutMs,
        guard(this, () => this.#finish(101)),
      );
    client.pipe(socket);
    socket.pipe(client);
  }

  #isRefused(status: number | undefined): boolean {
    if (status !== undefined) this.#finish(status);
    return status !== undefined;
  }

  #endSoon(): void {
    clearTimeout(this.#timer);
    if (this.#admission.isFinished) return;
    this.#timer = setTimeout(
      guard(this, () => this.#finish(101)),
      HALF_OPEN_MS,
    );
  }

  #handshakeHeaders(answer: IncomingMessage): readonly string[] {
    const { headers } = responseHeaders(this.#context, 101, readFields(answer).headers, this.#deps.sealSession);
    const remaining: string[] = [];
    for (let index = 0; index < headers.length; index += 2) {
      const name = headers[index] as string;
      if (!HANDSHAKE_NAMES.has(name.toLowerCase())) remaining.push(name, headers[index + 1] as string);
    }
    return remaining;
  }

  /** Passes on a response other than 101. */
  #answered(answer: IncomingMessage): void {
    if (this.#admission.isFinished) {
      answer.destroy();
      return;
    }
    const { exchange, prepared } = this.#context;
    // Without a timeout of the route the response may take any time; otherwise each part has as long as the first.
    if (prepared.route.timeoutMs === 0) {
      clearTimeout(this.#timer);
      this.#timer = undefined;
    }
    const status = answer.statusCode ?? 0;
    const fields = readFields(answer);
    if (!isFinalStatus(status) || fields.problem !== undefined) {
      answer.destroy();
      this.fail("protocol", fields.problem ?? `the answer has the status ${status}`);
      return;
    }
    this.#admission.answered(status);
    // Servers without WebSocket ignore the offer: the response may be an event stream, as to any other request.
    if (this.#isRefused(this.#admission.enter())) {
      answer.destroy();
      return;
    }
    exchange.start(status, responseHeaders(this.#context, status, fields.headers, this.#deps.sealSession).headers);
    answer.on(
      "data",
      guard(this, (chunk: Buffer) => {
        this.#timer?.refresh();
        if (exchange.write(chunk)) return;
        answer.pause();
        exchange.onDrain(() => answer.resume());
      }),
    );
    answer.once(
      "end",
      guard(this, () => {
        if (this.#admission.isFinished) return;
        this.#finish(status);
        exchange.end();
      }),
    );
    answer.once(
      "error",
      guard(this, (error: Error) => this.fail("reset", errorText(error))),
    );
  }

  #clientGone(): void {
    // After the handshake the connection's own events matter.
    if (this.#client === undefined) this.#finish(0);
  }

  #finish(status: number): void {
    if (!this.#admission.finish(status)) return;
    // An exchange gets no end event for a connection that left HTTP.
    if (status === 101) this.#context.trace?.end(status);
    clearTimeout(this.#timer);
    this.#release();
    this.#server?.destroy();
    this.#client?.destroy();
    if (this.#server === undefined) this.#request?.destroy();
  }
}

/** Validates fields like our own HTTP/1.1 code: node:http accepts lengths that cannot be forwarded. */
function readFields({ rawHeaders }: IncomingMessage): {
  readonly headers: UpstreamHeaders;
  readonly problem: string | undefined;
} {
  const fields = new AnswerFields(true);
  let problem: string | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const value = rawHeaders[index + 1] as string;
    problem ??= fields.takeField(headerTraits(rawHeaders[index] as string), value, value);
  }
  if (fields.chunked && fields.length >= 0) problem ??= "it has both Content-Length and Transfer-Encoding";
  return { headers: fields.headers, problem };
}
