/**
 * The stored state of automatic certificates, shared by all processes: account, certificates with their next renewal, pending
 * challenges, and pauses. Keys are sealed for their record. Only the holder of the lease writes.
 */
import { epochSeconds, type Clock } from "../shared/clock.ts";
import { isRecord } from "../shared/is-record.ts";
import { hashSecret, sealBeginning, type Keys } from "../shared/keys.ts";
import type { Json, Store } from "../store/store.ts";
import { firstFormats } from "../store/formats.ts";
import type { AcmeSettings } from "../features/listener/acme.ts";
import type { Account, AcmeChallenge, ChallengeType } from "./client.ts";

/** Times are epoch seconds. */
export interface HostRecord {
  /** PEM, with intermediate certificates; absent: none was issued. */
  readonly certificate?: string;
  /** Its key. */
  readonly sealed?: string;
  /** Directory that issued it. */
  readonly directory?: string;
  readonly endsAt?: number;
  readonly renewAt?: number;
  /** When the authority's suggestion is read again. */
  readonly checkAt?: number;
  /** AcmeChallenge of the last success. */
  readonly challenge?: ChallengeType;
  /** Failed orders in a row, at `tried`. */
  readonly failures: number;
  readonly tried?: string;
  readonly failedAt?: number;
  readonly nextAt?: number;
  readonly reason?: string;
}

export interface StoredHost {
  readonly host: string;
  readonly version: number;
  readonly record: HostRecord;
  /** PEM; undefined if there is no certificate, or its seal cannot be opened. */
  readonly key: string | undefined;
  /** Sealed with a previous shared secret. */
  readonly isOldSeal: boolean;
}

/** Orders for any host are paused, since the authority is unavailable or asks to wait. */
export interface Pause {
  readonly until: number;
  readonly failures: number;
  readonly reason: string;
}

export const ACME_FORMATS = firstFormats(["acme-account", "acme-challenge", "acme-host", "acme-pause"]);

const TAG = "acme";
export const FEED = "acme";
const FEED_SECONDS = 3_600;
export const CHALLENGE_SECONDS = 600;
const DAY = 86_400;
/** A host whose route returns soon keeps its certificate, and its pauses. */
const KEPT_SECONDS = 30 * DAY;
const ACCOUNT_SECONDS = 400 * DAY;

export type AcmeRecords = ReturnType<typeof createAcmeRecords>;

export interface AcmeRecordsDeps {
  readonly store: Store;
  readonly keys: Keys;
  readonly settings: Pick<AcmeSettings, "directory" | "externalAccount">;
  readonly clock: Clock;
}

export function createAcmeRecords({ store, keys, settings, clock }: AcmeRecordsDeps) {
  const sealer = keys.sealer("acme");
  const directory = hashSecret(JSON.stringify([settings.directory, settings.externalAccount?.keyId ?? ""]));
  const accountKey = `acme-account:${directory}`;
  const pauseKey = `acme-pause:${directory}`;

  return {
    /** All hosts with a certificate or a failure. @throws GatewayError `store.unavailable` */
    async hosts(): Promise<readonly StoredHost[]> {
      const found = await store.list<HostRecord>(TAG);
      return found.map(({ key, value, version }) => stored(key.slice(HOST_PREFIX.length), value, version));
    },
    async host(host: string): Promise<StoredHost | undefined> {
      const found = await store.get<HostRecord>(hostKey(host));
      return found && stored(host, found.value, found.version);
    },
    async putHost(host: string, record: HostRecord): Promise<void> {
      const expiresAt = Math.max(epochSeconds(clock), record.endsAt ?? 0) + KEPT_SECONDS;
      await store.put(hostKey(host), record, { tags: [TAG], expiresAt });
      await append({ host });
    },
    sealKey: (host: string, key: string): string => sealer.seal(key, hostKey(host)),

    async challenge(host: string): Promise<AcmeChallenge | undefined> {
      const key = challengeKey(host);
      const found = await store.get<{ readonly sealed: string }>(key);
      const opened = found && sealer.open(found.value.sealed, key);
      return opened && (JSON.parse(opened.toString()) as AcmeChallenge);
    },
    async putChallenge(host: string, challenge: AcmeChallenge): Promise<void> {
      const key = challengeKey(host);
      const expiresAt = epochSeconds(clock) + CHALLENGE_SECONDS;
      await store.put(key, { sealed: sealer.seal(JSON.stringify(challenge), key) }, { expiresAt });
      await append({ host, challenge: true });
    },
    async deleteChallenge(host: string): Promise<void> {
      if (await store.delete(challengeKey(host))) await append({ host, challenge: true });
    },

    /** The account, as far as it was created. */
    async account(): Promise<Partial<Account>> {
      const found = await store.get<{ readonly sealed: string }>(accountKey);
      const opened = found && sealer.open(found.value.sealed, accountKey);
      if (!opened) return {};
      const account = JSON.parse(opened.toString()) as Partial<Account>;
      // Otherwise it would be lost with the previous secret, and a binding may be used only once.
      if (!isCurrent(found.value.sealed)) await putAccount(account);
      return account;
    },
    putAccount,

    async pause(): Promise<Pause | undefined> {
      return (await store.get<Pause>(pauseKey))?.value;
    },
    async putPause(pause: Pause): Promise<void> {
      await store.put(pauseKey, pause, { expiresAt: pause.until + DAY });
    },
    async endPause(): Promise<void> {
      await store.delete(pauseKey);
    },
  };

  async function putAccount(account: Partial<Account>): Promise<void> {
    const sealed = sealer.seal(JSON.stringify(account), accountKey);
    await store.put(accountKey, { sealed }, { expiresAt: epochSeconds(clock) + ACCOUNT_SECONDS });
  }

  function isCurrent(sealed: string | undefined): boolean {
    return sealed?.startsWith(sealBeginning(keys.derive("acme")[0] as Buffer)) === true;
  }

  async function append(entry: { readonly host: string; readonly challenge?: true }): Promise<void> {
    await store.append(FEED, entry, epochSeconds(clock) + FEED_SECONDS);
  }

  function stored(host: string, record: HostRecord, version: number): StoredHost {
    const key = record.sealed === undefined ? undefined : sealer.open(record.sealed, hostKey(host))?.toString();
    return { host, version, record, key, isOldSeal: key !== undefined && !isCurrent(record.sealed) };
  }
}

const HOST_PREFIX = "acme-host:";

function hostKey(host: string): string {
  return HOST_PREFIX + host;
}

function challengeKey(host: string): string {
  return `acme-challenge:${host}`;
}

/** @returns undefined for an entry of another version */
export function readEntry(entry: Json): { readonly host: string; readonly isChallenge: boolean } | undefined {
  if (!isRecord(entry) || typeof entry["host"] !== "string") return undefined;
  return { host: entry["host"], isChallenge: entry["challenge"] === true };
}
