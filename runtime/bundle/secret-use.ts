/**
 * Since when and until when a shared secret was the current one of some process: what was made meanwhile, and is with
 * browsers and clients, needs it.
 *
 * Who seals with one that this process does not have is told of in the log: what that process makes is worth nothing here.
 *
 * A record is written at the start, each minute, and at the end; a process that is killed may have used the secret for
 * `USE_EVERY_SECONDS` longer than stands there.
 */
import { epochSeconds, type Closable, type Clock } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { firstFormats } from "../store/formats.ts";
import type { Store } from "../store/store.ts";
import { readPresence } from "./presence.ts";
import { task } from "../shared/faults/guard.ts";

export const SECRET_FORMATS = firstFormats(["shared-secret"]);

/** `shared-secret:<id>` */
export interface SecretUse {
  readonly id: string;
  /** Epoch seconds. */
  readonly since: number;
  readonly until: number;
}

export interface SecretUseDeps {
  readonly store: Store;
  /** Ids of the shared secrets, current first. */
  readonly ids: readonly [string, ...string[]];
  readonly clock: Clock;
  readonly log: Log;
}

export const SECRET_TAG = "shared-secrets";
export const USE_EVERY_SECONDS = 60;
/** Longer than anything that is sealed is good for. */
const KEPT_SECONDS = 400 * 24 * 3600;

export function secretKey(id: string): string {
  return `shared-secret:${id}`;
}

/** Resolves when the use is written, or could not be. */
export async function startSecretUse({ store, ids, clock, log }: SecretUseDeps): Promise<Closable> {
  const [id] = ids;
  const told = new Set<string>();
  let writing = write();
  await writing;
  const timer = setInterval(
    task("the note of which secret is in use", () => (writing = writing.then(write))),
    USE_EVERY_SECONDS * 1000,
  );
  timer.unref();
  return {
    async close() {
      clearInterval(timer);
      await writing;
      await write();
    },
  };

  async function write(): Promise<void> {
    try {
      const now = epochSeconds(clock);
      const before = (await store.get<SecretUse>(secretKey(id)))?.value;
      // Whoever is last may have a clock that is behind.
      const use: SecretUse = { id, since: before?.since ?? now, until: Math.max(now, before?.until ?? 0) };
      await store.put(secretKey(id), use, { tags: [SECRET_TAG], expiresAt: now + KEPT_SECONDS });
      await compare();
    } catch (error) {
      log.debug({ reason: errorText(error) }, "cannot write use of shared secret");
    }
  }

  async function compare(): Promise<void> {
    for (const row of await readPresence(store)) {
      const secret = row.secrets?.[0];
      if (secret === undefined || ids.includes(secret) || told.has(secret)) continue;
      told.add(secret);
      log.warn({ secret, process: row.id }, "shared secret of another process missing here");
    }
  }
}
