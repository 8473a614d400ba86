/**
 * Agent runs: requested by a workload, approved by a user, used by the workload until they end.
 *
 * Promises: a workload's attested identity has at most one run at a time. A request never changes after it was stored;
 * only its state does, once. The end of a run ends all of its tokens on every process within 2 s.
 */
import type { Actor, Principal } from "../../../identity/principal.ts";
import type { Revocations } from "../../../identity/interfaces.ts";
import { lowerAscii } from "../../../shared/ascii.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import { hashSecret, type Keys, randomHandle } from "../../../shared/keys.ts";
import type { Log } from "../../../shared/log.ts";
import { createRateLimit, type RateLimiter } from "../../../shared/rate-limit.ts";
import type { Store, StoredRecord } from "../../../store/store.ts";
import {
  askedTag,
  isProven,
  isRunId,
  PENDING_SECONDS,
  pointerKey,
  REFUSED_SECONDS,
  requestDigest,
  type RequestedRun,
  runKey,
  type RunPointer,
  type RunRecord,
  runTags,
  withProof,
} from "./run-records.ts";

/** Pending runs per approver: a user does not read more. */
const MOST_PENDING = 16;
/** Of these, places that one workload, and the workloads of one rule, can hold. */
const MOST_OF_WORKLOAD = 8;
const MOST_OF_RULE = 12;
/** New requests in one process: of one workload with ever new claims, of one rule, of all. */
const ONE_WORKLOAD = { burst: 30, perSecond: 1 / 60 };
const ONE_RULE = { burst: 120, perSecond: 0.1 };
const ALL = { burst: 1000, perSecond: 1 };

export interface AgentRun {
  readonly id: string;
  readonly value: RunRecord;
  readonly version: number;
  /** Epoch seconds. */
  readonly expiresAt: number;
}

export interface RunsDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
  readonly revocations: Pick<Revocations, "isRevoked" | "revoke">;
}

export type AskedRun =
  | { readonly outcome: "created" | "known" | "differs"; readonly run: AgentRun }
  | { readonly outcome: "too-many"; readonly waitSeconds: number };

export class Runs {
  readonly #deps: RunsDeps;
  readonly #oneWorkload: RateLimiter;
  readonly #oneRule: RateLimiter;
  readonly #all: RateLimiter;

  constructor(deps: RunsDeps) {
    this.#deps = deps;
    this.#oneWorkload = createRateLimit(deps, ONE_WORKLOAD.burst, ONE_WORKLOAD.perSecond);
    this.#oneRule = createRateLimit(deps, ONE_RULE.burst, ONE_RULE.perSecond);
    this.#all = createRateLimit(deps, ALL.burst, ALL.perSecond);
  }

  /** @returns undefined for a run that ended, or that the gateway did not write */
  async find(id: string): Promise<AgentRun | undefined> {
    const found = isRunId(id) ? await this.#deps.store.get<RunRecord>(runKey(id)) : undefined;
    return found && this.#toRun(found);
  }

  /** @param pointer hash of a workload's attested identity */
  async findOf(pointer: string): Promise<AgentRun | undefined> {
    const known = await this.#deps.store.get<RunPointer>(pointerKey(pointer));
    const run = known && (await this.find(known.value.id));
    return run?.value.pointer === pointer ? run : undefined;
  }

  /** Runs that are pending a decision of the user with this email address, oldest first. */
  async listAsked(email: string): Promise<readonly AgentRun[]> {
    if (email === "") return [];
    const found = await this.#deps.store.list<RunRecord>(askedTag(lowerAscii(email)));
    const runs = found.flatMap((record) => this.#toRun(record) ?? []);
    return runs.toSorted((a, b) => a.value.requestedAt - b.value.requestedAt);
  }

  /** Returns the run of this identity, or creates it. @throws GatewayError `store.unavailable` */
  async request(asked: RequestedRun): Promise<AskedRun> {
    const { store } = this.#deps;
    for (let attempt = 0; attempt < 3; attempt += 1) {
      const pointer = await store.get<RunPointer>(pointerKey(asked.pointer));
      const run = pointer && (await this.find(pointer.value.id));
      if (run) return { outcome: isSame(run.value, asked) ? "known" : "differs", run };
      const waitSeconds = this.#wait(asked) || (await this.#waitForPlace(asked));
      if (waitSeconds > 0) return { outcome: "too-many", waitSeconds };
      const created = await this.#create(asked, pointer?.version ?? 0);
      if (created) return created;
    }
    return { outcome: "too-many", waitSeconds: 1 };
  }

  /** @param digest of the request that the user saw @returns undefined if it is no longer pending, or another one */
  async decide(
    id: string,
    principal: Principal,
    decision: "active" | "refused",
    digest: string,
  ): Promise<AgentRun | undefined> {
    const run = await this.find(id);
    if (run?.value.state !== "pending" || requestDigest(run.value) !== digest) return undefined;
    const now = epochSeconds(this.#deps.clock);
    const { user } = principal;
    const { proof: _, ...before } = run.value;
    const record = withProof(this.#deps.keys, id, {
      ...before,
      state: decision,
      userId: user.id,
      ...(decision === "active" ? { sessionExpiresAt: principal.expiresAt } : {}),
    });
    const expiresAt = decision === "active" ? record.endsAt : Math.min(record.endsAt, now + REFUSED_SECONDS);
    // The pointer comes first: an active run without it could not be used.
    const { store } = this.#deps;
    const pointer = await store.get<RunPointer>(pointerKey(record.pointer));
    if (pointer?.value.id !== id) return undefined;
    const kept = await store.put(pointer.key, pointer.value, { ifVersion: pointer.version, expiresAt });
    if (!kept.ok) return undefined;
    const written = await this.#put(id, record, run.version, expiresAt);
    if (!written) return undefined;
    const { workload, servers } = record;
    this.#deps.log.info(
      { run: id, by: user.id, workload: workload.userId, servers, decision },
      decision === "active" ? "agent run approved" : "agent run refused",
    );
    return written;
  }

  /** Notes that the provider confirmed the user. A conflict is ignored: the next exchange asks again. */
  async confirmed({ id, value, version, expiresAt }: AgentRun, sessionExpiresAt: number): Promise<void> {
    const { proof: _, ...rest } = value;
    await this.#put(id, withProof(this.#deps.keys, id, { ...rest, sessionExpiresAt }), version, expiresAt);
  }

  /** Ends a run, pending or active, with all of its tokens. */
  async end({ id, value }: Pick<AgentRun, "id" | "value">, reason: string): Promise<void> {
    await endRun(this.#deps, id, value, reason);
  }

  #wait({ workload }: RequestedRun): number {
    return this.#oneWorkload.take(workload.userId) || this.#oneRule.take(ruleOf(workload)) || this.#all.take("all");
  }

  /** @param ownId of the run if it is stored already */
  async #waitForPlace({ workload, approver }: RequestedRun, ownId?: string): Promise<number> {
    const others = (await this.listAsked(approver)).filter(({ id }) => id !== ownId);
    const pending = others.map(({ value }) => value.workload);
    const isFull =
      pending.length >= MOST_PENDING ||
      pending.filter(({ userId }) => userId === workload.userId).length >= MOST_OF_WORKLOAD ||
      pending.filter((each) => ruleOf(each) === ruleOf(workload)).length >= MOST_OF_RULE;
    return isFull ? PENDING_SECONDS : 0;
  }

  /** @returns undefined if another request of this identity was first */
  async #create(asked: RequestedRun, version: number): Promise<AskedRun | undefined> {
    const { store, keys, log } = this.#deps;
    const id = randomHandle(16);
    const record = withProof(keys, id, { schema: 1, state: "pending", ...asked });
    const expiresAt = Math.min(asked.requestedAt + PENDING_SECONDS, asked.endsAt);
    const created = await this.#put(id, record, 0, expiresAt);
    // Again, now that parallel requests find this one: otherwise all of them could take the last place.
    const waitSeconds = await this.#waitForPlace(asked, id);
    if (waitSeconds > 0) {
      await store.delete(runKey(id));
      return { outcome: "too-many", waitSeconds };
    }
    // The pointer comes second: its target must exist.
    const pointer: RunPointer = { schema: 1, id };
    const pointed = await store.put(pointerKey(asked.pointer), pointer, {
      ifVersion: version,
      expiresAt,
    });
    if (!created || !pointed.ok) {
      await store.delete(runKey(id));
      return undefined;
    }
    const { workload, approver, servers } = asked;
    log.info({ run: id, workload: workload.userId, approver, servers }, "agent run requested");
    return { outcome: "created", run: created };
  }

  async #put(id: string, value: RunRecord, ifVersion: number, expiresAt: number): Promise<AgentRun | undefined> {
    const put = await this.#deps.store.put(runKey(id), value, { ifVersion, expiresAt, tags: runTags(value) });
    return put.ok ? { id, value, version: put.version, expiresAt } : undefined;
  }

  #toRun(record: StoredRecord<RunRecord>): AgentRun | undefined {
    const { keys, revocations } = this.#deps;
    const id = record.key.slice(runKey("").length);
    if (revocations.isRevoked([record.key]) || !isProven(keys, id, record.value)) return undefined;
    const { value, version, expiresAt = value.endsAt } = record;
    return { id, value, version, expiresAt };
  }
}

/** @throws GatewayError `store.unavailable`: it ended on this process, and the rest is retried */
export async function endRun(
  { revocations, log }: Pick<RunsDeps, "log"> & { readonly revocations: Pick<Revocations, "revoke"> },
  id: string,
  { workload }: Pick<RunRecord, "workload">,
  reason: string,
): Promise<void> {
  await revocations.revoke(runKey(id));
  log.info({ run: id, workload: workload.userId, reason }, "agent run ended");
}

/** The workload that acts in the run, as facts of its calls name it. */
export function actorOf({ id, value: { workload } }: Pick<AgentRun, "id" | "value">): Actor {
  return { id: workload.userId, run: id, claims: workload.claims, assertedBy: workload.assertedBy };
}

/** Identity of a run: everything in it is attested by the platform or configured. */
export function pointerOf(
  { name, issuer, rules }: RequestedRun["workload"]["assertedBy"],
  userId: string,
  key: readonly (readonly [name: string, value: unknown])[],
): string {
  const [rule] = rules ?? [];
  return hashSecret(JSON.stringify([1, name, issuer, rule?.name, rule?.digest, userId, key]));
}

function ruleOf({ assertedBy: { name, rules } }: RequestedRun["workload"]): string {
  return `${name} ${rules?.[0]?.name ?? ""}`;
}

/** A workload that repeats its request gets the same run. */
function isSame(one: RequestedRun, other: RequestedRun): boolean {
  const textOf = ({ purpose, servers, scope, approver, seconds }: RequestedRun): string =>
    JSON.stringify([purpose, servers, scope, approver, seconds]);
  return textOf(one) === textOf(other);
}
