/** Which requests are a route's and what becomes of their paths, as requests read it. */
import type { From } from "./from.ts";
import type { PatternStart } from "./path-pattern.ts";

export type PathMatch =
  | { readonly kind: "exact"; readonly path: string }
  /** Whole string prefix as written; "/" matches everything. Segment-wise: "/a" matches "/a" and "/a/b", not "/ab". */
  | { readonly kind: "prefix"; readonly prefix: string }
  /** RE2 on whole paths. */
  | (PatternStart & { readonly kind: "regex"; readonly pattern: string; readonly priority: number });

/** How the path changes on its way upstream. What comes out still has to be validated. */
export type PathRewrite =
  /** In place of the route's base, or of the whole path where the route is no prefix. */
  | { readonly kind: "prefix"; readonly text: string }
  /** Linear time; undefined when the path is too long for it. */
  | { readonly kind: "regex"; readonly apply: (path: string) => string | undefined };

/** What a route answers by itself, once its policy allows it. */
export type RouteAnswer =
  | {
      readonly kind: "redirect";
      readonly status: 301 | 302 | 303 | 307 | 308;
      readonly scheme: "http" | "https" | undefined;
      /** Without port. */
      readonly host: string | undefined;
      readonly port: number | undefined;
      readonly path: string | undefined;
      /** With its "?"; in place of the request's. */
      readonly query: string | undefined;
      /** In place of the route's base. */
      readonly prefix: string | undefined;
      readonly stripQuery: boolean;
    }
  | { readonly kind: "response"; readonly status: number; readonly body: string };

/** What routing reads of a route. */
export interface RoutedRoute extends Pick<From, "origin" | "host" | "hostname" | "isWildcard"> {
  readonly match: PathMatch;
  /** Prefix or exact path that the route owns, without trailing slash; "" for the whole host and for patterns. */
  readonly base: string;
  /** undefined: the path goes upstream as it is. */
  readonly rewrite: PathRewrite | undefined;
  /** undefined: an upstream answers. */
  readonly answer: RouteAnswer | undefined;
}
