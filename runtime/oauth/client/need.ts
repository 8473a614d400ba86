/**
 * What is known of a route's upstream: does it want a token? Learnt from its 401, or from metadata found at it (D19).
 */
import type { LiveSettings } from "../../config/compiled.ts";
import type { Snapshots } from "../../config/snapshot.ts";
import { matchesDomain } from "../../settings/domains.ts";
import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { Store } from "../../store/store.ts";
import { METADATA_BYTES } from "../../http/fetch/safe-fetch.ts";
import { readChallenge, type BearerChallenge } from "./discovery/bearer-challenge.ts";
import { findProtectedResource, type DiscoverDeps } from "./discovery/discover.ts";
import { NEED_SECONDS, needKey, NO_NEED_SECONDS, type NeedRecord } from "./connection-records.ts";
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
  /** Known, or found out by asking, once and for at most two seconds. */
  isNeeded(target: UpstreamTarget): Promise<boolean>;
  /** The same before a flow begins: with what the upstream's own challenge says, asked for when it is not known yet. */
  beforeFlow(target: UpstreamTarget): Promise<NeedRecord | undefined>;
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

  const learn = async (target: UpstreamTarget, challenge: BearerChallenge): Promise<void> => {
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
      deps.log.warn({ route: target.route.key, reason: errorText(error) }, "what an upstream wants cannot be kept now");
    }
  };

  /** The challenge of the upstream to somebody without a token; undefined when it has none, or does not answer. */
  const askForChallenge = async (
    target: UpstreamTarget,
    settings: LiveSettings,
  ): Promise<BearerChallenge | undefined> => {
    // A ping changes nothing and opens no session. Not GET, which many servers do not know at this address.
    const answer = await deps.fetch({
      url: target.url,
      target: { kind: "upstream", domains: settings.mcpAllowedAsMetadataDomains, reach: target.reach },
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: '{"jsonrpc":"2.0","id":1,"method":"ping"}',
      maxBytes: METADATA_BYTES,
      timeoutMs: PROBE_MS,
    });
    if (!answer.ok || answer.status !== 401) return undefined;
    const reading = readChallenge(answer.headers["www-authenticate"]);
    return reading.kind === "bearer" ? reading.challenge : undefined;
  };

  const probe = async (target: UpstreamTarget, settings: LiveSettings): Promise<boolean> => {
    const [challenge, found] = await Promise.all([
      askForChallenge(target, settings),
      // At most two documents.
      findProtectedResource(deps, target, settings, undefined, PROBE_MS / 2),
    ]);
    if (challenge) {
      await learn(target, challenge);
      return true;
    }
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
    async beforeFlow(target) {
      const known = await find(target);
      const { settings } = deps.snapshots.current();
      if (known?.challenged === true || !matchesDomain(settings.mcpAllowedAsMetadataDomains, target.hostname))
        return known;
      const challenge = await askForChallenge(target, settings);
      if (!challenge) return known;
      await learn(target, challenge);
      return find(target);
    },
    learn,
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
