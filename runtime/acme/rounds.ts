/**
 * Orders and renews certificates: one process at a time, by a lease of the store; one host after another.
 *
 * Untrusted input: responses of the certificate authority (client.ts). Promises: only hosts of the active configuration are
 * ordered, whatever names clients request; a failure keeps the previous certificate and delays the next attempt, across
 * restarts and replicas; nothing is thrown.
 */
import { X509Certificate } from "node:crypto";

import type { Notify } from "../audit/events.ts";
import type { AcmeSettings } from "../features/listener/acme.ts";
import { type Clock, epochSeconds } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { ignore } from "../shared/ignore.ts";
import { keepRenewed, LEASE_MS } from "../shared/leased-refresh.ts";
import type { Store } from "../store/store.ts";
import {
  type Account,
  type AcmeClient,
  type AcmeChallenge,
  type ChallengeType,
  createAcmeClient,
  createKey,
} from "./client.ts";
import { byUrgency, dateOf, dueOf, isPaused } from "./due.ts";
import { AcmeFailure } from "./failure.ts";
import { pauseAll, recordFailure } from "./failed-orders.ts";
import type { AcmeRecords, HostRecord, Pause } from "./records.ts";
import { createRenewalInfo, type RenewalInfo } from "./renewal-info.ts";
import { nextCheck, renewalTime } from "./renewal.ts";
import type { SharedState } from "./shared-state.ts";
import { openCaConnection, type CaConnection } from "./ca-connection.ts";

export type Spread = (host: string, challenge: AcmeChallenge, signal: AbortSignal) => Promise<void>;

export interface RoundDeps {
  readonly settings: AcmeSettings;
  readonly store: Pick<Store, "lease">;
  readonly records: AcmeRecords;
  readonly state: SharedState;
  /** Now wanted. */
  readonly hosts: () => ReadonlySet<string>;
  /** Types that the listeners can answer. */
  readonly challenges: readonly ChallengeType[];
  /** Resolves when all processes answer a challenge, of which they learn by the feed. */
  readonly spread: Spread;
  readonly onOrder: (result: "ok" | "failed") => void;
  /** The last known pause. */
  readonly onPause: (pause: Pause | undefined) => void;
  readonly notify: Notify;
  readonly clock: Clock;
  readonly log: Log;
  readonly random?: () => number;
  readonly pollMs?: number;
}

const HOST = { scope: "host" } as const;
const LONGEST_ORDER_MS = 5 * 60_000;

/** One round. @param closing ends it */
export async function runRound(deps: RoundDeps, closing: AbortSignal): Promise<void> {
  const { settings, state, records, clock } = deps;
  const { directory } = settings;
  const due = [...deps.hosts()].filter((host) => dueOf(state.get(host), directory, epochSeconds(clock)) !== undefined);
  if (due.length === 0) return;
  const lease = await deps.store.lease("acme", LEASE_MS);
  // Another process is ordering.
  if (!lease) return;
  const lost = new AbortController();
  const signal = AbortSignal.any([closing, lost.signal]);
  const stop = keepRenewed(lease, () => lost.abort());
  let connection: CaConnection | undefined;
  try {
    // Under the lease: its previous holder may just have written it.
    const pause = await records.pause();
    deps.onPause(pause);
    if (isPaused(pause, epochSeconds(clock))) return;
    connection = await openCaConnection({ caFile: settings.caFile, now: () => clock.now() });
    const round = new Round(deps, connection, signal);
    for (const host of due.toSorted((a, b) => byUrgency(state.get(a), state.get(b)))) {
      if (signal.aborted || !(await round.visit(host))) break;
    }
  } catch (error) {
    // Only a file of authorities that cannot be read; the store's failures end the round.
    if (!(error instanceof AcmeFailure)) throw error;
    await pauseAll(deps, error, (deps.random ?? Math.random)());
  } finally {
    stop();
    await connection?.close().catch(() => {});
    await lease.release().catch(ignore);
  }
}

class Round {
  readonly #deps: RoundDeps;
  readonly #connection: CaConnection;
  /** The process stops, or the lease is lost. */
  readonly #ending: AbortSignal;
  readonly #random: () => number;
  /** For the current host. */
  #signal: AbortSignal;
  #client: AcmeClient;
  #info: RenewalInfo;
  #account: Account | undefined;
  #hasPause = true;

  constructor(deps: RoundDeps, connection: CaConnection, ending: AbortSignal) {
    this.#deps = deps;
    this.#connection = connection;
    this.#ending = ending;
    this.#random = deps.random ?? Math.random;
    [this.#signal, this.#client, this.#info] = this.#open();
  }

  #open(): [AbortSignal, AcmeClient, RenewalInfo] {
    const { settings, clock, pollMs } = this.#deps;
    const signal = AbortSignal.any([this.#ending, AbortSignal.timeout(LONGEST_ORDER_MS)]);
    const common = { connection: this.#connection, signal, now: () => clock.now() };
    const client = createAcmeClient({ ...common, settings, ...(pollMs !== undefined && { pollMs }) });
    return [signal, client, createRenewalInfo({ ...common, directory: settings.directory, random: this.#random })];
  }

  /** @returns false: the round ends, since other hosts would fail alike. @throws GatewayError `store.unavailable` */
  async visit(host: string): Promise<boolean> {
    const { state, settings, clock, log, records, onOrder } = this.#deps;
    [this.#signal, this.#client, this.#info] = this.#open();
    // Another process may have had its turn meanwhile.
    const known = await state.refresh(host);
    let due = this.#isWanted(host) ? dueOf(known, settings.directory, epochSeconds(clock)) : undefined;
    try {
      if (due === "check" && known?.used) due = await this.#check(host, known.record, known.used.leaf);
      if (due === "seal" && known?.used) await this.#seal(host, known.record, known.used.certificate.key);
      if (due !== "order") return true;
      const record = await this.#order(host, known?.record, known?.used?.leaf);
      await records.putHost(host, record);
      await state.refresh(host);
      onOrder("ok");
      log.info({ host, ends: dateOf(record.endsAt), renewal: dateOf(record.renewAt) }, "certificate issued");
      if (this.#hasPause) await records.endPause();
      this.#hasPause = false;
      this.#deps.onPause(undefined);
      return true;
    } catch (error) {
      // A process that stops, a lost lease: not a failure of the host.
      if (this.#ending.aborted) return false;
      const isLate = this.#signal.aborted;
      const failure = isLate
        ? new AcmeFailure(`not finished within ${LONGEST_ORDER_MS / 60_000} minutes`, HOST)
        : error;
      if (!(failure instanceof AcmeFailure)) throw error;
      if (!this.#isWanted(host)) return true;
      onOrder("failed");
      return recordFailure(this.#deps, { host, known, failure, random: this.#random() });
    }
  }

  #isWanted(host: string): boolean {
    return this.#deps.hosts().has(host);
  }

  /** Reads when the authority wants the certificate to be renewed, which is immediately if it was revoked. */
  async #check(host: string, record: HostRecord, leaf: X509Certificate): Promise<"order" | undefined> {
    const { clock, records, state } = this.#deps;
    const next = await this.#suggestion(leaf, record);
    await records.putHost(host, { ...record, ...next });
    await state.refresh(host);
    return next.renewAt <= epochSeconds(clock) ? "order" : undefined;
  }

  /** Without an answer, the certificate is renewed when it was to be. */
  async #suggestion(
    leaf: X509Certificate,
    record: Pick<HostRecord, "renewAt"> | undefined,
  ): Promise<{ readonly renewAt: number; readonly checkAt?: number }> {
    const { clock, log } = this.#deps;
    const planned = record?.renewAt ?? Math.floor(renewalTime(leaf, this.#random()) / 1000);
    try {
      const found = await this.#info.read(leaf);
      if (!found) return { renewAt: planned };
      const { renewAtMs, checkAtMs } = found;
      const latest = Math.floor(Date.parse(leaf.validTo) / 1000);
      const renewAt = renewAtMs === undefined ? planned : Math.min(latest, Math.floor(renewAtMs / 1000));
      return { renewAt, checkAt: Math.floor(checkAtMs / 1000) };
    } catch (error) {
      if (this.#signal.aborted) throw error;
      log.debug({ reason: errorText(error) }, "no renewal information");
      return { renewAt: planned, checkAt: Math.floor(nextCheck(clock.now(), undefined) / 1000) };
    }
  }

  async #seal(host: string, record: HostRecord, key: string): Promise<void> {
    await this.#deps.records.putHost(host, { ...record, sealed: this.#deps.records.sealKey(host, key) });
    await this.#deps.state.refresh(host);
  }

  async #order(host: string, record: HostRecord | undefined, leaf: X509Certificate | undefined): Promise<HostRecord> {
    const { records, settings } = this.#deps;
    const isSame = leaf !== undefined && record?.directory === settings.directory;
    const challenges = this.#challengesFor(record);
    let shown: ChallengeType | undefined;
    const request = {
      host,
      challenges,
      present: async (challenge: AcmeChallenge): Promise<void> => {
        shown = challenge.type;
        await this.#present(host, challenge);
      },
      check: () => {
        if (!this.#isWanted(host)) throw new AcmeFailure("this host has no route anymore", HOST);
      },
    };
    try {
      const replaces = isSame ? await this.#info.idOf(leaf) : undefined;
      const { certificate, key } = await this.#withAccount(async (account) => {
        try {
          return await this.#client.order(account, { ...request, replaces });
        } catch (error) {
          // Replaced by an order that this process does not know of.
          const isKnown = error instanceof AcmeFailure && replaces !== undefined;
          if (!isKnown || !(error.type === "alreadyReplaced" || error.type === "malformed")) throw error;
          return this.#client.order(account, { ...request, replaces: undefined });
        }
      });
      const issued = new X509Certificate(certificate);
      const challenge = shown ?? record?.challenge;
      return {
        certificate,
        sealed: records.sealKey(host, key),
        directory: settings.directory,
        endsAt: Math.floor(Date.parse(issued.validTo) / 1000),
        ...(await this.#suggestion(issued, undefined)),
        ...(challenge !== undefined && { challenge }),
        failures: 0,
      };
    } finally {
      await records.deleteChallenge(host).catch(() => {});
    }
  }

  /** The one that worked before; after a failure the others have their turn. */
  #challengesFor(record: HostRecord | undefined): readonly ChallengeType[] {
    const { challenges } = this.#deps;
    const first = record?.challenge;
    const sorted = challenges.toSorted((a, b) => Number(b === first) - Number(a === first));
    const turn = (record?.failures ?? 0) % Math.max(1, sorted.length);
    return [...sorted.slice(turn), ...sorted.slice(0, turn)];
  }

  async #present(host: string, challenge: AcmeChallenge): Promise<void> {
    const { records, state, spread } = this.#deps;
    await records.putChallenge(host, challenge);
    await state.catchUp();
    await spread(host, challenge, this.#signal);
  }

  /** @param work with an account; once more with a new one if the authority has deleted it */
  async #withAccount<T>(work: (account: Account) => Promise<T>): Promise<T> {
    try {
      return await work((this.#account ??= await this.#openAccount()));
    } catch (error) {
      if (!(error instanceof AcmeFailure) || error.type !== "accountDoesNotExist") throw error;
      return work((this.#account = await this.#register((await this.#deps.records.account()).key)));
    }
  }

  async #openAccount(): Promise<Account> {
    const { key, url } = await this.#deps.records.account();
    return key !== undefined && url !== undefined ? { key, url } : this.#register(key);
  }

  async #register(known: string | undefined): Promise<Account> {
    const { records, log, settings } = this.#deps;
    const key = known ?? (await createKey());
    // Before it is used: a process that ends here must not leave an account without a key.
    if (known === undefined) await records.putAccount({ key });
    const account = await this.#client.register(key);
    await records.putAccount(account);
    log.info({ directory: settings.directory }, "ACME account created");
    return account;
  }
}
