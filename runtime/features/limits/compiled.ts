/** Limits of a route, compiled for requests. */
export interface RateLimit {
  readonly name: string;
  /** Requests within the window, or concurrent requests. */
  readonly most: number;
  /** Undefined: limits concurrent requests. */
  readonly windowMs: number | undefined;
  readonly perUser: boolean;
  readonly perClient: boolean;
  readonly perTool: boolean;
  /** Undefined: every request counts. */
  readonly tools: ReadonlySet<string> | undefined;
  /** Without the store: count locally with a share of the limit. Otherwise reject all requests. */
  readonly countsAlone: boolean;
  /** The count survives a crash of the database. */
  readonly isDurable?: boolean;
}

export interface LimitedRoute {
  /** Undefined if there are none. */
  readonly rateLimits: readonly RateLimit[] | undefined;
}
