/** What is told of loading the configuration: the status for operators, and log lines that are not repeated. */
import type { Snapshot } from "../config/compiled.ts";
import { formatProblem, type Problem } from "../config/load.ts";
import type { Log } from "../log.ts";
import { epochSeconds, type Clock } from "../ports.ts";
import type { SliceStatus } from "./protocol.ts";
import type { Validation } from "./validator.ts";

export interface BundleStatus {
  /** Of the snapshot in force; "" before the first. */
  readonly digest: string;
  readonly generation: number;
  /** Epoch seconds of the last swap. */
  readonly loadedAt: number;
  /** Files and published slices as they are now, in force or not. */
  readonly slices: readonly SliceStatus[];
  /** Present while the files are not what is in force. */
  readonly lastError?: {
    /** Epoch seconds. */
    readonly at: number;
    /** One line each. */
    readonly problems: readonly string[];
  };
  /** Boot settings in the file differ from those this process runs with. */
  readonly restartNeeded: boolean;
  readonly reloads: { readonly ok: number; readonly failed: number };
  /** Absent where nothing can be published to. Generations of the publication, not of this process. */
  readonly published?: { readonly generation: number; readonly inForce: number };
}

export interface Report {
  /** The files were read and judged. */
  found(found: Exclude<Validation, { readonly kind: "unchanged" }>): void;
  /** What was found is not put in force. */
  failed(problems: readonly Problem[]): void;
  loaded(snapshot: Snapshot, tookMs: number): void;
  /** The files are again what is in force. */
  recovered(): void;
  restartNeeded(needed: boolean): void;
  status(current: Snapshot | undefined): BundleStatus;
}

const MAX_LOGGED = 20;

export function createReport({ log, clock }: { readonly log: Log; readonly clock: Clock }): Report {
  /** As validated; `slices` has what went wrong afterwards too. */
  let judged: readonly SliceStatus[] = [];
  let slices: readonly SliceStatus[] = [];
  let lastError: BundleStatus["lastError"];
  let warned: ReadonlySet<string> = new Set();
  let loadedAt = 0;
  let needsRestart = false;
  let ok = 0;
  let refused = 0;

  const report: Report = {
    found(found) {
      judged = found.slices;
      slices = judged;
      warn(found.problems.filter(({ severity }) => severity === "warning").map(formatProblem));
      if (found.kind === "bad") report.failed(found.problems);
    },
    failed(problems) {
      const lines = problems.map(formatProblem);
      slices = judged.map((slice) => withProblems(slice, problems));
      // Tried again without news: one refusal, one line.
      if (lastError?.problems.join("\n") === lines.join("\n")) return;
      refused++;
      lastError = { at: epochSeconds(clock), problems: lines };
      const more = lines.length > MAX_LOGGED ? { more: lines.length - MAX_LOGGED } : {};
      log.error({ problems: lines.slice(0, MAX_LOGGED), ...more }, "configuration refused, the last good one stays");
    },
    loaded({ digest, generation, routes }, tookMs) {
      ok++;
      loadedAt = epochSeconds(clock);
      lastError = undefined;
      slices = judged;
      log.info({ digest, generation, routes: routes.length, ms: Math.round(tookMs) }, "configuration in force");
    },
    recovered() {
      if (lastError) log.info("configuration is again what is in force");
      lastError = undefined;
      slices = judged;
    },
    restartNeeded(needed) {
      if (needed && !needsRestart) log.warn("boot settings changed, they take effect at the next start");
      needsRestart = needed;
    },
    status: (current) => ({
      digest: current?.digest ?? "",
      generation: current?.generation ?? 0,
      loadedAt,
      slices,
      ...(lastError ? { lastError } : {}),
      restartNeeded: needsRestart,
      reloads: { ok, failed: refused },
    }),
  };
  return report;

  function warn(lines: readonly string[]): void {
    for (const line of lines) if (!warned.has(line)) log.warn({ problem: line }, "configuration warning");
    warned = new Set(lines);
  }
}

/** Adds problems found after validation (a secret that cannot be read) to the slice they are in. */
function withProblems(slice: SliceStatus, problems: readonly Problem[]): SliceStatus {
  const added = problems.filter((problem) => problem.file === slice.file && !slice.problems.includes(problem));
  if (added.length === 0) return slice;
  const known = new Set(slice.problems.map(formatProblem));
  const fresh = added.filter((problem) => !known.has(formatProblem(problem)));
  return { ...slice, ok: false, problems: [...slice.problems, ...fresh] };
}
