/** Several processes with `rate_limits` over one store, in one: time moves when a test says so. */
import { type LimitFacts, RateLimits } from "../../../runtime/limits/rate-limits.ts";
import type { CompiledRoute } from "../../../runtime/config/compiled.ts";
import type { Snapshot } from "../../../runtime/config/snapshot.ts";
import { compileRateLimits } from "../../../runtime/features/limits/compile.ts";
import type { LimitsDoc } from "../../../runtime/features/limits/settings.ts";
import type { Clock } from "../../../runtime/shared/clock.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { createMemoryStore } from "../../../runtime/store/memory.ts";
import type { Store } from "../../../runtime/store/store.ts";
import { createTestClock, type TestClock } from "../../support/clock.ts";

export type LimitDoc = NonNullable<LimitsDoc["rate_limits"]>[number];

export interface LimitWorld {
  readonly clock: TestClock;
  readonly processes: readonly RateLimits[];
  readonly route: CompiledRoute;
  /** Puts other limits in force. */
  change(limits: readonly LimitDoc[]): void;
  close(): Promise<void>;
}

/** The rest of a route is nobody's business here. */
export function limitedRoute(limits: readonly LimitDoc[]): CompiledRoute {
  return {
    key: "default:app",
    rateLimits: compileRateLimits({ rate_limits: [...limits] }),
  } as unknown as CompiledRoute;
}

export function limitWorld(
  limits: readonly LimitDoc[],
  options: {
    readonly processes?: number /** One for all, or handles on one for each in turn. */;
    readonly store?: Store | readonly Store[];
    readonly clock?: TestClock;
    readonly longestWaitMs?: number;
  } = {},
): LimitWorld {
  const { processes: many = 1, clock = createTestClock(), longestWaitMs = 60_000 } = options;
  const stores = [options.store ?? createMemoryStore({ clock })].flat();
  let route = limitedRoute(limits);
  const listeners = new Set<(next: Snapshot) => void>();
  const snapshot = (): Snapshot => ({ routes: [route] }) as unknown as Snapshot;
  const processes = Array.from({ length: many }, (_, index) =>
    startLimits(stores[index % stores.length] as Store, { clock, many, snapshot, listeners, longestWaitMs }),
  );
  return {
    clock,
    processes,
    get route() {
      return route;
    },
    change(next) {
      route = limitedRoute(next);
      for (const listener of listeners) listener(snapshot());
    },
    close: async () => void (await Promise.all(processes.map((each) => each.close()))),
  };
}

interface Around {
  readonly clock: Clock;
  readonly many: number;
  readonly snapshot: () => Snapshot;
  readonly listeners: Set<(next: Snapshot) => void>;
  readonly longestWaitMs: number;
}

function startLimits(store: Store, { clock, many, snapshot, listeners, longestWaitMs }: Around): RateLimits {
  const snapshots = {
    current: snapshot,
    subscribe(listener: (next: Snapshot) => void) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
  return new RateLimits({
    store,
    clock,
    snapshots,
    log: silentLog(),
    longestWaitMs,
    countProcesses: async () => many,
  });
}

export const alice: LimitFacts = { user: "alice", client: "editor", tool: undefined };
export const bob: LimitFacts = { ...alice, user: "bob" };

/** Lets every answer of a store in memory arrive. */
export const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
