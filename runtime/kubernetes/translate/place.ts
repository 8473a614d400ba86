/** Maps a problem of the slice to the location in the Ingress that caused it. */
import { annotationFields } from "../../config/surfaces/annotations.ts";
import { type UnplacedProblem, formatPath, type ValuePath } from "../../settings/problem.ts";
import type { DraftRoute, IngressDraft } from "./draft.ts";
import { type DraftProblem, objectLabel } from "./ingress-problem.ts";

/** A route with its Ingress. */
export interface Drafted {
  readonly draft: IngressDraft;
  readonly route: DraftRoute;
}

/** @param drafted by name of the route @returns undefined for a problem that is not about a route */
export function draftProblemOf(
  problem: UnplacedProblem,
  drafted: ReadonlyMap<string, Drafted>,
): { readonly key: string; readonly draftProblem: DraftProblem } | undefined {
  const name = routeNameIn(problem.path);
  const found = name === undefined ? undefined : drafted.get(name);
  if (name === undefined || !found) return undefined;
  const { draft, route } = found;
  const below = formatPath(problem.path.slice(2));
  const message = messageOf(problem, drafted);
  const place = placed(below, message, draft, route);
  return { key: draft.key, draftProblem: withPolicy({ severity: problem.severity, ...place }, draft.policies) };
}

/** Names the policy that has the setting, for routes of the Gateway API. */
export function withPolicy(problem: DraftProblem, policies: IngressDraft["policies"]): DraftProblem {
  const policy = problem.annotation === undefined ? undefined : policies?.get(problem.annotation);
  if (policy === undefined) return problem;
  return { ...problem, policy, message: problem.message.replace("known annotation", "known setting") };
}

/** `routes["a"].to` → "a". */
export function routeNameIn([part, name]: ValuePath): string | undefined {
  return part === "routes" && typeof name === "string" ? name : undefined;
}

function placed(
  below: string,
  message: string,
  { annotations }: IngressDraft,
  { place }: DraftRoute,
): Pick<DraftProblem, "annotation" | "path" | "message"> {
  const covering = [...annotations]
    .filter(([setting]) => below === setting || below.startsWith(`${setting}.`) || below.startsWith(`${setting}[`))
    .toSorted(([a], [b]) => b.length - a.length)[0];
  if (covering) {
    const [setting, annotation] = covering;
    const rest = below.slice(setting.length).replace(/^\./, "");
    return { annotation, message: rest === "" ? message : `at ${rest}: ${message}` };
  }
  // A block that is not written as one: use the annotations that fill it.
  const filling = [...annotations].find(([setting]) => below !== "" && setting.startsWith(`${below}.`));
  if (filling) return { annotation: filling[1], message };
  // A missing setting: name the annotation that would set it.
  const lacking = annotationFields.find(({ path }) => formatPath(path) === below);
  if (lacking) return { annotation: lacking.name, message };
  const [setting = ""] = below.split(/[.[]/);
  switch (setting) {
    case "from":
      return { path: place.hostPath, message };
    case "to":
      return { path: place.backendPath, message };
    case "path":
    case "prefix":
    case "regex":
      return { path: place.matchPath, message };
    default:
      return below === "" ? { message } : { path: below, message };
  }
}

/** Message of a conflict between our routes, with the Ingress's name instead of the route's. */
function messageOf({ message, rivals: [rival] = [] }: UnplacedProblem, drafted: ReadonlyMap<string, Drafted>): string {
  const draft = rival && drafted.get(routeNameIn(rival.path) ?? "")?.draft;
  // Names of routes start with their namespace: only its own slice has them.
  if (!draft || !rival?.around || !rival.file.endsWith(`.${draft.namespace}`)) return message;
  return rival.around.join(objectLabel(draft.key));
}
