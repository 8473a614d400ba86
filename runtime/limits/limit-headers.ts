/**
 * Header fields of a refusal by `rate_limits`. Allowed responses get none: the upstream's own pass unchanged, and two
 * sets would be ambiguous.
 *
 * @see draft-ietf-httpapi-ratelimit-headers-11
 */
import type { RateLimit } from "../features/limits/compiled.ts";
import type { OverLimit } from "./rate-limits.ts";

/** Flat: name, value, … Without a partition key, which would reveal one caller to another. */
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
  // Without the extra millisecond of a slot.
  return Math.max(1, Math.ceil((retryAfterMs - 1) / 1000));
}

/** Names contain no character that must be escaped. */
function policyItem({ name, most, windowMs }: RateLimit): string {
  return windowMs === undefined
    ? `"${name}";q=${most};qu="concurrency"`
    : `"${name}";q=${most};w=${Math.ceil(windowMs / 1000)}`;
}
