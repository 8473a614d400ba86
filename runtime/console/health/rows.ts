/** Rows from the reports of processes: certificates, providers, the store, destinations of records and events. */
import type { CertificateReport, ProcessReport } from "../../health/process-report.ts";
import type { StateRow } from "../../pages/console/health/health.ts";
import { consoleTime, type Tone } from "../../pages/console/pieces.ts";
import { html, type Html } from "../../pages/html.ts";
import { showUntrusted } from "../show-untrusted.ts";
import type { HealthFacts } from "./facts.ts";
import { certificateNames, lengthOf } from "./problems-outside.ts";

type Reports = readonly ProcessReport[];

const MAX_ROWS = 200;

/** The earliest expiry first. */
export function certificateRows(reports: Reports, now: number): readonly StateRow[] {
  const all = reports.flatMap(({ certificates }) => certificates);
  const groups = Map.groupBy(all, ({ listener, owner, names, ends }) => JSON.stringify([listener, owner, names, ends]));
  return [...groups.values()]
    .map(([first]) => first as CertificateReport)
    .toSorted((a, b) => a.ends - b.ends)
    .slice(0, MAX_ROWS)
    .map((certificate) => ({
      tone: TONES[certificate.time],
      name: certificateNames(certificate),
      text: [
        `${certificate.listener} listener`,
        certificate.owner !== undefined && showUntrusted(certificate.owner),
        certificate.isAutomatic === true && "automatic",
        html`${certificate.time === "ended" ? "expired" : "expires"} ${consoleTime(certificate.ends * 1000, "minute")}`,
      ],
      state: leftOf(certificate, now),
    }));
}

const TONES: Readonly<Record<CertificateReport["time"], Tone>> = {
  good: "good",
  ending: "warn",
  ended: "bad",
  "not-yet": "bad",
};

function leftOf({ time, ends }: CertificateReport, now: number): string {
  if (time === "not-yet") return "Not valid yet";
  return time === "ended" ? "Expired" : lengthOf(ends - now);
}

/** @param now epoch seconds */
export function dependencyRows(facts: HealthFacts): readonly StateRow[] {
  const { reports, scope } = facts;
  // The store belongs to no owner; reports omit the others.
  const store = scope.isWhole ? [storeRow(facts)] : [];
  return [...providerRows(reports), ...store, ...destinationRows(facts), ...refreshRows(reports)].slice(0, MAX_ROWS);
}

/** As it went with the process that asked last. */
function providerRows(reports: Reports): readonly StateRow[] {
  const all = reports.flatMap(({ providers }) => providers);
  return [...Map.groupBy(all, ({ name }) => name).values()].map((same) => {
    const { name, at, problem } = same.reduce((a, b) => (b.at > a.at ? b : a));
    return {
      tone: problem === undefined ? "good" : "bad",
      name: `Identity provider ${showUntrusted(name)}`,
      text: [problem !== undefined && showUntrusted(problem, 400), timeText("last checked", at * 1000)],
      state: problem === undefined ? "OK" : "Failing",
    };
  });
}

function storeRow({ isAlone, reports, nameOf }: HealthFacts): StateRow {
  const away = reports.filter(({ storeAnswers }) => !storeAnswers);
  const readOnly = reports.filter(({ storeIsReadOnly }) => storeIsReadOnly === true);
  const name = "Store";
  if (isAlone) return { tone: "bad", name, text: ["Unreachable from this process"], state: "Failing" };
  if (away.length > 0) {
    const text = `Unreachable from ${away.map(({ id }) => nameOf(id)).join(", ")}`;
    return { tone: "bad", name, text: [text], state: "Failing" };
  }
  return readOnly.length > 0
    ? { tone: "bad", name, text: ["Accepts no writes"], state: "Read-only" }
    : { tone: "good", name, text: ["Reachable, accepts writes"], state: "OK" };
}

/** The record store, sinks and the webhook, each as the sum of all processes. */
function destinationRows({ reports, nameOf }: HealthFacts): readonly StateRow[] {
  const seen = reports.flatMap((report) => report.records.map((status) => ({ id: report.id, status })));
  const records = [...Map.groupBy(seen, ({ status }) => `${status.kind} ${status.name}`).values()].map((same) => {
    const [{ status: first }] = same as [(typeof seen)[number]];
    const away = same.filter(({ status }) => status.isAway);
    const lost = same.reduce((sum, { status }) => sum + status.lost, 0);
    const failed = same.find(({ status }) => status.lastError !== undefined)?.status.lastError;
    const last = Math.max(...same.map(({ status }) => status.lastSuccessAt ?? 0));
    return {
      ...(away.length > 0 ? FAILING : lost > 0 ? LOST : OK),
      name: first.kind === "record_store" ? "Record store" : `${showUntrusted(first.name)} (${first.kind})`,
      text: [
        `${same.reduce((sum, { status }) => sum + status.waiting, 0)} queued, ${lost} dropped`,
        away.length > 0 && failed !== undefined && showUntrusted(failed, 400),
        away.length > 0 && away.length < same.length && `reported by ${away.map(({ id }) => nameOf(id)).join(", ")}`,
        last > 0 && timeText("last", last),
      ],
    };
  });
  return [...records, ...reports.flatMap(({ id, webhook }) => (webhook ? [webhookRow(webhook, nameOf(id))] : []))];
}

const OK = { tone: "good", state: "OK" } as const;
const FAILING = { tone: "bad", state: "Failing" } as const;
const LOST = { tone: "warn", state: "Dropped" } as const;

function webhookRow(webhook: NonNullable<ProcessReport["webhook"]>, where: string): StateRow {
  const { host, waiting, dropped, given_up: givenUp, last_sent_at: sentAt, last_failure: failure } = webhook;
  const isFailing = failure !== null && failure.at > (sentAt ?? 0);
  const lost = dropped + givenUp;
  return {
    ...(isFailing ? FAILING : lost > 0 ? LOST : OK),
    name: `Webhook (${showUntrusted(host)})`,
    text: [
      `${waiting} queued, ${lost} dropped`,
      isFailing && showUntrusted(failure.reason, 400),
      where,
      sentAt !== null && timeText("last", sentAt * 1000),
    ],
  };
}

/** Failed refreshes of tokens since the start of the processes, as sums of all of them. */
function refreshRows(reports: Reports): readonly StateRow[] {
  const all = reports.flatMap(({ refreshes }) => refreshes);
  return [...Map.groupBy(all, ({ of, result }) => `${of} ${result}`).values()].map((same) => {
    const latest = same.reduce((a, b) => (b.lastAt > a.lastAt ? b : a));
    const count = same.reduce((sum, each) => sum + each.count, 0);
    return {
      tone: "quiet",
      name: latest.of === "identity" ? "Refreshes of user tokens" : "Refreshes of upstream tokens",
      text: [
        latest.result === "refused" ? "rejected by the server" : "server unreachable",
        latest.route !== undefined && `last on ${showUntrusted(latest.route)}`,
        timeText("last", latest.lastAt * 1000),
      ],
      state: `${count} failed`,
    };
  });
}

function timeText(label: string, timeMs: number): Html {
  return html`${label} ${consoleTime(timeMs)}`;
}
