/** When a certificate ends, reported in time and always in the same words until that changes. */
import type { X509Certificate } from "node:crypto";

const DAY_MS = 86_400_000;
/** Renewals come a third of the lifetime before the end: who has less than a fifth left was forgotten. */
const LONGEST_NOTICE_MS = 14 * DAY_MS;
const SHARE = 5;

/** @returns undefined while all is well */
export function expiryWarning(leaf: X509Certificate, nowMs: number): string | undefined {
  const [from, to] = [Date.parse(leaf.validFrom), Date.parse(leaf.validTo)];
  if (nowMs >= to) return `ended ${new Date(to).toISOString()}`;
  if (nowMs < from) return `begins ${new Date(from).toISOString()}, which is not yet`;
  const notice = Math.min(LONGEST_NOTICE_MS, (to - from) / SHARE);
  return to - nowMs < notice ? `ends ${new Date(to).toISOString()}, and was not renewed yet` : undefined;
}
