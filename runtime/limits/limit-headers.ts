/**
 * Header fields of a refusal by `rate_limits`. Answers that pass have none of ours: the upstream's own pass unchanged, and
 * nobody could tell which of two are meant.
 *
 * @see draft-ietf-httpapi-ratelimit-headers-11
 */
import type { RateLimit } from "../features/limits/compiled.ts";
import type { OverLimit } from "./rate-limits.ts";

/** Flat: name, value, … Without a partition key, which would tell one caller of another. */
export function limitHeaders({ limit, limits, retryAfterMs }: OverLimit): readonly string[] {
  const seconds = retryAfterSeconds(retryAfterMs);
  const until = limit.windowMs === undefined ? "" : `;t=${seconds}`;
  return [
    "ratelimit-policy",
    limits.map(policyItem).join(", "),
    "ratelimit",
    `"${limit.name}";r=0${until}`,
    "retry-after",
    String(seconds),
  ];
}

export function retryAfterSeconds(retryAfterMs: number): number {
  // Not the millisecond that a slot has on top.
  return Math.max(1, Math.ceil((retryAfterMs - 1) / 1000));
}

/** Names have no character that would have to be escaped. */
function policyItem({ name, most, windowMs }: RateLimit): string {
  return windowMs === undefined
    ? `"${name}";q=${most};qu="concurrency"`
    : `"${name}";q=${most};w=${Math.ceil(windowMs / 1000)}`;
}
