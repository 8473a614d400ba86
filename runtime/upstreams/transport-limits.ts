/** What both transports, for HTTP/1.1 and HTTP/2, take from the settings, and how they say no. */
import type { Upstream } from "../features/connection/compiled.ts";
import type { UpstreamFailure } from "../features/connection/failure.ts";
import type { UpstreamCall, UpstreamReceiver, UpstreamRequest } from "./transport-types.ts";
import type { FairShare } from "./fair-share.ts";
import { ignore } from "../shared/ignore.ts";
import { task } from "../shared/faults/guard.ts";

export interface TransportOptions {
  /** Default 10 s. */
  readonly connectTimeoutMs?: number;
  /** Open connections to all upstreams together; see fair-share.ts. Default: no limit. */
  readonly maxConnections?: number | undefined;
  /** Made of it, where there are several transports. */
  readonly share?: FairShare;
  /** Requests under way to one upstream, waiting ones included; more are refused. Default 10,000. */
  readonly maxPerUpstream?: number;
}

const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_PER_UPSTREAM = 10_000;
/** Streams of one HTTP/2 connection under way at once; further requests open another connection. */
export const MAX_STREAMS = 100;

export function connectTimeoutOf({ connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS }: TransportOptions): number {
  return connectTimeoutMs;
}

/** Over HTTP/1.1 each connection has one request; what is above waits. Over HTTP/2 they share. */
export function maxUnderWayOf({ connect }: Upstream, options: TransportOptions): number {
  const fallback = options.maxPerUpstream ?? DEFAULT_MAX_PER_UPSTREAM;
  const { maxRequests = fallback, maxConnections, maxPending = 0 } = connect?.limits ?? {};
  if (maxConnections === undefined) return maxRequests;
  const atOnce = maxConnections * (connect?.http2 === true ? MAX_STREAMS : 1);
  return Math.min(maxRequests, atOnce + maxPending);
}

export const OVERLOADED = "too many requests under way";
export const CLOSED = "the transport was closed";

/** A call that is over before anything is sent; its receiver hears of it when the caller has the call in hand. */
export function refuse(
  request: UpstreamRequest,
  receiver: UpstreamReceiver,
  failure: UpstreamFailure,
  detail: string,
): UpstreamCall {
  discardBody(request);
  let isOver = false;
  process.nextTick(
    task("the end of a refused request", () => {
      if (!isOver) receiver.onFailure(failure, detail);
    }),
  );
  return { pause: ignore, resume: ignore, abort: () => (isOver = true) };
}

/** A body that nobody will read holds its client's connection. */
export function discardBody({ body }: UpstreamRequest): void {
  if (body !== undefined && !Buffer.isBuffer(body)) body.destroy();
}

/** Until when a request may wait for a connection, as of `performance.now()`. @param since when it was sent */
export function waitsUntil({ headTimeoutMs }: UpstreamRequest, since: number): number {
  return headTimeoutMs === 0 ? Number.POSITIVE_INFINITY : since + headTimeoutMs;
}
