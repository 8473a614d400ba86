/** Settings of both transports, for HTTP/1.1 and HTTP/2, and their rejections. */
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
  /** Shared by several transports; default: made from `maxConnections`. */
  readonly share?: FairShare;
  /** Requests in flight to one upstream, including waiting ones; more are rejected. Default 10,000. */
  readonly maxPerUpstream?: number;
}

const DEFAULT_CONNECT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_PER_UPSTREAM = 10_000;
/** Concurrent streams of one HTTP/2 connection; further requests open another connection. */
export const MAX_STREAMS = 100;

export function connectTimeoutOf({ connectTimeoutMs = DEFAULT_CONNECT_TIMEOUT_MS }: TransportOptions): number {
  return connectTimeoutMs;
}

/** Over HTTP/1.1 each connection has one request, and others wait. Over HTTP/2 they share connections. */
export function maxUnderWayOf({ connect }: Upstream, options: TransportOptions): number {
  const fallback = options.maxPerUpstream ?? DEFAULT_MAX_PER_UPSTREAM;
  const { maxRequests = fallback, maxConnections, maxPending = 0 } = connect?.limits ?? {};
  if (maxConnections === undefined) return maxRequests;
  const atOnce = maxConnections * (connect?.http2 === true ? MAX_STREAMS : 1);
  return Math.min(maxRequests, atOnce + maxPending);
}

export const OVERLOADED = "too many requests in flight";
export const CLOSED = "the transport was closed";

/** A call that fails before anything is sent; its receiver is notified when the caller has the call. */
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

/** An unread body would keep its client's connection. */
export function discardBody({ body }: UpstreamRequest): void {
  if (body !== undefined && !Buffer.isBuffer(body)) body.destroy();
}

/** Latest time to wait for a connection, by `performance.now()`. @param since when it was sent */
export function waitsUntil({ headTimeoutMs }: UpstreamRequest, since: number): number {
  return headTimeoutMs === 0 ? Number.POSITIVE_INFINITY : since + headTimeoutMs;
}
