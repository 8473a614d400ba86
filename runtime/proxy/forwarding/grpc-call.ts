/**
 * Timeouts of a gRPC call on its way upstream: how long it may be idle, and when it must end.
 *
 * A call may stay open without data in either direction, like event streams and WebSocket connections: its client has started
 * it with a message (otherwise it is dropped like any body that does not come), and `idle_timeout` bounds it if set.
 * `timeout` counts from the end of the request. The caller's own deadline also ends the call here; it never lengthens
 * anything.
 */
import type { Upstream } from "../../features/connection/compiled.ts";
import { isGrpcCall, parseGrpcTimeout } from "../../http/grpc.ts";
import type { RequestContext } from "../request-context.ts";

export interface GrpcCall {
  /** Milliseconds from now; undefined = the caller has none. */
  readonly deadlineMs: number | undefined;
}

/** @returns undefined for anything but a gRPC call to an upstream that accepts one, "malformed" for an invalid timeout */
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

/** Longer timers would fire immediately, and connections end before such deadlines anyway. */
const MAX_TIMER_MS = 2_147_483_647;

/** @param onPassed guarded @returns undefined if no timer is needed */
export function ringAt({ deadlineMs }: GrpcCall, onPassed: () => void): NodeJS.Timeout | undefined {
  if (deadlineMs === undefined || deadlineMs > MAX_TIMER_MS) return undefined;
  const timer = setTimeout(onPassed, Math.ceil(deadlineMs));
  timer.unref();
  return timer;
}
