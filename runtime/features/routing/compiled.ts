/** Request matching and path changes of a route, compiled for requests. */
import type { From } from "./from.ts";
import type { PatternStart } from "./path-pattern.ts";

export type PathMatch =
  | { readonly kind: "exact"; readonly path: string }
  /** Whole string prefix as written; "/" matches everything. Segment-wise: "/a" matches "/a" and "/a/b", not "/ab". */
  | { readonly kind: "prefix"; readonly prefix: string }
  /** RE2, matched against whole paths. */
  | (PatternStart & { readonly kind: "regex"; readonly pattern: string; readonly priority: number });

/** Change of the path for the upstream. The result still needs validation. */
export type PathRewrite =
  /** Replaces the route's base, or the whole path if the route is not a prefix. */
  | { readonly kind: "prefix"; readonly text: string }
  /** Linear time; undefined if the path is too long. */
  | { readonly kind: "regex"; readonly apply: (path: string) => string | undefined };

/** The route's own response, after its policy allowed the request. */
export type RouteAnswer =
  | {
      readonly kind: "redirect";
      readonly status: 301 | 302 | 303 | 307 | 308;
      readonly scheme: "http" | "https" | undefined;
      /** Without port. */
      readonly host: string | undefined;
      readonly port: number | undefined;
      readonly path: string | undefined;
      /** With its "?"; replaces the request's. */
      readonly query: string | undefined;
      /** Replaces the route's base. */
      readonly prefix: string | undefined;
      readonly stripQuery: boolean;
    }
  | {
      readonly kind: "response";
      readonly status: number;
      readonly body: string;
      /** Share of requests, below 1; the others go to an upstream. Undefined: all. */
      readonly share?: number | undefined;
    };

/** Conditions on a request besides host and path, at least one. See conditions.ts. */
export interface MatchConditions {
  /** Upper case; empty: every method. */
  readonly methods: ReadonlySet<string>;
  /** Lower-case name and exact value. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** Decoded name and value. */
  readonly query: readonly (readonly [name: string, value: string])[];
  readonly priority: number;
  /** Methods, headers and query as text, for an order. */
  readonly text: string;
}

/** Part of a route that routing uses. */
export interface RoutedRoute extends Pick<From, "origin" | "host" | "hostname" | "isWildcard"> {
  readonly match: PathMatch;
  /** Never with a pattern or on MCP routes. */
  readonly conditions: MatchConditions | undefined;
  /** Prefix or exact path of the route, without trailing slash; "" for the whole host and for patterns. */
  readonly base: string;
  /** undefined: the path goes upstream unchanged. */
  readonly rewrite: PathRewrite | undefined;
  /** undefined: an upstream answers, as it does without the share of a response. */
  readonly answer: RouteAnswer | undefined;
}
