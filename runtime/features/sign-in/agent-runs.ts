/**
 * `agent_runs` of a workload rule: which of its workloads can act for a user who approves it, and for how long.
 *
 * Pure. Promise: a run is identified by claims that its platform attests, never by a value that the workload chooses.
 */
import { errorAt, quote, type UnplacedProblem, type ValuePath } from "../../settings/problem.ts";
import { block } from "../../settings/types/block.ts";
import { textList } from "../../settings/types/list.ts";
import { type ShapeDoc, withDefaults } from "../../settings/types/registry.ts";
import { duration } from "../../settings/types/scalar.ts";
import { accepted, durationSeconds, parseDuration } from "../../settings/values.ts";
import { claimNameProblem, claimPath, type ClaimTable, findClaim, identifiesNothing } from "./claim-rules.ts";

const MAX_DURATION_MS = 30 * 24 * 3_600_000;
const MAX_NAMES = 8;
/** Characters of a claim that identifies a run, or that policies read. */
const MAX_CLAIM = 256;
const MAX_VALUES = 16;

const shape = {
  identified_by: textList({
    doc: "Claims that only the tokens of one run share, by name or JSON Pointer: `run_id`, `/kubernetes.io/pod/uid`. Tokens must have all of them.",
    required: true,
    check: (name) => (name === "" ? "is empty, must be the name of a claim" : claimNameProblem(name)),
  }),
  approver_groups: textList({
    doc: "Groups of which the approver must have one.",
    unset: "any user",
    check: groupProblem,
  }),
  max_duration: duration({ doc: "Maximum duration, up to `720h`.", default: "8h", minMs: 60_000 }),
};

export const agentRuns = block(shape, {
  doc: "Lets the workloads request agent runs, in which they act for a user who approves it.",
  unset: "none",
});

type AgentRunsDoc = ShapeDoc<typeof shape>;

/** Claims of a workload for records and policies, by name as written in the rule. */
export type ActorClaims = Readonly<Record<string, string | readonly string[]>>;

export interface AgentRuns {
  /** Claims that identify a run, and claims that the rule requires. */
  readonly claims: readonly { readonly name: string; readonly path: readonly string[]; readonly identifies: boolean }[];
  /** Undefined: any user can approve. */
  readonly approverGroups: readonly string[] | undefined;
  readonly maxSeconds: number;
}

export function compileAgentRuns(doc: AgentRunsDoc, claims: ClaimTable): AgentRuns {
  const identifying = new Set(doc.identified_by);
  const names = [...new Set([...identifying, ...Object.keys(claims)])];
  return {
    claims: names.map((name) => ({ name, path: claimPath(name), identifies: identifying.has(name) })),
    approverGroups: doc.approver_groups,
    maxSeconds: durationSeconds(withDefaults(shape, doc).max_duration),
  };
}

/** For the digest of the rule: runs end when it changes. */
export function canonicalRuns(doc: AgentRunsDoc): readonly unknown[] {
  return [doc.identified_by, doc.approver_groups ?? null, doc.max_duration ?? null];
}

export function* agentRunsProblems(at: ValuePath, doc: AgentRunsDoc): Iterable<UnplacedProblem> {
  const { identified_by: names, approver_groups: groups, max_duration: max } = doc;
  const by = [...at, "identified_by"];
  if (names.length === 0) yield errorAt(by, "is an empty list, must name one at least");
  else if (names.length > MAX_NAMES) yield errorAt(by, `names ${names.length} claims, must name at most ${MAX_NAMES}`);
  else if (names.every(identifiesNothing))
    yield errorAt(by, "must name a claim that differs between runs: all tokens of a workload share these");
  if (groups?.length === 0) yield errorAt([...at, "approver_groups"], "is an empty list, must name one at least");
  if (max !== undefined && accepted(parseDuration(max)) > MAX_DURATION_MS)
    yield errorAt([...at, "max_duration"], `is ${quote(max)}, must be at most 720h`);
}

export type RunClaims =
  | {
      readonly ok: true;
      /** In the order of the rule: values that single out the run. */
      readonly key: readonly (readonly [name: string, value: unknown])[];
      readonly claims: ActorClaims;
    }
  | { readonly ok: false; readonly problem: string };

/** @param claims verified claims of the platform's token */
export function readRunClaims(runs: AgentRuns, claims: Readonly<Record<string, unknown>>): RunClaims {
  const key: (readonly [string, unknown])[] = [];
  const texts: Record<string, string | readonly string[]> = {};
  for (const { name, path, identifies } of runs.claims) {
    const value = findClaim(claims, path);
    const text = textOf(value);
    if (identifies) {
      if (text === undefined || text === "") return { ok: false, problem: `no usable claim ${name}` };
      // With its type: the number 1 and the text "1" are two runs.
      key.push([name, value]);
    }
    const shown = text ?? textsOf(value);
    if (shown !== undefined) Object.defineProperty(texts, name, { value: shown, enumerable: true });
  }
  return { ok: true, key, claims: texts };
}

function textOf(value: unknown): string | undefined {
  if (typeof value === "boolean" || Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value.length <= MAX_CLAIM && !/\p{Cc}/u.test(value) ? value : undefined;
}

function textsOf(value: unknown): readonly string[] | undefined {
  if (!Array.isArray(value) || value.length > MAX_VALUES) return undefined;
  const texts = value.map(textOf);
  return texts.every((each) => each !== undefined) ? texts : undefined;
}

export function groupProblem(value: string): string | undefined {
  return value === "" || /\p{Cc}/u.test(value) ? "is not a valid group name" : undefined;
}
