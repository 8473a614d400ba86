/** Compiles the limits of a route. */
import { withDefaults } from "../../settings/types/registry.ts";
import { accepted, parseDuration } from "../../settings/values.ts";
import type { RateLimit } from "./compiled.ts";
import { rateLimitShape, type LimitsDoc } from "./settings.ts";

/** @returns undefined if there are none */
export function compileRateLimits({ rate_limits: limits }: LimitsDoc): readonly RateLimit[] | undefined {
  if (limits === undefined || limits.length === 0) return undefined;
  return limits.map((written) => {
    const { name, requests, concurrency, per = [], tools } = written;
    const { window, without_store: withoutStore } = withDefaults(rateLimitShape, written);
    return {
      name,
      most: requests ?? concurrency ?? 0,
      windowMs: requests === undefined ? undefined : accepted(parseDuration(window)),
      perUser: per.includes("user"),
      perClient: per.includes("client"),
      perTool: per.includes("tool"),
      tools: tools && new Set(tools),
      countsAlone: withoutStore === "share",
    };
  });
}
