/**
 * Outline of a source: its owner, and the location of its settings and routes.
 *
 * A source is a hand-written file (settings next to a `routes` list, owner "default") or a slice (`version`, `owner`,
 * `settings`, `routes` by name).
 */
import { isRecord, type Members } from "../shared/is-record.ts";
import { unknownMember } from "../settings/types/registry.ts";
import { HAND_WRITTEN_OWNER, isOwner, OWNER_EXPECTED } from "../features/process/owners.ts";
import {
  describe,
  errorAt,
  MAX_PROBLEMS,
  moreProblems,
  type UnplacedProblem,
  quote,
  type ValuePath,
} from "../settings/problem.ts";
import { routeNameProblem } from "../features/routing/settings.ts";

export interface Outline {
  readonly owner: string;
  /** The source names a valid owner. */
  readonly hasOwner: boolean;
  readonly settings: unknown;
  readonly settingsPath: ValuePath;
  readonly routes: readonly { readonly path: ValuePath; readonly label?: string; readonly value: unknown }[];
}

type Report = (problem: UnplacedProblem) => void;

/** Members that only a slice has; a hand-written file has settings instead. */
const SLICE_WORDS = ["version", "owner", "settings"];

export function readOutline(value: Members, report: Report): Outline {
  const isSlice = SLICE_WORDS.some((name) => Object.hasOwn(value, name));
  return isSlice ? sliceOutline(value, report) : fileOutline(value, report);
}

function sliceOutline(value: Members, report: Report): Outline {
  const known = ["version", "owner", "settings", "routes"];
  const unknown = Object.keys(value).filter((name) => !known.includes(name));
  for (const name of unknown.slice(0, MAX_PROBLEMS)) report(errorAt([name], unknownMember(name, known)));
  if (unknown.length > MAX_PROBLEMS) report(moreProblems("error", unknown.length - MAX_PROBLEMS));
  if (value["version"] !== 1) {
    const state = value["version"] === undefined ? "is missing" : `is ${quote(value["version"])}`;
    report(errorAt(["version"], `${state}, must be 1`));
  }
  const owner = value["owner"];
  const hasOwner = typeof owner === "string" && isOwner(owner);
  if (!hasOwner) {
    const state = owner === undefined ? "is missing" : `is ${quote(owner)}`;
    report(errorAt(["owner"], `${state}, ${OWNER_EXPECTED}`));
  }
  const routes = value["routes"] ?? {};
  if (!isRecord(routes)) report(errorAt(["routes"], `is ${describe(routes)}, must be a block of named routes`));
  return {
    owner: typeof owner === "string" ? owner : "unknown",
    hasOwner,
    settings: Object.hasOwn(value, "settings") ? value["settings"] : {},
    settingsPath: ["settings"],
    routes: Object.entries(isRecord(routes) ? routes : {}).map(([label, route]) => {
      const problem = routeNameProblem(label);
      if (problem !== undefined) report(errorAt(["routes", label], `has a name that ${problem}`));
      return { path: ["routes", label], label, value: route };
    }),
  };
}

function fileOutline(value: Members, report: Report): Outline {
  const { routes = [], ...settings } = value;
  if (!Array.isArray(routes)) {
    const hint = isRecord(routes) ? '; named routes belong to a slice with "version: 1" and "owner"' : "";
    report(errorAt(["routes"], `is ${describe(routes)}, must be a list of routes${hint}`));
  }
  const items: readonly unknown[] = Array.isArray(routes) ? routes : [];
  return {
    owner: HAND_WRITTEN_OWNER,
    hasOwner: true,
    settings,
    settingsPath: [],
    routes: items.map((route, index) => ({ path: ["routes", index], value: route })),
  };
}
