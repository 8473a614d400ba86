/** Header settings of a route as requests read them. */
import type { Template } from "./template.ts";

/** How the upstream Host header is chosen; at most one form per route. */
export type HostRule =
  | { readonly kind: "to" }
  | { readonly kind: "preserve" }
  | { readonly kind: "fixed"; readonly value: string }
  | { readonly kind: "header"; readonly name: string }
  /** `apply` returns undefined when the pattern does not match the path. Linear time. */
  | { readonly kind: "path-regex"; readonly apply: (path: string) => string | undefined };

export interface HeaderRules {
  /** Names as written, with their lower-case form. */
  readonly set: readonly {
    readonly name: string;
    readonly lower: string;
    readonly value: Template;
    /** Of `set_request_headers_secret`: shown to nobody. */
    readonly isSecret?: true;
  }[];
  /** Lower-case names; applied after `set`. */
  readonly remove: ReadonlySet<string>;
}

export interface ResponseHeaderRules {
  /** Global ones with the route's overrides applied; they replace the upstream's. */
  readonly set: readonly { readonly name: string; readonly lower: string; readonly value: string }[];
  readonly rewrite: readonly { readonly lower: string; readonly prefix: string; readonly value: string }[];
}

/** What header settings say of a route. */
export interface HeaderRoute {
  readonly hostRule: HostRule;
  readonly requestHeaders: HeaderRules;
  readonly responseHeaders: ResponseHeaderRules;
  readonly passIdentityHeaders: boolean;
}
