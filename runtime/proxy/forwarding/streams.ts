/**
 * Answers that stay open, and the end of the right to them (D11): revocation, a block, a policy that now says no, or a user
 * whose claims have changed so that the policy says no.
 *
 * Expiry decides whether a request is accepted; an accepted one finishes within `expiry_grace` (D360). Only streams that clients
 * open again end with their credential.
 *
 * Promise: after access has ended, no open answer continues for more than about a second past this process learning of it;
 * the users of open answers are checked every `RECHECK_MS`.
 */
import { findRoute, type Snapshot } from "../../config/snapshot.ts";
import type { ApprovalNeed, Facts } from "../../policy/facts.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { Blocks } from "../../identity/blocks.ts";
import { isOutdated } from "../../identity/users/device-facts.ts";
import type { Principal } from "../../identity/principal.ts";
import { CHANGED, type Revocations } from "../../identity/interfaces.ts";
import type { StreamEnd } from "../answers/answer-ended.ts";
import { factsAbout, isStillAllowed, maySay } from "../answers/still-allowed.ts";
import { task } from "../../shared/faults/guard.ts";
import { createPlacedList, type Placed } from "../answers/placed-list.ts";

export interface OpenStream extends Placed {
  readonly routeKey: string;
  /** The configuration under which it was decided. */
  readonly snapshot: Snapshot;
  readonly principal: Principal | undefined;
  /** What was decided upon, to be decided again when the configuration changes. */
  readonly facts: Facts | undefined;
  /** Who approved the call, see `ApprovalNeed`; undefined: it needed no approval. */
  readonly approvers?: ApprovalNeed["approvers"] | undefined;
  /** True for answers that never end by themselves: they are not waited for at shutdown. */
  readonly isEndless: boolean;
  /** True for answers that clients open again, with nothing lost: they end when their credential expires. */
  readonly endsWithCredential: boolean;
  /** Ends the answer towards both sides; calls `remove` by the way. */
  end(why: StreamEnd): void;
}

export interface Streams {
  /** Whether its user may hold one more endless stream (`max_streams_per_user`). Always, without a user. */
  hasRoom(stream: Pick<OpenStream, "principal" | "snapshot" | "isEndless">): boolean;
  /** Whether the right to it continues: to be asked before anything leaves for the upstream. */
  isGood(stream: OpenStream): boolean;
  /** Of a request whose answer has not begun: it is added if it takes longer than a second. Cheap, since each request does so. */
  sent(stream: OpenStream): void;
  /** @returns false when the right has ended already: the caller must not go on */
  add(stream: OpenStream): boolean;
  remove(stream: OpenStream): void;
  readonly size: number;
  /** Ends what is past its end by the clock, and adds requests that take long. Called by itself once a second; tests call it. */
  endExpired(): void;
  endAll(which: (stream: OpenStream) => boolean): void;
  /** Decides again about all open answers. */
  reconsider(next: Snapshot): void;
  /** Asks who the principals of open answers are by now, and decides again about those who changed. Called by itself. */
  recheck(): Promise<void>;
  close(): void;
}

const TICK_MS = 1_000;
const [RECHECK_MS, RECHECKS_AT_ONCE] = [15_000, 8];

export interface StreamDeps {
  readonly revocations: Revocations;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "size" | "find" | "subscribe"> | undefined;
  readonly clock: Clock;
  /** Absent: principals stay who they were when their answers began. Rejects when nobody can tell. */
  readonly current?: ((principal: Principal) => Promise<Principal | undefined>) | undefined;
}

export function createStreams(deps: StreamDeps): Streams {
  const { revocations, blocks, clock, current } = deps;
  /** With the second in which each ends, its place in `wheel`; 0 without a principal. */
  const all = new Map<OpenStream, number>();
  /** Requests sent since the last tick whose answers have not begun. */
  const awaited = createPlacedList<OpenStream>();
  const byKey = new Map<string, Set<OpenStream>>();
  const wheel = new Map<number, Set<OpenStream>>();
  /** As they were when they were added; `heldBy` counts those of each user. */
  const endless = new Set<OpenStream>();
  const heldBy = new Map<string, number>();
  let wheelAt = epochSeconds(clock);
  /** What is known by now of streams whose user changed since they began. */
  const renewed = new WeakMap<OpenStream, { readonly principal: Principal; readonly facts: Facts }>();
  let rechecking: Promise<void> | undefined;
  /** The configuration in force since the first reload. */
  let latest: Snapshot | undefined;

  const unsubscribe = revocations.subscribe((key) => {
    const isChange = key.startsWith(CHANGED);
    const meant = byKey.get(isChange ? key.slice(CHANGED.length) : key);
    if (isChange) recheckChanged(meant ?? []);
    // What is known of a device ends where it was asked for, and the session with its other streams goes on.
    else if (meant && key.startsWith("device:")) endEach([...meant].filter(asksForDevice), "access");
    else endEach(meant, "access");
  });
  const stopBlocks = blocks?.subscribe(() => endEach([...all.keys()].filter(isStopped), "access"));
  const recheckChanged = task("the look at users who changed", (meant: Iterable<OpenStream>) => recheckEach(meant));
  const timer = setInterval(
    task("the end of expired streams", () => streams.endExpired()),
    TICK_MS,
  );
  timer.unref();
  const recheckTimer =
    current &&
    setInterval(
      task("the second look at users of open streams", () => streams.recheck()),
      RECHECK_MS,
    );
  recheckTimer?.unref();

  const streams: Streams & { size: number } = {
    size: 0,
    hasRoom({ principal, snapshot, isEndless }) {
      if (!principal || !isEndless) return true;
      return (heldBy.get(principal.user.id) ?? 0) < snapshot.settings.maxStreamsPerUser;
    },
    isGood(stream) {
      const { principal } = stream;
      // Decided before a block or a reload, and the upstream only answers now.
      if (isStopped(stream)) return false;
      if (latest && stream.snapshot !== latest && !isStillAllowed(stream, latest)) return false;
      if (!principal) return true;
      if (graceEnd(stream, principal) <= epochSeconds(clock) || revocations.isRevoked(principal.revocationKeys))
        return false;
      return !isOutdated(principal.devices, revocations) || !asksForDevice(stream);
    },
    sent(stream) {
      awaited.add(stream);
    },
    add(stream) {
      if (!streams.isGood(stream)) return false;
      const { principal } = stream;
      let due = 0;
      if (principal) {
        // It was set back: nothing is filed under a second that is hours away.
        wheelAt = Math.min(wheelAt, epochSeconds(clock));
        // One that expired while the upstream was thinking ends at the next tick.
        due = Math.max(stream.endsWithCredential ? principal.expiresAt : graceEnd(stream, principal), wheelAt);
        addTo(wheel, due, stream);
        for (const key of principal.revocationKeys) addTo(byKey, key, stream);
        for (const { revocationKey } of principal.devices ?? []) addTo(byKey, revocationKey, stream);
        if (stream.isEndless) {
          endless.add(stream);
          heldBy.set(principal.user.id, (heldBy.get(principal.user.id) ?? 0) + 1);
        }
      }
      all.set(stream, due);
      streams.size = all.size;
      return true;
    },
    remove(stream) {
      if (awaited.take(stream)) return;
      const due = all.get(stream);
      if (!all.delete(stream)) return;
      streams.size = all.size;
      if (due === undefined || !stream.principal) return;
      removeFrom(wheel, due, stream);
      if (endless.delete(stream)) release(stream.principal.user.id);
      for (const key of stream.principal.revocationKeys) removeFrom(byKey, key, stream);
      for (const { revocationKey } of stream.principal.devices ?? []) removeFrom(byKey, revocationKey, stream);
    },
    endExpired() {
      const now = epochSeconds(clock);
      // After a pause longer than the wheel is full, looking at each second would take longer than at each entry.
      if (now - wheelAt > wheel.size) {
        for (const [second, due] of wheel) if (second <= now) endEach(due, "expired");
      } else {
        for (let second = wheelAt; second <= now; second += 1) endEach(wheel.get(second), "expired");
      }
      wheelAt = now;
      for (const stream of awaited.all()) {
        if (awaited.take(stream) && !streams.add(stream)) stream.end("access");
      }
    },
    endAll(which) {
      endEach([...all.keys()].filter(which), "stopping");
    },
    reconsider(next) {
      latest = next;
      if (all.size === 0) return;
      for (const stream of Array.from(all.keys())) {
        const { facts } = renewed.get(stream) ?? stream;
        const { routeKey, principal, approvers } = stream;
        if (!maySay(() => isStillAllowed({ routeKey, facts, principal, approvers }, next))) stream.end("access");
      }
    },
    recheck() {
      rechecking ??= recheckEach(all.keys()).finally(() => (rechecking = undefined));
      return rechecking;
    },
    close() {
      clearInterval(timer);
      clearInterval(recheckTimer);
      unsubscribe();
      stopBlocks?.();
      endEach(all.keys(), "stopping");
    },
  };
  return streams;

  function isStopped(stream: OpenStream): boolean {
    if (blocks === undefined || blocks.size === 0) return false;
    const { routeKey, facts } = stream;
    const { user, clientId, grantId } = renewed.get(stream)?.principal ?? stream.principal ?? {};
    return blocks.find({ user, clientId, grantId, routeKey, tool: facts?.mcp?.tool }) !== undefined;
  }

  /** By its policy when it began, or by the active one. */
  function asksForDevice({ routeKey, snapshot }: OpenStream): boolean {
    return [snapshot, latest ?? snapshot].some((each) => findRoute(each, routeKey)?.policy.needsDevice);
  }

  function release(userId: string): void {
    const held = (heldBy.get(userId) ?? 0) - 1;
    if (held > 0) heldBy.set(userId, held);
    else heldBy.delete(userId);
  }

  async function recheckEach(meant: Iterable<OpenStream>): Promise<void> {
    if (!current) return;
    const byPrincipal = new Map<Principal, OpenStream[]>();
    for (const stream of meant) {
      const principal = renewed.get(stream)?.principal ?? stream.principal;
      if (!principal) continue;
      const others = byPrincipal.get(principal);
      if (others) others.push(stream);
      else byPrincipal.set(principal, [stream]);
    }
    const waiting = [...byPrincipal];
    const work = async (): Promise<void> => {
      for (let next = waiting.pop(); next; next = waiting.pop()) {
        const [principal, itsStreams] = next;
        // Nobody can tell now: the bounds of the credential itself still hold.
        const found = await current(principal).catch(() => principal);
        if (found !== principal) renew(itsStreams, found);
      }
    };
    await Promise.all(Array.from({ length: RECHECKS_AT_ONCE }, work));
  }

  /** Their user has other claims now, or is gone. */
  function renew(itsStreams: readonly OpenStream[], principal: Principal | undefined): void {
    for (const stream of itsStreams) {
      if (!all.has(stream)) continue;
      const { routeKey, approvers } = stream;
      const snapshot = latest ?? stream.snapshot;
      const facts = stream.facts && principal && factsAbout(principal, stream.facts);
      const isGood = principal !== undefined && graceEnd(stream, principal) > epochSeconds(clock);
      if (!isGood || !facts || !isStillAllowed({ routeKey, facts, principal, approvers }, snapshot))
        stream.end("access");
      else {
        renewed.set(stream, { principal, facts });
        // A block may name the address that they have now.
        if (isStopped(stream)) stream.end("access");
      }
    }
  }

  function endEach(streamsToEnd: Iterable<OpenStream> | undefined, why: StreamEnd): void {
    if (!streamsToEnd) return;
    for (const stream of Array.from(streamsToEnd)) {
      streams.remove(stream);
      stream.end(why);
    }
  }
}

/** Epoch second in which the right of an accepted request to its answer ends at the latest. */
function graceEnd({ snapshot }: OpenStream, { expiresAt }: Principal): number {
  return expiresAt + snapshot.settings.expiryGraceSeconds;
}

function addTo<K>(index: Map<K, Set<OpenStream>>, key: K, stream: OpenStream): void {
  const known = index.get(key);
  if (known) known.add(stream);
  else index.set(key, new Set([stream]));
}

function removeFrom<K>(index: Map<K, Set<OpenStream>>, key: K, stream: OpenStream): void {
  const known = index.get(key);
  if (known?.delete(stream) === true && known.size === 0) index.delete(key);
}
