/** The rows of processes, and how they are called. */
import type { ProcessRow } from "../../pages/console/health/health.ts";
import { shortMs } from "../../pages/console/charts/scale.ts";
import type { ProcessReport } from "../../health/process-report.ts";
import type { Processes } from "../../health/report-health.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { isSilent } from "./problems.ts";

export interface RowFacts {
  /** The first is this process. */
  readonly reports: readonly ProcessReport[];
  readonly others: Processes["others"];
  /** Epoch seconds. */
  readonly now: number;
  readonly nameOf: (id: string) => string;
}

const MAX_ROWS = 200;
const DIGEST_SHOWN = 12;

/** Host and worker; the whole ID if several processes would have the same name. */
export function processNames(all: readonly { readonly id: string }[]): (id: string) => string {
  const hosts = Map.groupBy(all, ({ id }) => shortName(id));
  return (id) => showUntrusted((hosts.get(shortName(id))?.length ?? 0) > 1 ? id : shortName(id), 80);
}

/** "host-pid-random/2" → "host, worker 2". */
function shortName(id: string): string {
  const [, host = id, worker] = /^(.*)-\d+-[\w-]{4}(?:\/(\d+))?$/.exec(id) ?? [];
  return worker === undefined ? host : `${host}, worker ${worker}`;
}

export function processRows({ reports, others, now, nameOf }: RowFacts): readonly ProcessRow[] {
  const told = reports.slice(0, MAX_ROWS).map((report, index): ProcessRow => {
    const { id, version, startedAt, configuration, loopMs, memoryBytes, openStreams, connections } = report;
    const { digest, published, loadedAt } = configuration;
    return {
      name: nameOf(id),
      isOwn: index === 0,
      states: [stateOf(report, now), ...configurationOf(report)],
      version: showUntrusted(version, 40),
      upSince: startedAt,
      digest: showUntrusted(digest.slice(0, DIGEST_SHOWN)),
      loadedAt,
      memory: `${Math.round(memoryBytes / 1_048_576)} MiB`,
      streams: openStreams,
      connections,
      ...(published && published.inForce > 0 && { published: `publication ${published.inForce}` }),
      ...(loopMs !== undefined && { loop: shortMs(loopMs) }),
    };
  });
  const rest = others.slice(0, MAX_ROWS).map(({ id, digest, published, refused, degraded = [] }): ProcessRow => {
    const isWhole = !refused && degraded.length === 0;
    const alive = ["quiet", "alive, no details"] as const;
    return {
      name: nameOf(id),
      isOwn: false,
      states: isWhole ? [alive] : [alive, ["bad", "out of date"]],
      version: "",
      digest: showUntrusted(digest.slice(0, DIGEST_SHOWN)),
      ...(published > 0 && { published: `publication ${published}` }),
    };
  });
  return [...told, ...rest];
}

type State = ProcessRow["states"][number];

function stateOf(report: ProcessReport, now: number): State {
  if (isSilent(report, now)) return ["bad", `silent for ${now - report.seen} s`];
  if (report.draining) return ["warn", "stopping"];
  if (!report.storeAnswers) return ["bad", "store unreachable"];
  return report.storeIsReadOnly === true ? ["bad", "store read-only"] : ["good", "serves"];
}

/** Nothing if it is up to date. */
function configurationOf({ configuration }: ProcessReport): readonly State[] {
  const { lastError, degraded, moreDegraded, restartNeeded } = configuration;
  if (lastError && !lastError.isPartial) return [["bad", "rejected, previous version active"]];
  const owners = degraded.length + moreDegraded;
  if (owners > 0) return [["bad", `${owners} ${owners === 1 ? "owner" : "owners"} out of date`]];
  return restartNeeded ? [["warn", "restart needed"]] : [];
}
