/**
 * What is known of a route's upstream: does it want a token? Learnt from its 401, or from metadata found at it (D19).
 */
import type { LiveSettings, Snapshots } from "../config/compiled.ts";
import { matchesDomain } from "../config/domains.ts";
import { errorText } from "../errors.ts";
import type { Log } from "../log.ts";
import { epochSeconds, type Clock } from "../ports.ts";
import type { Store } from "../store/store.ts";
import type { BearerChallenge } from "./bearer-challenge.ts";
import { findProtectedResource, type DiscoverDeps } from "./discover.ts";
import { NEED_SECONDS, needKey, NO_NEED_SECONDS, type NeedRecord } from "./records.ts";
import type { UpstreamTarget } from "./target.ts";

export interface NeedDeps extends DiscoverDeps {
  readonly store: Store;
  readonly snapshots: Snapshots;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Needs {
  /** What is known; undefined when nothing is. Asks the store only. */
  find(target: UpstreamTarget): Promise<NeedRecord | undefined>;
  /** Known, or found out by looking for metadata, once and for at most two seconds. */
  isNeeded(target: UpstreamTarget): Promise<boolean>;
  /** The upstream answered 401. */
  learn(target: UpstreamTarget, challenge: BearerChallenge): Promise<void>;
}

const PROBE_MS = 2_000;
/** After a probe without an answer the next one is not before. */
const PROBE_AGAIN_MS = 60_000;

export function createNeeds(deps: NeedDeps): Needs {
  const { store, clock } = deps;
  const probing = new Map<string, Promise<boolean>>();
  /** Upstream → epoch milliseconds before which it is not probed again. */
  const probedUntil = new Map<string, number>();

  const find = async (target: UpstreamTarget): Promise<NeedRecord | undefined> =>
    (await store.get<NeedRecord>(needKey(target)))?.value;

  const keep = async (target: UpstreamTarget, record: NeedRecord): Promise<void> => {
    const seconds = record.needed ? NEED_SECONDS : NO_NEED_SECONDS;
    await store.put(needKey(target), record, { expiresAt: epochSeconds(clock) + seconds });
  };

  const probe = async (target: UpstreamTarget, settings: LiveSettings): Promise<boolean> => {
    const found = await findProtectedResource(deps, target, settings, undefined, PROBE_MS);
    if (!found.ok && found.failure === "unavailable") {
      // Its answer is still open: nothing is written down, and nobody waits for it again soon.
      probedUntil.set(needKey(target), clock.now() + PROBE_AGAIN_MS);
      return false;
    }
    const needed = found.ok || found.failure === "invalid";
    await keep(target, { schema: 1, routeKey: target.route.key, needed, challenged: false });
    return needed;
  };

  return {
    find,
    async isNeeded(target) {
      // The operator says so by naming a client.
      if (target.mode !== "discovery") return true;
      const known = await find(target);
      if (known) return known.needed;
      const { settings } = deps.snapshots.current();
      const key = needKey(target);
      if (!matchesDomain(settings.mcpAllowedAsMetadataDomains, target.hostname)) return false;
      if (clock.now() < (probedUntil.get(key) ?? 0)) return false;
      let running = probing.get(key);
      if (!running) {
        running = probe(target, settings).finally(() => probing.delete(key));
        probing.set(key, running);
      }
      return running;
    },
    async learn(target, challenge) {
      const known = await find(target);
      const next: NeedRecord = {
        schema: 1,
        routeKey: target.route.key,
        needed: true,
        challenged: true,
        ...(challenge.resourceMetadata === undefined ? {} : { resourceMetadata: challenge.resourceMetadata }),
        ...(challenge.scope === undefined ? {} : { scope: challenge.scope }),
      };
      if (known && isSame(known, next)) return;
      try {
        await keep(target, next);
      } catch (error) {
        // The next 401 teaches it again.
        deps.log.warn(
          { route: target.route.key, reason: errorText(error) },
          "what an upstream wants cannot be kept now",
        );
      }
    },
  };
}

function isSame(left: NeedRecord, right: NeedRecord): boolean {
  return (
    left.needed === right.needed &&
    left.challenged === right.challenged &&
    left.resourceMetadata === right.resourceMetadata &&
    left.scope === right.scope
  );
}
