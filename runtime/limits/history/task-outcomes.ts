/**
 * Calls that became tasks: what they mark once their outcome is known, which any process may learn.
 *
 * Stored without names or arguments: rules, and digests of their keys.
 */
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { errorText } from "../../shared/errors.ts";
import { hashSecret } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import type { Store } from "../../store/store.ts";
import type { RouteHistory, HistoryKey } from "./plan.ts";
import type { StoreHistory } from "./store-history.ts";

export interface TaskOutcomes {
  keep(task: UserTask, outcomes: readonly HistoryKey[]): Promise<void>;
  /** The task has ended. */
  settle(route: RouteHistory, task: UserTask, hasSucceeded: boolean): Promise<void>;
}

export interface UserTask {
  /** The upstream's. */
  readonly id: string;
  /** The user who began it: upstreams can give tasks of two users the same ID. */
  readonly userId: string | undefined;
}

export interface TaskOutcomeDeps {
  readonly store: Pick<Store, "put" | "take">;
  readonly history: Pick<StoreHistory, "markDigest">;
  readonly clock: Clock;
  readonly log: Log;
}

/** Longer tasks mark nothing. */
const KEPT_SECONDS = 7 * 86_400;

type Stored = readonly (readonly [rule: string, digest: string])[];

export function createTaskOutcomes({ store, history, clock, log }: TaskOutcomeDeps): TaskOutcomes {
  const attempt = async (work: () => Promise<unknown>): Promise<void> => {
    try {
      await work();
    } catch (error) {
      // Nothing is marked, so a rule that requires the call denies.
      log.warn({ reason: errorText(error) }, "cannot remember the outcome of a task");
    }
  };
  return {
    keep: (task, outcomes) =>
      attempt(async () => {
        const [first] = outcomes;
        if (first === undefined) return;
        const value: Stored = outcomes.map(({ rule, text }) => [rule.name, hashSecret(text)]);
        await store.put(keyOf(first.route, task), value, { expiresAt: epochSeconds(clock) + KEPT_SECONDS });
      }),
    settle: ({ key, rules }, task, hasSucceeded) =>
      attempt(async () => {
        const found = await store.take<Stored>(keyOf(key, task));
        if (!hasSucceeded) return;
        for (const [name, digest] of found?.value ?? []) {
          const rule = rules.find((each) => each.name === name && each.effect.kind === "after");
          if (rule) await history.markDigest(rule, digest);
        }
      }),
  };
}

function keyOf(route: string, { id, userId = "" }: UserTask): string {
  return `history-task:${hashSecret(JSON.stringify([route, userId, id]))}`;
}
