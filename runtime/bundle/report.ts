/** Reports on loading the configuration: the status for operators, and log lines without repetition. */
import type { Snapshot } from "../config/snapshot.ts";
import { HAND_WRITTEN_OWNER } from "../features/process/owners.ts";
import { formatProblem, type Problem } from "../config/load.ts";
import type { Log } from "../shared/log.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import type { DegradedOwner, ValidationReport, SliceStatus } from "./validation/protocol.ts";
import type { VaultStatus } from "../vault/vault.ts";
import { seenProblem } from "./validation/seen-problems.ts";
import type { Validation } from "./validation/validator.ts";
import type { Stale } from "./build/build-types.ts";

export interface BundleStatus {
  /** Digest of the active snapshot; "" before the first. */
  readonly digest: string;
  readonly generation: number;
  /** Epoch seconds of the last swap. */
  readonly loadedAt: number;
  /** Current files and published slices, active or not. */
  readonly slices: readonly SliceStatus[];
  /** Owners who are not served from their current version. */
  readonly degraded: readonly DegradedStatus[];
  /** Number of owners by the version that serves them. */
  readonly owners: { readonly current: number; readonly kept: number; readonly absent: number };
  /** Present while a written version is not active. */
  readonly lastError?: {
    /** Epoch seconds. */
    readonly at: number;
    /** One line each. */
    readonly problems: readonly string[];
    /** Concerns only the owners in `degraded`; the rest is active. */
    readonly partial?: true;
  };
  /** Static settings in the file differ from those of this process. */
  readonly restartNeeded: boolean;
  readonly reloads: { readonly ok: number; readonly failed: number };
  /** Absent where publishing is not possible. Generations of the publication, not of this process. */
  readonly published?: { readonly generation: number; readonly inForce: number };
  /** Status of the secrets server of `vault`, and how many secrets are up to date. */
  readonly vault?: VaultStatus;
}

export interface DegradedStatus {
  readonly owner: string;
  /** Served from the previous slice, or not at all. */
  readonly standing: DegradedOwner["standing"];
  /** Epoch seconds. */
  readonly since: number;
  readonly files: readonly string[];
  /** The current version is active, but some of its secrets could not be refreshed. */
  readonly late?: true;
  /** One line each: why the newest version is not active. The owner also reads it, so other owners are not named. */
  readonly problems: readonly string[];
}

export interface BundleReport {
  /** The files were read and validated. */
  found(found: Exclude<Validation, { readonly kind: "unchanged" }>): void;
  /** The result was rejected completely. */
  failed(problems: readonly Problem[]): void;
  /** The result is active, except for these secrets. */
  loaded(snapshot: Snapshot, stale: readonly Stale[], tookMs: number): void;
  /** The result was already active, except for these secrets. */
  recovered(stale: readonly Stale[]): void;
  restartNeeded(needed: boolean): void;
  status(current: Snapshot | undefined): BundleStatus;
}

const MAX_LOGGED = 20;

export function createReport({ log, clock }: { readonly log: Log; readonly clock: Clock }): BundleReport {
  /** As validated; `slices` also has later problems. */
  let validated: Pick<ValidationReport, "slices" | "degraded" | "currentOwners"> = {
    slices: [],
    degraded: [],
    currentOwners: 0,
  };
  let slices: readonly SliceStatus[] = [];
  let degraded: readonly DegradedStatus[] = [];
  let currentOwners = 0;
  let lastError: BundleStatus["lastError"];
  let warned: ReadonlySet<string> = new Set();
  let loadedAt = 0;
  let needsRestart = false;
  let ok = 0;
  let refused = 0;

  const report: BundleReport = {
    found(found) {
      validated = found;
      ({ slices } = found);
      warn(found.problems.filter(({ severity }) => severity === "warning").map(formatProblem));
      if (found.kind === "bad") report.failed(found.problems);
    },
    failed(problems) {
      slices = validated.slices.map((slice) => withProblems(slice, problems));
      const lines = problems.map(formatProblem);
      if (ok === 0) tell(lines, "configuration rejected, gateway not started");
      else tell(lines, "configuration rejected, previous valid version stays active");
    },
    loaded({ digest, generation, routes }, stale, tookMs) {
      ok++;
      loadedAt = epochSeconds(clock);
      log.info({ digest, generation, routes: routes.length, ms: Math.round(tookMs) }, "configuration active");
      updateDegraded(stale);
    },
    recovered: updateDegraded,
    restartNeeded(needed) {
      if (needed && !needsRestart) log.warn("static settings changed, restart required");
      needsRestart = needed;
    },
    status: (current) => ({
      digest: current?.digest ?? "",
      generation: current?.generation ?? 0,
      loadedAt,
      slices,
      degraded,
      owners: { current: currentOwners, kept: count("kept"), absent: count("absent") },
      ...(lastError ? { lastError } : {}),
      restartNeeded: needsRestart,
      reloads: { ok, failed: refused },
    }),
  };
  return report;

  /** The valid parts of the last validation are active. */
  function updateDegraded(stale: readonly Stale[]): void {
    const problems = stale.map(({ problem }) => problem);
    slices = validated.slices.map((slice) => withProblems(slice, problems));
    const known = new Map(degraded.map((each) => [identityOf(each), each.since]));
    const found = withStale(validated.degraded, stale);
    degraded = found.map((each) => ({
      ...each,
      since: known.get(identityOf(each)) ?? epochSeconds(clock),
      problems: each.problems.map((problem) =>
        formatProblem(seenProblem(problem, (file) => each.files.includes(file))),
      ),
    }));
    // The main configuration file is not a slice and was not counted.
    const added = degraded.slice(validated.degraded.length).filter(({ owner }) => owner !== HAND_WRITTEN_OWNER);
    currentOwners = validated.currentOwners - added.length;
    const lines = found.flatMap((each) => each.problems.map(formatProblem));
    if (lines.length > 0) return tell(lines, "configuration of some owners out of date", { partial: true });
    if (lastError) log.info("rejected configuration withdrawn");
    lastError = undefined;
  }

  function tell(lines: readonly string[], message: string, partial: { readonly partial?: true } = {}): void {
    // A retry with the same result is not logged again.
    if (lastError?.problems.join("\n") === lines.join("\n") && lastError.partial === partial.partial) return;
    refused++;
    lastError = { at: epochSeconds(clock), problems: lines, ...partial };
    const more = lines.length > MAX_LOGGED ? { more: lines.length - MAX_LOGGED } : {};
    log.error({ problems: lines.slice(0, MAX_LOGGED), ...more }, message);
  }

  function warn(lines: readonly string[]): void {
    for (const line of lines) if (!warned.has(line)) log.warn({ problem: line }, "configuration warning");
    warned = new Set(lines);
  }

  function count(standing: DegradedOwner["standing"]): number {
    return degraded.filter((each) => each.standing === standing).length;
  }
}

function identityOf({ owner, standing, files }: Omit<DegradedOwner, "problems">): string {
  return JSON.stringify([owner, standing, files]);
}

/** Adds owners who are served with previous secrets. */
function withStale(degraded: readonly DegradedOwner[], stale: readonly Stale[]): readonly DegradedOwner[] {
  const byOwner = Map.groupBy(stale, ({ owner }) => owner);
  const added = [...byOwner].map(([owner, all]): DegradedOwner => {
    const problems = all.slice(0, MAX_LOGGED).map(({ problem }) => problem);
    const files = [...new Set(problems.map(({ file }) => file))];
    return { owner, standing: "kept", files, problems, ...(all.every(({ isLate }) => isLate) && { late: true }) };
  });
  const isKnown = ({ owner }: DegradedOwner): boolean => degraded.some((each) => each.owner === owner);
  return [...degraded, ...added.filter((each) => !isKnown(each))];
}

/** Adds problems found after validation (a secret that cannot be read) to the slice they are in. */
function withProblems(slice: SliceStatus, problems: readonly Problem[]): SliceStatus {
  const added = problems.filter((problem) => problem.file === slice.file && !slice.problems.includes(problem));
  if (added.length === 0) return slice;
  const known = new Set(slice.problems.map(formatProblem));
  const fresh = added.filter((problem) => !known.has(formatProblem(problem)));
  return {
    ...slice,
    ok: false,
    standing: slice.standing === "absent" ? "absent" : "kept",
    problems: [...slice.problems, ...fresh],
  };
}
