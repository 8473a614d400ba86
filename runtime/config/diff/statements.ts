/**
 * Turns the verdicts of one place into statements: each difference once, for the widest subject that has it, with
 * exceptions.
 */
import { append } from "../../shared/linear/append.ts";
import type { Comparison, Level, SubjectVerdicts, ComparedAccess } from "./compare.ts";
import type { Item } from "./items.ts";
import type { ComparedPlace } from "./places.ts";
import { type Subject, SUBJECT_KINDS, widerOf } from "./subjects.ts";

/**
 * gains, loses: only more, or only less, of this kind. mixed: some requests are gained and others lost. approvers:
 * others approve. With an approval counts as more than denied and less than allowed.
 */
export type Direction = "gains" | "loses" | "mixed" | "approvers" | "shown" | "hidden";

export interface Effect extends Pick<ComparedAccess, "before" | "after" | "moves"> {
  readonly direction: Direction;
}

export interface DiffStatement extends Effect {
  readonly place: ComparedPlace;
  readonly who: readonly Subject[];
  readonly items: readonly Item[];
  /** All items of the place; `wholeKinds`: kinds of which all items are included. */
  readonly isEverything: boolean;
  readonly wholeKinds: ReadonlySet<Item["kind"]>;
  /** Members of `who` that already had this access. */
  readonly unchanged: readonly Subject[];
  /** Members of `who` that still lack this access. */
  readonly still: readonly Subject[];
  /** A request with a changed decision, and its item. */
  readonly example: ComparedAccess | undefined;
  /** Number of listed and recorded users. */
  readonly people?: number;
}

/** @returns widest first, gains before losses */
export function statementsOf(comparison: Comparison): readonly DiffStatement[] {
  const { place, items, representatives, people } = comparison;
  const relations = relationsOf(representatives);
  const stated = [
    ...representatives.flatMap((each) => ofSubject(each, relations, place, items)),
    ...people
      .flatMap((each) => ofSubject(each, ALONE, place, items))
      .map((each) => ({ ...each, people: people.length })),
  ];
  const joined = new Map<string, DiffStatement[]>();
  for (const each of stated) {
    const key = JSON.stringify([
      each.people,
      each.direction,
      each.before,
      each.after,
      each.moves,
      each.items.map(({ kind, name }) => [kind, name]),
      namesOf(each.unchanged),
      namesOf(each.still),
    ]);
    append(joined, key, each);
  }
  return [...joined.values()]
    .map((alike) => ({ ...(alike[0] as DiffStatement), who: alike.flatMap(({ who }) => who) }))
    .toSorted(byWidth);
}

/** Orders gains before losses, then the widest first. */
export function byWidth(one: DiffStatement, other: DiffStatement): number {
  return widthOf(one) - widthOf(other);
}

const DIRECTIONS: readonly Direction[] = ["gains", "mixed", "approvers", "shown", "loses", "hidden"];

function widthOf({ direction, who, people }: DiffStatement): number {
  const isLoss = DIRECTIONS.indexOf(direction) > 3;
  const kind = SUBJECT_KINDS.indexOf(who[0]?.kind ?? "person");
  return (isLoss ? 1000 : 0) + (people === undefined ? 0 : 100) + kind * 6 + DIRECTIONS.indexOf(direction);
}

export function effectOf({ moves, listing, before, after }: ComparedAccess): Effect | undefined {
  const isGain = moves.some((move) => move < "10" || move === "12");
  const isLoss = moves.some((move) => move === "10" || move > "12");
  const direction = isGain ? (isLoss ? "mixed" : "gains") : isLoss ? "loses" : moves.length > 0 ? "approvers" : listing;
  return direction && { direction, before, after, moves };
}

interface Relations {
  readonly wider: ReadonlyMap<Subject, readonly SubjectVerdicts[]>;
  readonly narrower: ReadonlyMap<Subject, readonly SubjectVerdicts[]>;
}

const ALONE: Relations = { wider: new Map(), narrower: new Map() };

function relationsOf(all: readonly SubjectVerdicts[]): Relations {
  const bySubject = new Map(all.map((each) => [each.subject, each]));
  const wider = new Map<Subject, readonly SubjectVerdicts[]>();
  const narrower = new Map<Subject, SubjectVerdicts[]>();
  for (const [subject, found] of widerOf(all.map((each) => each.subject))) {
    const own = bySubject.get(subject);
    wider.set(
      subject,
      found.flatMap((each) => bySubject.get(each) ?? []),
    );
    for (const each of own ? found : []) {
      const below = narrower.get(each) ?? [];
      if (own) below.push(own);
      narrower.set(each, below);
    }
  }
  return { wider, narrower };
}

function ofSubject(
  { subject, verdicts }: SubjectVerdicts,
  relations: Relations,
  place: ComparedPlace,
  items: readonly Item[],
): readonly DiffStatement[] {
  const wider = relations.wider.get(subject) ?? [];
  const groups = new Map<string, { effect: Effect; verdicts: ComparedAccess[]; exceptions: Exceptions }>();
  for (const [at, verdict] of verdicts.entries()) {
    const effect = effectOf(verdict);
    if (effect === undefined) continue;
    // Already stated for a wider subject.
    if (wider.some(({ verdicts: theirs }) => isSame(effectOf(theirs[at] ?? verdict), effect))) continue;
    const exceptions = exceptionsOf(effect, subject, relations, at);
    const key = JSON.stringify([effect, namesOf(exceptions.unchanged), namesOf(exceptions.still)]);
    const group = groups.get(key) ?? { effect, verdicts: [], exceptions };
    group.verdicts.push(verdict);
    groups.set(key, group);
  }
  return [...groups.values()].map(({ effect, verdicts: found, exceptions }) => {
    const own = found.map(({ item }) => item);
    const kinds = new Set(own.map(({ kind }) => kind));
    const isWhole = (kind: Item["kind"]): boolean => items.every((item) => item.kind !== kind || own.includes(item));
    return {
      ...effect,
      ...exceptions,
      place,
      who: [subject],
      items: own,
      isEverything: own.length === items.length,
      wholeKinds: new Set([...kinds].filter(isWhole)),
      example: found.find(({ gain, loss }) => (gain ?? loss)?.description !== "") ?? found[0],
    };
  });
}

interface Exceptions {
  readonly unchanged: readonly Subject[];
  readonly still: readonly Subject[];
}

function exceptionsOf(
  { direction, after: theirs }: Effect,
  subject: Subject,
  { wider, narrower }: Relations,
  at: number,
): Exceptions {
  const isLess = (after: Level): boolean => direction !== "loses" && after === "approval" && theirs !== after;
  const around = new Set([subject, ...(wider.get(subject) ?? []).map((each) => each.subject)]);
  const found = (isException: (verdict: ComparedAccess) => boolean): readonly Subject[] => {
    const except = (narrower.get(subject) ?? []).filter(({ verdicts }) => {
      const verdict = verdicts[at];
      return verdict !== undefined && effectOf(verdict) === undefined && isException(verdict);
    });
    const all = new Set(except);
    // Not worth mentioning: another rule already gave access.
    const isKnown = (other: SubjectVerdicts): boolean =>
      direction !== "loses" && !around.has(other.subject) && other.verdicts[at]?.before !== "none";
    return except
      .filter((each) => wider.get(each.subject)?.some((other) => all.has(other) || isKnown(other)) !== true)
      .map((each) => each.subject);
  };
  return {
    unchanged: found(({ after }) => after !== "none" && !isLess(after)),
    // A subject without access before loses nothing.
    still: direction === "loses" ? [] : found(({ after }) => after === "none" || isLess(after)),
  };
}

/** One name for a user who is named both by email and, as `allowed_users` has it, by ID. */
export function namesOf(subjects: readonly Subject[]): readonly string[] {
  const emails = new Set(
    subjects.map(({ user, parts }) => (parts[0]?.startsWith("user ") === true ? "" : user?.email)),
  );
  return subjects
    .filter(({ kind, user, name }) => kind !== "user" || name === user?.email || !emails.has(user?.id))
    .map(({ name }) => name);
}

function isSame(one: Effect | undefined, other: Effect): boolean {
  return (
    one?.direction === other.direction &&
    one.before === other.before &&
    one.after === other.after &&
    one.moves.join() === other.moves.join()
  );
}
