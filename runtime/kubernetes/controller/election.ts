/**
 * Leader election: of several controllers, only the holder of the Lease publishes and writes.
 *
 * Clocks of hosts differ, so times in the Lease are not compared: a holder counts as gone when its Lease did not change for
 * the lease duration while we watched it. Promises: two controllers both believe that they hold the Lease only while one's
 * clock is off by more than the margin between renewing and expiring; every write names the version it replaces, so that only
 * one of two competing writes succeeds.
 *
 * @see https://kubernetes.io/docs/concepts/architecture/leases/
 */
import { setTimeout as delay } from "node:timers/promises";

import { errorText } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import type { Closable, Clock } from "../../shared/clock.ts";
import { collectionPath, isStatus, type KubeClient, objectPath } from "./kube-client.ts";
import type { KubeObject } from "../kube-object.ts";

export interface ElectionOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Name of the Lease. */
  readonly name: string;
  /** Identity of this process; unique among the controllers. */
  readonly identity: string;
  readonly clock: Clock;
  readonly log: Log;
  /** Duration for which a Lease is valid without renewal. */
  readonly leaseSeconds?: number;
  /** Time between two ticks. */
  readonly everyMs?: number;
  /** Called when the Lease could not be read or written. */
  readonly onFailure?: () => void;
}

/** The election's steps; the caller provides the timing. */
export interface Election {
  isLeader(): boolean;
  /** Renews the Lease, or takes it when it is free. @returns isLeader() */
  tick(): Promise<boolean>;
  /** Reason why the Lease cannot be read or written; undefined while it can, also without being the holder. */
  problem(): string | undefined;
  /** Releases the Lease, so that the next holder need not wait. */
  release(): Promise<void>;
}

interface Lease extends KubeObject {
  readonly spec?: {
    readonly holderIdentity?: string;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

const LEASE_SECONDS = 15;
const EVERY_MS = 2_500;
/** Shorter than the lease duration, so that a dead connection is noticed in time. */
const TIMEOUT_MS = 5_000;

export function createElection(options: ElectionOptions): Election {
  const { client, namespace, name, identity, clock, log, leaseSeconds = LEASE_SECONDS } = options;
  const path = objectPath("leases", namespace, name);
  /** The last observed version, and the time since which it has not changed. */
  let seen: { readonly version: string; readonly sinceMs: number } | undefined;
  /** Time until which we may act on our Lease: shorter than others wait, so that clocks may drift. */
  let holdsUntilMs = 0;
  let problem: string | undefined;

  return {
    isLeader,
    problem: () => problem,
    async tick() {
      try {
        await step();
        problem = undefined;
      } catch (error) {
        // Another controller was faster, or the server is unavailable: our Lease expires.
        if (isStatus(error, 409)) {
          seen = undefined;
          problem = undefined;
          log.debug({ reason: errorText(error) }, "lease not acquired");
        } else failed(error);
      }
      return isLeader();
    },
    async release() {
      if (!isLeader()) return;
      holdsUntilMs = 0;
      try {
        const lease = await client.request<Lease>({ method: "GET", path });
        if (lease.spec?.holderIdentity !== identity) return;
        await write(lease, { holderIdentity: "", leaseDurationSeconds: 1, renewTime: microTime(clock.now()) });
      } catch (error) {
        log.debug({ reason: errorText(error) }, "cannot release lease");
      }
    },
  };

  /** Logs a lasting problem once, not with each attempt. */
  function failed(error: unknown): void {
    options.onFailure?.();
    const reason = errorText(error);
    if (problem === reason) return;
    problem = reason;
    const right = isStatus(error, 403) ? { right: `get, create and update leases in namespace ${namespace}` } : {};
    log.warn({ lease: `${namespace}/${name}`, reason, ...right }, "cannot read or write lease, controller cannot lead");
  }

  function isLeader(): boolean {
    return clock.now() < holdsUntilMs;
  }

  async function step(): Promise<void> {
    // The time before the request: a slow response must not make the Lease last longer.
    const askedMs = clock.now();
    const lease = await client
      .request<Lease>({ method: "GET", path, timeoutMs: TIMEOUT_MS })
      .catch((error: unknown) => {
        if (isStatus(error, 404)) return undefined;
        throw error;
      });
    if (!lease) {
      const body = { ...about(), spec: { ...held(askedMs), acquireTime: microTime(askedMs), leaseTransitions: 0 } };
      await client.request({ method: "POST", path: collectionPath("leases", namespace), body });
      took(askedMs);
      return;
    }
    const { holderIdentity = "", leaseTransitions = 0, leaseDurationSeconds = leaseSeconds } = lease.spec ?? {};
    if (holderIdentity === identity) {
      await write(lease, held(askedMs));
      took(askedMs);
      return;
    }
    holdsUntilMs = 0;
    const version = lease.metadata.resourceVersion ?? "";
    if (seen?.version !== version) seen = { version, sinceMs: askedMs };
    const isFree = holderIdentity === "" || askedMs - seen.sinceMs >= leaseDurationSeconds * 1000;
    if (!isFree) return;
    const acquired = { acquireTime: microTime(askedMs), leaseTransitions: leaseTransitions + 1 };
    await write(lease, { ...held(askedMs), ...acquired });
    took(askedMs);
  }

  function took(atMs: number): void {
    const wasLeader = isLeader();
    // Two thirds: the rest is the margin for clock drift and operations in progress.
    holdsUntilMs = atMs + (leaseSeconds * 1000 * 2) / 3;
    if (!wasLeader) log.info({ identity, lease: `${namespace}/${name}` }, "controller became leader");
  }

  function held(atMs: number): NonNullable<Lease["spec"]> {
    return { holderIdentity: identity, leaseDurationSeconds: leaseSeconds, renewTime: microTime(atMs) };
  }

  async function write(lease: Lease, change: NonNullable<Lease["spec"]>): Promise<void> {
    // With the version that was read: the server responds 409 if another controller wrote meanwhile.
    await client.request({
      method: "PUT",
      path,
      body: { ...lease, ...about(lease), spec: { ...lease.spec, ...change } },
    });
  }

  function about(lease?: Lease): object {
    const metadata = { ...lease?.metadata, name, namespace };
    return { apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata };
  }
}

/** MicroTime of Kubernetes. */
function microTime(epochMs: number): string {
  return `${new Date(epochMs).toISOString().slice(0, -1)}000Z`;
}

export interface RunningElection extends Closable, Pick<Election, "isLeader" | "problem"> {}

/** Ticks until closed. @param onChange called when this process begins or ceases to lead */
export function runElection(options: ElectionOptions, onChange: () => void): RunningElection {
  const election = createElection(options);
  const stop = new AbortController();
  const running = run();
  return {
    isLeader: () => election.isLeader(),
    problem: () => election.problem(),
    async close() {
      stop.abort();
      await running;
      await election.release();
    },
  };

  async function run(): Promise<void> {
    let led = false;
    while (!stop.signal.aborted) {
      const leads = await election.tick();
      if (leads !== led) onChange();
      led = leads;
      await delay(options.everyMs ?? EVERY_MS, undefined, { signal: stop.signal }).catch(() => {});
    }
  }
}
