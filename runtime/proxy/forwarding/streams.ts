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

export class Streams {
  readonly #deps: StreamDeps;
  /** With the second in which each ends, its place in `wheel`; 0 without a principal. */
  readonly #all = new Map<OpenStream, number>();
  /** Requests sent since the last tick whose answers have not begun. */
  readonly #awaited = createPlacedList<OpenStream>();
  readonly #byKey = new Map<string, Set<OpenStream>>();
  readonly #wheel = new Map<number, Set<OpenStream>>();
  /** As they were when they were added; `heldBy` counts those of each user. */
  readonly #endless = new Set<OpenStream>();
  readonly #heldBy = new Map<string, number>();
  #wheelAt: number;
  /** What is known by now of streams whose user changed since they began. */
  readonly #renewed = new WeakMap<OpenStream, { readonly principal: Principal; readonly facts: Facts }>();
  #rechecking: Promise<void> | undefined;
  /** The configuration in force since the first reload. */
  #latest: Snapshot | undefined;
  readonly #unsubscribe: () => void;
  readonly #stopBlocks: (() => void) | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #recheckTimer: NodeJS.Timeout | undefined;

  constructor(deps: StreamDeps) {
    const { revocations, blocks, clock } = deps;
    this.#deps = deps;
    this.#wheelAt = epochSeconds(clock);
    const recheckChanged = task("the look at users who changed", (meant: Iterable<OpenStream>) =>
      this.#recheckEach(meant),
    );
    this.#unsubscribe = revocations.subscribe((key) => {
      const isChange = key.startsWith(CHANGED);
      const meant = this.#byKey.get(isChange ? key.slice(CHANGED.length) : key);
      if (isChange) recheckChanged(meant ?? []);
      // What is known of a device ends where it was asked for, and the session with its other streams goes on.
      else if (meant && key.startsWith("device:"))
        this.#endEach(
          [...meant].filter((stream) => this.#asksForDevice(stream)),
          "access",
        );
      else this.#endEach(meant, "access");
    });
    this.#stopBlocks = blocks?.subscribe(() =>
      this.#endEach(
        [...this.#all.keys()].filter((stream) => this.#isStopped(stream)),
        "access",
      ),
    );
    const endExpired = task("the end of expired streams", () => this.endExpired());
    this.#timer = setInterval(endExpired, TICK_MS).unref();
    if (!deps.current) return;
    const recheck = task("the second look at users of open streams", () => this.recheck());
    this.#recheckTimer = setInterval(recheck, RECHECK_MS).unref();
  }

  get size(): number {
    return this.#all.size;
  }

  /** Whether its user may hold one more endless stream (`max_streams_per_user`). Always, without a user. */
  hasRoom({ principal, snapshot, isEndless }: Pick<OpenStream, "principal" | "snapshot" | "isEndless">): boolean {
    if (!principal || !isEndless) return true;
    return (this.#heldBy.get(principal.user.id) ?? 0) < snapshot.settings.maxStreamsPerUser;
  }

  /** Whether the right to it continues: to be asked before anything leaves for the upstream. */
  isGood(stream: OpenStream): boolean {
    const { clock, revocations } = this.#deps;
    const { principal } = stream;
    // Decided before a block or a reload, and the upstream only answers now.
    if (this.#isStopped(stream)) return false;
    if (this.#latest && stream.snapshot !== this.#latest && !isStillAllowed(stream, this.#latest)) return false;
    if (!principal) return true;
    if (graceEnd(stream, principal) <= epochSeconds(clock) || revocations.isRevoked(principal.revocationKeys))
      return false;
    return !isOutdated(principal.devices, revocations) || !this.#asksForDevice(stream);
  }

  /** Of a request whose answer has not begun: it is added if it takes longer than a second. Cheap, since each request does so. */
  sent(stream: OpenStream): void {
    this.#awaited.add(stream);
  }

  /** @returns false when the right has ended already: the caller must not go on */
  add(stream: OpenStream): boolean {
    if (!this.isGood(stream)) return false;
    const { principal } = stream;
    let due = 0;
    if (principal) {
      // It was set back: nothing is filed under a second that is hours away.
      this.#wheelAt = Math.min(this.#wheelAt, epochSeconds(this.#deps.clock));
      // One that expired while the upstream was thinking ends at the next tick.
      due = Math.max(stream.endsWithCredential ? principal.expiresAt : graceEnd(stream, principal), this.#wheelAt);
      addTo(this.#wheel, due, stream);
      for (const key of principal.revocationKeys) addTo(this.#byKey, key, stream);
      for (const { revocationKey } of principal.devices ?? []) addTo(this.#byKey, revocationKey, stream);
      if (stream.isEndless) {
        this.#endless.add(stream);
        this.#heldBy.set(principal.user.id, (this.#heldBy.get(principal.user.id) ?? 0) + 1);
      }
    }
    this.#all.set(stream, due);
    return true;
  }

  remove(stream: OpenStream): void {
    if (this.#awaited.take(stream)) return;
    const due = this.#all.get(stream);
    if (!this.#all.delete(stream)) return;
    if (due === undefined || !stream.principal) return;
    removeFrom(this.#wheel, due, stream);
    if (this.#endless.delete(stream)) this.#release(stream.principal.user.id);
    for (const key of stream.principal.revocationKeys) removeFrom(this.#byKey, key, stream);
    for (const { revocationKey } of stream.principal.devices ?? []) removeFrom(this.#byKey, revocationKey, stream);
  }

  /** Ends what is past its end by the clock, and adds requests that take long. Called by itself once a second; tests call it. */
  endExpired(): void {
    const now = epochSeconds(this.#deps.clock);
    // After a pause longer than the wheel is full, looking at each second would take longer than at each entry.
    if (now - this.#wheelAt > this.#wheel.size) {
      for (const [second, due] of this.#wheel) if (second <= now) this.#endEach(due, "expired");
    } else {
      for (let second = this.#wheelAt; second <= now; second += 1) this.#endEach(this.#wheel.get(second), "expired");
    }
    this.#wheelAt = now;
    for (const stream of this.#awaited.all()) {
      if (this.#awaited.take(stream) && !this.add(stream)) stream.end("access");
    }
  }

  endAll(which: (stream: OpenStream) => boolean): void {
    this.#endEach([...this.#all.keys()].filter(which), "stopping");
  }

  /** Decides again about all open answers. */
  reconsider(next: Snapshot): void {
    this.#latest = next;
    if (this.#all.size === 0) return;
    for (const stream of Array.from(this.#all.keys())) {
      const { facts } = this.#renewed.get(stream) ?? stream;
      const { routeKey, principal, approvers } = stream;
      if (!maySay(() => isStillAllowed({ routeKey, facts, principal, approvers }, next))) stream.end("access");
    }
  }

  /** Asks who the principals of open answers are by now, and decides again about those who changed. Called by itself. */
  recheck(): Promise<void> {
    this.#rechecking ??= this.#recheckEach(this.#all.keys()).finally(() => (this.#rechecking = undefined));
    return this.#rechecking;
  }

  close(): void {
    clearInterval(this.#timer);
    clearInterval(this.#recheckTimer);
    this.#unsubscribe();
    this.#stopBlocks?.();
    this.#endEach(this.#all.keys(), "stopping");
  }

  #isStopped(stream: OpenStream): boolean {
    const { blocks } = this.#deps;
    if (blocks === undefined || blocks.size === 0) return false;
    const { routeKey, facts } = stream;
    const { user, clientId, grantId } = this.#renewed.get(stream)?.principal ?? stream.principal ?? {};
    return blocks.find({ user, clientId, grantId, routeKey, tool: facts?.mcp?.tool }) !== undefined;
  }

  /** By its policy when it began, or by the active one. */
  #asksForDevice({ routeKey, snapshot }: OpenStream): boolean {
    return [snapshot, this.#latest ?? snapshot].some((each) => findRoute(each, routeKey)?.policy.needsDevice);
  }

  #release(userId: string): void {
    const held = (this.#heldBy.get(userId) ?? 0) - 1;
    if (held > 0) this.#heldBy.set(userId, held);
    else this.#heldBy.delete(userId);
  }

  async #recheckEach(meant: Iterable<OpenStream>): Promise<void> {
    const { current } = this.#deps;
    if (!current) return;
    const byPrincipal = new Map<Principal, OpenStream[]>();
    for (const stream of meant) {
      const principal = this.#renewed.get(stream)?.principal ?? stream.principal;
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
        if (found !== principal) this.#renew(itsStreams, found);
      }
    };
    await Promise.all(Array.from({ length: RECHECKS_AT_ONCE }, work));
  }

  /** Their user has other claims now, or is gone. */
  #renew(itsStreams: readonly OpenStream[], principal: Principal | undefined): void {
    for (const stream of itsStreams) {
      if (!this.#all.has(stream)) continue;
      const { routeKey, approvers } = stream;
      const snapshot = this.#latest ?? stream.snapshot;
      const facts = stream.facts && principal && factsAbout(principal, stream.facts);
      const isGood = principal !== undefined && graceEnd(stream, principal) > epochSeconds(this.#deps.clock);
      if (!isGood || !facts || !isStillAllowed({ routeKey, facts, principal, approvers }, snapshot))
        stream.end("access");
      else {
        this.#renewed.set(stream, { principal, facts });
        // A block may name the address that they have now.
        if (this.#isStopped(stream)) stream.end("access");
      }
    }
  }

  #endEach(streamsToEnd: Iterable<OpenStream> | undefined, why: StreamEnd): void {
    if (!streamsToEnd) return;
    for (const stream of Array.from(streamsToEnd)) {
      this.remove(stream);
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
