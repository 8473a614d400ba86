/**
 * The stored certificates and challenges as this process knows them, for every handshake: nothing is read from the store while
 * a client waits. Changes by other processes arrive by a feed, within a second.
 *
 * Promise: a record that cannot be used (a seal of another secret, a certificate for another host) is logged and counts as
 * none.
 */
import { X509Certificate } from "node:crypto";

import type { HostCertificate } from "../features/listener/compiled.ts";
import type { IssuedCertificates } from "../http/listener/issued-certificates.ts";
import { type Clock, epochSeconds } from "../shared/clock.ts";
import { errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { followFeed } from "../store/follow-feed.ts";
import type { Json, Store } from "../store/store.ts";
import { type AcmeChallenge, usableProblem } from "./client.ts";
import { type AcmeRecords, CHALLENGE_SECONDS, FEED, type HostRecord, readEntry, type StoredHost } from "./records.ts";

/** A host as this process knows it. */
export interface KnownHost {
  readonly record: HostRecord;
  readonly version: number;
  readonly isOldSeal: boolean;
  /** Undefined if there is none that can be used. */
  readonly used: { readonly certificate: HostCertificate; readonly leaf: X509Certificate } | undefined;
}

interface PendingChallenge extends AcmeChallenge {
  /** Epoch seconds. */
  readonly until: number;
  /** For TLS-ALPN-01. */
  readonly shown: HostCertificate | undefined;
}

export interface SharedState extends IssuedCertificates {
  get(host: string): KnownHost | undefined;
  /** Reads a host's record now. @throws GatewayError `store.unavailable` */
  refresh(host: string): Promise<KnownHost | undefined>;
  /** Stops using certificates of other hosts. @param hosts the first one is the fallback's */
  keep(hosts: ReadonlySet<string>): void;
  certificates(): readonly HostCertificate[];
  /** @throws GatewayError `store.unavailable` */
  catchUp(): Promise<void>;
  close(): Promise<void>;
}

export interface SharedStateDeps {
  readonly store: Store;
  readonly records: AcmeRecords;
  readonly clock: Clock;
  readonly log: Log;
}

/** Not a name of an owner: the operator's account has requested it. */
const NO_OWNER = "";

export async function openSharedState({ store, records, clock, log }: SharedStateDeps): Promise<SharedState> {
  const known = new Map<string, KnownHost>();
  const pending = new Map<string, PendingChallenge>();
  let wanted: ReadonlySet<string> | undefined;
  let listener: () => void = () => {};
  let reading: Promise<void> = Promise.resolve();

  const take = (host: string, found: StoredHost | undefined): void => {
    const earlier = known.get(host);
    if (!found) {
      known.delete(host);
      if (earlier?.used) listener();
      return;
    }
    const isSame = earlier?.record.certificate === found.record.certificate;
    const used = isSame ? earlier?.used : read(found, log);
    const { record, version, isOldSeal } = found;
    known.set(host, { record, version, isOldSeal, used });
    if (!isSame) listener();
  };
  const refresh = async (host: string): Promise<void> => take(host, await records.host(host));
  const readChallenge = async (host: string): Promise<void> => {
    const found = await records.challenge(host);
    if (!found) return void pending.delete(host);
    const { certificate, key } = found;
    const isAlpn = certificate !== undefined && key !== undefined;
    // By the clock of this process: that of the writer can differ.
    const until = epochSeconds(clock) + CHALLENGE_SECONDS;
    pending.set(host, { ...found, until, shown: isAlpn ? { host, owner: NO_OWNER, certificate, key } : undefined });
  };
  /** One after another: an older read must not overwrite a newer one. */
  const queue = (work: () => Promise<void>): Promise<void> => {
    const done = reading.then(work);
    reading = done.catch((error: unknown) => {
      log.warn({ reason: errorText(error) }, "cannot read automatic certificate");
    });
    return done;
  };
  const onEntry = (entry: Json): void => {
    const read = readEntry(entry);
    // A pruned host is read again when it is wanted.
    if (read) queue(() => (read.isChallenge ? readChallenge(read.host) : refresh(read.host))).catch(() => {});
  };
  const loadAll = async (): Promise<void> => {
    for (const found of await records.hosts()) take(found.host, found);
  };
  await queue(loadAll).catch(() => {});
  const feed = followFeed({ store, log, feed: FEED, onEntry });

  const certificateOf = (host: string): HostCertificate | undefined =>
    wanted === undefined || wanted.has(host) ? known.get(host)?.used?.certificate : undefined;
  const live = (host: string) => {
    const found = pending.get(host);
    return found && found.until > epochSeconds(clock) ? found : undefined;
  };

  return {
    get: (host) => known.get(host),
    async refresh(host) {
      await queue(() => refresh(host));
      return known.get(host);
    },
    keep(hosts) {
      const before = wanted;
      wanted = hosts;
      if (before === undefined || [...before].some((each) => !hosts.has(each))) listener();
    },
    certificates: () => [...known.keys()].flatMap((host) => certificateOf(host) ?? []),
    async catchUp() {
      await feed.catchUp();
      await reading;
    },
    find: certificateOf,
    first() {
      for (const host of wanted ?? known.keys()) {
        const found = certificateOf(host);
        if (found) return found;
      }
      return undefined;
    },
    challenge: (host) => (pending.size === 0 ? undefined : live(host)?.shown),
    httpAnswer(host, token) {
      const challenge = pending.size === 0 ? undefined : live(host);
      return challenge?.type === "http-01" && challenge.token === token ? challenge.keyAuthorization : undefined;
    },
    onChange(next) {
      listener = next;
    },
    async close() {
      await feed.close();
      await reading;
    },
  };
}

function read({ host, record, key }: StoredHost, log: Log): KnownHost["used"] {
  const { certificate } = record;
  if (certificate === undefined) return undefined;
  const problem =
    key === undefined ? "its key is sealed with an unknown secret" : usableProblem(host, certificate, key);
  if (problem !== undefined || key === undefined) {
    log.warn({ host, reason: problem }, "cannot use stored certificate");
    return undefined;
  }
  return { certificate: { host, owner: NO_OWNER, certificate, key }, leaf: new X509Certificate(certificate) };
}
