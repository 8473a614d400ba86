/**
 * Records from when until when a shared secret was the current one of any process. Sealed values of that time are with
 * browsers and clients, and still need it.
 *
 * The log warns about a process that seals with a secret unknown to this one: its sealed values are invalid here.
 *
 * A record is written at start, each minute and at close. A killed process may have used the secret for up to
 * `USE_EVERY_SECONDS` longer than recorded.
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
export interface SharedSecretUse {
  readonly id: string;
  /** Epoch seconds. */
  readonly since: number;
  readonly until: number;
}

export interface SecretUseDeps {
  readonly store: Store;
  /** IDs of the shared secrets, current first. */
  readonly ids: readonly [string, ...string[]];
  readonly clock: Clock;
  readonly log: Log;
}

export const SECRET_TAG = "shared-secrets";
export const USE_EVERY_SECONDS = 60;
/** Longer than the lifetime of any sealed value. */
const KEPT_SECONDS = 400 * 24 * 3600;

export function secretKey(id: string): string {
  return `shared-secret:${id}`;
}

/** Resolves after the use was written, or could not be. */
export async function startSecretUse({ store, ids, clock, log }: SecretUseDeps): Promise<Closable> {
  const [id] = ids;
  const reported = new Set<string>();
  let writing = write();
  await writing;
  const timer = setInterval(
    task("record of the secret in use", () => (writing = writing.then(write))),
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
      const before = (await store.get<SharedSecretUse>(secretKey(id)))?.value;
      // The last writer's clock may be behind.
      const use: SharedSecretUse = { id, since: before?.since ?? now, until: Math.max(now, before?.until ?? 0) };
      await store.put(secretKey(id), use, { tags: [SECRET_TAG], expiresAt: now + KEPT_SECONDS });
      await compare();
    } catch (error) {
      log.debug({ reason: errorText(error) }, "cannot write use of shared secret");
    }
  }

  async function compare(): Promise<void> {
    for (const row of await readPresence(store)) {
      const secret = row.secrets?.[0];
      if (secret === undefined || ids.includes(secret) || reported.has(secret)) continue;
      reported.add(secret);
      log.warn({ secret, process: row.id }, "shared secret of another process missing here");
    }
  }
}
