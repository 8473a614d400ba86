/** Messages between the console and its drafts' thread. Everything in them is plain data. */
import type { UserFacts } from "../policy/facts.ts";
import type { SealedSlice, PublishedSources } from "../bundle/validation/protocol.ts";
import type { Explained } from "./explain/explain-request.ts";
import type { Question } from "./explain/question.ts";
import type { Draft } from "./draft.ts";
import type { ExportedDraft, ExportFormat } from "./export-draft.ts";
import type { SettingChange } from "../config/diff/setting-changes.ts";

/** Owners whose routes may be told of; undefined: all. */
export type Scope = readonly string[] | undefined;

/** Which route a question is about: by its key, or by the address of a request. */
export type RouteChoice = { readonly key: string } | { readonly host: string; readonly path: string };

export type Task =
  /** What is wrong with it, and who gains or loses. */
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
  /** The policy of a route as it is written now, for who begins to change it. */
  | { readonly kind: "read-policy"; readonly route: string }
  /** Two states of what was published, each beside the files of now. */
  | {
      readonly kind: "compare-published";
      readonly before: PublishedSources;
      readonly after: PublishedSources;
      readonly scope: Scope;
    };

/** What the thread has to know besides. */
export interface DraftBase {
  readonly published: PublishedSources;
  readonly kept: readonly SealedSlice[];
}

/** One thing wrong, for people. */
export interface ReportedProblem {
  readonly severity: "error" | "warning";
  /** `routes.orders.policy[0]`; "" for the whole. */
  readonly path: string;
  /** In the draft's text. */
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
  /** A request that is decided otherwise. */
  readonly example?: Partial<Question> | undefined;
}

export interface ReportedDifference {
  /** Digests of what was compared. */
  readonly before: string;
  readonly after: string;
  readonly statements: readonly ReportedStatement[];
  /** Statements beyond those. */
  readonly leftOut: number;
  readonly settings: readonly SettingChange[];
  /** What was not looked at. */
  readonly gaps: readonly string[];
}

/** What became of a draft when it was validated as if it were published. */
export interface ReportedDraft {
  /** No error: it could be published so, but for secrets and certificates, which nobody has looked at. */
  readonly isGood: boolean;
  readonly problems: readonly ReportedProblem[];
  readonly difference?: ReportedDifference;
}

export type TaskAnswer =
  | { readonly kind: "draft"; readonly told: ReportedDraft }
  | { readonly kind: "difference"; readonly difference: ReportedDifference }
  | { readonly kind: "explained"; readonly route: string; readonly question: string; readonly explained: Explained }
  | { readonly kind: "exported"; readonly exported: ExportedDraft }
  | { readonly kind: "policy"; readonly owner: string; readonly yaml: string }
  /** Why there is no answer, in words. */
  | { readonly kind: "none"; readonly why: string };

export interface ToThread {
  readonly task: Task;
  /** Absent parts are what they were. */
  readonly published?: PublishedSources;
  readonly kept: readonly SealedSlice[];
}
