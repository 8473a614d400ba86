/**
 * What is different for a gRPC call on its way upstream: how long it may be silent, and when it must be over.
 *
 * A call may stay open without a word in either direction, as event streams and WebSocket connections may: its client has
 * begun it with a message (else it is given up like any body that does not come), and `idle_timeout` bounds it where it is set.
 * `timeout` counts from the end of the request. The caller's own deadline ends the call here, too; it never lengthens anything.
 */
import type { Upstream } from "../../features/connection/compiled.ts";
import { isGrpcCall, parseGrpcTimeout } from "../../http/grpc.ts";
import type { RequestContext } from "../request-context.ts";

export interface GrpcCall {
  /** From now on; undefined = the caller has none. */
  readonly deadlineMs: number | undefined;
}

/** @returns undefined for anything but a gRPC call to an upstream that can take one, "malformed" for one that means nothing */
export function grpcCallOf(
  { exchange, prepared }: RequestContext,
  upstream: Upstream,
): GrpcCall | "malformed" | undefined {
  if (exchange.httpVersion !== "2" || upstream.connect?.http2 !== true) return undefined;
  if (prepared.isMcpServer || !isGrpcCall(exchange)) return undefined;
  const values = exchange.headerValues("grpc-timeout");
  if (values.length === 0) return NO_DEADLINE;
  const deadlineMs = values.length === 1 ? parseGrpcTimeout(values[0] as string) : undefined;
  return deadlineMs === undefined ? "malformed" : { deadlineMs };
}

const NO_DEADLINE: GrpcCall = { deadlineMs: undefined };

/** Longer ones would ring at once, and end no sooner than connections do. */
const MAX_TIMER_MS = 2_147_483_647;

/** @param onPassed guarded @returns undefined where nothing is to ring */
export function ringAt({ deadlineMs }: GrpcCall, onPassed: () => void): NodeJS.Timeout | undefined {
  if (deadlineMs === undefined || deadlineMs > MAX_TIMER_MS) return undefined;
  const timer = setTimeout(onPassed, Math.ceil(deadlineMs));
  timer.unref();
  return timer;
}
