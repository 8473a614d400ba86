/** Problems that a gateway has with the slices, given back to the Ingresses that caused them. */
import { append } from "../../shared/linear/append.ts";
import { HOST_CERTIFICATES } from "../../features/listener/host-certificates.ts";
import { type UnplacedProblem, messageWithPath, quote } from "../../settings/problem.ts";
import type { IngressDraft } from "./draft.ts";
import { type DraftProblem, ingressError } from "./ingress-problem.ts";
import { namespaceOfKey } from "./objects.ts";
import { assignProblems } from "./servable.ts";
import { namespaceIn } from "./slices.ts";
import { EVERY_HOST } from "./hosts/tls.ts";

export interface SliceProblem extends UnplacedProblem {
  /** Of the slice that has it; undefined when it is none of ours. */
  readonly owner: string | undefined;
}
export type AssignedProblems = ReturnType<typeof assignProblems<SliceProblem>>;

export interface Published {
  readonly served: readonly IngressDraft[];
  /** Of the controller. */
  readonly owner: string;
  /** Host → Ingress that brings its certificate. */
  readonly bringers: ReadonlyMap<string, string>;
}

/** What is wrong with a whole slice (its owner has no rights) is wrong with each Ingress of the namespace. */
export function assign(problems: readonly SliceProblem[], published: Published): AssignedProblems {
  const { served, owner } = published;
  const all = new Map<string, DraftProblem[]>();
  const add = (key: string, draftProblem: DraftProblem): void => append(all, key, draftProblem);
  const ours: SliceProblem[] = [];
  for (const problem of problems.filter((each) => each.owner !== undefined)) {
    const found = certificateProblems(problem, published);
    if (found.length === 0) ours.push(problem);
    for (const [key, draftProblem] of found) add(key, draftProblem);
  }
  const { found, others } = assignProblems(ours, served);
  for (const [key, draftProblems] of found) for (const draftProblem of draftProblems) add(key, draftProblem);
  const strangers: SliceProblem[] = problems.filter((problem) => problem.owner === undefined);
  const byNamespace = Map.groupBy(served, (draft) => draft.namespace);
  const blamed = new Set([...all].flatMap(([key, some]) => (some.some(isError) ? [namespaceOfKey(key)] : [])));
  for (const problem of others) {
    const namespace = namespaceIn(owner, problem.owner ?? "");
    // "and 50 more problems": they are found where the others are, or named when those are gone.
    if (problem.path.length === 0 && namespace !== undefined && blamed.has(namespace)) continue;
    const concerned = byNamespace.get(namespace ?? "") ?? [];
    if (concerned.length === 0) strangers.push(problem);
    const draftProblem = ingressError({}, `its namespace is refused by the gateway: ${messageWithPath(problem)}`);
    for (const { key } of concerned) add(key, draftProblem);
  }
  return { found: all, others: strangers.filter(isError) };
}

function isError({ severity }: Pick<UnplacedProblem, "severity">): boolean {
  return severity === "error";
}

/** A certificate that is refused takes no route with it. [] for whatever is no problem of one. */
function certificateProblems(
  { severity, path, message, owner }: SliceProblem,
  published: Published,
): readonly (readonly [string, DraftProblem])[] {
  const [part, setting, label] = path;
  if (part !== "settings" || setting !== HOST_CERTIFICATES) return [];
  const host = label === undefined ? undefined : String(label);
  const namespace = namespaceIn(published.owner, owner ?? "");
  const bringer = host === undefined ? undefined : published.bringers.get(host);
  // A gateway from before there were certificates knows the setting itself not.
  const named = host === undefined ? [...published.bringers] : bringer === undefined ? [] : [[host, bringer] as const];
  const concerned = named.filter(([, key]) => namespaceOfKey(key) === namespace);
  const what = host === undefined ? "certificates" : `the certificate for ${quote(host)}`;
  return concerned.map(([, key]) => {
    const draftProblem = { path: "spec.tls", message: `has ${what}, which the gateway refuses: ${message}` };
    return [key, { severity, ...draftProblem, certificateOf: host ?? EVERY_HOST }] as const;
  });
}

/**
 * The same for a namespace that the gateway refuses in each of its answers: where what is refused gives way to the next
 * of its kind, a namespace has no end of them, and everybody waits. All its certificates where only those are refused.
 */
export function wholeNamespaces(
  refused: ReadonlyMap<string, readonly DraftProblem[]>,
  keys: readonly string[],
): ReadonlyMap<string, readonly DraftProblem[]> {
  const withRoutes = new Set<string>();
  const all = new Set<string>();
  for (const [key, draftProblems] of refused) {
    all.add(namespaceOfKey(key));
    if (draftProblems.some((each) => isError(each) && each.certificateOf === undefined))
      withRoutes.add(namespaceOfKey(key));
  }
  const said = (key: string): DraftProblem => {
    const what = "is left out: the gateway refuses one Ingress after the other";
    if (withRoutes.has(namespaceOfKey(key))) return ingressError({}, `its namespace ${what}`);
    return {
      ...ingressError({ path: "spec.tls" }, `has certificates, which the gateway refuses: one after the other`),
      certificateOf: EVERY_HOST,
    };
  };
  return new Map(
    keys.filter((key) => all.has(namespaceOfKey(key))).map((key) => [key, [...(refused.get(key) ?? []), said(key)]]),
  );
}

/** Ingress → host → why the gateway refuses its certificate. */
export function refusedCertificates(
  refused: ReadonlyMap<string, readonly DraftProblem[]> = new Map(),
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  return new Map(
    [...refused].map(([key, draftProblems]) => [
      key,
      new Map(
        draftProblems.flatMap(({ certificateOf, message }) =>
          certificateOf === undefined ? [] : [[certificateOf, message.replace(/^.*?refuses: /, "")] as const],
        ),
      ),
    ]),
  );
}
