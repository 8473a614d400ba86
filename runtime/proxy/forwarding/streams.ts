/**
 * Open responses, and the end of the right to them (D11): by revocation, a block, a policy that now denies, or a user whose
 * changed claims make the policy deny.
 *
 * Expiry decides whether a request is accepted. An accepted one finishes within `expiry_grace` (D360). Only streams that
 * clients reopen end with their credential.
 *
 * Promise: after access has ended, no open response continues for more than about a second once this process knows. The users
 * of open responses are checked every `RECHECK_MS`.
 */
import { findRoute, type Snapshot } from "../../config/snapshot.ts";
import type { ApprovalNeed, Facts } from "../../policy/facts.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { Blocks } from "../../identity/blocks.ts";
import { isOutdated } from "../../identity/users/device-facts.ts";
import type { Principal } from "../../identity/principal.ts";
import { CHANGED, type Revocations } from "../../identity/interfaces.ts";
import type { StreamEnd } from "../answers/answer-ended.ts";
import { factsAbout, isStillAllowed, isAllowedSafely, type Membership } from "../answers/still-allowed.ts";
import { task } from "../../shared/faults/guard.ts";
import { recur } from "../../shared/timing/recurring.ts";
import { createPlacedList, type Placed } from "../answers/placed-list.ts";

export interface OpenStream extends Placed {
  readonly routeKey: string;
  /** The configuration of the decision. */
  readonly snapshot: Snapshot;
  readonly principal: Principal | undefined;
  /** Facts of the decision, to decide again when the configuration changes. */
  readonly facts: Facts | undefined;
  /** Approvers of the call, see `ApprovalNeed`; undefined: it needed no approval. */
  readonly approvers?: ApprovalNeed["approvers"] | undefined;
  /** Set for requests to a member of a federated route. */
  readonly membership?: Membership | undefined;
  /** True for endless responses: a shutdown does not wait for them. */
  readonly isEndless: boolean;
  /** True for responses that clients reopen without loss: they end when their credential expires. */
  readonly endsWithCredential: boolean;
  /** Ends the response towards both sides; also calls `remove`. */
  end(why: StreamEnd): void;
}

const TICK_MS = 1_000;
const [RECHECK_MS, RECHECKS_AT_ONCE] = [15_000, 8];

export interface StreamDeps {
  readonly revocations: Revocations;
  /** Absent: nothing is ever blocked. */
  readonly blocks?: Pick<Blocks, "size" | "find" | "subscribe"> | undefined;
  readonly clock: Clock;
  /** Reads the current principal. Absent: principals never change during responses. Rejects when the principal is unknown. */
  readonly current?: ((principal: Principal) => Promise<Principal | undefined>) | undefined;
}

export class Streams {
  readonly #deps: StreamDeps;
  /** With the second in which each ends, its key in `wheel`; 0 without a principal. */
  readonly #all = new Map<OpenStream, number>();
  /** Requests sent since the last tick whose responses have not begun. */
  readonly #awaited = createPlacedList<OpenStream>();
  readonly #byKey = new Map<string, Set<OpenStream>>();
  readonly #wheel = new Map<number, Set<OpenStream>>();
  /** Endless streams, as of `add()`; `heldBy` counts those of each user. */
  readonly #endless = new Set<OpenStream>();
  readonly #heldBy = new Map<string, number>();
  #wheelAt: number;
  /** Current data of streams whose user changed since they began. */
  readonly #renewed = new WeakMap<OpenStream, { readonly principal: Principal; readonly facts: Facts }>();
  #rechecking: Promise<void> | undefined;
  /** The active configuration, since the first reload. */
  #latest: Snapshot | undefined;
  readonly #unsubscribe: () => void;
  readonly #stopBlocks: (() => void) | undefined;
  readonly #stopTimers: (() => void)[] = [];

  constructor(deps: StreamDeps) {
    const { revocations, blocks, clock } = deps;
    this.#deps = deps;
    this.#wheelAt = epochSeconds(clock);
    const recheckChanged = task("check for changed users", (affected: Iterable<OpenStream>) =>
      this.#recheckEach(affected),
    );
    this.#unsubscribe = revocations.subscribe((key) => {
      const isChange = key.startsWith(CHANGED);
      const affected = this.#byKey.get(isChange ? key.slice(CHANGED.length) : key);
      if (isChange) recheckChanged(affected ?? []);
      // A device revocation ends streams whose policy requires a device. The session and its other streams continue.
      else if (affected && key.startsWith("device:"))
        this.#endEach(
          [...affected].filter((stream) => this.#asksForDevice(stream)),
          "access",
        );
      else this.#endEach(affected, "access");
    });
    this.#stopBlocks = blocks?.subscribe(() =>
      this.#endEach(
        [...this.#all.keys()].filter((stream) => this.#isStopped(stream)),
        "access",
      ),
    );
    this.#stopTimers.push(recur("end of expired streams", TICK_MS, () => this.endExpired()));
    if (deps.current)
      this.#stopTimers.push(recur("recheck of users with open streams", RECHECK_MS, () => this.recheck()));
  }

  get size(): number {
    return this.#all.size;
  }

  /** True if its user may hold one more endless stream (`max_streams_per_user`), or has not signed in. */
  hasRoom({ principal, snapshot, isEndless }: Pick<OpenStream, "principal" | "snapshot" | "isEndless">): boolean {
    if (!principal || !isEndless) return true;
    return (this.#heldBy.get(principal.user.id) ?? 0) < snapshot.settings.maxStreamsPerUser;
  }

  /** True while the right to the stream continues: check it before anything leaves for the upstream. */
  isGood(stream: OpenStream): boolean {
    const { clock, revocations } = this.#deps;
    const { principal } = stream;
    // Decided before a block or a reload, while the upstream only answers now.
    if (this.#isStopped(stream)) return false;
    if (this.#latest && stream.snapshot !== this.#latest && !isStillAllowed(stream, this.#latest)) return false;
    if (!principal) return true;
    if (graceEnd(stream, principal) <= epochSeconds(clock) || revocations.isRevoked(principal.revocationKeys))
      return false;
    return !isOutdated(principal.devices, revocations) || !this.#asksForDevice(stream);
  }

  /**
   * Tracks a request whose response has not begun, and adds it if that takes longer than a second. Cheap: every request calls
   * it.
   */
  sent(stream: OpenStream): void {
    this.#awaited.add(stream);
  }

  /** @returns false when the right has already ended: the caller must stop */
  add(stream: OpenStream): boolean {
    if (!this.isGood(stream)) return false;
    const { principal } = stream;
    let due = 0;
    if (principal) {
      // The clock was set back: file nothing under a second that is hours away.
      this.#wheelAt = Math.min(this.#wheelAt, epochSeconds(this.#deps.clock));
      // A stream that expired while the upstream was working ends at the next tick.
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

  /** Ends expired streams, and adds slow requests. Called automatically once a second; tests call it. */
  endExpired(): void {
    const now = epochSeconds(this.#deps.clock);
    // After a pause with more seconds than entries, iterating over the entries is faster.
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

  /** Decides again about all open responses. */
  reconsider(next: Snapshot): void {
    this.#latest = next;
    if (this.#all.size === 0) return;
    for (const stream of Array.from(this.#all.keys())) {
      const { facts } = this.#renewed.get(stream) ?? stream;
      const { routeKey, principal, approvers, membership } = stream;
      const now = { routeKey, facts, principal, approvers, membership };
      if (!isAllowedSafely(() => isStillAllowed(now, next))) stream.end("access");
    }
  }

  /** Reads the current principals of open responses, and decides again about those that changed. Called automatically. */
  recheck(): Promise<void> {
    this.#rechecking ??= this.#recheckEach(this.#all.keys()).finally(() => (this.#rechecking = undefined));
    return this.#rechecking;
  }

  close(): void {
    for (const stop of this.#stopTimers) stop();
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

  /** True if its policy required a device at the start, or does so in the active configuration. */
  #asksForDevice({ routeKey, snapshot }: OpenStream): boolean {
    return [snapshot, this.#latest ?? snapshot].some((each) => findRoute(each, routeKey)?.policy.needsDevice);
  }

  #release(userId: string): void {
    const held = (this.#heldBy.get(userId) ?? 0) - 1;
    if (held > 0) this.#heldBy.set(userId, held);
    else this.#heldBy.delete(userId);
  }

  async #recheckEach(affected: Iterable<OpenStream>): Promise<void> {
    const { current } = this.#deps;
    if (!current) return;
    const byPrincipal = new Map<Principal, OpenStream[]>();
    for (const stream of affected) {
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
        // The principal is unknown now: the limits of the credential itself still apply.
        const found = await current(principal).catch(() => principal);
        if (found !== principal) this.#renew(itsStreams, found);
      }
    };
    await Promise.all(Array.from({ length: RECHECKS_AT_ONCE }, work));
  }

  /** Handles streams whose user has other claims now, or no longer exists. */
  #renew(itsStreams: readonly OpenStream[], principal: Principal | undefined): void {
    for (const stream of itsStreams) {
      if (!this.#all.has(stream)) continue;
      const { routeKey, approvers, membership } = stream;
      const snapshot = this.#latest ?? stream.snapshot;
      const facts = stream.facts && principal && factsAbout(principal, stream.facts);
      const isGood = principal !== undefined && graceEnd(stream, principal) > epochSeconds(this.#deps.clock);
      if (!isGood || !facts || !isStillAllowed({ routeKey, facts, principal, approvers, membership }, snapshot))
        stream.end("access");
      else {
        this.#renewed.set(stream, { principal, facts });
        // A block may name the user's new email address.
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

/** Epoch second in which the right of an accepted request to its response ends at the latest. */
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
