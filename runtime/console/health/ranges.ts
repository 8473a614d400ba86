/** Time ranges of charts, as addresses and pages name them. */
import type { Tier } from "../../health/tiers.ts";

/** merged: how many steps are one column, so that the page stays small. */
export const RANGES = {
  "1h": { name: "1 hour", step: "per minute", merged: 1 },
  "6h": { name: "6 hours", step: "per 5 minutes", merged: 1 },
  "48h": { name: "2 days", step: "per hour", merged: 2 },
} as const satisfies Readonly<Record<Tier["name"], { name: string; step: string; merged: number }>>;
