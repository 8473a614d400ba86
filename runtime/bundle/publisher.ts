/**
 * Publishing: validates a slice together with everything else, stores it in one step, and waits until it is live.
 *
 * Untrusted input: the texts; a publisher is a team, not the gateway's operator. Promises: an invalid text is never
 * stored. A concurrent change by others is never overwritten unnoticed. A change is stored completely or not at all,
 * whatever process dies in between. `live` means active in every process that may serve. A process without a heartbeat
 * is awaited for some seconds, then named as a laggard until it can no longer serve.
 */
import type { Problem } from "../config/load.ts";
import { GatewayError } from "../shared/errors.ts";
import { epochSeconds, type Clock } from "../shared/clock.ts";
import type { Store } from "../store/store.ts";
import type { ValidateCandidates, CandidateValidation } from "./validation/validate-candidates.ts";
import { type Awaited, awaitLive, type Liveness, livenessOf, readServing, watchSilence } from "./liveness.ts";
import { SILENT_AFTER_MS } from "./presence.ts";
import {
  asExpected,
  claimOn,
  currentSlice,
  currentSlices,
  generationOf,
  planRollback,
  realChanges,
  withChanges,
  withClaims,
  type Changes,
  type CurrentSlice,
  type Expected,
  type Publication,
  type Publishing,
  type RollbackRequest,
  type SliceChange,
} from "./publication.ts";
import { publishedName } from "./validation/protocol.ts";
import { createTurns } from "./validation/turns.ts";
import { PUBLICATION_FEED, PUBLICATION_KEY, readPublication, sliceKey, type PublishedSlice } from "./published.ts";

export type PublishOutcome =
  | ({
      readonly ok: true;
      /** False if nothing had to change. */
      readonly changed: boolean;
      readonly generation: number;
      /** Owner → digest; null for a removed slice. */
      readonly slices: Changes;
      readonly warnings: readonly Problem[];
    } & Liveness)
  | {
      readonly ok: false;
      readonly reason: "stale";
      /** Not removed: another resource instance published it. */
      readonly isClaimed?: true;
      readonly owner: string;
      readonly current: CurrentSlice | undefined;
    }
  | { readonly ok: false; readonly reason: "invalid"; readonly problems: readonly Problem[] }
  | { readonly ok: false; readonly reason: "no-such-generation"; readonly message: string };

/** Predicted result of publishing a slice, as far as validation can determine. */
export type Validated =
  | {
      readonly ok: true;
      /** False: already published. */
      readonly changed: boolean;
      readonly warnings: readonly Problem[];
    }
  | Extract<PublishOutcome, { readonly reason: "invalid" }>;

/** Result for one owner's slice. */
export interface PublishedChange {
  readonly action: "publish" | "rollback";
  readonly by: string;
  readonly owner: string;
  /** Digests; null: none. */
  readonly before: string | null;
  readonly after: string | null;
  readonly reason?: string | undefined;
}

export interface PublisherDeps {
  readonly store: Store;
  readonly validate: ValidateCandidates;
  readonly clock: Clock;
  /** Called after a change was stored, to wake other processes. */
  readonly onStored?: () => void;
  /** For the audit; must not throw. */
  readonly record?: ((change: PublishedChange) => Promise<void>) | undefined;
  /** Longest wait until processes activate a change; above `silentMs`. */
  readonly waitMs?: number;
  /** Longest wait for a process without a heartbeat. */
  readonly silentMs?: number;
  /** For metrics. */
  readonly onAwaited?: ((result: Awaited) => void) | undefined;
}

const WAIT_MS = 25_000;
/** Other processes may publish at the same time; in each round one of them wins. */
const MAX_ROUNDS = 20;
const FEED_ENTRY_SECONDS = 3_600;

type Refused = Extract<PublishOutcome, { readonly ok: false }>;
type Stored = Omit<Extract<PublishOutcome, { readonly ok: true }>, keyof Liveness>;
type SliceText = { readonly text: string; readonly digest: string };
type Texts = ReadonlyMap<string, string>;
type Plan = { readonly ok: true; readonly requested: Changes; readonly texts: Texts } | Refused;

export class Publisher {
  readonly #deps: PublisherDeps;
  readonly #findSilent: ReturnType<typeof watchSilence>;
  readonly #turns = createTurns();

  constructor(deps: PublisherDeps) {
    this.#deps = deps;
    this.#findSilent = watchSilence(deps.silentMs ?? SILENT_AFTER_MS);
  }

  async publication(): Promise<Publication> {
    return (await readPublication(this.#deps.store)).publication;
  }

  /** The owner's slice, as published. */
  async get(owner: string): Promise<PublishedSlice | undefined> {
    for (let reads = 0; reads < MAX_ROUNDS; reads++) {
      const slice = currentSlice((await readPublication(this.#deps.store)).publication, owner);
      if (!slice) return undefined;
      const text = await this.#deps.store.get<string>(sliceKey(owner, slice.digest));
      if (text) return { ...slice, text: text.value };
    }
    throw new GatewayError("store.unavailable", `Cannot read the slice of owner "${owner}": its text is missing`);
  }

  /** Validates as `publish` does, without a change. */
  async validate(owner: string, { text, digest }: SliceText): Promise<Validated> {
    const { publication } = await readPublication(this.#deps.store);
    const requested = new Map([[owner, digest]]);
    return (await this.#tryOut(publication, { requested, texts: new Map([[digest, text]]) }, { by: "unknown" }))
      .validated;
  }

  /** @param slice text, and digest of its canonical JSON; null removes the owner's slice */
  publish(owner: string, slice: SliceText | null, expected: Expected, who?: Publishing): Promise<PublishOutcome> {
    return this.publishAll([{ owner, slice, expected }], who);
  }

  /** Publishes all changes in one step, or none. @param changes of different owners */
  publishAll(changes: readonly SliceChange[], who?: Publishing): Promise<PublishOutcome> {
    const owners = changes.map(({ owner }) => owner);
    return this.#change("publish", owners, who, (publication) => {
      const requested = new Map<string, string | null>();
      const texts = new Map<string, string>();
      for (const { owner, slice, expected } of changes) {
        const current = currentSlice(publication, owner);
        const digest = slice?.digest ?? null;
        const claim = claimOn(publication, owner);
        const isOthers = who?.claim !== undefined && claim !== undefined && who.claim !== claim;
        if (current && digest === null && isOthers)
          return { ok: false, reason: "stale", isClaimed: true, owner, current };
        // RFC 9110 §13.1.1: a change that already succeeded may be answered as a success. An apply that died after
        // publishing repeats its old expectation.
        if ((current?.digest ?? null) !== digest && !asExpected(current, expected))
          return { ok: false, reason: "stale", owner, current };
        requested.set(owner, digest);
        if (slice) texts.set(slice.digest, slice.text);
      }
      return { ok: true, requested, texts };
    });
  }

  rollback(request: RollbackRequest, who?: Publishing): Promise<PublishOutcome> {
    return this.#change("rollback", request.owner === undefined ? [] : [request.owner], who, (publication) => {
      const { owner, from } = request;
      if (owner !== undefined && from !== undefined) {
        const newest = publication.owners.find((each) => each.owner === owner)?.versions.at(-1);
        const current = currentSlice(publication, owner);
        if (newest?.generation !== from) return { ok: false, reason: "stale", owner, current };
      }
      const plan = planRollback(publication, request);
      if (!plan.ok) return { ok: false, reason: "no-such-generation", message: plan.reason };
      return { ok: true, requested: plan.changes, texts: new Map() };
    });
  }

  /** Processes in which this generation is active, as far as these owners' slices are concerned. */
  async liveness(generation: number, owners: readonly string[]): Promise<Liveness> {
    return livenessOf(await readServing(this.#deps.store), generation, owners);
  }

  async #change(
    action: PublishedChange["action"],
    owners: readonly string[],
    who: Publishing | undefined,
    plan: (publication: Publication) => Plan,
  ): Promise<PublishOutcome> {
    // One at a time: concurrent ones would be revalidated after each other's store.
    const stored = await this.#turns.take(owners.toSorted().join(" "), () => this.#storeChange(action, who, plan));
    return stored.ok ? { ...stored, ...(await this.#live(stored.generation, [...stored.slices.keys()])) } : stored;
  }

  async #storeChange(
    action: PublishedChange["action"],
    who: Publishing | undefined,
    plan: (publication: Publication) => Plan,
  ): Promise<Stored | Refused> {
    const origin = { by: "unknown", ...who, isRollback: action === "rollback" };
    for (let round = 0; round < MAX_ROUNDS; round++) {
      const { publication, version } = await readPublication(this.#deps.store);
      const planned = plan(publication);
      if (!planned.ok) return planned;
      const { changes, next: changed, validated } = await this.#tryOut(publication, planned, origin);
      if (!validated.ok) return validated;
      const { claim } = origin;
      const next = claim === undefined || origin.isRollback ? changed : withClaims(changed, planned.requested, claim);
      if (next !== publication && !(await this.#commit(next, version, planned.texts))) continue;
      if (changes.size > 0) await this.#announce(publication, next);
      for (const [owner, after] of changes) {
        const before = currentSlice(publication, owner)?.digest ?? null;
        await this.#deps.record?.({ action, by: origin.by, owner, before, after, reason: who?.reason });
      }
      return { ...validated, generation: generationOf(next, planned.requested), slices: planned.requested };
    }
    throw new GatewayError("publish.busy", "Cannot publish: others publish at the same time, try again");
  }

  /** The next publication, and whether it is valid. */
  async #tryOut(
    publication: Publication,
    { requested, texts }: Omit<Extract<Plan, { readonly ok: true }>, "ok">,
    origin: Publishing & { readonly isRollback?: boolean },
  ): Promise<{ readonly changes: Changes; readonly next: Publication; readonly validated: Validated }> {
    const changes = realChanges(publication, requested);
    const changed = changes.size > 0;
    const next = changed
      ? withChanges(publication, changes, epochSeconds(this.#deps.clock), { isRollback: false, ...origin })
      : publication;
    const { problems } = await this.#validateAll(next, changes, texts);
    if (changed && problems.some(({ severity }) => severity === "error"))
      return { changes, next, validated: { ok: false, reason: "invalid", problems } };
    // Only the owner's own warnings are reported.
    const names = new Set([...changes.keys()].map(publishedName));
    const warnings = problems.filter(({ severity, file }) => severity === "warning" && names.has(file));
    return { changes, next, validated: { ok: true, changed, warnings } };
  }

  async #validateAll(next: Publication, changes: Changes, texts: Texts): Promise<CandidateValidation> {
    if (changes.size === 0) return { problems: [] };
    const slices = await Promise.all(
      currentSlices(next).map(async ({ owner, digest }) => {
        const text = texts.get(digest) ?? (await this.#deps.store.get<string>(sliceKey(owner, digest)))?.value;
        if (text === undefined)
          throw new GatewayError("store.unavailable", `Cannot read the slice of owner "${owner}"`);
        return { owner, digest, text, candidate: changes.has(owner) };
      }),
    );
    return this.#deps.validate(slices, [...changes.keys()]);
  }

  /** @returns false if another publisher was faster */
  async #commit(next: Publication, version: number, texts: Texts): Promise<boolean> {
    const fresh = currentSlices(next).filter(({ digest }) => texts.has(digest));
    // Texts first, then the record that names them: a reader finds every text it names.
    for (const { owner, digest } of fresh) await this.#putText(owner, digest, texts);
    const { ok } = await this.#deps.store.put(PUBLICATION_KEY, next, { ifVersion: version });
    if (!ok) return false;
    // Another publisher of the same owner may have deleted the text before this record named it.
    for (const { owner, digest } of fresh) {
      if (!(await this.#deps.store.get(sliceKey(owner, digest)))) await this.#putText(owner, digest, texts);
    }
    return true;
  }

  async #putText(owner: string, digest: string, texts: Texts): Promise<void> {
    await this.#deps.store.put(sliceKey(owner, digest), texts.get(digest) ?? "", { tags: [`slice:${owner}`] });
  }

  async #announce(before: Publication, next: Publication): Promise<void> {
    const { store, clock, onStored } = this.#deps;
    const expiresAt = epochSeconds(clock) + FEED_ENTRY_SECONDS;
    await store.append(PUBLICATION_FEED, { generation: next.generation }, expiresAt);
    onStored?.();
    const named = digestsOf(next);
    for (const { owner, versions } of before.owners) {
      for (const { digest } of versions) {
        if (digest && !named.has(sliceKey(owner, digest))) await store.delete(sliceKey(owner, digest));
      }
    }
  }

  #live(generation: number, owners: readonly string[]): Promise<Liveness> {
    const { store, waitMs = WAIT_MS, onAwaited } = this.#deps;
    return awaitLive({ store, waitMs, findSilent: this.#findSilent, onAwaited }, generation, owners);
  }
}

function digestsOf({ owners }: Publication): ReadonlySet<string> {
  return new Set(
    owners.flatMap(({ owner, versions }) =>
      versions.flatMap(({ digest }) => (digest ? [sliceKey(owner, digest)] : [])),
    ),
  );
}
