/** Whether a certificate is valid now, and whether its renewal is overdue. Pure. */
import type { X509Certificate } from "node:crypto";

const DAY_MS = 86_400_000;
/** Renewals happen a third of the lifetime before expiry: with less than a fifth left, renewal was forgotten. */
const LONGEST_NOTICE_MS = 14 * DAY_MS;
const SHARE = 5;

export type CertificateTime = "good" | "not-yet" | "ending" | "ended";

export function certificateTime(leaf: X509Certificate, nowMs: number): CertificateTime {
  const [from, to] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)];
  if (nowMs >= to) return "ended";
  if (nowMs < from) return "not-yet";
  return to - nowMs < Math.min(LONGEST_NOTICE_MS, (to - from) / SHARE) ? "ending" : "good";
}

/** Why clients reject it now, to follow "Cannot use …:"; undefined if they do not. */
export function timeProblem(leaf: X509Certificate, nowMs: number): string | undefined {
  const time = certificateTime(leaf, nowMs);
  if (time === "ended") return `it expired at ${new Date(leaf.validTo).toISOString()}`;
  return time === "not-yet" ? `it is not valid before ${new Date(leaf.validFrom).toISOString()}` : undefined;
}
