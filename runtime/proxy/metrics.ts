/** The events that the proxy reports to metrics. */
import type { CompiledRoute } from "../config/compiled.ts";
import type { UpstreamFailure } from "../features/connection/failure.ts";
import type { NoRouteReason } from "../features/routing/apply-host-routes.ts";
import type { OperationLabels } from "../mcp/operations/operation.ts";
import type { ToolDrift } from "../mcp/tool-locks/check-tools.ts";
import type { Decision } from "../policy/facts.ts";
import type { ShadowResult } from "../policy/shadow.ts";

/** All calls are synchronous and must not throw. */
export interface ProxyMetrics {
  /**
   * @param status 0 when the client left or the connection was aborted before a response was complete
   * @param beganMs start of the request, by `performance.now()`; undefined: its duration says nothing about speed
   */
  answered(route: CompiledRoute, status: number, durationMs: number, beganMs?: number): void;
  /** An upstream failed to respond, or sent part of a response. @param upstream its address, if one was chosen */
  upstreamFailed(route: CompiledRoute, failure: UpstreamFailure, upstream?: string): void;
  /** Number of open responses: event streams and bodies of unknown end. */
  openStreams(count: number): void;
  /** One check, as recorded; also for requests that were rejected before their policy was evaluated. */
  decided(decision: Decision, route: CompiledRoute, isLimited: boolean): void;
  /** Decisions of a route's shadow policies. */
  shadowDecided(decisions: readonly ShadowResult[]): void;
  /** A response to a list request showed tools that differ from the lock of its route. */
  toolsDrifted(route: CompiledRoute, drifts: readonly ToolDrift[]): void;
  /** A member of a federated route has no part in a response. @param reason one of few, ours */
  memberFailed(route: CompiledRoute, reason: string): void;
  /** A request or notification of an MCP client was answered, by an upstream or by the gateway. */
  operated(route: CompiledRoute, operation: OperationLabels, durationMs: number): void;
  /** A request was rejected before there was a route, or before the route's own checks. */
  refused(reason: NoRouteReason | "host-unknown" | "websocket"): void;
}
