/**
 * The transport for upstreams that may speak HTTP/2, over undici: `Pool.dispatch` with one handler object per request, no
 * promises, no streams between. An upstream that chooses HTTP/1.1 in the TLS handshake gets it here, too.
 */
import type { IncomingHttpHeaders } from "node:http";

import { buildConnector, Pool, type Dispatcher } from "undici";

import { errorText } from "../shared/errors.ts";
import type { Upstream } from "../features/connection/compiled.ts";
import { poolKeyOf } from "../features/connection/pool-key.ts";
import type { Transport, UpstreamCall, UpstreamHeaders, UpstreamReceiver } from "./transport-types.ts";
import type { UpstreamFailure } from "../features/connection/failure.ts";
import { MAX_HEAD_BYTES } from "./http1/reader.ts";
import {
  DEFAULT_CONNECT_TIMEOUT_MS,
  MAX_STREAMS,
  maxUnderWayOf,
  OVERLOADED,
  Places,
  refuse,
  type TransportOptions,
} from "./transport-limits.ts";
import { endpointOf } from "./endpoint.ts";
import { failureOf } from "./failure.ts";
import { checkAddress, nameGuard } from "./reach.ts";

/** As long as we keep an idle connection that names no end of its own; many servers close theirs after 5 s. */
const KEEP_ALIVE_MS = 4_000;

export function createHttp2Transport(options: TransportOptions = {}): Transport {
  const origins = new Map<string, Origin>();
  const connect = { timeout: options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS, noDelay: true };

  const originOf = (upstream: Upstream): Origin => {
    const key = poolKeyOf(upstream);
    let known = origins.get(key);
    if (!known) {
      const poolOptions = poolOptionsOf(upstream, connect);
      const serverName = upstream.connect?.tls.servername ?? endpointOf(upstream).serverName;
      const short = new Pool(upstream.origin, poolOptions);
      const limits = upstream.connect?.limits;
      const isCounted = limits?.maxConnections !== undefined;
      const places = new Places(maxUnderWayOf(upstream, options));
      known = { poolOptions, short, long: undefined, isCounted, places, serverName };
      origins.set(key, known);
    }
    return known;
  };

  return {
    send(request, receiver) {
      const origin = originOf(request.upstream);
      if (!origin.places.take()) return refuse(receiver, "overloaded", OVERLOADED);
      const call = new Call(receiver, origin.places);
      // undici looks for a free connection one by one: thousands of held event streams must not stand in the way.
      const pool =
        request.longLived && !origin.isCounted
          ? (origin.long ??= new Pool(request.upstream.origin, origin.poolOptions))
          : origin.short;
      try {
        const options: Dispatcher.DispatchOptions & { readonly servername: string | undefined } = {
          path: request.path,
          method: request.method,
          headers: request.headers as string[],
          body: request.body ?? null,
          servername: origin.serverName,
          headersTimeout: request.headTimeoutMs,
          bodyTimeout: request.idleTimeoutMs,
        };
        pool.dispatch(options, call);
      } catch (error) {
        process.nextTick(() => call.onResponseError(undefined, error as Error));
      }
      return call;
    },
    reserve: (upstream) => originOf(upstream).places.reserve(),
    retain(named) {
      for (const [origin, known] of origins) {
        if (named.has(origin)) continue;
        origins.delete(origin);
        // Waits for what is under way; a pool that was destroyed meanwhile is closed too.
        known.short.close().catch(ignore);
        known.long?.close().catch(ignore);
      }
    },
    async close() {
      const all = [...origins.values()];
      origins.clear();
      await Promise.allSettled(
        all.flatMap(({ short, long }) => (long ? [short.destroy(), long.destroy()] : [short.destroy()])),
      );
    },
  };
}

interface Origin {
  readonly poolOptions: Pool.Options;
  readonly short: Pool;
  long: Pool | undefined;
  /** One pool has all connections, so that none is above the limit. */
  readonly isCounted: boolean;
  readonly places: Places;
  /** See `UpstreamEndpoint`. */
  readonly serverName: string | undefined;
}

function ignore(): void {}

/** Known to undici, not to its types. */
const WITHOUT_ASKING = { useH2c: true };

function poolOptionsOf(upstream: Upstream, base: { readonly timeout: number }): Pool.Options {
  const { origin, connect } = upstream;
  return {
    allowH2: true,
    pipelining: MAX_STREAMS,
    // Over TLS the upstream chooses (ALPN); in the clear there is nobody to ask.
    ...(origin.startsWith("http:") && WITHOUT_ASKING),
    connections: connect?.limits?.maxConnections ?? null,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_HEAD_BYTES,
    connect: connectorOf(upstream, { ...base, ...connect?.tls }),
  };
}

function connectorOf(upstream: Upstream, options: buildConnector.BuildOptions): NonNullable<Pool.Options["connect"]> {
  if (upstream.connect?.reach === undefined) return options;
  const h2c = upstream.origin.startsWith("http:") && WITHOUT_ASKING;
  const connector = buildConnector({ allowH2: true, ...h2c, ...options, ...nameGuard(upstream) });
  return (target, callback) => {
    try {
      checkAddress(upstream);
    } catch (error) {
      return callback(error as Error, null);
    }
    return connector(target, callback);
  };
}

/** undici's handler for one request, and the caller's handle on it. */
class Call implements Dispatcher.DispatchHandler, UpstreamCall {
  readonly #receiver: UpstreamReceiver;
  readonly #places: Places;
  #controller: Dispatcher.DispatchController | undefined;
  #hasPlace = true;
  #done = false;
  #abortAsked = false;

  /** @param places one of them is this call's */
  constructor(receiver: UpstreamReceiver, places: Places) {
    this.#receiver = receiver;
    this.#places = places;
  }

  pause(): void {
    this.#controller?.pause();
  }

  resume(): void {
    this.#controller?.resume();
  }

  abort(): void {
    if (this.#done) return;
    this.#done = true;
    this.#abortAsked = true;
    // Not connected yet: it is aborted when its turn comes.
    this.#controller?.abort(ABORTED);
  }

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
    if (this.#abortAsked) controller.abort(ABORTED);
  }

  onResponseStart(_controller: Dispatcher.DispatchController, status: number, headers: IncomingHttpHeaders): void {
    // Interim answers are about this hop; the final one follows.
    if (status < 200 || this.#done) return;
    this.#receiver.onHead(status, flat(headers));
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#done) this.#receiver.onData(chunk);
  }

  onResponseEnd(): void {
    this.#leave();
    if (this.#done) return;
    this.#done = true;
    this.#receiver.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    const failure = failureOf(error);
    // Of a connection that carried the request: whether it arrived nobody knows, so it must not count as never sent.
    const mayHaveArrived =
      this.#controller !== undefined && (failure === "unreachable" || failure === "connect-timeout");
    this.fail(mayHaveArrived ? "reset" : failure, errorText(error));
  }

  fail(failure: UpstreamFailure, detail: string): void {
    this.#leave();
    if (this.#done) return;
    this.#done = true;
    this.#receiver.onFailure(failure, detail);
  }

  #leave(): void {
    if (!this.#hasPlace) return;
    this.#hasPlace = false;
    this.#places.giveBack();
  }
}

function flat(headers: IncomingHttpHeaders): UpstreamHeaders {
  const list: string[] = [];
  for (const [name, value] of Object.entries(headers)) {
    if (value === undefined) continue;
    if (typeof value === "string") list.push(name, value);
    else for (const each of value) list.push(name, each);
  }
  return list;
}

const ABORTED = new Error("aborted by the gateway");
