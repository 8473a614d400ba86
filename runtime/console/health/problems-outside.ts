/** What is wrong with those around the gateway: upstreams, certificates, token endpoints, who gets records and events. */
import type { CertificateReport, ProcessReport } from "../../health/process-report.ts";
import { addressOfId } from "../addresses.ts";
import { showUntrusted } from "../show-untrusted.ts";
import type { FoundProblem } from "./found.ts";

const DAY_SECONDS = 86_400;
/** How long after it a failed refresh is still news. */
const LATELY_SECONDS = 900;

export function upstreamProblems(of: ProcessReport): readonly FoundProblem[] {
  const byRoute = Map.groupBy(of.upstreams.shown, ({ route }) => route);
  return [...byRoute].flatMap(([route, upstreams]): readonly FoundProblem[] => {
    const away = upstreams.filter(({ healthy }) => !healthy);
    if (away.length === 0) return [];
    const isAll = away.length === upstreams.length;
    return [
      {
        tone: isAll ? "bad" : "warn",
        text: isAll
          ? `No upstream of ${showUntrusted(route)} takes requests`
          : `${away.length} of ${upstreams.length} upstreams of ${showUntrusted(route)} ${away.length === 1 ? "takes" : "take"} no requests`,
        details: away.map(({ upstream, checks }) => {
          const reasons = checks.flatMap(({ last_error: error }) => (error === "" ? [] : showUntrusted(error)));
          return [showUntrusted(upstream), ...reasons].join(": ");
        }),
        advice: isAll ? "Requests fail until one is back." : "The remaining upstreams take over.",
        read: "Log messages",
        of,
        href: addressOfId("servers", route),
      },
    ];
  });
}

export function certificateProblems(of: ProcessReport, now: number): readonly FoundProblem[] {
  return of.certificates
    .filter(({ time }) => time !== "good")
    .map((certificate) => ({
      tone: certificate.time === "ending" ? "warn" : "bad",
      text: `The certificate for ${certificateNames(certificate)} ${stateOf(certificate, now)}`,
      details: [],
      advice:
        certificate.isAutomatic === true
          ? "Its renewal fails. The previous certificate stays in use."
          : certificate.owner === undefined
            ? "Replace its files. They reload automatically."
            : `It came with the slice of ${showUntrusted(certificate.owner)}, who publishes a new one.`,
      read: "Log messages",
      of,
    }));
}

/** Automatic certificates. */
export function orderProblems(of: ProcessReport): readonly FoundProblem[] {
  if (!of.acme) return [];
  const { failing, paused, omitted } = of.acme;
  const read = "Automatic certificates";
  const found = failing.map(({ host, reason, ends }): FoundProblem => ({
    tone: ends === undefined ? "bad" : "warn",
    text:
      ends === undefined
        ? `No certificate for ${showUntrusted(host)}`
        : `The certificate for ${showUntrusted(host)} cannot be renewed`,
    details: [showUntrusted(reason, 400)],
    advice: ends === undefined ? "Clients cannot connect." : "The current certificate stays in use until it expires.",
    read,
    of,
  }));
  if (paused) {
    const text = "Orders of certificates are paused";
    const advice = "Current certificates stay in use. Orders continue automatically.";
    found.unshift({ tone: "warn", text, details: [showUntrusted(paused.reason, 400)], advice, read, of });
  }
  if (omitted > 0) {
    const text = `${omitted} hosts get no automatic certificate`;
    found.push({ tone: "warn", text, details: [], advice: "An owner gets at most 100, all owners 1,000.", read, of });
  }
  return found;
}

export function certificateNames({ names }: CertificateReport): string {
  return names.length === 0 ? "no name" : names.map((name) => showUntrusted(name)).join(", ");
}

/** "ended 3 days ago", "ends in 12 days". */
function stateOf({ time, ends }: CertificateReport, now: number): string {
  if (time === "not-yet") return "is not valid yet";
  return time === "ended" ? `ended ${lengthOf(now - ends)} ago` : `ends in ${lengthOf(ends - now)}`;
}

export function lengthOf(seconds: number): string {
  const [count, unit] =
    seconds >= DAY_SECONDS ? [Math.floor(seconds / DAY_SECONDS), "day"] : [Math.floor(seconds / 3600), "hour"];
  return `${count} ${unit}${count === 1 ? "" : "s"}`;
}

export function tokenProblems(of: ProcessReport, now: number): readonly FoundProblem[] {
  const providers = of.providers.flatMap(({ name, problem }): readonly FoundProblem[] => {
    if (problem === undefined) return [];
    const text = `Identity provider ${showUntrusted(name)} does not answer`;
    const advice = "New sign-ins fail. Existing sessions continue.";
    return [{ tone: "bad", text, details: [showUntrusted(problem, 400)], advice, read: "Troubleshoot", of }];
  });
  const refreshes = of.refreshes
    .filter(({ lastAt }) => now - lastAt < LATELY_SECONDS)
    .map(({ of: whose, result }): FoundProblem => {
      const what = whose === "identity" ? "user tokens" : "upstream tokens";
      const isRefused = result === "refused";
      const text = isRefused ? `Fresh ${what} were refused lately` : `Fresh ${what} could not be asked for lately`;
      const advice = isRefused
        ? "Affected users must sign in or reconnect. If there are many: check whether the client was changed at that server."
        : "Current tokens work until they expire. Check that this process reaches that server.";
      return { tone: isRefused ? "warn" : "bad", text, details: [], advice, read: "Metrics", of };
    });
  return [...providers, ...refreshes];
}

export function receiverProblems(of: ProcessReport): readonly FoundProblem[] {
  const records = of.records.flatMap(({ name, isAway, lost, lastError }): readonly FoundProblem[] => {
    if (!isAway && lost === 0) return [];
    const text = isAway ? `“${showUntrusted(name)}” takes no records` : `“${showUntrusted(name)}” has lost records`;
    const advice = isAway
      ? "Records queue until the spool is full, then they are dropped. The authorization log has all of them."
      : "The queue was full. The authorization log has all of them.";
    const details = lastError === undefined ? [] : [showUntrusted(lastError, 400)];
    return [{ tone: isAway ? "bad" : "warn", text, details, advice, read: "Log messages", of }];
  });
  const { webhook } = of;
  if (!webhook) return records;
  const failure = webhook.last_failure;
  const isFailing = failure !== null && failure.at > (webhook.last_sent_at ?? 0);
  if (!isFailing && webhook.dropped === 0 && webhook.given_up === 0) return records;
  const text = isFailing ? "The webhook endpoint rejects events" : "Webhook events dropped";
  const details = failure === null ? [] : [showUntrusted(failure.reason, 400)];
  const advice = `${webhook.waiting} queued. Each is retried for 24 hours.`;
  return [...records, { tone: "warn", text, details, advice, read: "Webhook notifications", of }];
}
