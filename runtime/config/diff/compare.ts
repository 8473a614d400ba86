/**
 * Compares two routes at one address with the code that decides requests: for each representative and each item, under
 * all conditions that their rules distinguish.
 */
import { type Case, type Cases, casesOf, conditionsOf } from "./conditions.ts";
import { type Item, messagesOf, requestsOf } from "./items.ts";
import { type ComparedRoute, decisionOf, isListed, type ComparedPlace, type Tables } from "./places.ts";
import { personOf, type Subject, subjectsOf } from "./subjects.ts";
import type { ArgumentMatch } from "../../policy/mcp/argument-match.ts";
import { TOOL_CLASS } from "../../policy/mcp/tool-classes.ts";
import { writtenClasses } from "../../features/mcp/tool-lock.ts";
import { isAlike } from "../../policy/mcp/approval.ts";
import { freedom } from "../../policy/shadow.ts";
import { leavesOf } from "../../policy/recorded/operands.ts";
import type { Leaf } from "../../policy/tree.ts";
import type { UserFacts } from "../../policy/facts.ts";

/**
 * How many of the tried requests are allowed: none, all, all with an approval, or another mix. "all" and "approval" are
 * reported only if nothing was left untried.
 */
export type Level = "none" | "some" | "approval" | "all";

/**
 * Change of a request's outcome, as positions in `OUTCOMES`: denied, with an approval, allowed. 11: other approvers.
 */
export type Move = "01" | "02" | "12" | "10" | "20" | "21" | "11";

/** Access of one representative before and after. */
export interface ComparedAccess {
  readonly item: Item;
  readonly before: Level;
  readonly after: Level;
  /** Unique, sorted. */
  readonly moves: readonly Move[];
  /** A request for which the new side allows more. */
  readonly gain?: Case;
  /** A request for which the new side allows less. */
  readonly loss?: Case;
  /** Shown in the server's lists only now, or only before. */
  readonly listing?: "shown" | "hidden";
}

export interface SubjectVerdicts {
  readonly subject: Subject;
  /** One for each item, in the same order. */
  readonly verdicts: readonly ComparedAccess[];
}

export interface Comparison {
  readonly place: ComparedPlace;
  readonly items: readonly Item[];
  readonly representatives: readonly SubjectVerdicts[];
  readonly people: readonly SubjectVerdicts[];
  /** Descriptions of everything that was not compared here. */
  readonly gaps: readonly string[];
  /** The limits were reached before the comparison was complete. */
  readonly isCut: boolean;
}

export interface Limits {
  /** Remaining decisions; counted down. */
  decisions: number;
  /** Requests per item. */
  readonly cases: number;
  /** Called periodically: whether the time is up. */
  readonly isOver?: () => boolean;
}

/** @returns undefined if the limits were reached before the first subject was compared */
export function comparePlace(
  place: ComparedPlace,
  [before, after]: readonly [Tables, Tables],
  people: readonly UserFacts[],
  limits: Limits,
): Comparison | undefined {
  const policies = [place.old, place.new].flatMap((route) => (route ? [route.policy()] : []));
  const leaves = policies.flatMap(leavesOf);
  const isServer = place.old?.isServer === true || place.new?.isServer === true;
  const path = place.path ?? "/";
  const isByClass = leaves.some(({ criterion }) => criterion.name === TOOL_CLASS);
  const classes = isByClass
    ? [place.old, place.new].map((route) => writtenClasses(route?.doc.mcp?.server?.tool_lock))
    : [];
  const items = isServer ? messagesOf(leaves, path, classes) : requestsOf(leaves, path, place.receives);
  const conditions = conditionsOf(leaves);
  const itemCases: ItemCases[] = [];
  for (const item of items) {
    if (limits.isOver?.() === true) return undefined;
    itemCases.push({ item, cases: casesOf(item, conditions, place.host, limits.cases) });
  }
  const { subjects, omitted } = subjectsOf(policies);
  const representatives: SubjectVerdicts[] = [];
  const persons: SubjectVerdicts[] = [];
  const comparable = people.filter((user) => !hasUnknownFacts(user, leaves));
  for (const subject of [...subjects, ...comparable.map(personOf)]) {
    const verdicts: ComparedAccess[] = [];
    for (const { item, cases } of itemCases) {
      limits.decisions -= cases.cases.length * 2;
      if (limits.decisions < 0 || limits.isOver?.() === true) break;
      verdicts.push(verdictOf(place, [before, after], subject, item, cases));
    }
    if (verdicts.length < itemCases.length) break;
    (subject.kind === "person" ? persons : representatives).push({ subject, verdicts });
  }
  if (representatives.length === 0) return undefined;
  const undecided = subjects.length + comparable.length - representatives.length - persons.length;
  const isCut = undecided > 0;
  return {
    place,
    items,
    representatives,
    people: persons,
    gaps: gapsOf(itemCases, { omitted, undecided, incomplete: people.length - comparable.length }, place),
    isCut,
  };
}

/** Whether rules depend on groups or claims that are unknown for this user: those must not be reported as a loss. */
function hasUnknownFacts({ leftOut: omitted }: UserFacts, leaves: readonly Leaf[]): boolean {
  if (omitted === undefined) return false;
  return leaves.some(
    ({ key, criterion }) =>
      (key === "groups" && omitted.groups) || (criterion.name === "claim" && omitted.others === true),
  );
}

interface ItemCases {
  readonly item: Item;
  readonly cases: Cases;
}

function verdictOf(
  { old, new: next }: ComparedPlace,
  [before, after]: readonly [Tables, Tables],
  { user }: Subject,
  item: Item,
  { cases, isComplete, untried }: Cases,
): ComparedAccess {
  const [was, is] = [new Set<number>(), new Set<number>()];
  const moves = new Set<Move>();
  let gain: Case | undefined;
  let loss: Case | undefined;
  for (const each of cases) {
    const [one, other] = [decisionOf(before, old, each, user), decisionOf(after, next, each, user)];
    const [from, to] = [freedom(one), freedom(other)];
    was.add(from);
    is.add(to);
    if (isAlike(one, other)) continue;
    moves.add(`${from}${to}` as Move);
    if (from <= to) gain ??= each;
    else loss ??= each;
  }
  const isExact = isComplete && untried.length === 0;
  const [listedBefore, listedAfter] = [isListed(before, old, item, user), isListed(after, next, item, user)];
  return {
    item,
    before: levelOf(was, isExact, listedBefore),
    after: levelOf(is, isExact, listedAfter),
    moves: [...moves].toSorted(),
    ...(gain && { gain }),
    ...(loss && { loss }),
    ...(listedBefore !== listedAfter && { listing: listedAfter === true ? "shown" : "hidden" }),
  };
}

/** @param found positions in `OUTCOMES`. Untried requests may have other outcomes */
function levelOf(found: ReadonlySet<number>, isExact: boolean, isInList: boolean | undefined): Level {
  const [only, ...others] = found;
  if (only === 0 && others.length === 0) return isInList === true && !isExact ? "some" : "none";
  if (others.length > 0 || !isExact) return "some";
  return only === 1 ? "approval" : "all";
}

function gapsOf(
  itemCases: readonly ItemCases[],
  { omitted, undecided, incomplete }: Readonly<Record<"omitted" | "undecided" | "incomplete", number>>,
  { old, new: next, path }: ComparedPlace,
): readonly string[] {
  const key = next?.key ?? old?.key ?? "";
  const [before, after] = [patternsOf(old), patternsOf(next)];
  const patterns = [...before, ...after].filter((text) => !before.has(text) || !after.has(text));
  const untried = new Set(
    itemCases.flatMap((each) => each.cases.untried.map(({ key: name, data }) => `${name} ${JSON.stringify(data)}`)),
  );
  const cut = itemCases.filter(({ cases }) => !cases.isComplete).map(({ item }) => item.name);
  return [
    ...(undecided === 0 ? [] : [`${key}: ${undecided} users of its rules, or given ones: too many to compare`]),
    ...(incomplete === 0 ? [] : [`${key}: given users without the attributes that its rules need: ${incomplete}`]),
    ...patterns.map((text) => `${key}: which texts match ${text}, beyond an example`),
    ...[...untried].map((text) => `${key}: no request was found on both sides of ${text}`),
    ...(cut.length === 0 ? [] : [`${key}: too many conditions to combine: ${cut.slice(0, 5).join(", ")}`]),
    ...(omitted === 0 ? [] : [`${key}: ${omitted} combinations of user attributes in its rules`]),
    ...(old && next && old.key === next.key && old.place !== next.place
      ? [`${key}: who can reach its address, which was ${old.address} and is ${next.address}`]
      : []),
    ...(old && next && old.isServer !== next.isServer
      ? [`${key}: browser users at an address that becomes or stops being an MCP server`]
      : []),
    ...(path === undefined ? [`${key}: which other route serves its addresses`] : []),
  ];
}

/** Patterns of the rules: two may agree on an example and differ otherwise. */
function patternsOf(route: ComparedRoute | undefined): ReadonlySet<string> {
  const leaves = route ? leavesOf(route.policy()) : [];
  return new Set(
    leaves.flatMap(({ criterion, data }) => {
      const match = criterion.name === "mcp_tool_argument" ? (data as ArgumentMatch) : undefined;
      const patterns = [match?.matches, match?.some?.matches, match?.every?.matches].filter(
        (each) => each !== undefined,
      );
      return patterns.map((pattern) => JSON.stringify(pattern));
    }),
  );
}
