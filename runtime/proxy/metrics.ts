/** What the proxy tells about its work. */
import type { CompiledRoute } from "../config/compiled.ts";
import type { UpstreamFailure } from "../features/connection/failure.ts";
import type { NoRouteReason } from "../features/routing/apply-host-routes.ts";
import type { OperationLabels } from "../mcp/operations/operation.ts";
import type { ToolDrift } from "../mcp/tool-locks/check-tools.ts";
import type { Decision } from "../policy/facts.ts";
import type { ShadowDecision } from "../policy/shadow.ts";

/** All calls are synchronous and must not throw. */
export interface ProxyMetrics {
  /**
   * @param status 0 when the client went away or the connection was cut before an answer was complete
   * @param beganMs when the request began, by `performance.now()`; undefined: it says nothing about how fast answers are
   */
  answered(route: CompiledRoute, status: number, durationMs: number, beganMs?: number): void;
  /** An upstream gave no answer, or half of one. @param upstream its address, where one was chosen */
  upstreamFailed(route: CompiledRoute, failure: UpstreamFailure, upstream?: string): void;
  /** Answers held open: event streams and bodies of unknown end. */
  openStreams(count: number): void;
  /** One check, as recorded; also of requests that were refused before their policy was asked. */
  decided(decision: Decision, route: CompiledRoute, isLimited: boolean): void;
  /** What the candidates of a route would have said beside it. */
  shadowDecided(decisions: readonly ShadowDecision[]): void;
  /** An answer to a list showed tools that differ from the lock of its route. */
  toolsDrifted(route: CompiledRoute, drifts: readonly ToolDrift[]): void;
  /** A request or notification of an MCP client was answered, by an upstream or by the gateway. */
  operated(route: CompiledRoute, operation: OperationLabels, durationMs: number): void;
  /** Refused before there was a route, or before its own checks. */
  refused(reason: NoRouteReason | "host-unknown" | "websocket"): void;
}
