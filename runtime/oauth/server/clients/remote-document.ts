/**
 * Remote JSON documents about clients, cached as long as their headers allow: client ID metadata documents and key
 * sets.
 *
 * Untrusted input: the response, and the caller that names a URL. Promises:
 * - Failures and invalid documents are never cached.
 * - A document is fetched at most once a minute, and the hosts of one allowed pattern together within a budget. So no
 *   caller can make us fetch in a loop, even with many names under one wildcard.
 * - A few peers cannot exhaust the budget of a pattern.
 * - No document is used longer than a day after it was read.
 *
 * @see draft-ietf-oauth-client-id-metadata-document §4.4, RFC 9111 §4.2
 */
import { findDomain, type DomainPattern } from "../../../settings/domains.ts";
import { steadyClock, type Clock } from "../../../shared/clock.ts";
import { pass, refuse, type StepResult } from "../answer.ts";
import { createRateLimit, networkOf } from "../../../shared/rate-limit.ts";

export type FetchedDocument =
  | {
      readonly ok: true;
      readonly document: unknown;
      /** Freshness from its HTTP headers; absent if they state none. */
      readonly maxAgeSeconds?: number;
      /** Its headers forbid stale use, even while its host is unavailable. */
      readonly mustRevalidate?: boolean;
    }
  | {
      readonly ok: false;
      /** For the log. */
      readonly reason: string;
      /** The host is unavailable or overloaded, and may work again soon. */
      readonly transient?: boolean;
    };

/**
 * Fetches a document under the rules of D18: https, allowlisted host, public address pinned, no redirects, no cookies,
 * 5 KiB, JSON. Only status 200 is a success.
 */
export type FetchDocument = (url: string, allowed: readonly DomainPattern[]) => Promise<FetchedDocument>;

export interface RemoteDocuments {
  read(url: string, request: DocumentRequest): Promise<StepResult<unknown>>;
}

export interface DocumentRequest {
  /** Allowed hosts. The caller has matched the URL's host already. */
  readonly allowed: readonly DomainPattern[];
  /** Invalid documents are returned, but not cached. */
  readonly isValid: (document: unknown) => boolean;
  /** Epoch milliseconds: a document read before this is fetched again, once its minute has passed. */
  readonly newerThanMs?: number;
  /** Address of the caller; absent for internal reads. */
  readonly peer?: string;
}

interface Kept {
  readonly document: unknown;
  readonly readAtMs: number;
  /** Time of the steady clock, like the following ones. */
  readonly keptAtMs: number;
  readonly freshUntilMs: number;
  /** While its host is unavailable. */
  readonly usableUntilMs: number;
}

/** The minimum prevents fetching in a loop. The maximum bounds the life of a withdrawn redirect URI or key. */
const MIN_AGE_MS = 60_000;
const MAX_AGE_MS = 24 * 3600_000;
const MAX_DOCUMENTS = 1000;
/** Budget per allowed pattern: many names and URLs under it must not turn us into an attacker of its host. */
const OF_PATTERN = { burst: 30, perSecond: 1 };
/** Part of it for peers with repeated requests: a few of them must leave something for others. */
const OF_REGULARS = { burst: 20, perSecond: 0.75 };
/** A peer is new to a pattern for two documents, as many as an authorization needs, and again after ten minutes. */
const OF_NEWCOMER = { burst: 2, perSecond: 2 / 600 };
/**
 * Budget per peer for all patterns: a third of a pattern's. An authorization needs two documents, which are then cached
 * for all callers for a minute.
 */
const OF_PEER = { burst: 10, perSecond: 0.25 };

export interface RemoteDocumentDeps {
  readonly fetch: FetchDocument;
  readonly clock: Clock;
}

export function createRemoteDocuments(deps: RemoteDocumentDeps): RemoteDocuments {
  const { clock } = deps;
  const steady = steadyClock(clock);
  const cached = new Map<string, Kept>();
  const reading = new Map<string, Promise<StepResult<unknown>>>();
  const ofPattern = createRateLimit({ clock }, OF_PATTERN.burst, OF_PATTERN.perSecond);
  const ofRegulars = createRateLimit({ clock }, OF_REGULARS.burst, OF_REGULARS.perSecond);
  const ofPeer = createRateLimit({ clock }, OF_PEER.burst, OF_PEER.perSecond);
  const ofNewcomer = createRateLimit({ clock }, OF_NEWCOMER.burst, OF_NEWCOMER.perSecond);

  const fetchAgain = async (url: string, { allowed, isValid, peer }: DocumentRequest): Promise<StepResult<unknown>> => {
    // The peer's budget first: without it, nothing is taken from the others.
    if (peer !== undefined && ofPeer.take(networkOf(peer)) > 0) return keptOr(url, "asked too often by this peer");
    const { hostname } = new URL(url);
    const pattern = findDomain(allowed, hostname)?.text ?? hostname;
    const isNewcomer = peer === undefined || ofNewcomer.take(`${pattern} ${networkOf(peer)}`) === 0;
    // Both budgets count: requests of newcomers reduce the share of regulars.
    const isOver = ofRegulars.take(pattern) > 0;
    if ((isOver && !isNewcomer) || ofPattern.take(pattern) > 0)
      return keptOr(url, `asked too often for documents of ${pattern}`);
    const answer = await deps.fetch(url, allowed);
    if (!answer.ok && answer.transient === true) return keptOr(url, answer.reason);
    cached.delete(url);
    if (!answer.ok) return refuse("invalid_client", "The client's document cannot be read", answer.reason);
    // "MUST NOT cache error responses" and "MUST NOT cache documents that are invalid".
    if (isValid(answer.document)) keep(url, answer);
    return pass(answer.document);
  };

  /** "A cache MUST NOT generate a stale response unless it is disconnected or …" (RFC 9111 §4.2.4): here it is disconnected. */
  const keptOr = (url: string, reason: string): StepResult<unknown> => {
    const known = cached.get(url);
    if (known && known.usableUntilMs > steady.now()) return pass(known.document);
    return refuse("temporarily_unavailable", "The client's document cannot be read now", reason);
  };

  const keep = (url: string, answer: Extract<FetchedDocument, { ok: true }>): void => {
    const oldest = cached.size >= MAX_DOCUMENTS ? cached.keys().next().value : undefined;
    if (oldest !== undefined) cached.delete(oldest);
    const now = steady.now();
    const ageMs = Math.min(Math.max((answer.maxAgeSeconds ?? 0) * 1000, MIN_AGE_MS), MAX_AGE_MS);
    cached.set(url, {
      document: answer.document,
      readAtMs: clock.now(),
      keptAtMs: now,
      freshUntilMs: now + ageMs,
      usableUntilMs: answer.mustRevalidate === true ? now + ageMs : now + MAX_AGE_MS,
    });
  };

  return {
    async read(url, request) {
      const known = cached.get(url);
      const now = steady.now();
      const mayAsk = known === undefined || now - known.keptAtMs >= MIN_AGE_MS;
      const isWanted = known === undefined || known.freshUntilMs <= now || known.readAtMs < (request.newerThanMs ?? 0);
      if (known && !(mayAsk && isWanted)) return pass(known.document);
      let current = reading.get(url);
      if (!current) {
        current = fetchAgain(url, request).finally(() => reading.delete(url));
        reading.set(url, current);
      }
      return current;
    },
  };
}
