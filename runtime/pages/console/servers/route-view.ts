/** What the page of one route shows; texts of strangers are visible and bounded already. */
import type { DecisionOutcome } from "../outcome.ts";
import type { ClientRecipe } from "../../client-recipe.ts";
import type { PagerParts } from "../pieces.ts";

export interface HeaderLine {
  readonly name: string;
  /** gateway: by the gateway itself. */
  readonly how: "set" | "removed" | "passed" | "gateway" | "rewritten";
  readonly value: string;
}

export interface ReachRow {
  readonly who: string;
  /** Every request, some requests, none. */
  readonly may: "all" | "some" | "none";
  readonly why: string;
  /** Of the tools that are known, those that they may call. */
  readonly tools?: string;
}

export interface RouteRuleView {
  readonly action: "allow" | "deny" | "approve";
  readonly lead: string;
  readonly clauses: readonly string[];
}

export interface ToolRow {
  readonly name: string;
  readonly state: "reviewed" | "changed" | "unlocked";
}

export interface RouteUpstreamRow {
  readonly address: string;
  /** Undefined: nobody watches it, since there is no other one. */
  readonly isWell: boolean | undefined;
  readonly notes: readonly string[];
}

export interface CallRow {
  readonly href: string | undefined;
  readonly timeMs: number;
  readonly who: string;
  readonly what: string;
  readonly outcome: DecisionOutcome;
  readonly status: number | undefined;
  readonly durationMs: number | undefined;
}

export interface CallsView {
  readonly rows: readonly CallRow[];
  /** Of how many the counts are. */
  readonly counted: number;
  readonly denied: number;
  readonly failed: number;
}

export interface RouteView {
  readonly facts: readonly (readonly [label: string, text: string])[];
  readonly address: string;
  readonly kind: string;
  readonly owner: string;
  readonly key: string;
  /** Why nobody reaches it at the moment. */
  readonly block: string | undefined;
  readonly rules: readonly RouteRuleView[];
  /** All of the policy, as YAML. */
  readonly written: string;
  readonly trials: readonly { readonly name: string; readonly rules: readonly RouteRuleView[] }[];
  readonly subjects: { readonly rows: readonly ReachRow[]; readonly leftOut: number };
  /** Undefined: this person may not see people; "failed": the store cannot be asked. */
  readonly people: PeopleOfRoute | "failed" | undefined;
  readonly request: readonly HeaderLine[];
  readonly response: readonly HeaderLine[];
  readonly tools: { readonly rows: readonly ToolRow[]; readonly onDrift: string; readonly leftOut: number } | undefined;
  readonly upstreams: readonly RouteUpstreamRow[] | undefined;
  readonly connections:
    | { readonly connected: number; readonly ended: number; readonly isCut: boolean }
    | "failed"
    | undefined;
  /** What was learned about the upstream; undefined: nothing, or not an MCP server. */
  readonly need: NeedView | "failed" | undefined;
  readonly calls: CallsView | "failed" | undefined;
  /** Address of all decisions about the route. */
  readonly decisions: string | undefined;
  readonly recipes: readonly ClientRecipe[];
}

export interface NeedView {
  readonly text: string;
  readonly sinceMs: number | undefined;
  /** Undefined: this user may not. */
  readonly forget: { readonly action: string; readonly csrfToken: string } | undefined;
}

export interface PeopleOfRoute {
  readonly rows: readonly (ReachRow & { readonly href: string })[];
  readonly pages: PagerParts;
}
