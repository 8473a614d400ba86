/** Limits of a route as requests read them. */
export interface RateLimit {
  readonly name: string;
  /** Requests within the window, or at a time. */
  readonly most: number;
  /** Undefined: requests at a time. */
  readonly windowMs: number | undefined;
  readonly perUser: boolean;
  readonly perClient: boolean;
  readonly perTool: boolean;
  /** Undefined: every request counts. */
  readonly tools: ReadonlySet<string> | undefined;
  /** While the store is away: by itself, with a share of the limit. Otherwise nobody passes. */
  readonly countsAlone: boolean;
}

export interface LimitedRoute {
  /** Undefined where there are none. */
  readonly rateLimits: readonly RateLimit[] | undefined;
}
