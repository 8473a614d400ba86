/** Header settings of a route, compiled for requests. */
import type { Template } from "./template.ts";

/** Source of the upstream Host header; at most one form per route. */
export type HostRule =
  | { readonly kind: "to" }
  | { readonly kind: "preserve" }
  | { readonly kind: "fixed"; readonly value: string }
  | { readonly kind: "header"; readonly name: string }
  /** `apply` returns undefined if the pattern does not match the path. Linear time. */
  | { readonly kind: "path-regex"; readonly apply: (path: string) => string | undefined };

export interface HeaderRules {
  /** Names as written, with their lower-case form. */
  readonly set: readonly {
    readonly name: string;
    readonly lower: string;
    readonly value: Template;
    /** From `set_request_headers_secret`: never shown. */
    readonly isSecret?: true;
  }[];
  /** Sent next to the client's. */
  readonly add: readonly { readonly name: string; readonly lower: string; readonly value: string }[];
  /** Lower-case names; applied after `set`. */
  readonly remove: ReadonlySet<string>;
}

export interface ResponseHeaderRules {
  /** Global headers with the route's overrides; they replace the upstream's. */
  readonly set: readonly { readonly name: string; readonly lower: string; readonly value: string }[];
  /** Sent next to the upstream's. */
  readonly add: readonly { readonly name: string; readonly lower: string; readonly value: string }[];
  /** Lower-case names of the upstream's that are dropped. */
  readonly remove: readonly string[];
  readonly rewrite: readonly { readonly lower: string; readonly prefix: string; readonly value: string }[];
}

/** Header settings of a route. */
export interface HeaderRoute {
  readonly hostRule: HostRule;
  readonly requestHeaders: HeaderRules;
  readonly responseHeaders: ResponseHeaderRules;
  readonly passIdentityHeaders: boolean;
}
