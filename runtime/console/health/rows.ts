/** Rows from the reports of processes: upstreams, certificates, providers, destinations of records and events. */
import type {
  CertificateRow,
  HealthParts,
  ProviderRow,
  ReceiverRow,
  RefreshRow,
  UpstreamRow,
} from "../../pages/console/health/health.ts";
import type { Tone } from "../../pages/console/pieces.ts";
import type { CertificateReport, ProcessReport } from "../../health/process-report.ts";
import { showUntrusted } from "../show-untrusted.ts";
import { certificateNames, lengthOf } from "./problems-outside.ts";

type Reports = readonly ProcessReport[];
type NameOf = (id: string) => string;

const MAX_ROWS = 200;

/** Each upstream once, with those who see it so. */
export function upstreamRows(reports: Reports, nameOf: NameOf): Pick<HealthParts, "upstreams" | "moreUpstreams"> {
  const seen = reports.flatMap(({ id, upstreams }) => upstreams.shown.map((status) => ({ id, status })));
  const groups = [...Map.groupBy(seen, ({ status: s }) => JSON.stringify([s.route, s.upstream, s.healthy])).values()];
  const rows = groups.map((same): UpstreamRow => {
    const { route, upstream, healthy, checks, ejections } = (same[0] as (typeof seen)[number]).status;
    const reasons = checks.flatMap(({ kind, last_error: error }) =>
      error === "" ? [] : `${kind}: ${showUntrusted(error)}`,
    );
    const ejected = ejections > 0 ? [`ejected ${ejections} times for failed responses`] : [];
    return {
      route: showUntrusted(route),
      upstream: showUntrusted(upstream),
      state: healthy ? ["good", "available"] : ["bad", "unavailable"],
      why: [...reasons, ...ejected].join("; "),
      where: same.length === reports.length ? "all" : same.map(({ id }) => nameOf(id)).join(", "),
    };
  });
  const isAway = ({ state: [tone] }: UpstreamRow): boolean => tone === "bad";
  const sorted = [...rows.filter(isAway), ...rows.filter((row) => !isAway(row))];
  const most = reports.reduce((max, { upstreams: { known, shown } }) => Math.max(max, known - shown.length), 0);
  return { upstreams: sorted.slice(0, MAX_ROWS), moreUpstreams: most + Math.max(0, rows.length - MAX_ROWS) };
}

export function certificateRows(reports: Reports, now: number): readonly CertificateRow[] {
  const all = reports.flatMap(({ certificates }) => certificates);
  const groups = Map.groupBy(all, ({ listener, owner, names, ends }) => JSON.stringify([listener, owner, names, ends]));
  return [...groups.values()]
    .map(([first]) => first as CertificateReport)
    .toSorted((a, b) => a.ends - b.ends)
    .slice(0, MAX_ROWS)
    .map((certificate) => ({
      names: certificateNames(certificate),
      listener: certificate.listener,
      owner: certificate.owner === undefined ? "" : showUntrusted(certificate.owner),
      ends: certificate.ends * 1000,
      left: leftOf(certificate, now),
    }));
}

const TONES: Readonly<Record<CertificateReport["time"], Tone>> = {
  good: "good",
  ending: "warn",
  ended: "bad",
  "not-yet": "bad",
};

function leftOf({ time, ends }: CertificateReport, now: number): CertificateRow["left"] {
  if (time === "not-yet") return [TONES[time], "is not valid yet"];
  return [TONES[time], time === "ended" ? "ended" : lengthOf(ends - now)];
}

/** Sums of all processes. */
export function refreshRows(reports: Reports): readonly RefreshRow[] {
  const all = reports.flatMap(({ refreshes }) => refreshes);
  return [...Map.groupBy(all, ({ of, result }) => `${of} ${result}`).values()].map((same) => {
    const latest = same.reduce((a, b) => (b.lastAt > a.lastAt ? b : a));
    return {
      of: latest.of === "identity" ? "people's, at the identity provider" : "upstreams', at their servers",
      result: latest.result === "refused" ? "refused" : "could not be asked",
      count: same.reduce((sum, { count }) => sum + count, 0),
      lastAt: latest.lastAt,
      route: latest.route === undefined ? "" : showUntrusted(latest.route),
    };
  });
}

/** As it went with the process that asked last. */
export function providerRows(reports: Reports): readonly ProviderRow[] {
  const all = reports.flatMap(({ providers }) => providers);
  return [...Map.groupBy(all, ({ name }) => name).values()].map((same) => {
    const { name, at, problem } = same.reduce((a, b) => (b.at > a.at ? b : a));
    return {
      name: showUntrusted(name),
      state: problem === undefined ? ["good", "answers"] : ["bad", "does not answer"],
      askedAt: at,
      why: problem === undefined ? "" : showUntrusted(problem, 400),
    };
  });
}

export function receiverRows(reports: Reports, nameOf: NameOf): readonly ReceiverRow[] {
  const rows = reports.flatMap(({ id, records, webhook }): readonly ReceiverRow[] => [
    ...records.map((each): ReceiverRow => ({
      name: each.kind === "record_store" ? "record store" : `${showUntrusted(each.name)} (${each.kind})`,
      state: each.isAway ? ["bad", "unavailable"] : ["good", "accepts records"],
      where: nameOf(id),
      waiting: each.waiting,
      lost: each.lost,
      lastError: each.lastError === undefined ? "" : showUntrusted(each.lastError, 400),
      ...(each.lastSuccessAt !== undefined && { lastSuccessAt: each.lastSuccessAt }),
    })),
    ...(webhook ? [webhookRow(webhook, nameOf(id))] : []),
  ]);
  return rows.slice(0, MAX_ROWS);
}

function webhookRow(webhook: NonNullable<ProcessReport["webhook"]>, where: string): ReceiverRow {
  const { host, waiting, dropped, given_up: givenUp, last_sent_at: sentAt, last_failure: failure } = webhook;
  const isFailing = failure !== null && failure.at > (sentAt ?? 0);
  return {
    name: `webhook (${showUntrusted(host)})`,
    state: isFailing ? ["bad", "unavailable"] : ["good", "accepts events"],
    where,
    waiting,
    lost: dropped + givenUp,
    lastError: failure === null ? "" : showUntrusted(failure.reason, 400),
    ...(sentAt !== null && { lastSuccessAt: sentAt * 1000 }),
  };
}
