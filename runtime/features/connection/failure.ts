/** Failures of a request to an upstream. */

export type UpstreamFailure =
  /** No connection: nothing was sent. */
  | "unreachable"
  | "connect-timeout"
  /** Too many requests in flight to this upstream: nothing was sent. */
  | "overloaded"
  /** No upstream of the route is healthy, and the route uses only healthy ones. */
  | "unhealthy"
  /** The request has passed through this gateway too often. */
  | "loop"
  /** Connection lost before the response was complete. */
  | "reset"
  /** The same for a reused connection before the response started: the upstream may have been closing it already. */
  | "kept-closed"
  | "timeout"
  /** The response was not valid HTTP. */
  | "protocol"
  /** The client's body was aborted. */
  | "request-body"
  | "closed";
