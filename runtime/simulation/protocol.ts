/** Messages between the console and its draft thread. All are plain data. */
import type { UserFacts } from "../policy/facts.ts";
import type { SealedSlice, PublishedSources } from "../bundle/validation/protocol.ts";
import type { Explained } from "./explain/explain-request.ts";
import type { Question } from "./explain/question.ts";
import type { Draft } from "./draft.ts";
import type { ExportedDraft, ExportFormat } from "./export-draft.ts";
import type { SettingChange } from "../config/diff/setting-changes.ts";

/** Owners whose routes are visible; undefined: all. */
export type Scope = readonly string[] | undefined;

/** Selects a route: by its key, or by the address of a request. */
export type RouteChoice = { readonly key: string } | { readonly host: string; readonly path: string };

export type Task =
  /** Its problems, and which users gain or lose access. */
  | {
      readonly kind: "compare-draft";
      readonly draft: Draft;
      readonly people: readonly UserFacts[];
      readonly scope: Scope;
    }
  | {
      readonly kind: "explain-draft";
      readonly draft: Draft;
      readonly route: RouteChoice;
      readonly question: Question;
      readonly known?: UserFacts | undefined;
      readonly scope: Scope;
    }
  | { readonly kind: "export-draft"; readonly draft: Draft; readonly format: ExportFormat; readonly where: string }
  /** The current policy of a route, as the starting point of a draft. */
  | { readonly kind: "read-policy"; readonly route: string }
  /** Two states of the publication, each combined with the current files. */
  | {
      readonly kind: "compare-published";
      readonly before: PublishedSources;
      readonly after: PublishedSources;
      readonly scope: Scope;
    };

/** Further state for the thread. */
export interface DraftBase {
  readonly published: PublishedSources;
  readonly kept: readonly SealedSlice[];
}

/** One problem, for users. */
export interface ReportedProblem {
  readonly severity: "error" | "warning";
  /** `routes.orders.policy[0]`; "" for the whole document. */
  readonly path: string;
  /** Line in the draft's text. */
  readonly line?: number;
  readonly message: string;
}

/** One statement of a difference. */
export interface ReportedStatement {
  /** Key of the route. */
  readonly route: string;
  /** "acme/github  https://github.example.com (new)" */
  readonly place: string;
  readonly kind: "gains" | "loses";
  readonly text: string;
  /** A request with a changed decision. */
  readonly example?: Partial<Question> | undefined;
}

export interface ReportedDifference {
  /** Digests of the compared configurations. */
  readonly before: string;
  readonly after: string;
  readonly statements: readonly ReportedStatement[];
  /** Number of further statements. */
  readonly leftOut: number;
  readonly settings: readonly SettingChange[];
  /** Parts that were not compared. */
  readonly gaps: readonly string[];
}

/** Result of validating a draft like a publication. */
export interface ReportedDraft {
  /** No errors: it could be published, except that secrets and certificates were not checked. */
  readonly isGood: boolean;
  readonly problems: readonly ReportedProblem[];
  readonly difference?: ReportedDifference;
}

export type TaskAnswer =
  | { readonly kind: "draft"; readonly report: ReportedDraft }
  | { readonly kind: "difference"; readonly difference: ReportedDifference }
  | { readonly kind: "explained"; readonly route: string; readonly question: string; readonly explained: Explained }
  | { readonly kind: "exported"; readonly exported: ExportedDraft }
  | { readonly kind: "policy"; readonly owner: string; readonly yaml: string }
  /** Reason why there is no answer. */
  | { readonly kind: "none"; readonly why: string };

export interface ToThread {
  readonly task: Task;
  /** Absent: unchanged. */
  readonly published?: PublishedSources;
  readonly kept: readonly SealedSlice[];
}
