/** Access to a route: the subjects named in its rules and the known users, each with the deciding rule. */
import type { CompiledRoute, LiveSettings } from "../../config/compiled.ts";
import { subjectsOf, type Subject } from "../../config/diff/subjects.ts";
import type { Blocks } from "../../identity/blocks.ts";
import { toUser } from "../../identity/claims-record.ts";
import type { IdentityRecord } from "../../identity/identity-records.ts";
import type { ReachRow } from "../../pages/console/servers/route-view.ts";
import type { UserFacts } from "../../policy/facts.ts";
import { findReach, mayUse } from "../../policy/reach.ts";
import { ruleSentence, ruleWords } from "../../policy/words/policy-words.ts";
import { pageOf, type PageOf } from "../../store/page-of.ts";
import type { Store } from "../../store/store.ts";

/** Subjects named in rules; combinations come last. */
const MAX_SUBJECTS = 60;
/** Tools that are asked about for each of them. */
const MAX_TOOLS = 100;
const MAX_NAMES = 6;
export const PEOPLE_PAGE = 50;

export interface SubjectRows {
  readonly rows: readonly ReachRow[];
  /** How many more there are. */
  readonly omitted: number;
}

/** @param tools names that are known of the server */
export function subjectRows(route: CompiledRoute, tools: readonly string[]): SubjectRows {
  const { subjects, omitted } = subjectsOf([route.policy]);
  const shown = [...subjects].sort((a, b) => rank(a) - rank(b)).slice(0, MAX_SUBJECTS);
  return {
    rows: shown.map((subject) => reachRow(route, subject.name.replace(/,$/, ""), subject.user, tools)),
    omitted: omitted + subjects.length - shown.length,
  };
}

export interface ReachDeps {
  readonly store: Store;
  readonly blocks: Pick<Blocks, "find">;
}

/** A page of the people who are known here. @throws GatewayError `store.unavailable` */
export function peopleRows(
  { store, blocks }: ReachDeps,
  route: CompiledRoute,
  settings: LiveSettings,
  { tools, after }: { readonly tools: readonly string[]; readonly after: string | undefined },
): Promise<PageOf<ReachRow & { readonly userId: string }>> {
  return pageOf<IdentityRecord, ReachRow & { readonly userId: string }>(
    store,
    { prefix: "identity:" },
    { after, limit: PEOPLE_PAGE },
    ({ value }) => {
      const user = toUser(value, settings);
      const row = reachRow(route, user.email === "" ? user.id : user.email, user, tools);
      return { ...(blocks.find({ user, routeKey: route.key }) ? blockedRow(row) : row), userId: user.id };
    },
  );
}

function blockedRow({ who }: ReachRow): ReachRow {
  return { who, may: "none", why: "Blocked by an administrator" };
}

function reachRow(route: CompiledRoute, who: string, user: UserFacts | undefined, tools: readonly string[]): ReachRow {
  const isServer = route.mcp?.kind === "server";
  // Only people come by browsers, and only to what is no MCP server.
  const { may, by } = findReach(route.policy, user, !isServer);
  const why = by ? ruleSentence(ruleWords(by.action, by.rule)) : "No allow rule matches";
  if (!isServer || tools.length === 0 || may === "none") return { who, may, why };
  const asked = tools.slice(0, MAX_TOOLS);
  const not = asked.filter((name) => !mayUse(route.policy, user, { kind: "tool", name }));
  const cut = tools.length > asked.length ? ` of the first ${asked.length}` : "";
  const text =
    not.length === 0
      ? `all${cut}`
      : `${asked.length - not.length} of ${asked.length}${cut === "" ? "" : ", the first ones"}; not ${not.slice(0, MAX_NAMES).join(", ")}${not.length > MAX_NAMES ? ` and ${not.length - MAX_NAMES} more` : ""}`;
  return { who, may, why, tools: text };
}

function rank({ kind }: Subject): number {
  return kind === "combined" ? 1 : 0;
}
