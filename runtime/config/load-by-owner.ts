/**
 * The slices of many owners → one checked configuration in which nobody's mistake is another owner's.
 *
 * An owner whose slice is bad is served from the one that was in force last, if that is still good today, else not at
 * all; the others are served as they wrote it. Of owners in conflict the one that is in force stays; where none is, none of
 * them is served. Untrusted input: all texts, the kept ones too, which are validated like any other. Promises: pure and
 * total; the boot file has no stand-in, so what is wrong with it leaves `config` out; the owners without a mistake get
 * what they would get if the others were not there; the same input in any order gives the same outcome.
 */
import { checkedConfig, type CheckedConfig } from "./load.ts";
import { conflict, type Problem, type Rival, type ValuePath } from "../settings/problem.ts";
import type { RouteMemory } from "./read-route.ts";
import { inForce, precedenceAt } from "./in-force.ts";
import type { ReadSlice, SliceSource, InForce } from "./read-slice.ts";
import { byPlace, compare, readSlices, type ReadSlices } from "./read-slices.ts";
import type { Refusal } from "./refusals.ts";

/** An owner's slice as it was last in force. A hand-written directory's owner may have several files. */
export interface PreviousSlice {
  readonly owner: string;
  readonly sources: readonly { readonly file: string; readonly text: string }[];
  /** In force since then (epoch milliseconds); absent when it is not now, and has no precedence. */
  readonly since?: number;
}

export interface OwnersInput {
  readonly sources: readonly SliceSource[];
  /** What is wrong with files that could not be read at all. */
  readonly unread?: readonly Problem[];
  readonly kept?: ReadonlyMap<string, PreviousSlice>;
  readonly refusals?: readonly Refusal[];
}

/** What an owner is served from: as written now, as it was last in force, or nothing. */
export type ServedFrom = "current" | "kept" | "absent";

export interface OwnerStatus {
  /** Undefined for a file of which nobody knows whose it is. */
  readonly owner: string | undefined;
  readonly standing: ServedFrom;
  /** As they are now, in force or not. */
  readonly files: readonly string[];
  /** In force, under their own names. */
  readonly sources: PreviousSlice["sources"];
  /** The errors for which what is written now is not in force. */
  readonly problems: readonly Problem[];
}

export interface OwnersOutcome {
  /** By file and place; errors of owners that are not served as written are among them. */
  readonly problems: readonly Problem[];
  /** By owner; those of the boot file are not among them. */
  readonly standings: readonly OwnerStatus[];
  /** File → owner, of those whose outline could be read. */
  readonly owners: ReadonlyMap<string, string>;
  /** Absent when the boot file is bad. */
  readonly config?: CheckedConfig;
}

/** @param memory as in `loadSlices` */
export function loadByOwner(input: OwnersInput, memory?: RouteMemory): OwnersOutcome {
  const { unread = [], kept = new Map<string, PreviousSlice>(), refusals = [] } = input;
  const sources = withSince(input.sources, kept);
  const boot = sources.filter((source) => source.boot);
  let read = readSlices(sources, memory, refusals);
  const owners = new Map(read.slices.map(({ source, owner }) => [source.file, owner]));
  const units = unitsOf(sources, unread, read.slices, kept);
  let isFirst = true;
  for (;;) {
    const errors = read.problems.filter(({ severity }) => severity === "error");
    // The first reading was of everything that could be read, whatever else is missing of its owner.
    const losers = isFirst && unread.length > 0 ? incomplete(units, errors, read) : losersAmong(units, errors, read);
    isFirst = false;
    if (losers === "boot") return outcome(false);
    if (losers.size === 0) return outcome(true);
    for (const unit of losers) stepDown(unit, read);
    read = readSlices([...boot, ...units.flatMap(({ candidates: [first] }) => first?.sources ?? [])], memory, refusals);
  }

  function outcome(isGood: boolean): OwnersOutcome {
    memory?.forgetOthers();
    const problems = byPlace([...units.flatMap((unit) => unit.problems), ...read.problems]);
    // The units are in the order of their files.
    const standings = units.map(ownerStatus).sort((a, b) => compare(a.owner ?? "", b.owner ?? ""));
    return { problems, standings, owners, ...(isGood && { config: checkedConfig(read) }) };
  }
}

/** What stands or falls together: all files of one owner, or one file of which nobody knows whose it is. */
interface Unit {
  readonly owner: string | undefined;
  readonly files: readonly string[];
  /** The first is in use. */
  readonly candidates: Candidate[];
  readonly problems: Problem[];
}

interface Candidate {
  readonly standing: "current" | "kept";
  readonly sources: readonly SliceSource[];
}

const KEPT = " (kept)";

/** Name of a kept file in messages: the file itself says something else now. */
function keptName(file: string): string {
  return `${file}${KEPT}`;
}

/** What is in force already, file by file, so that a conflict is decided against what is new. */
function withSince(sources: readonly SliceSource[], kept: ReadonlyMap<string, PreviousSlice>): readonly SliceSource[] {
  const known = new Map<string, { readonly text: string; readonly since: number; readonly before: InForce }>();
  for (const slice of kept.values()) {
    const { owner, sources: files, since } = slice;
    if (since === undefined) continue;
    const before = inForce(owner, since, keptSources(slice));
    for (const { file, text } of files) known.set(file, { text, since, before });
  }
  if (known.size === 0) return sources;
  return sources.map((source) => {
    const last = known.get(source.file);
    if (!last || source.boot) return source;
    return { ...source, before: last.before, ...(last.text === source.text && { since: last.since }) };
  });
}

function unitsOf(
  sources: readonly SliceSource[],
  unread: readonly Problem[],
  slices: readonly ReadSlice[],
  kept: ReadonlyMap<string, PreviousSlice>,
): readonly Unit[] {
  const slicesNow = sources.filter(({ boot }) => !boot);
  const files = new Set([...slicesNow.map(({ file }) => file), ...unread.map(({ file }) => file)]);
  const says = new Map<string, string | undefined>([...files].map((file) => [file, undefined]));
  for (const { source, owner, hasOwner } of slices) if (hasOwner && !source.boot) says.set(source.file, owner);
  const named = new Map(
    slices.filter((slice) => isOwners(slice, says, kept)).map((each) => [each.source.file, each.owner]),
  );
  // What does not say whose it is belongs to whom it belonged.
  const before = new Map(
    [...kept.values()].flatMap(({ owner, sources: all }) => all.map(({ file }) => [file, owner] as const)),
  );
  const ownerOf = (file: string): string | undefined => named.get(file) ?? before.get(file);
  const groups = Map.groupBy([...files].sort(compare), (file) => ownerOf(file) ?? `${file}\n`);
  const texts = new Map(slicesNow.map((source) => [source.file, source]));
  return [...groups.values()].map((group): Unit => {
    const owner = ownerOf(group[0] ?? "");
    const problems = unread.filter(({ file }) => group.includes(file));
    const current = group.flatMap((file) => texts.get(file) ?? []);
    const candidates: Candidate[] = [{ standing: "current", sources: current }];
    const last = owner === undefined ? undefined : kept.get(owner);
    if (last && !isSame(last, current)) candidates.push({ standing: "kept", sources: keptSources(last) });
    return { owner, files: group, candidates, problems };
  });
}

/** A slice with the name of an owner whose slice was in another file, which is still there, is not that owner's. */
function isOwners(
  { source, owner, hasOwner, settingsPath }: ReadSlice,
  ownersNow: ReadonlyMap<string, string | undefined>,
  kept: ReadonlyMap<string, PreviousSlice>,
): boolean {
  const last = kept.get(owner)?.sources.map(({ file }) => file) ?? [];
  if (!hasOwner || settingsPath.length === 0 || last.includes(source.file)) return hasOwner;
  return !last.some((file) => ownersNow.has(file) && [undefined, owner].includes(ownersNow.get(file)));
}

function keptSources({ sources, since }: PreviousSlice): readonly SliceSource[] {
  const inForce = since === undefined ? {} : { since };
  return sources.map(({ file, text }) => ({ file: keptName(file), text, boot: false, ...inForce }));
}

function isSame({ sources }: PreviousSlice, current: readonly SliceSource[]): boolean {
  if (sources.length !== current.length) return false;
  return current.every(({ file, text }) => sources.some((kept) => kept.file === file && kept.text === text));
}

/** The unit leaves what it has now, with the reasons, for the next best. */
function stepDown(unit: Unit, { problems }: ReadSlices): void {
  const files = new Set(unit.candidates.shift()?.sources.map(({ file }) => file));
  const reasons = problems.filter(({ severity, file }) => severity === "error" && files.has(file));
  unit.problems.push(...reasons);
}

function ownerStatus({ owner, files, candidates: [inUse], problems }: Unit): OwnerStatus {
  const sources = (inUse?.sources ?? []).map(({ file, text }) => ({ file: ownName(file), text }));
  return { owner, standing: inUse?.standing ?? "absent", files, sources, problems };
}

function ownName(file: string): string {
  return file.endsWith(KEPT) ? file.slice(0, -KEPT.length) : file;
}

type Losers = ReadonlySet<Unit> | "boot";

/** Those with a file that could not be read at all, and those with a mistake of their own. */
function incomplete(units: readonly Unit[], errors: readonly Problem[], read: ReadSlices): Losers {
  const own = losersAmong(units, errors.filter(isOwn), read);
  return own === "boot" ? own : new Set([...own, ...units.filter(({ problems }) => problems.length > 0)]);
}

/**
 * Who must give way now. Mistakes of one's own come first, because what goes with them is in nobody's way; then those
 * who want the place of others that were there before; those who want the same place at the same time come last.
 */
function losersAmong(units: readonly Unit[], errors: readonly Problem[], read: ReadSlices): Losers {
  const unitOf = new Map(
    units.flatMap((unit) => (unit.candidates[0]?.sources ?? []).map(({ file }) => [file, unit] as const)),
  );
  const own = errors.filter((problem) => isOwn(problem) || isAmongItself(problem, unitOf));
  if (own.some(({ file }) => !unitOf.has(file))) return "boot";
  if (own.length > 0) return new Set(own.flatMap(({ file }) => unitOf.get(file) ?? []));
  const clashes = errors.flatMap((problem) => clashesOf(problem, unitOf, read.slices));
  const uneven = clashes.filter(({ isEven }) => !isEven).sort((a, b) => a.precedence - b.precedence);
  const losers = new Set<Unit>();
  // By precedence: who gives way is in nobody's way any more.
  for (const { winner, loser } of uneven) if (!winner || !losers.has(winner)) losers.add(loser);
  if (losers.size === 0) for (const { loser } of clashes) losers.add(loser);
  explain(clashes, losers, read.slices);
  return losers;
}

function isOwn({ rivals }: Problem): boolean {
  return !rivals || rivals.length === 0;
}

function isAmongItself({ file, rivals = [] }: Problem, unitOf: ReadonlyMap<string, Unit>): boolean {
  return rivals.some((rival) => unitOf.get(rival.file) === unitOf.get(file));
}

/** One side of a conflict that must give way to the other. */
interface Clash {
  /** Undefined: the boot file. */
  readonly winner: Unit | undefined;
  readonly loser: Unit;
  /** Neither was there before the other. */
  readonly isEven: boolean;
  /** Of the loser. */
  readonly precedence: number;
  readonly problem: Problem;
  /** Where the loser stands, when the problem names the winner. */
  readonly loserPlace?: Rival;
}

function clashesOf(
  problem: Problem,
  unitOf: ReadonlyMap<string, Unit>,
  slices: readonly ReadSlice[],
): readonly Clash[] {
  const precedenceOf = (file: string, path: ValuePath, whole: boolean): number => {
    const slice = slices.find((each) => each.source.file === file);
    return slice ? precedenceAt(slice, path, whole) : Number.POSITIVE_INFINITY;
  };
  const me = unitOf.get(problem.file);
  return (problem.rivals ?? []).flatMap((rival): Clash[] => {
    const other = unitOf.get(rival.file);
    const whole = rival.isSetting === true;
    const mine = precedenceOf(problem.file, problem.path, whole);
    const theirs = precedenceOf(rival.file, rival.path, false);
    const clashes: Clash[] = [];
    const isEven = mine === theirs && !whole;
    if (me && mine >= theirs) clashes.push({ problem, isEven, winner: other, loser: me, precedence: mine });
    if (other && (isEven || theirs > mine)) {
      clashes.push({ problem, isEven, winner: me, loser: other, precedence: theirs, loserPlace: rival });
    }
    return clashes;
  });
}

/** Tells those who give way and are not the ones that the problem names. */
function explain(clashes: readonly Clash[], losers: ReadonlySet<Unit>, slices: readonly ReadSlice[]): void {
  for (const { loser, loserPlace, problem, isEven } of clashes) {
    if (!loserPlace || !losers.has(loser)) continue;
    const slice = slices.find(({ source }) => source.file === loserPlace.file);
    const state = isEven ? ", and neither was active before" : ", which was active before";
    const theirs = conflict(loserPlace.path, problem, "is in conflict with ", state);
    if (slice) loser.problems.push(slice.problemOf(theirs));
  }
}
