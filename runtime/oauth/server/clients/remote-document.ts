/**
 * JSON documents about clients that lie elsewhere, kept for as long as they allow: client ID metadata documents and key
 * sets.
 *
 * Untrusted input: what the address answers, and whoever names an address. Promises: failures and invalid documents are
 * never kept; a document is asked for at most once a minute, and the hosts of one allowed pattern together so often as its
 * budget allows, so that nobody can make us fetch in a loop, not with many names under one wildcard either; a few peers
 * cannot use up what a pattern has; nothing is used longer than a day after it was read.
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
      /** How long it is fresh by its HTTP headers; absent when they say nothing. */
      readonly maxAgeSeconds?: number;
      /** Its headers forbid using it once it is stale, even while its host is away. */
      readonly mustRevalidate?: boolean;
    }
  | {
      readonly ok: false;
      /** For the log. */
      readonly reason: string;
      /** The host is away or overloaded: the same address may be good again soon. */
      readonly transient?: boolean;
    };

/**
 * Reads a document under the rules of D18: https, allowlisted host, public address pinned, no redirects, no cookies,
 * 5 KiB, JSON. Only status 200 is a success.
 */
export type FetchDocument = (url: string, allowed: readonly DomainPattern[]) => Promise<FetchedDocument>;

export interface RemoteDocuments {
  read(url: string, request: DocumentRequest): Promise<StepResult<unknown>>;
}

export interface DocumentRequest {
  /** Whose hosts may be asked; the caller has matched the host of the address before. */
  readonly allowed: readonly DomainPattern[];
  /** What is not valid is handed on, and not kept. */
  readonly isValid: (document: unknown) => boolean;
  /** Epoch milliseconds: a document that was read earlier is asked for again, when its minute has passed. */
  readonly newerThanMs?: number;
  /** Address of whoever makes us read it; absent = nobody outside does. */
  readonly peer?: string;
}

interface Kept {
  readonly document: unknown;
  readonly readAtMs: number;
  /** By the steady clock, as the others are. */
  readonly keptAtMs: number;
  readonly freshUntilMs: number;
  /** While its host is away. */
  readonly usableUntilMs: number;
}

/** Below it one address could be asked in a loop; above it a withdrawn redirect URI or key would live too long. */
const MIN_AGE_MS = 60_000;
const MAX_AGE_MS = 24 * 3600_000;
const MAX_DOCUMENTS = 1000;
/** Per allowed pattern: many names and addresses that it allows must not make us the attacker of who serves them. */
const OF_PATTERN = { burst: 30, perSecond: 1 };
/** What of it peers have that ask again and again: a few of them must leave something for others. */
const OF_REGULARS = { burst: 20, perSecond: 0.75 };
/** A peer is new to a pattern for two documents, as many as an authorization takes, and again after ten minutes. */
const OF_NEWCOMER = { burst: 2, perSecond: 2 / 600 };
/** Per peer, of all patterns: a third of what one has. An authorization takes two documents, for everybody a minute long. */
const OF_PEER = { burst: 10, perSecond: 0.25 };

export interface RemoteDocumentDeps {
  readonly fetch: FetchDocument;
  readonly clock: Clock;
}

export function createRemoteDocuments(deps: RemoteDocumentDeps): RemoteDocuments {
  const { clock } = deps;
  const steady = steadyClock(clock);
  const kept = new Map<string, Kept>();
  const reading = new Map<string, Promise<StepResult<unknown>>>();
  const ofPattern = createRateLimit({ clock }, OF_PATTERN.burst, OF_PATTERN.perSecond);
  const ofRegulars = createRateLimit({ clock }, OF_REGULARS.burst, OF_REGULARS.perSecond);
  const ofPeer = createRateLimit({ clock }, OF_PEER.burst, OF_PEER.perSecond);
  const ofNewcomer = createRateLimit({ clock }, OF_NEWCOMER.burst, OF_NEWCOMER.perSecond);

  const readAnew = async (url: string, { allowed, isValid, peer }: DocumentRequest): Promise<StepResult<unknown>> => {
    // The peer first: what it has not left takes nothing from others.
    if (peer !== undefined && ofPeer.take(networkOf(peer)) > 0) return keptOr(url, "asked too often by this peer");
    const { hostname } = new URL(url);
    const pattern = findDomain(allowed, hostname)?.text ?? hostname;
    const isNewcomer = peer === undefined || ofNewcomer.take(`${pattern} ${networkOf(peer)}`) === 0;
    // Both are counted: what newcomers take, regulars do not have.
    const isOver = ofRegulars.take(pattern) > 0;
    if ((isOver && !isNewcomer) || ofPattern.take(pattern) > 0)
      return keptOr(url, `asked too often for documents of ${pattern}`);
    const answer = await deps.fetch(url, allowed);
    if (!answer.ok && answer.transient === true) return keptOr(url, answer.reason);
    kept.delete(url);
    if (!answer.ok) return refuse("invalid_client", "The client's document cannot be read", answer.reason);
    // "MUST NOT cache error responses" and "MUST NOT cache documents that are invalid".
    if (isValid(answer.document)) keep(url, answer);
    return pass(answer.document);
  };

  /** "A cache MUST NOT generate a stale response unless it is disconnected or …" (RFC 9111 §4.2.4): here it is. */
  const keptOr = (url: string, reason: string): StepResult<unknown> => {
    const known = kept.get(url);
    if (known && known.usableUntilMs > steady.now()) return pass(known.document);
    return refuse("temporarily_unavailable", "The client's document cannot be read now", reason);
  };

  const keep = (url: string, answer: Extract<FetchedDocument, { ok: true }>): void => {
    const oldest = kept.size >= MAX_DOCUMENTS ? kept.keys().next().value : undefined;
    if (oldest !== undefined) kept.delete(oldest);
    const now = steady.now();
    const ageMs = Math.min(Math.max((answer.maxAgeSeconds ?? 0) * 1000, MIN_AGE_MS), MAX_AGE_MS);
    kept.set(url, {
      document: answer.document,
      readAtMs: clock.now(),
      keptAtMs: now,
      freshUntilMs: now + ageMs,
      usableUntilMs: answer.mustRevalidate === true ? now + ageMs : now + MAX_AGE_MS,
    });
  };

  return {
    async read(url, request) {
      const known = kept.get(url);
      const now = steady.now();
      const mayAsk = known === undefined || now - known.keptAtMs >= MIN_AGE_MS;
      const isWanted = known === undefined || known.freshUntilMs <= now || known.readAtMs < (request.newerThanMs ?? 0);
      if (known && !(mayAsk && isWanted)) return pass(known.document);
      let current = reading.get(url);
      if (!current) {
        current = readAnew(url, request).finally(() => reading.delete(url));
        reading.set(url, current);
      }
      return current;
    },
  };
}
