/**
 * Fetches addresses that other parties named, such as metadata of authorization servers and client documents (D18).
 *
 * Untrusted input: the URL, the DNS result for its host, and the whole response. Promises: a forbidden host is not even
 * looked up; the connection goes to the address that was checked; no redirect is followed, no cookie or credential of ours is
 * added, no content coding is undone; size and total time are bounded. Nothing is thrown: every rejection is a value, and it
 * never quotes the response. A slow host uses half of the connections at most.
 */
import type { LookupAddress } from "node:dns";
import { isIP, type LookupFunction } from "node:net";

import type { UpstreamReach } from "../../features/connection/compiled.ts";
import { findDomain, type DomainPattern } from "../../settings/domains.ts";
import { errorText } from "../../shared/errors.ts";
import { connectionLimits } from "../listener/connection-limits.ts";
import { type AnswerHead, requestOnce, untilAborted } from "../../shared/net/bounded-request.ts";
import { isOwnAddress } from "../../shared/net/own-address.ts";
import { createFairLimiter } from "../../shared/limiter.ts";
import { lookUp } from "../../shared/net/name-lookup.ts";
import { addressKind, type AddressKind } from "../../shared/net/safe-address.ts";
import { bareHost } from "../../shared/net/bare-host.ts";
import { caHint } from "../../shared/net/unknown-ca.ts";

/** Source of an address, which decides how it is checked. */
export type FetchTarget =
  /**
   * Named by another party: the host must be listed. `private`: whether an exactly listed host may be in a private network.
   */
  | { readonly kind: "listed"; readonly domains: readonly DomainPattern[]; readonly private: "exact" | "never" }
  /** The host of a route's `to`: must be listed, but may use `to`'s scheme and any address except metadata addresses. */
  | {
      readonly kind: "upstream";
      readonly domains: readonly DomainPattern[];
      readonly reach?: UpstreamReach | undefined;
    }
  /** An endpoint that accepted metadata names: https, a public address, or a private one if exactly listed. */
  | { readonly kind: "named"; readonly domains: readonly DomainPattern[] }
  /** Configured on a route: any address except metadata addresses. */
  | { readonly kind: "configured"; readonly reach?: UpstreamReach | undefined };

// `reach`: what the owner of the route may reach (upstreams/reach.ts), which also bounds its other addresses.

export interface SafeRequest {
  readonly url: string;
  readonly target: FetchTarget;
  /** Default GET. */
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Longest response body that is read. */
  readonly maxBytes: number;
  /** For the whole exchange, name resolution included. Default 10 s. */
  readonly timeoutMs?: number;
  /** Ends the exchange before its time. */
  readonly signal?: AbortSignal;
  /** Discards the response body: the status counts however the body ends, and `body` is empty. */
  readonly statusOnly?: boolean;
  /**
   * Set for requests that clients cause as often as they like: all these together use half of the connections at most, and
   * each party half of that. Default: the host is the party, among all others.
   */
  readonly party?: string;
}

export type SafeRefusal =
  /** Not a URL, not https, or with user information. */
  | "bad-url"
  | "not-listed"
  | "forbidden-address"
  | "unresolved"
  | "unreachable"
  | "timeout"
  | "redirect"
  | "too-large"
  | "content-coding";

export type SafeAnswer =
  | ({ readonly ok: true; readonly body: Buffer } & AnswerHead)
  /** `detail` is for the log: the host and the problem, never the response. */
  | { readonly ok: false; readonly reason: SafeRefusal; readonly detail: string };

export type SafeFetch = (request: SafeRequest) => Promise<SafeAnswer>;

/** Resolves all addresses of a name. @param kind of the target: each has a share of the look-ups */
export type Resolve = (hostname: string, kind: FetchTarget["kind"]) => Promise<readonly LookupAddress[]>;

export interface SafeFetchDeps {
  /** http and loopback addresses are accepted; the listeners are loopback-only then. */
  readonly development: boolean;
  /** The system's resolver when absent. */
  readonly resolve?: Resolve;
  /** Connections of this client alone, for tests. */
  readonly atOnce?: number;
}

/** Caps of D18, in bytes. */
export const CLIENT_DOCUMENT_BYTES = 5 * 1024;
export const METADATA_BYTES = 64 * 1024;
export const TOKEN_ANSWER_BYTES = 256 * 1024;

const DEFAULT_TIMEOUT_MS = 10_000;

/** Shared by the whole process, since each request opens a connection of its own. */
const SHARED = limitersOf(connectionLimits(undefined).own);

function limitersOf(atOnce: number) {
  return { limiter: createFairLimiter(atOnce), ofClients: createFairLimiter(Math.ceil(atOnce / 2)) };
}

export function createSafeFetch({ development, resolve = resolveBySystem, atOnce }: SafeFetchDeps): SafeFetch {
  const { limiter, ofClients } = atOnce === undefined ? SHARED : limitersOf(atOnce);
  return async (request) => {
    const validated = validateUrl(request, development);
    if (!validated.ok) return validated;
    const { url, isAllowed } = validated;

    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(), request.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    timer.unref();
    const signal = request.signal ? AbortSignal.any([giveUp.signal, request.signal]) : giveUp.signal;
    try {
      const lookup = addressesOf(url.hostname, request.target.kind, resolve);
      const resolved = await untilAborted(lookup, signal).catch(() => undefined);
      if (resolved === undefined) return refuse("timeout", `${url.host} is not resolved in time`);
      if (typeof resolved === "string") return refuse("unresolved", `${url.host}: ${resolved}`);
      // A bad address among good ones is a sign of DNS rebinding: use none of them.
      const bad = resolved.find(({ address }) => !isAllowed(address));
      if (bad) return refuse("forbidden-address", `${url.host} is at ${bad.address}, ${describeAddress(bad.address)}`);
      const { party } = request;
      const work = (): Promise<SafeAnswer> => exchange(request, url, resolved, signal);
      if (party === undefined) return await limiter.take(url.host, work, signal);
      return await ofClients.take(party, () => limiter.take(OF_CLIENTS, work, signal), signal);
    } catch (error) {
      if (signal.aborted) return refuse("timeout", `${url.host}: no fetch slot became free in time`);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}

/** The one party of all requests that clients cause; no host has this name. */
const OF_CLIENTS = "";

type ValidatedUrl =
  | { readonly ok: true; readonly url: URL; readonly isAllowed: (address: string) => boolean }
  | Extract<SafeAnswer, { ok: false }>;

function describeAddress(address: string): string {
  return isOwnAddress(address) ? "an address of the gateway's own host" : `a ${addressKind(address)} address`;
}

/** All checks that need no network. */
function validateUrl({ url: text, target }: SafeRequest, development: boolean): ValidatedUrl {
  if (!URL.canParse(text)) return refuse("bad-url", "the address is not a URL");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    return refuse("bad-url", `${url.host}: the address contains a user name`);
  const acceptsHttp = development || target.kind === "upstream" || target.kind === "configured";
  if (url.protocol !== "https:" && !(url.protocol === "http:" && acceptsHttp)) {
    return refuse("bad-url", `the address begins with ${url.protocol}, must begin with https:`);
  }
  const pattern = target.kind === "configured" ? undefined : findDomain(target.domains, url.hostname);
  if ((target.kind === "listed" || target.kind === "upstream") && pattern === undefined) {
    return refuse("not-listed", `${url.hostname} is not listed`);
  }
  const allowed = new Set<AddressKind>(["public"]);
  if (development) allowed.add("loopback");
  if (target.kind === "upstream" || target.kind === "configured") {
    allowed.add("private").add("loopback");
    if (target.reach === "network") {
      allowed.delete("loopback");
      return { ok: true, url, isAllowed: (address) => allowed.has(addressKind(address)) && !isOwnAddress(address) };
    }
  } else if (pattern?.wildcard === false && !(target.kind === "listed" && target.private === "never")) {
    allowed.add("private");
  }
  return { ok: true, url, isAllowed: (address) => allowed.has(addressKind(address)) };
}

/** @returns the addresses, or a description of the problem */
async function addressesOf(
  hostname: string,
  kind: FetchTarget["kind"],
  resolve: Resolve,
): Promise<readonly LookupAddress[] | string> {
  const bare = bareHost(hostname);
  const family = isIP(bare);
  // Connecting to a literal address uses no resolver, so check it here. The URL parser has normalized all its forms
  // ("0x7f.1", "2130706433").
  if (family !== 0) return [{ address: bare, family }];
  try {
    const found = await resolve(bare, kind);
    return found.length === 0 ? "no address" : found;
  } catch (error) {
    return errorText(error);
  }
}

/** Over a connection of its own: a pooled one would go to an address checked for an earlier request. */
async function exchange(
  { timeoutMs = DEFAULT_TIMEOUT_MS, method = "GET", headers, statusOnly = false, ...request }: SafeRequest,
  url: URL,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<SafeAnswer> {
  // Only checked addresses: another look-up could give another result.
  const lookup: LookupFunction = (_hostname, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else callback(null, first?.address ?? "", first?.family);
  };
  const outgoing = { ...request, url, method, headers: { accept: "application/json", ...headers }, signal };
  const answer = await requestOnce({ timeoutMs, lookup }, outgoing);
  const head = answer.ok || answer.reason !== "status" ? answer.head : undefined;
  if (head && head.status >= 300 && head.status < 400)
    return refuse("redirect", `${url.host} answered with a redirect`);
  if (head && statusOnly) return { ok: true, ...head, body: Buffer.alloc(0) };
  if (answer.ok) return { ok: true, ...answer.head, body: answer.body };
  const { reason, problem, error } = answer;
  if (reason !== "unreachable" && reason !== "status") return refuse(reason, `${url.host} ${problem}`);
  const { code = "no valid answer" } = (error ?? {}) as NodeJS.ErrnoException;
  return refuse("unreachable", `${url.host}: ${code}${caHint(error)}`);
}

function refuse(reason: SafeRefusal, detail: string): Extract<SafeAnswer, { ok: false }> {
  return { ok: false, reason, detail };
}

function resolveBySystem(hostname: string, kind: FetchTarget["kind"]): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookUp(`fetch:${kind}`, hostname, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}
