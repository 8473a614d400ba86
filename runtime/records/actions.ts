/**
 * Administrative actions on their way into the audit. Commands and the supervisor perform them, but write no records:
 * so actions wait in the store until a gateway has written them, at least once.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import { type AdminAction, formatAction } from "../audit/action-record.ts";
import type { RecordWriter } from "../audit/record-writer.ts";
import { type Clock, type Closable, epochSeconds } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import type { Store } from "../store/store.ts";
import { recur } from "../shared/timing/recurring.ts";

interface ActionRow {
  /** Milliseconds since the epoch. */
  readonly timeMs: number;
  readonly action: AdminAction;
}

const TAG = "audit-actions";
/** Feed that signals pending actions. */
export const ACTIONS_FEED = "audit-actions";
const FEED_ENTRY_SECONDS = 60;
const LEASE_MS = 10_000;
/** In case a hint was missed, or another process failed. */
const LOOK_EVERY_MS = 15_000;
const CLOSE_MS = 1_000;

/** @returns the ID of its record @throws GatewayError `store.unavailable` */
export async function queueAction(
  { store, clock }: { readonly store: Store; readonly clock: Clock },
  action: AdminAction,
): Promise<string> {
  const timeMs = clock.now();
  const row: ActionRow = { timeMs, action };
  // IDs sort in the order in which they are listed.
  const id = `${String(timeMs).padStart(15, "0")}-${randomUUID()}`;
  await store.put(`audit-action:${id}`, row, { tags: [TAG] });
  await store.append(ACTIONS_FEED, {}, epochSeconds(clock) + FEED_ENTRY_SECONDS);
  return id;
}

/** Writes pending actions, now and whenever new ones arrive. */
export function startActions(deps: {
  readonly store: Store;
  readonly records: Pick<RecordWriter, "write" | "flush">;
  readonly log: Log;
}): Closable {
  const { store, records, log } = deps;
  let running: Promise<void> | undefined;
  let isAgain = false;
  let isClosed = false;

  function look(): void {
    if (isClosed) return;
    isAgain = running !== undefined;
    running ??= drain().then(() => {
      running = undefined;
      if (isAgain) look();
    });
  }

  async function drain(): Promise<void> {
    try {
      if ((await store.list(TAG)).length === 0) return;
      const lease = await store.lease(TAG, LEASE_MS);
      if (!lease) return;
      try {
        await writeWaiting();
      } finally {
        await lease.release();
      }
    } catch (error) {
      log.warn({ reason: errorText(error) }, "cannot record administrative actions, retrying");
    }
  }

  async function writeWaiting(): Promise<void> {
    const waiting = await store.list<ActionRow>(TAG);
    const written: string[] = [];
    for (const { key, value } of waiting) {
      const line = lineOf(key, value);
      if (line === undefined) continue;
      await records.write(line);
      written.push(key);
    }
    await records.flush();
    for (const key of written) await store.delete(key);
  }

  /** @returns undefined when the row cannot be read: it stays, and does not block others */
  function lineOf(key: string, { timeMs, action }: ActionRow): string | undefined {
    try {
      return formatAction(timeMs, key.slice("audit-action:".length), action);
    } catch (error) {
      log.warn({ reason: errorText(error) }, "cannot record administrative actions, retrying");
      return undefined;
    }
  }

  const stopTimer = recur("check of administrative actions", LOOK_EVERY_MS, look);
  const unsubscribe = store.onAppend(ACTIONS_FEED, look);
  look();
  return {
    async close() {
      stopTimer();
      unsubscribe();
      isClosed = true;
      // This would never finish while the disk is unavailable; the next process records the rest.
      await Promise.race([running, delay(CLOSE_MS, undefined, { ref: false })]);
    },
  };
}
