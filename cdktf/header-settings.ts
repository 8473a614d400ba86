import type { IResolvable } from "./framework.ts";
import type { HeaderValue } from "./header-value.ts";
import type { Secret } from "./secret.ts";

/**
 * The nine header settings of a route. At most one of the four ways to choose the Host header may be used; the regular
 * expression and its substitution are one way.
 */
export interface HeaderSettings {
  /**
   * Pass the incoming Host header upstream instead of the host of `to`.
   * @default false
   */
  readonly preserveHostHeader?: boolean | IResolvable;
  /**
   * Set the Host header to this fixed "host" or "host:port".
   * @default - the host of `to`
   */
  readonly hostRewrite?: string;
  /**
   * Set the Host header from the value of the named incoming request header. When that is missing, empty or no valid
   * host, the host of `to` is used.
   * @default - the host of `to`
   */
  readonly hostRewriteHeader?: string;
  /**
   * RE2 regular expression applied to the request path (without query) to derive the Host header; the first match is
   * replaced by `hostPathRegexRewriteSubstitution`, and the result is the host.
   * @default - the host of `to`
   */
  readonly hostPathRegexRewritePattern?: string;
  /**
   * What the match of `hostPathRegexRewritePattern` is replaced by; capture groups are written `\\1` to `\\9`.
   * @default - the host of `to`
   */
  readonly hostPathRegexRewriteSubstitution?: string;
  /**
   * Headers set on the upstream request, replacing what the client sent. A string is sent as it stands; use
   * `headerValue`, `gatewayToken` and `requestHeader` for values that are known per request.
   * @default - no headers are set
   */
  readonly setRequestHeaders?: Readonly<Record<string, HeaderValue | string>>;
  /**
   * Headers set on the upstream request like `setRequestHeaders`, whose values are secrets, by header name. They are
   * sent as they are: a `$` in them means itself.
   * @default - no headers are set
   */
  readonly setRequestHeadersSecret?: Readonly<Record<string, Secret>>;
  /**
   * Names of request headers removed before the request goes upstream. A header that is also set is removed.
   * @default - no headers are removed
   */
  readonly removeRequestHeaders?: readonly string[];
  /**
   * Static response headers, sent as they stand. They replace headers of the upstream and those of the gateway's own
   * `setResponseHeaders`.
   * @default - only the gateway's `setResponseHeaders`
   */
  readonly setResponseHeaders?: Readonly<Record<string, string>>;
  /**
   * Rules that replace the beginning of response header values, applied in order, after `setResponseHeaders`.
   * @default - nothing is rewritten
   */
  readonly rewriteResponseHeaders?: readonly ResponseHeaderRewrite[];
}

/** One rule of `rewriteResponseHeaders`. */
export interface ResponseHeaderRewrite {
  /** Name of the response header, such as "Location". */
  readonly header: string;
  /** Text the value must begin with to be rewritten; empty text matches every value. */
  readonly prefix: string;
  /** What the prefix is replaced by. */
  readonly value: string;
}
