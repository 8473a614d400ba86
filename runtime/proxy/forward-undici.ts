/** The transport over undici: `Pool.dispatch` with one handler object per request, no promises, no streams between. */
import type { IncomingHttpHeaders } from "node:http";
import { isIP } from "node:net";

import { Pool, type Dispatcher } from "undici";

import { errorText } from "../errors.ts";
import type { Upstream } from "../config/compiled.ts";
import {
  poolKeyOf,
  type Transport,
  type UpstreamCall,
  type UpstreamFailure,
  type UpstreamHeaders,
  type UpstreamReceiver,
} from "./forward-transport.ts";
import { failureOf } from "./upstream-failure.ts";

export interface TransportOptions {
  /** Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Requests under way to one upstream, waiting ones included; more are refused. Default 10,000. */
  readonly maxPerUpstream?: number;
}

const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_PER_UPSTREAM = 10_000;
/** As long as we keep an idle connection that names no end of its own; many servers close theirs after 5 s. */
const KEEP_ALIVE_MS = 4_000;
const MAX_RESPONSE_HEADER_BYTES = 65_536;

export function createUndiciTransport(options: TransportOptions = {}): Transport {
  const origins = new Map<string, Origin>();
  const maxPerUpstream = options.maxPerUpstream ?? DEFAULT_MAX_PER_UPSTREAM;
  const connect = { timeout: options.connectTimeoutMs ?? DEFAULT_CONNECT_TIMEOUT_MS, noDelay: true };
  const http1Options: Pool.Options = {
    // A second request behind a slow one would wait for it; and a broken one would take the others with it.
    pipelining: 1,
    connections: null,
    allowH2: false,
    keepAliveTimeout: KEEP_ALIVE_MS,
    maxHeaderSize: MAX_RESPONSE_HEADER_BYTES,
    connect,
  };

  const originOf = (upstream: Upstream): Origin => {
    const key = poolKeyOf(upstream);
    let known = origins.get(key);
    if (!known) {
      const poolOptions = upstream.connect ? { ...http1Options, ...specialOptions(upstream, connect) } : http1Options;
      const serverName = upstream.connect?.tls.servername ?? serverNameOf(upstream.origin);
      const short = new Pool(upstream.origin, poolOptions);
      const limits = upstream.connect?.limits;
      const isCounted = limits?.maxConnections !== undefined;
      const maxUnderWay = maxUnderWayOf(upstream, maxPerUpstream);
      known = { poolOptions, short, long: undefined, isCounted, underWay: 0, maxUnderWay, serverName };
      origins.set(key, known);
    }
    return known;
  };

  return {
    send(request, receiver) {
      const origin = originOf(request.upstream);
      const call = new Call(receiver, origin);
      if (origin.underWay >= origin.maxUnderWay) {
        process.nextTick(() => call.fail("overloaded", "too many requests under way"));
        return call;
      }
      // undici looks for a free connection one by one: thousands of held event streams must not stand in the way.
      const pool =
        request.longLived && !origin.isCounted
          ? (origin.long ??= new Pool(request.upstream.origin, origin.poolOptions))
          : origin.short;
      call.begin();
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
    reserve(upstream) {
      const origin = originOf(upstream);
      if (origin.underWay >= origin.maxUnderWay) return undefined;
      origin.underWay += 1;
      let isHeld = true;
      return () => {
        if (isHeld) origin.underWay -= 1;
        isHeld = false;
      };
    },
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
  underWay: number;
  readonly maxUnderWay: number;
  /** For TLS: the certificate is asked for and checked against the host of `to`, whatever Host says. undefined: an address. */
  readonly serverName: string | undefined;
}

function ignore(): void {}

/** Streams of one HTTP/2 connection under way at once; further requests open another connection. */
const MAX_STREAMS = 100;

function specialOptions({ origin, connect }: Upstream, base: { readonly timeout: number }): Pool.Options {
  const http2 = connect?.http2 === true;
  return {
    connect: { ...base, ...connect?.tls },
    ...(connect?.limits?.maxConnections !== undefined && { connections: connect.limits.maxConnections }),
    // Over TLS the upstream chooses (ALPN); in the clear there is nobody to ask.
    ...(http2 && { allowH2: true, pipelining: MAX_STREAMS, useH2c: origin.startsWith("http:") }),
  };
}

/** Over HTTP/1.1 each connection has one request; what is above waits. Over HTTP/2 they share, and waiting is undici's. */
function maxUnderWayOf({ connect }: Upstream, fallback: number): number {
  const { maxRequests = fallback, maxConnections, maxPending = 0 } = connect?.limits ?? {};
  if (maxConnections === undefined) return maxRequests;
  const atOnce = maxConnections * (connect?.http2 === true ? MAX_STREAMS : 1);
  return Math.min(maxRequests, atOnce + maxPending);
}

function serverNameOf(origin: string): string | undefined {
  const { hostname } = new URL(origin);
  return isIP(hostname.replace(/^\[|\]$/g, "")) === 0 ? hostname : undefined;
}

/** undici's handler for one request, and the caller's handle on it. */
class Call implements Dispatcher.DispatchHandler, UpstreamCall {
  readonly #receiver: UpstreamReceiver;
  readonly #origin: Origin;
  #controller: Dispatcher.DispatchController | undefined;
  #counted = false;
  #done = false;
  #abortAsked = false;

  constructor(receiver: UpstreamReceiver, origin: Origin) {
    this.#receiver = receiver;
    this.#origin = origin;
  }

  begin(): void {
    this.#counted = true;
    this.#origin.underWay += 1;
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
    this.#receiver.onHead(status, headers as UpstreamHeaders);
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (!this.#done) this.#receiver.onData(chunk);
  }

  onResponseEnd(): void {
    this.#uncount();
    if (this.#done) return;
    this.#done = true;
    this.#receiver.onEnd();
  }

  onResponseError(_controller: Dispatcher.DispatchController | undefined, error: Error): void {
    this.fail(failureOf(error), errorText(error));
  }

  fail(failure: UpstreamFailure, detail: string): void {
    this.#uncount();
    if (this.#done) return;
    this.#done = true;
    this.#receiver.onFailure(failure, detail);
  }

  #uncount(): void {
    if (!this.#counted) return;
    this.#counted = false;
    this.#origin.underWay -= 1;
  }
}

const ABORTED = new Error("aborted by the gateway");
