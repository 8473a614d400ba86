/** Maps problems of a gateway with the slices to the Ingresses that caused them. */
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
  /** Owner of the slice with the problem; undefined if it is not one of ours. */
  readonly owner: string | undefined;
}
export type AssignedProblems = ReturnType<typeof assignProblems<SliceProblem>>;

export interface Published {
  readonly served: readonly IngressDraft[];
  /** Owner of the controller. */
  readonly owner: string;
  /** Host → Ingress that provides its certificate. */
  readonly bringers: ReadonlyMap<string, string>;
}

/** A problem of a whole slice (its owner has no permission) is a problem of each Ingress of the namespace. */
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
  const foreign: SliceProblem[] = problems.filter((problem) => problem.owner === undefined);
  const byNamespace = Map.groupBy(served, (draft) => draft.namespace);
  const blamed = new Set([...all].flatMap(([key, some]) => (some.some(isError) ? [namespaceOfKey(key)] : [])));
  for (const problem of others) {
    const namespace = namespaceIn(owner, problem.owner ?? "");
    // "and 50 more problems": the named problems come first; the rest is reported once those are fixed.
    if (problem.path.length === 0 && namespace !== undefined && blamed.has(namespace)) continue;
    const concerned = byNamespace.get(namespace ?? "") ?? [];
    if (concerned.length === 0) foreign.push(problem);
    const draftProblem = ingressError({}, `the gateway rejects its namespace: ${messageWithPath(problem)}`);
    for (const { key } of concerned) add(key, draftProblem);
  }
  return { found: all, others: foreign.filter(isError) };
}

function isError({ severity }: Pick<UnplacedProblem, "severity">): boolean {
  return severity === "error";
}

/** A rejected certificate affects no route. [] for a problem that is not about a certificate. */
function certificateProblems(
  { severity, path, message, owner }: SliceProblem,
  published: Published,
): readonly (readonly [string, DraftProblem])[] {
  const [part, setting, label] = path;
  if (part !== "settings" || setting !== HOST_CERTIFICATES) return [];
  const host = label === undefined ? undefined : String(label);
  const namespace = namespaceIn(published.owner, owner ?? "");
  const bringer = host === undefined ? undefined : published.bringers.get(host);
  // A gateway from before host certificates does not know the setting itself.
  const named = host === undefined ? [...published.bringers] : bringer === undefined ? [] : [[host, bringer] as const];
  const concerned = named.filter(([, key]) => namespaceOfKey(key) === namespace);
  const what = host === undefined ? "certificates" : `the certificate for ${quote(host)}`;
  return concerned.map(([, key]) => {
    const draftProblem = { path: "spec.tls", message: `has ${what}, which the gateway rejects: ${message}` };
    return [key, { severity, ...draftProblem, certificateOf: host ?? EVERY_HOST }] as const;
  });
}

/**
 * The same for a namespace that the gateway rejects in each of its responses: each removal could expose the next problem,
 * without end, and delay everyone. Only its certificates, if only those are rejected.
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
  const problemFor = (key: string): DraftProblem => {
    const what = "is omitted: the gateway rejects too many of its Ingresses";
    if (withRoutes.has(namespaceOfKey(key))) return ingressError({}, `its namespace ${what}`);
    return {
      ...ingressError(
        { path: "spec.tls" },
        "has certificates, which the gateway rejects: too many of this namespace are invalid",
      ),
      certificateOf: EVERY_HOST,
    };
  };
  return new Map(
    keys
      .filter((key) => all.has(namespaceOfKey(key)))
      .map((key) => [key, [...(refused.get(key) ?? []), problemFor(key)]]),
  );
}

/** Ingress → host → reason why the gateway rejects its certificate. */
export function refusedCertificates(
  refused: ReadonlyMap<string, readonly DraftProblem[]> = new Map(),
): ReadonlyMap<string, ReadonlyMap<string, string>> {
  return new Map(
    [...refused].map(([key, draftProblems]) => [
      key,
      new Map(
        draftProblems.flatMap(({ certificateOf, message }) =>
          certificateOf === undefined ? [] : [[certificateOf, message.replace(/^.*?rejects: /, "")] as const],
        ),
      ),
    ]),
  );
}
