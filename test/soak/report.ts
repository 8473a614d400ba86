/** What a soak says in the end: figures, as a value and as text. */
import type { Check, Violation } from "./checks/checks.ts";
import type { History, Operation } from "./history/history.ts";
import { type Happened, seconds, type Struck } from "./schedule.ts";
import type { StoreKind } from "./world/types.ts";
import type { SoakWorld } from "./world/world.ts";

export interface Found {
  readonly check: Check;
  readonly violations: readonly Violation[];
}

export interface Counted {
  readonly ok: number;
  readonly refused: number;
  /** No answer, or one that says neither. */
  readonly unknown: number;
}

/** A fault, and what users saw of it until traffic had recovered. */
export interface SeenFault extends Struck {
  /** Requests to routes, at the replicas that it struck, until all traffic had recovered. */
  readonly requests: Counted;
  /** From its healing to the first request that succeeded again at each of them. */
  readonly servedMs: number | undefined;
  /** Longest time without a request that succeeded, at that replica of those where it was longest. */
  readonly outageMs: number;
}

export interface StoreReport {
  readonly store: StoreKind;
  readonly passed: boolean;
  readonly replicas: number;
  readonly workers: number;
  readonly seconds: number;
  readonly operations: Readonly<Record<string, Counted>>;
  readonly perSecond: readonly Counted[];
  readonly faults: readonly SeenFault[];
  readonly skipped: readonly { readonly name: string; readonly reason: string }[];
  readonly worstStall: { readonly ms: number; readonly kind: string; readonly replica: string | undefined };
  /** By the name of the check: what it found. */
  readonly violations: Readonly<Record<string, readonly Violation[]>>;
  /** Acknowledged writes that were not there, and requests without their record. */
  readonly lost: number;
  /** What was let in or redeemed that must not be, or served by an older bundle. */
  readonly wronglyAllowed: number;
  readonly problems: readonly string[];
  readonly records: number;
  /** By `record_sinks`, at least once each. */
  readonly recordsReceived: number;
  readonly isCutShort: boolean;
}

export interface SoakReport {
  readonly seed: number;
  readonly minutes: number;
  readonly passed: boolean;
  readonly stores: readonly StoreReport[];
}

export interface Ended {
  readonly world: SoakWorld;
  readonly history: History;
  readonly beganMs: number;
  readonly endedMs: number;
  readonly found: readonly Found[];
  readonly happened: Happened;
  readonly skipped: StoreReport["skipped"];
  readonly records: number;
  readonly isCutShort: boolean;
  readonly workers: number;
}

const LOSSES: readonly string[] = ["nothing-lost", "one-record"];
const SHOWN = 20;
/** What waits for one answer. Others are several requests, a process that must start first, or last as long as they are wanted. */
const ONE_REQUEST: readonly string[] = ["request", "redeem", "publish"];

export function reportOf(ended: Ended): StoreReport {
  const { world, history, beganMs, endedMs, found, happened, workers } = ended;
  const count = (is: (name: string) => boolean): number =>
    found.filter(({ check }) => is(check.name)).reduce((sum, { violations }) => sum + violations.length, 0);
  const notRecovered = happened.struck.filter(({ recoveredMs }) => recoveredMs === undefined);
  const problems = [...happened.problems, ...notRecovered.map(({ name }) => `traffic did not recover from ${name}`)];
  const [lost, wronglyAllowed] = [count((name) => LOSSES.includes(name)), count((name) => !LOSSES.includes(name))];
  return {
    store: world.store,
    passed: lost === 0 && wronglyAllowed === 0 && problems.length === 0 && !ended.isCutShort,
    replicas: world.replicas.length,
    workers,
    seconds: Math.round((endedMs - beganMs) / 1000),
    operations: byKind(history.operations),
    perSecond: bySecond(history.operations, beganMs, endedMs),
    faults: happened.struck.map((struck) => ({
      ...seenOf(struck, history.operations, endedMs),
      beganMs: struck.beganMs - beganMs,
    })),
    skipped: ended.skipped,
    worstStall: worstStall(history.operations),
    violations: Object.fromEntries(found.map(({ check, violations }) => [check.name, violations])),
    lost,
    wronglyAllowed,
    problems,
    records: ended.records,
    recordsReceived: world.sunk(),
    isCutShort: ended.isCutShort,
  };
}

function counted(operations: readonly Operation[]): Counted {
  const of = (outcome: Operation["outcome"]): number => operations.filter((each) => each.outcome === outcome).length;
  return { ok: of("ok"), refused: of("refused"), unknown: of("unknown") };
}

function byKind(operations: readonly Operation[]): Readonly<Record<string, Counted>> {
  const groups = Map.groupBy(operations, (operation) => {
    if (operation.kind === "redeem") return `redeem ${operation.facts.what}`;
    if (operation.kind === "request") return `request ${operation.facts.route}`;
    return operation.kind === "look" ? `look ${operation.facts.what}` : operation.kind;
  });
  return Object.fromEntries(
    [...groups].toSorted(([a], [b]) => a.localeCompare(b)).map(([kind, all]) => [kind, counted(all)]),
  );
}

/** By when they began: one without an answer has no end. */
function bySecond(operations: readonly Operation[], beganMs: number, endedMs: number): readonly Counted[] {
  const groups = Map.groupBy(operations, ({ began }) => Math.floor((began - beganMs) / 1000));
  return Array.from({ length: Math.ceil((endedMs - beganMs) / 1000) }, (_, second) =>
    counted(groups.get(second) ?? []),
  );
}

function seenOf(struck: Struck, operations: readonly Operation[], endedMs: number): SeenFault {
  const { beganMs, lastedMs, recoveredMs, replicas } = struck;
  const untilMs = recoveredMs === undefined ? endedMs : beganMs + lastedMs + recoveredMs;
  const requests = operations.filter(({ kind }) => kind === "request");
  const during = requests.filter(
    ({ began, replica }) => began >= beganMs && began <= untilMs && replica !== undefined && replicas.includes(replica),
  );
  const outages = replicas.map((name) => {
    const successes = requests
      .filter(({ replica, outcome }) => replica === name && outcome === "ok")
      .map(({ ended }) => ended)
      .toSorted((a, b) => a - b);
    const first = successes.findLast((at) => at <= beganMs) ?? beganMs;
    const last = successes.find((at) => at >= untilMs) ?? endedMs;
    const within = [first, ...successes.filter((at) => at > first && at < last), last];
    return Math.max(...within.slice(1).map((at, index) => at - (within[index] ?? at)));
  });
  const healedMs = beganMs + lastedMs;
  const served = replicas.map((name) =>
    requests.find((each) => each.replica === name && each.outcome === "ok" && each.began >= healedMs),
  );
  return {
    ...struck,
    requests: counted(during),
    servedMs: served.includes(undefined)
      ? undefined
      : Math.max(0, ...served.map((each) => (each?.ended ?? 0) - healedMs)),
    outageMs: Math.max(0, ...outages),
  };
}

function worstStall(operations: readonly Operation[]): StoreReport["worstStall"] {
  let worst: StoreReport["worstStall"] = { ms: 0, kind: "none", replica: undefined };
  for (const { kind, replica, began, ended } of operations) {
    if (ONE_REQUEST.includes(kind) && ended !== Infinity && ended - began > worst.ms)
      worst = { ms: ended - began, kind, replica };
  }
  return worst;
}

export function reportText({ seed, stores, passed }: SoakReport): string {
  return [
    ...stores.flatMap(storeLines),
    `seed ${seed}: ${passed ? "passed" : "FAILED"}; again with --seed ${seed} (same faults in the same order, another interleaving)`,
  ].join("\n");
}

function storeLines(report: StoreReport): readonly string[] {
  const rows = Object.entries(report.operations).map(([kind, { ok, refused, unknown }]) => [
    kind,
    String(ok),
    String(refused),
    String(unknown),
  ]);
  const faults = report.faults.map(
    ({ name, detail, replicas, lastedMs, servedMs, recoveredMs, outageMs, requests }) => [
      name,
      replicas.length === report.replicas ? "all" : replicas.join(" "),
      seconds(lastedMs),
      servedMs === undefined ? "NOT" : seconds(servedMs),
      recoveredMs === undefined ? "NOT" : seconds(recoveredMs),
      seconds(outageMs),
      `${requests.unknown} of ${requests.ok + requests.refused + requests.unknown}`,
      detail ?? "",
    ],
  );
  const all = Object.values(report.operations).reduce(
    (sum, { ok, refused, unknown }) => sum + ok + refused + unknown,
    0,
  );
  const { worstStall } = report;
  const violations = Object.entries(report.violations).flatMap(([name, found]) =>
    found.slice(0, SHOWN).map(({ text }) => `  ${name}: ${text}`),
  );
  return [
    `${report.store}: ${report.replicas} replicas with ${report.workers} workers, ${report.seconds} s, ${all} operations, ${report.records} records (${report.recordsReceived} received by the sink)`,
    ...table([["operation", "ok", "refused", "no answer"], ...rows]),
    ...table([["fault", "hit", "lasted", "served", "recovered", "longest outage", "unanswered", ""], ...faults]),
    ...report.skipped.map(({ name, reason }) => `  skipped ${name}: ${reason}`),
    `  worst stall ${seconds(worstStall.ms)} (${worstStall.kind}${worstStall.replica === undefined ? "" : ` at ${worstStall.replica}`})`,
    `  lost = ${report.lost}, wrongly allowed = ${report.wronglyAllowed}`,
    ...violations,
    ...report.problems.map((problem) => `  PROBLEM ${problem}`),
    ...(report.isCutShort ? ["  it was ended before its time"] : []),
  ];
}

function table(rows: readonly (readonly string[])[]): readonly string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows.map((row) =>
    `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0))).join("  ")}`.trimEnd(),
  );
}
