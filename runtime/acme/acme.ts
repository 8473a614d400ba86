/**
 * Automatic certificates of one process: those in use, and the rounds that order and renew them.
 *
 * Trusted: the settings of the main configuration file. Promise: a start needs neither the certificate authority nor a new
 * certificate; stored certificates are used until others replace them, expired ones included.
 */
import { setTimeout as delay } from "node:timers/promises";

import type { Notify } from "../audit/events.ts";
import { readPresence } from "../bundle/presence.ts";
import type { Snapshots } from "../config/snapshot.ts";
import type { AcmeSettings } from "../features/listener/acme.ts";
import type { HostCertificate } from "../features/listener/compiled.ts";
import type { IssuedCertificates } from "../http/listener/issued-certificates.ts";
import { type Closable, type Clock, epochSeconds } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import { task } from "../shared/faults/guard.ts";
import type { Keys } from "../shared/keys.ts";
import type { Log } from "../shared/log.ts";
import type { Store } from "../store/store.ts";
import type { ChallengeType } from "./client.ts";
import { isPaused } from "./due.ts";
import { createAcmeRecords, type Pause } from "./records.ts";
import { runRound, type Spread } from "./rounds.ts";
import { openSharedState } from "./shared-state.ts";
import type { AcmeFailing, AcmeStatus } from "./status.ts";
import { wantedHosts } from "./wanted-hosts.ts";

export interface AcmeDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly snapshots: Snapshots;
  /** Default: waits for the feed if other processes serve. */
  readonly spread?: Spread;
  readonly notify: Notify;
  readonly clock: Clock;
  readonly log: Log;
  /** Between two rounds. */
  readonly everyMs?: number;
  /** Between two looks at a pending order. */
  readonly pollMs?: number;
}

export interface AcmeStart {
  /** Whether another certificate is used for a host. */
  readonly covers: (host: string) => boolean;
  readonly challenges: readonly ChallengeType[];
}

export interface Acme extends Closable {
  readonly issued: IssuedCertificates;
  /** Starts to order, once the listeners can answer challenges. */
  start(options: AcmeStart): void;
  /** One round now; called automatically. */
  work(): Promise<void>;
  certificates(): readonly HostCertificate[];
  status(): AcmeStatus;
  counts(): ReadonlyMap<"ok" | "failed", number>;
}

const EVERY_MS = 30_000;
/** Several changes of the configuration in a row cause one round. */
const AFTER_CHANGE_MS = 1_000;
const MAX_FAILING = 50;

export async function openAcme(settings: AcmeSettings, deps: AcmeDeps): Promise<Acme> {
  const { store, keys, snapshots, clock, log, everyMs = EVERY_MS } = deps;
  const records = createAcmeRecords({ store, keys, settings, clock });
  const state = await openSharedState({ store, records, clock, log });
  const counts = new Map<"ok" | "failed", number>();
  const closing = new AbortController();
  let started: AcmeStart | undefined;
  let running: Promise<void> | undefined;
  let pause: Pause | undefined;
  let omitted = 0;
  let timer: NodeJS.Timeout | undefined;
  /** Cache for one configuration. Each round computes it again, since certificates in files change without it. */
  let wanted: { readonly snapshot: object; readonly hosts: ReadonlySet<string> } | undefined;
  const unsubscribe = snapshots.subscribe(() => schedule(AFTER_CHANGE_MS));

  const hosts = (): ReadonlySet<string> => {
    const snapshot = snapshots.current();
    if (wanted?.snapshot === snapshot) return wanted.hosts;
    const { covers = () => false } = started ?? {};
    const found = wantedHosts(snapshot, { isAllowed: settings.isAllowed, covers });
    omitted = found.omitted;
    wanted = { snapshot, hosts: found.hosts };
    return found.hosts;
  };

  return {
    issued: state,
    start(options) {
      started = options;
      schedule(0);
    },
    work,
    certificates: () => state.certificates(),
    status() {
      const all = [...hosts()];
      const now = epochSeconds(clock);
      return {
        directory: settings.directory,
        hosts: all.length,
        missing: all.filter((host) => !state.get(host)?.used).length,
        omitted,
        paused: pause && isPaused(pause, now) ? { until: pause.until, reason: pause.reason } : null,
        failing: all.flatMap((host) => failing(host) ?? []).slice(0, MAX_FAILING),
      };
    },
    counts: () => counts,
    async close() {
      clearTimeout(timer);
      unsubscribe();
      closing.abort();
      await running;
      await state.close();
    },
  };

  function failing(host: string): AcmeFailing | undefined {
    const known = state.get(host);
    if (!known || known.record.failures === 0 || known.record.tried !== settings.directory) return undefined;
    const { reason = "", failures, nextAt = 0, endsAt } = known.record;
    return { host, reason, failures, next_at: nextAt, ...(known.used && endsAt !== undefined && { ends: endsAt }) };
  }

  /** One at a time; a call during a round joins it. */
  function work(): Promise<void> {
    return (running ??= round().finally(() => {
      running = undefined;
    }));
  }

  async function round(): Promise<void> {
    if (!started || closing.signal.aborted) return;
    try {
      wanted = undefined;
      state.keep(hosts());
      const { challenges } = started;
      const onOrder = (result: "ok" | "failed"): void => void counts.set(result, (counts.get(result) ?? 0) + 1);
      const onPause = (next: Pause | undefined): void => void (pause = next);
      await runRound(
        { spread: spreadByFeed(store), ...deps, settings, records, state, hosts, challenges, onOrder, onPause },
        closing.signal,
      );
    } catch (error) {
      // The store reports its own failure, and the next round tries again.
      if (!closing.signal.aborted) log.debug({ reason: errorText(error) }, "round of certificates ended");
    }
  }

  function schedule(afterMs: number): void {
    if (closing.signal.aborted || !started) return;
    clearTimeout(timer);
    const run = task("orders of certificates", async () => {
      await work();
      // Spread, so that replicas do not ask for the lease at the same time.
      schedule(everyMs * (0.8 + 0.4 * Math.random()));
    });
    timer = setTimeout(run, afterMs);
    timer.unref();
  }
}

/** A feed reaches every process within a second; then it reads the record. */
const REACHES_ALL_MS = 1_500;

function spreadByFeed(store: Store): Spread {
  return async (_host, _challenge, signal) => {
    if ((await readPresence(store)).length > 1) await delay(REACHES_ALL_MS, undefined, { signal });
  };
}
