/** How a request to an upstream can fail. */

export type UpstreamFailure =
  /** No connection: nothing was sent. */
  | "unreachable"
  | "connect-timeout"
  /** Too many requests are under way to this upstream: nothing was sent. */
  | "overloaded"
  /** No upstream of the route is healthy, and it takes only healthy ones. */
  | "unhealthy"
  /** The request has come through this gateway too often. */
  | "loop"
  /** Connection lost before the answer was complete. */
  | "reset"
  /** The same of one that was kept from an earlier answer, before anything of this one: the upstream may have been closing it already. */
  | "kept-closed"
  | "timeout"
  /** What came was no HTTP, or contradicted itself. */
  | "protocol"
  /** The client's body broke off. */
  | "request-body"
  | "closed";
