/** Report of one process to all others, as stored. Plain data of bounded size. */
import type { AcmeStatus } from "../acme/status.ts";
import type { ConsumerStatus } from "../audit/record-consumer.ts";
import type { UpstreamStatus } from "../features/balancing/apply-state.ts";
import type { CertificateTime } from "../features/listener/certificate-end.ts";
import type { WebhookStatus } from "../webhook/tally.ts";
import type { BundleStatus, DegradedStatus } from "../bundle/report.ts";

export interface ProcessReport {
  /** ID of the process; unique among all that share the store. A worker's ends in "/<number>". */
  readonly id: string;
  readonly version: string;
  readonly node: string;
  readonly host: string;
  /** Times are epoch seconds. */
  readonly startedAt: number;
  readonly seen: number;
  readonly draining: boolean;
  /** False: it did not respond to the last query of this process. */
  readonly storeAnswers: boolean;
  /** The store responds, and accepts no writes. */
  readonly storeIsReadOnly?: true;
  readonly configuration: ConfigurationReport;
  /** Providers, each with the result of its last metadata request. */
  readonly providers: readonly ProviderReport[];
  /** For the last whole minute; absent before its end. */
  readonly loopMs?: number;
  readonly memoryBytes: number;
  readonly openStreams: number;
  readonly connections: number;
  readonly upstreams: { readonly known: number; readonly away: number; readonly shown: readonly UpstreamStatus[] };
  /** Those that expire first. */
  readonly certificates: readonly CertificateReport[];
  /** Automatic certificates; absent: there are none. */
  readonly acme?: AcmeStatus;
  readonly refreshes: readonly RefreshReport[];
  readonly records: readonly ConsumerStatus[];
  readonly webhook?: WebhookStatus;
}

export interface ConfigurationReport {
  readonly digest: string;
  /** Number of configurations that this process has activated. */
  readonly generation: number;
  readonly loadedAt: number;
  readonly routes: number;
  readonly published?: { readonly generation: number; readonly inForce: number };
  readonly restartNeeded: boolean;
  /** The newest configuration is not active as a whole. */
  readonly lastError?: {
    readonly at: number;
    readonly isPartial: boolean;
    readonly problems: readonly string[];
    readonly more: number;
  };
  readonly degraded: readonly Omit<DegradedStatus, "files">[];
  readonly moreDegraded: number;
}

export interface ProviderReport {
  /** Name in policies: "default" is the first provider. */
  readonly name: string;
  readonly at: number;
  /** Absent: it responded. */
  readonly problem?: string;
}

export interface CertificateReport {
  readonly listener: "public" | "admin";
  /** From a slice of this owner; absent: from a file, or automatic. */
  readonly owner?: string;
  readonly isAutomatic?: true;
  readonly names: readonly string[];
  readonly ends: number;
  readonly time: CertificateTime;
}

export interface RefreshReport {
  readonly of: "identity" | "upstream";
  readonly result: "refused" | "unavailable";
  readonly count: number;
  readonly lastAt: number;
  /** Upstreams only: the route of the last failure. */
  readonly route?: string;
}

const MAX_TEXT = 400;
const MAX_PROBLEMS = 20;
const MAX_DEGRADED = 40;
const MAX_PROBLEMS_OF_ONE = 3;
const MAX_UPSTREAMS = 100;
const MAX_CERTIFICATES = 50;
const MAX_NAMES = 5;
const MAX_OTHERS = 32;

export function reportConfiguration(status: BundleStatus, routes: number): ConfigurationReport {
  const { digest, generation, loadedAt, published, restartNeeded, lastError, degraded } = status;
  return {
    digest,
    generation,
    loadedAt,
    routes,
    restartNeeded,
    ...(published && { published }),
    ...(lastError && {
      lastError: {
        at: lastError.at,
        isPartial: lastError.partial === true,
        ...cutList(lastError.problems, MAX_PROBLEMS),
      },
    }),
    degraded: degraded.slice(0, MAX_DEGRADED).map(({ owner, standing, since, problems }) => ({
      owner: cut(owner),
      standing,
      since,
      problems: problems.slice(0, MAX_PROBLEMS_OF_ONE).map(cut),
    })),
    moreDegraded: Math.max(0, degraded.length - MAX_DEGRADED),
  };
}

/** Errors before warnings: of many lines only the first are shown. */
function cutList(
  lines: readonly string[],
  max: number,
): { readonly problems: readonly string[]; readonly more: number } {
  const isWarning = (line: string): number => Number(line.includes(": warning: "));
  const sorted = lines.toSorted((a, b) => isWarning(a) - isWarning(b));
  return { problems: sorted.slice(0, max).map(cut), more: Math.max(0, lines.length - max) };
}

/** Unavailable ones first. */
export function reportUpstreams(all: readonly UpstreamStatus[]): ProcessReport["upstreams"] {
  const unavailable = all.filter(({ healthy }) => !healthy);
  const good = unavailable.length < MAX_UPSTREAMS ? all.filter(({ healthy }) => healthy) : [];
  const shown = [...unavailable, ...good].slice(0, MAX_UPSTREAMS).map((each) => ({
    ...each,
    upstream: cut(each.upstream),
    checks: each.checks.slice(0, 4).map((check) => ({ ...check, last_error: cut(check.last_error) })),
  }));
  return { known: all.length, away: unavailable.length, shown };
}

export function reportCertificates(all: readonly CertificateReport[]): readonly CertificateReport[] {
  return all
    .toSorted((a, b) => a.ends - b.ends)
    .slice(0, MAX_CERTIFICATES)
    .map((each) => ({ ...each, names: each.names.slice(0, MAX_NAMES).map(cut) }));
}

export function reportAcme(status: AcmeStatus): AcmeStatus {
  const failing = status.failing.slice(0, MAX_OTHERS).map((each) => ({ ...each, reason: cut(each.reason) }));
  return { ...status, failing, paused: status.paused && { ...status.paused, reason: cut(status.paused.reason) } };
}

export function reportRecords(all: readonly ConsumerStatus[]): readonly ConsumerStatus[] {
  return all
    .slice(0, MAX_OTHERS)
    .map((each) => (each.lastError === undefined ? each : { ...each, lastError: cut(each.lastError) }));
}

export function reportProviders(all: readonly ProviderReport[]): readonly ProviderReport[] {
  return all
    .slice(0, MAX_OTHERS)
    .map((each) => (each.problem === undefined ? each : { ...each, problem: cut(each.problem) }));
}

function cut(text: string): string {
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}…`.toWellFormed();
}
