/**
 * Drafts of Ingresses → those that can be served together, judged by the rules that the gateway itself will judge by.
 *
 * Each namespace has a slice of its own; each problem goes back to the Ingress that caused it.
 */
import { judgeConflicts } from "../../config/rules/conflicts.ts";
import { type Finding, formatProblem, type Problem } from "../../settings/problem.ts";
import { type ReadRoute, type ReadSlice, readSlice } from "../../config/read-slice.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { IngressDraft } from "./draft.ts";
import { complaintOf } from "./place.ts";
import { type Complaint, fault } from "./ingress-problem.ts";
import { fileOf, slicesOf } from "./slices.ts";

/** Those that can be served together. What is wrong with the others is added to `bad`. */
export function settle(
  drafts: readonly IngressDraft[],
  owner: string,
  bad: Map<string, readonly Complaint[]>,
): readonly IngressDraft[] {
  // First each by itself, bad ones too, so that everything wrong is told at once. An Ingress that is bad anyway takes no
  // request from another one: conflicts are looked for among the good ones.
  const whole = drafts.filter(({ partial }) => !partial);
  for (const [key, complaints] of judge(whole, owner, false)) addNew(bad, key, complaints);
  for (;;) {
    const left = drafts.filter(({ key }) => !isBad(bad.get(key)));
    const found = judge(left, owner, true);
    for (const [key, complaints] of found) addNew(bad, key, complaints);
    if (left.every(({ key }) => !isBad(found.get(key)))) return left;
  }
}

/** Judges the routes as the gateway will, and gives each problem back to the Ingress that caused it. */
function judge(
  drafts: readonly IngressDraft[],
  owner: string,
  withConflicts: boolean,
): ReadonlyMap<string, readonly Complaint[]> {
  const problems: Problem[] = [];
  const slices = slicesOf(drafts, owner).map((slice) => {
    return readSlice({ file: fileOf(slice.owner), value: slice, boot: false }, problems);
  });
  if (withConflicts) judgeConflicts(byAge(slices, drafts));
  const { found, others } = assignProblems(problems, drafts);
  if (others.length === 0) return found;
  // Something makes the whole slice unreadable (values nested too deeply are such a thing). Alone, it is the one to blame.
  const [draft] = drafts;
  if (drafts.length === 1 && draft) return new Map([[draft.key, others.map(({ message }) => fault({}, message))]]);
  const alone = drafts.flatMap((each) => [...judge([each], owner, false)]);
  if (alone.some(([, complaints]) => isBad(complaints))) return new Map(alone);
  throw new GatewayError("kubernetes.slice", `Cannot make a slice: ${others.map(formatProblem).join("; ")}`);
}

/** Routes of all slices: what two of them claim is the older one's. */
function byAge(slices: readonly (ReadSlice | undefined)[], drafts: readonly IngressDraft[]): readonly ReadRoute[] {
  const order = new Map(drafts.flatMap(({ routes }) => routes.map(({ name }) => name)).map((name, at) => [name, at]));
  const routes = slices.flatMap((slice) => slice?.routes ?? []);
  return routes.toSorted((a, b) => (order.get(a.name) ?? 0) - (order.get(b.name) ?? 0));
}

/** Problems of slices by the Ingress ("namespace/name") that caused them; `others` are the errors that none did. */
export function assignProblems<P extends Finding>(
  problems: readonly P[],
  drafts: readonly IngressDraft[],
): { readonly found: ReadonlyMap<string, readonly Complaint[]>; readonly others: readonly P[] } {
  const others: P[] = [];
  const found = new Map<string, Complaint[]>();
  const drafted = new Map(
    drafts.flatMap((draft) => draft.routes.map((route) => [route.name, { draft, route }] as const)),
  );
  for (const problem of problems) {
    const complaint = complaintOf(problem, drafted);
    if (!complaint) {
      if (problem.severity === "error") others.push(problem);
      continue;
    }
    const known = found.get(complaint.key);
    if (known) known.push(complaint.complaint);
    else found.set(complaint.key, [complaint.complaint]);
  }
  // All of an Ingress at once: it may have as many problems as it has paths.
  return { found: new Map([...found].map(([key, complaints]) => [key, unique(complaints)])), others };
}

function addNew(target: Map<string, readonly Complaint[]>, key: string, complaints: readonly Complaint[]): void {
  target.set(key, unique([...(target.get(key) ?? []), ...complaints]));
}

/** Routes of one Ingress share its annotations, so what is wrong with one is wrong with all: said once. */
function unique(complaints: readonly Complaint[]): readonly Complaint[] {
  return [...new Map(complaints.map((each) => [JSON.stringify(each), each])).values()];
}

function isBad(complaints: readonly Complaint[] = []): boolean {
  return complaints.some(({ severity }) => severity === "error");
}
