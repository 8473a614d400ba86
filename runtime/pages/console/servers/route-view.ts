/** Data of the page of one route; untrusted texts are visible and bounded already. */
import type { DecisionOutcome } from "../outcome.ts";
import type { ClientRecipe } from "../../client-recipe.ts";
import type { PagerParts, Tab } from "../pieces.ts";
import type { FiguresView } from "./figures.ts";
import type { MatrixView } from "./matrix.ts";

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
  /** Known tools that the subject can call. */
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
  /** Undefined: not watched, because there is no other upstream. */
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
  /** Number of the requests that were counted. */
  readonly counted: number;
  readonly denied: number;
  readonly failed: number;
}

export interface RouteView extends RouteParts {
  readonly name: string;
  readonly address: string;
  readonly kind: string;
  readonly isServer: boolean;
  readonly owner: string;
  readonly description: string;
  /** Why all requests are denied at the moment. */
  readonly block: string | undefined;
  /** Address of the list. */
  readonly list: string;
  readonly tabs: readonly Tab[];
}

/** Content of the open tab. */
export interface RouteParts {
  readonly access?: AccessPart;
  readonly users?: UsersPart;
  readonly traffic?: TrafficPart;
  readonly recipes?: readonly ClientRecipe[];
  readonly configuration?: ConfigurationPart;
}

export interface AccessPart {
  readonly figures: FiguresView | "failed" | undefined;
  /** Undefined: not an MCP server. */
  readonly matrix: MatrixView | undefined;
  readonly rules: readonly RouteRuleView[];
  readonly trials: readonly { readonly name: string; readonly rules: readonly RouteRuleView[] }[];
  readonly tools: LockView | undefined;
}

export interface LockView {
  readonly rows: readonly ToolRow[];
  readonly onDrift: string;
  readonly omitted: number;
}

export interface UsersPart {
  readonly subjects: { readonly rows: readonly ReachRow[]; readonly omitted: number };
  /** Undefined: this administrator cannot see users; "failed": the store is unavailable. */
  readonly people: PeopleOfRoute | "failed" | undefined;
}

export interface TrafficPart {
  readonly upstreams: readonly RouteUpstreamRow[] | undefined;
  readonly connections:
    | { readonly connected: number; readonly ended: number; readonly isCut: boolean }
    | "failed"
    | undefined;
  /** Learned facts about the upstream; undefined: nothing, or not an MCP server. */
  readonly need: NeedView | "failed" | undefined;
  readonly calls: CallsView | "failed" | undefined;
  /** Address of all decisions about the route. */
  readonly decisions: string | undefined;
}

export interface ConfigurationPart {
  readonly key: string;
  readonly facts: readonly (readonly [label: string, text: string])[];
  /** The whole policy, as YAML. */
  readonly written: string;
  readonly request: readonly HeaderLine[];
  readonly response: readonly HeaderLine[];
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
