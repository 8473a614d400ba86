/** Failures between this process and the servers it connects to, with the latest time: a few numbers. */
import { type Clock, epochSeconds, type TokenRefresh } from "../shared/clock.ts";
import type { ProviderReport, RefreshReport } from "./process-report.ts";

export interface Tally {
  /** Fresh tokens were requested from a token endpoint. */
  refreshed(refresh: TokenRefresh): void;
  /** A provider's metadata was requested. @param problem absent: it responded */
  provider(name: string, problem?: string): void;
  refreshes(): readonly RefreshReport[];
  providers(): readonly ProviderReport[];
}

export function createTally(clock: Clock): Tally {
  const refreshes = new Map<string, RefreshReport>();
  const providers = new Map<string, ProviderReport>();

  return {
    refreshed({ of, result: outcome, route }) {
      if (outcome === "ok") return;
      const result = outcome === "refused" || outcome === "unconfirmed" ? "refused" : "unavailable";
      const key = `${of} ${result}`;
      const count = (refreshes.get(key)?.count ?? 0) + 1;
      const lastAt = epochSeconds(clock);
      refreshes.set(key, { of, result, count, lastAt, ...(route !== undefined && { route }) });
    },
    provider(name, problem) {
      providers.set(name, { name, at: epochSeconds(clock), ...(problem !== undefined && { problem }) });
    },
    refreshes: () => [...refreshes.values()],
    providers: () => [...providers.values()],
  };
}
