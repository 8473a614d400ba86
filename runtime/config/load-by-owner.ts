/**
 * Loads the slices of many owners into one checked configuration in which no owner's mistake affects another owner.
 *
 * An owner with an invalid slice is served from the previous active one if that is still valid, else not at all; all
 * others are served from their current version. In a conflict the active slice wins; if none is active, no side is
 * served. Untrusted input: all texts, including the previous ones, which are validated as well. Promises: pure and
 * total. The main configuration file has no previous version, so its problems leave `config` absent. Owners without a
 * mistake get the same result as without the others. The same input in any order gives the same outcome.
 */
import { checkedConfig, type CheckedConfig } from "./load.ts";
import { conflict, type Problem, type Rival, type ValuePath } from "../settings/problem.ts";
import type { RouteMemory } from "./read-route.ts";
import { inForce, precedenceAt } from "./active-precedence.ts";
import type { ReadSlice, SliceSource, ActiveVersion } from "./read-slice.ts";
import { byLocation, compare, readSlices, type ReadSlices } from "./read-slices.ts";
import type { Refusal } from "./refusals.ts";

/** An owner's last active slice. The owner of a hand-written directory can have several files. */
export interface PreviousSlice {
  readonly owner: string;
  readonly sources: readonly { readonly file: string; readonly text: string }[];
  /** Active since (epoch milliseconds); absent if not active now, without precedence. */
  readonly since?: number;
}

export interface OwnersInput {
  readonly sources: readonly SliceSource[];
  /** Problems of files that could not be read. */
  readonly unread?: readonly Problem[];
  readonly previous?: ReadonlyMap<string, PreviousSlice>;
  readonly refusals?: readonly Refusal[];
}

/** The version that serves an owner: the current one, the previous one, or none. */
export type ServedFrom = "current" | "kept" | "absent";

export interface OwnerStatus {
  /** Undefined for a file without a known owner. */
  readonly owner: string | undefined;
  readonly standing: ServedFrom;
  /** Current files, active or not. */
  readonly files: readonly string[];
  /** The active version, under its own file names. */
  readonly sources: PreviousSlice["sources"];
  /** Errors that keep the current version from being active. */
  readonly problems: readonly Problem[];
}

export interface OwnersOutcome {
  /** By file and path; includes errors of owners that are not served from their current version. */
  readonly problems: readonly Problem[];
  /** By owner, without the main configuration file. */
  readonly standings: readonly OwnerStatus[];
  /** File → owner, for files with a readable outline. */
  readonly owners: ReadonlyMap<string, string>;
  /** Absent if the main configuration file is invalid. */
  readonly config?: CheckedConfig;
}

/** @param memory as in `loadSlices` */
export function loadByOwner(input: OwnersInput, memory?: RouteMemory): OwnersOutcome {
  const { unread = [], previous = new Map<string, PreviousSlice>(), refusals = [] } = input;
  const sources = withSince(input.sources, previous);
  const boot = sources.filter((source) => source.boot);
  let read = readSlices(sources, memory, refusals);
  const owners = new Map(read.slices.map(({ source, owner }) => [source.file, owner]));
  const units = unitsOf(sources, unread, read.slices, previous);
  let isFirst = true;
  for (;;) {
    const errors = read.problems.filter(({ severity }) => severity === "error");
    // The first pass covers every readable file, even if the owner's other files are missing.
    const losers = isFirst && unread.length > 0 ? incomplete(units, errors, read) : losersAmong(units, errors, read);
    isFirst = false;
    if (losers === "boot") return outcome(false);
    if (losers.size === 0) return outcome(true);
    for (const unit of losers) stepDown(unit, read);
    read = readSlices([...boot, ...units.flatMap(({ candidates: [first] }) => first?.sources ?? [])], memory, refusals);
  }

  function outcome(isGood: boolean): OwnersOutcome {
    memory?.forgetOthers();
    const problems = byLocation([...units.flatMap((unit) => unit.problems), ...read.problems]);
    // The units are ordered by file.
    const standings = units.map(ownerStatus).sort((a, b) => compare(a.owner ?? "", b.owner ?? ""));
    return { problems, standings, owners, ...(isGood && { config: checkedConfig(read) }) };
  }
}

/** A unit succeeds or fails as a whole: all files of one owner, or one file without a known owner. */
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

const PREVIOUS_SUFFIX = " (kept)";

/** Name of a previous file in messages: the file now has other content. */
function previousName(file: string): string {
  return `${file}${PREVIOUS_SUFFIX}`;
}

/** Marks active sources, file by file, so that they win conflicts against new ones. */
function withSince(
  sources: readonly SliceSource[],
  previous: ReadonlyMap<string, PreviousSlice>,
): readonly SliceSource[] {
  const known = new Map<string, { readonly text: string; readonly since: number; readonly before: ActiveVersion }>();
  for (const slice of previous.values()) {
    const { owner, sources: files, since } = slice;
    if (since === undefined) continue;
    const before = inForce(owner, since, previousSources(slice));
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
  previous: ReadonlyMap<string, PreviousSlice>,
): readonly Unit[] {
  const slicesNow = sources.filter(({ boot }) => !boot);
  const files = new Set([...slicesNow.map(({ file }) => file), ...unread.map(({ file }) => file)]);
  const declaredOwners = new Map<string, string | undefined>([...files].map((file) => [file, undefined]));
  for (const { source, owner, hasOwner } of slices)
    if (hasOwner && !source.boot) declaredOwners.set(source.file, owner);
  const named = new Map(
    slices.filter((slice) => isOwners(slice, declaredOwners, previous)).map((each) => [each.source.file, each.owner]),
  );
  // A file without an owner belongs to its previous owner.
  const before = new Map(
    [...previous.values()].flatMap(({ owner, sources: all }) => all.map(({ file }) => [file, owner] as const)),
  );
  const ownerOf = (file: string): string | undefined => named.get(file) ?? before.get(file);
  const groups = Map.groupBy([...files].sort(compare), (file) => ownerOf(file) ?? `${file}\n`);
  const texts = new Map(slicesNow.map((source) => [source.file, source]));
  return [...groups.values()].map((group): Unit => {
    const owner = ownerOf(group[0] ?? "");
    const problems = unread.filter(({ file }) => group.includes(file));
    const current = group.flatMap((file) => texts.get(file) ?? []);
    const candidates: Candidate[] = [{ standing: "current", sources: current }];
    const last = owner === undefined ? undefined : previous.get(owner);
    if (last && !isSame(last, current)) candidates.push({ standing: "kept", sources: previousSources(last) });
    return { owner, files: group, candidates, problems };
  });
}

/** Rejects a slice that claims an owner whose slice was in another file that still exists. */
function isOwners(
  { source, owner, hasOwner, settingsPath }: ReadSlice,
  ownersNow: ReadonlyMap<string, string | undefined>,
  previous: ReadonlyMap<string, PreviousSlice>,
): boolean {
  const last = previous.get(owner)?.sources.map(({ file }) => file) ?? [];
  if (!hasOwner || settingsPath.length === 0 || last.includes(source.file)) return hasOwner;
  return !last.some((file) => ownersNow.has(file) && [undefined, owner].includes(ownersNow.get(file)));
}

function previousSources({ sources, since }: PreviousSlice): readonly SliceSource[] {
  const inForce = since === undefined ? {} : { since };
  return sources.map(({ file, text }) => ({ file: previousName(file), text, boot: false, ...inForce }));
}

function isSame({ sources }: PreviousSlice, current: readonly SliceSource[]): boolean {
  if (sources.length !== current.length) return false;
  return current.every(({ file, text }) => sources.some((source) => source.file === file && source.text === text));
}

/** Replaces a unit's failed candidate by the next one and records the reasons. */
function stepDown(unit: Unit, { problems }: ReadSlices): void {
  const files = new Set(unit.candidates.shift()?.sources.map(({ file }) => file));
  const reasons = problems.filter(({ severity, file }) => severity === "error" && files.has(file));
  unit.problems.push(...reasons);
}

function ownerStatus({ owner, files, candidates: [active], problems }: Unit): OwnerStatus {
  const sources = (active?.sources ?? []).map(({ file, text }) => ({ file: ownName(file), text }));
  return { owner, standing: active?.standing ?? "absent", files, sources, problems };
}

function ownName(file: string): string {
  return file.endsWith(PREVIOUS_SUFFIX) ? file.slice(0, -PREVIOUS_SUFFIX.length) : file;
}

type Losers = ReadonlySet<Unit> | "boot";

/** Units with an unreadable file or with a mistake of their own. */
function incomplete(units: readonly Unit[], errors: readonly Problem[], read: ReadSlices): Losers {
  const own = losersAmong(units, errors.filter(isOwn), read);
  return own === "boot" ? own : new Set([...own, ...units.filter(({ problems }) => problems.length > 0)]);
}

/**
 * Units that must step down now. Units with their own mistakes come first, because their routes then conflict with
 * none. Next come units in conflict with an older unit, last those in conflict with an equally old one.
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
  // By precedence: a unit that stepped down no longer wins conflicts.
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

/** One side of a conflict that must yield to the other. */
interface Clash {
  /** Undefined: the main configuration file. */
  readonly winner: Unit | undefined;
  readonly loser: Unit;
  /** Neither side is older. */
  readonly isEven: boolean;
  /** Precedence of the loser. */
  readonly precedence: number;
  readonly problem: Problem;
  /** Location of the loser, if the problem names the winner. */
  readonly loserLocation?: Rival;
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
      clashes.push({ problem, isEven, winner: me, loser: other, precedence: theirs, loserLocation: rival });
    }
    return clashes;
  });
}

/** Reports a problem to losers that the original problem does not name. */
function explain(clashes: readonly Clash[], losers: ReadonlySet<Unit>, slices: readonly ReadSlice[]): void {
  for (const { loser, loserLocation, problem, isEven } of clashes) {
    if (!loserLocation || !losers.has(loser)) continue;
    const slice = slices.find(({ source }) => source.file === loserLocation.file);
    const state = isEven ? ", and neither was active before" : ", which was active before";
    const theirs = conflict(loserLocation.path, problem, "is in conflict with ", state);
    if (slice) loser.problems.push(slice.problemOf(theirs));
  }
}
