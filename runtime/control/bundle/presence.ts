/**
 * A sign of life of this process in the store, with what it has in force: by it a publisher knows that a change is live.
 *
 * The record ends by itself soon after the process does, so that nobody waits for the dead.
 */
import { hostname } from "node:os";

import { errorText } from "../../shared/errors.ts";
import { randomSecret } from "../../shared/keys.ts";
import type { Log } from "../../shared/log.ts";
import { epochSeconds, type Closable, type Clock } from "../../shared/clock.ts";
import type { Store } from "../../store/store.ts";
import type { Bundle } from "./bundle.ts";
import { publishedName } from "./validation/protocol.ts";
import type { DegradedStatus } from "./report.ts";

export interface PresenceRow {
  readonly id: string;
  /** Of the snapshot in force. */
  readonly digest: string;
  /** Generation of the publication in force; 0 when nothing was ever published. */
  readonly published: number;
  /** A later generation that this process could not put in force. */
  readonly refused?: { readonly generation: number; readonly problems: readonly string[] };
  /** Owners whose published slice is not what this process serves. */
  readonly degraded?: readonly { readonly owner: string; readonly problems: readonly string[] }[];
  /** Ids of its shared secrets, current first; absent without one, and in what older programs write. */
  readonly secrets?: readonly string[];
  /** Epoch seconds. */
  readonly seen: number;
}

export interface PresenceDeps {
  readonly store: Store;
  /** Of this process; unique among all that share the store. */
  readonly id: string;
  readonly bundle: Pick<Bundle, "status" | "onReport">;
  /** Ids of the shared secrets, current first; absent without one. */
  readonly secrets?: readonly string[] | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export const PRESENCE_TAG = "status";
const BEAT_EVERY_MS = 2_000;
/** Two beats may be lost before whoever publishes waits no longer for a process. */
export const SILENT_AFTER_MS = 5_000;
/** For everybody else it is there for longer: a store that was away for a moment has lost nobody. */
const EXPIRES_AFTER_SECONDS = 20;
/** What an operator needs to see why; the rest is in that process's log. */
const MAX_PROBLEMS = 5;
const MAX_EXPLAINED = 50;

/** Those that showed a sign of life of late. @throws GatewayError `store.unavailable` */
export async function readPresence(store: Pick<Store, "list">): Promise<readonly PresenceRow[]> {
  return (await store.list<PresenceRow>(PRESENCE_TAG)).map(({ value }) => value);
}

export function presenceKey(id: string): string {
  return `status:${id}`;
}

/** A name for this process that no other one has, and that tells an operator where it runs. */
export function processName(): string {
  return `${hostname()}-${process.pid}-${randomSecret(3)}`;
}

/** Resolves when the first sign of life is written, or could not be. */
export async function startPresence({ store, id, bundle, secrets, clock, log }: PresenceDeps): Promise<Closable> {
  let closed = false;
  let writing = Promise.resolve();
  let queued = false;
  const unsubscribe = bundle.onReport(() => void beat());
  const timer = setInterval(() => void beat(), BEAT_EVERY_MS);
  timer.unref();
  await beat();

  return {
    async close() {
      closed = true;
      unsubscribe();
      clearInterval(timer);
      await writing;
      // Else publishers would wait for us until the record ends by itself.
      await store.delete(presenceKey(id)).catch(() => false);
    },
  };

  /** One write at a time; what happens during a write is in the next one. */
  function beat(): Promise<void> {
    if (queued) return writing;
    queued = true;
    return (writing = writing.then(async () => {
      queued = false;
      if (closed) return;
      try {
        await store.put(presenceKey(id), row(), {
          tags: [PRESENCE_TAG],
          expiresAt: nowSeconds() + EXPIRES_AFTER_SECONDS,
        });
      } catch (error) {
        log.debug({ reason: errorText(error) }, "sign of life not written");
      }
    }));
  }

  function row(): PresenceRow {
    const { digest, published, lastError, degraded } = bundle.status();
    const common = { id, digest, ...(secrets && { secrets }), seen: nowSeconds(), ...behind(degraded) };
    if (!published) return { ...common, published: 0 };
    const { generation, inForce } = published;
    if (!lastError || lastError.partial || generation <= inForce) return { ...common, published: inForce };
    const problems = lastError.problems.slice(0, MAX_PROBLEMS);
    return { ...common, published: inForce, refused: { generation, problems } };
  }

  function nowSeconds(): number {
    return epochSeconds(clock);
  }
}

/** Those of published slices, for whom publishers ask; of the first few with their reasons. */
function behind(degraded: readonly DegradedStatus[]): Pick<PresenceRow, "degraded"> {
  const published = degraded.filter(({ owner, files, late }) => late !== true && files.includes(publishedName(owner)));
  if (published.length === 0) return {};
  const reasons = (problems: readonly string[], index: number): readonly string[] =>
    index < MAX_EXPLAINED ? problems.slice(0, MAX_PROBLEMS) : [];
  return { degraded: published.map(({ owner, problems }, index) => ({ owner, problems: reasons(problems, index) })) };
}
