import type { IResolvable } from "./framework.ts";

/** Which requests a route takes, how their path changes on the way, and answers without an upstream. */
export interface RoutingSettings {
  /**
   * The route takes requests whose path is this one or lies below it, by whole segments.
   * @default - every path of the host
   */
  readonly prefix?: string;
  /**
   * The route takes requests with exactly this path. Not together with `prefix`.
   * @default - every path of the host
   */
  readonly path?: string;
  /**
   * The route takes requests whose whole path this RE2 regular expression matches; it goes before every `prefix`. Not
   * together with `prefix` or `path`, and not on MCP routes.
   * @default - every path of the host
   */
  readonly regex?: string;
  /**
   * Of several `regex` routes of a host that match, the one with the highest number is taken; of equal ones the one with
   * the longest literal beginning.
   * @default 0
   */
  readonly regexPriorityOrder?: number;
  /**
   * Takes the place of `prefix` in the path that the upstream sees, by whole segments; with `path` and `regex` of the
   * whole path. Then `to` has no path of its own.
   * @default - the path is sent as it is
   */
  readonly prefixRewrite?: string;
  /**
   * RE2 regular expression; every match of it in the path (without query) is replaced for the upstream by
   * `regexRewriteSubstitution`. Then `to` has no path of its own.
   * @default - the path is sent as it is
   */
  readonly regexRewritePattern?: string;
  /**
   * What matches of `regexRewritePattern` are replaced by; capture groups are written `\\1` to `\\9`. A result that is no
   * plain path is refused with 400.
   * @default - the path is sent as it is
   */
  readonly regexRewriteSubstitution?: string;
  /**
   * Answer with a redirect instead of asking an upstream. The route's policy is asked first.
   * @default - `to` is asked
   */
  readonly redirect?: RouteRedirect;
  /**
   * Answer with this instead of asking an upstream. The route's policy is asked first.
   * @default - `to` is asked
   */
  readonly response?: RouteResponse;
}

/** Where a route redirects to; what is not given is that of the request. */
export interface RouteRedirect {
  /**
   * Send to https, and from port 80 to 443. Not together with `schemeRedirect`.
   * @default false
   */
  readonly httpsRedirect?: boolean | IResolvable;
  /**
   * Scheme to send to.
   * @default - the scheme of the route
   */
  readonly schemeRedirect?: "http" | "https";
  /**
   * Host to send to, without port.
   * @default - the host of the request
   */
  readonly hostRedirect?: string;
  /**
   * Port to send to.
   * @default - the port of the request; with another host or scheme the scheme's own
   */
  readonly portRedirect?: number;
  /**
   * Path to send to. With a query of its own it replaces that of the request. Not together with `prefixRewrite`.
   * @default - the path of the request
   */
  readonly pathRedirect?: string;
  /**
   * Takes the place of the route's `prefix` in the path, by whole segments; with `path` and `regex` of the whole path.
   * @default - the path of the request
   */
  readonly prefixRewrite?: string;
  /**
   * Status of the answer: 301, 302, 303, 307 or 308.
   * @default 301
   */
  readonly responseCode?: number;
  /**
   * Leave the query of the request out.
   * @default false
   */
  readonly stripQuery?: boolean | IResolvable;
}

/** An answer that the gateway gives by itself. */
export interface RouteResponse {
  /** Status of the answer, 200 to 599. */
  readonly status: number;
  /**
   * Body of the answer, up to 65,536 bytes. Plain text, unless `setResponseHeaders` has another Content-Type.
   * @default - an empty body
   */
  readonly body?: string;
}
