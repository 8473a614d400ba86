/**
 * The guarded fetch (D18): requests to addresses that others named, such as metadata of authorization servers and client
 * documents.
 *
 * Untrusted input: the URL, what DNS says of its host, and the whole answer. Promises: a host that may not be contacted is
 * not even looked up; the address that was checked is the one connected to; no redirect is followed, no cookie or
 * credential of ours is added, no content coding is undone; size and total time are bounded. Nothing is thrown: every
 * refusal is a value, and it never quotes the answer. A host that is slow uses half of the connections at most.
 */
import type { LookupAddress } from "node:dns";
import { isIP } from "node:net";

import type { Client } from "undici";

import type { UpstreamReach } from "../../features/connection/compiled.ts";
import { findDomain, type DomainPattern } from "../../settings/domains.ts";
import { errorText } from "../../shared/errors.ts";
import { connectionLimits } from "../listener/connection-limits.ts";
import { readWhole } from "../../shared/http/pieces.ts";
import { isFinalStatus } from "../../shared/http/status.ts";
import { isOwnAddress } from "../../shared/net/own-address.ts";
import { createFairLimiter } from "../../shared/limiter.ts";
import { lookUp } from "../../shared/net/name-lookup.ts";
import { addressKind, type AddressKind } from "../../shared/net/safe-address.ts";
import { bareHost } from "../../shared/net/bare-host.ts";
import { caHint } from "../../shared/net/unknown-ca.ts";

/** Who vouches for an address, and so what is asked of it. */
export type FetchTarget =
  /** Learnt from others: the host must be listed. `private`: whether an exactly listed host may be in a private network. */
  | { readonly kind: "listed"; readonly domains: readonly DomainPattern[]; readonly private: "exact" | "never" }
  /** The host of a route's `to`: listed like any other, but over `to`'s own scheme and anywhere but metadata addresses. */
  | {
      readonly kind: "upstream";
      readonly domains: readonly DomainPattern[];
      readonly reach?: UpstreamReach | undefined;
    }
  /** An endpoint that accepted metadata names: https, a public address, or a private one when exactly listed. */
  | { readonly kind: "named"; readonly domains: readonly DomainPattern[] }
  /** Written in the configuration, on a route: anything but metadata addresses. */
  | { readonly kind: "configured"; readonly reach?: UpstreamReach | undefined };

// `reach`: what the owner of the route may reach (upstreams/reach.ts), which its other addresses get no further than.

export interface SafeRequest {
  readonly url: string;
  readonly target: FetchTarget;
  /** Default GET. */
  readonly method?: "GET" | "POST";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Longest answer body that is read. */
  readonly maxBytes: number;
  /** For the whole exchange, name resolution included. Default 10 s. */
  readonly timeoutMs?: number;
  /** Ends the exchange before its time. */
  readonly signal?: AbortSignal;
  /** Nobody reads the body of the answer: whatever it is, and however it ends, the status stands. `body` is empty then. */
  readonly statusOnly?: boolean;
}

export type SafeRefusal =
  /** No URL, not https, or with user information. */
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
  | {
      readonly ok: true;
      readonly status: number;
      /** Lower-case names; repeated ones joined by ", ". */
      readonly headers: Readonly<Record<string, string>>;
      readonly body: Buffer;
    }
  /** `detail` is for the log: the host and what was wrong, never the answer. */
  | { readonly ok: false; readonly reason: SafeRefusal; readonly detail: string };

export type SafeFetch = (request: SafeRequest) => Promise<SafeAnswer>;

/** All addresses of a name. @param kind of the target: each has a share of the look-ups */
export type Resolve = (hostname: string, kind: FetchTarget["kind"]) => Promise<readonly LookupAddress[]>;

export interface SafeFetchDeps {
  /** http and loopback addresses are accepted; the listeners are loopback-only then. */
  readonly development: boolean;
  /** The system's resolver when absent. */
  readonly resolve?: Resolve;
}

/** Caps of D18, in bytes. */
export const CLIENT_DOCUMENT_BYTES = 5 * 1024;
export const METADATA_BYTES = 64 * 1024;
export const TOKEN_ANSWER_BYTES = 256 * 1024;

const DEFAULT_TIMEOUT_MS = 10_000;
const MAX_HEADER_BYTES = 16_384;

/** Of all of this process, since each request has a connection of its own. */
const limiter = createFairLimiter(connectionLimits(undefined).own);

export function createSafeFetch({ development, resolve = resolveBySystem }: SafeFetchDeps): SafeFetch {
  return async (request) => {
    const validated = validateUrl(request, development);
    if (!validated.ok) return validated;
    const { url, isAllowed } = validated;

    const giveUp = new AbortController();
    const timer = setTimeout(() => giveUp.abort(), request.timeoutMs ?? DEFAULT_TIMEOUT_MS);
    timer.unref();
    const signal = request.signal ? AbortSignal.any([giveUp.signal, request.signal]) : giveUp.signal;
    try {
      const resolved = await untilAborted(addressesOf(url.hostname, request.target.kind, resolve), signal);
      if (resolved === undefined) return refuse("timeout", `${url.host} is not resolved in time`);
      if (typeof resolved === "string") return refuse("unresolved", `${url.host}: ${resolved}`);
      // One bad address among good ones is how a name is made to change its meaning: none of them is used.
      const bad = resolved.find(({ address }) => !isAllowed(address));
      if (bad) return refuse("forbidden-address", `${url.host} is at ${bad.address}, ${describeAddress(bad.address)}`);
      return await limiter.take(url.host, () => exchange(request, url, resolved, signal), signal);
    } catch (error) {
      if (signal.aborted) return refuse("timeout", `${url.host}: its turn did not come in time`);
      throw error;
    } finally {
      clearTimeout(timer);
    }
  };
}

type ValidatedUrl =
  | { readonly ok: true; readonly url: URL; readonly isAllowed: (address: string) => boolean }
  | Extract<SafeAnswer, { ok: false }>;

function describeAddress(address: string): string {
  return isOwnAddress(address) ? "an address of the gateway's own machine" : `a ${addressKind(address)} address`;
}

/** Everything that can be said before the network is touched. */
function validateUrl({ url: text, target }: SafeRequest, development: boolean): ValidatedUrl {
  if (!URL.canParse(text)) return refuse("bad-url", "the address is no URL");
  const url = new URL(text);
  if (url.username !== "" || url.password !== "")
    return refuse("bad-url", `${url.host}: the address carries a user name`);
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

/** The addresses, or what went wrong. */
async function addressesOf(
  hostname: string,
  kind: FetchTarget["kind"],
  resolve: Resolve,
): Promise<readonly LookupAddress[] | string> {
  const bare = bareHost(hostname);
  const family = isIP(bare);
  // Connecting to a literal address asks no resolver, so nothing else would check it. The URL parser has made one
  // spelling of all of them ("0x7f.1", "2130706433").
  if (family !== 0) return [{ address: bare, family }];
  try {
    const found = await resolve(bare, kind);
    return found.length === 0 ? "no address" : found;
  } catch (error) {
    return errorText(error);
  }
}

async function exchange(
  request: SafeRequest,
  url: URL,
  addresses: readonly LookupAddress[],
  signal: AbortSignal,
): Promise<SafeAnswer> {
  let client: Client | undefined;
  try {
    // Loaded at the first request: a start that asks nobody does without.
    // The default export: the build gives a CommonJS package that is loaded later no other.
    const { default: undici } = await import("undici");
    // A connection of its own: a pooled one would go to an address checked for an earlier request.
    client = new undici.Client(url.origin, {
      maxHeaderSize: MAX_HEADER_BYTES,
      pipelining: 0,
      allowH2: false,
      connect: {
        timeout: request.timeoutMs ?? DEFAULT_TIMEOUT_MS,
        // Only what was checked above: asking again could give another answer.
        lookup: (_hostname, options, callback) => {
          const [first] = addresses;
          if (options.all === true) callback(null, [...addresses]);
          else callback(null, first?.address ?? "", first?.family);
        },
      },
    });
    const response = await client.request({
      path: url.pathname + url.search,
      method: request.method ?? "GET",
      headers: { accept: "application/json", ...request.headers, "accept-encoding": "identity" },
      body: request.body ?? null,
      signal,
    });
    if (!isFinalStatus(response.statusCode)) return refuse("unreachable", `${url.host}: no valid answer`);
    const headers = flatten(response.headers);
    if (response.statusCode >= 300 && response.statusCode < 400) {
      return refuse("redirect", `${url.host} answered with a redirect`);
    }
    if (request.statusOnly) {
      // Taken in, up to the bounds: to some servers a connection that ends before their answer is an error.
      await readWhole(response.body, request.maxBytes).catch(() => {});
      return { ok: true, status: response.statusCode, headers, body: Buffer.alloc(0) };
    }
    if (!/^(?:identity)?$/i.test((headers["content-encoding"] ?? "").trim())) {
      // Not undone: a few kilobytes can unfold into gigabytes.
      return refuse("content-coding", `${url.host} answered with a content coding that was not asked for`);
    }
    const body = await readWhole(response.body, request.maxBytes);
    return body
      ? { ok: true, status: response.statusCode, headers, body }
      : refuse("too-large", `${url.host} answered with more than ${request.maxBytes} bytes`);
  } catch (error) {
    if (signal.aborted) return refuse("timeout", `${url.host} did not answer in time`);
    const code = (error as NodeJS.ErrnoException).code ?? "no valid answer";
    return refuse("unreachable", `${url.host}: ${code}${caHint(error)}`);
  } finally {
    await client?.destroy();
  }
}

function flatten(headers: Readonly<Record<string, string | readonly string[] | undefined>>): Record<string, string> {
  const flat: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    if (value !== undefined) flat[name] = typeof value === "string" ? value : value.join(", ");
  }
  return flat;
}

function refuse(reason: SafeRefusal, detail: string): Extract<SafeAnswer, { ok: false }> {
  return { ok: false, reason, detail };
}

/** The value, or undefined when time is up first: the system's resolver cannot be stopped. */
function untilAborted<T>(value: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
    value.then(resolve, reject);
  });
}

function resolveBySystem(hostname: string, kind: FetchTarget["kind"]): Promise<readonly LookupAddress[]> {
  return new Promise((resolve, reject) => {
    lookUp(`fetch:${kind}`, hostname, (error, addresses) => (error ? reject(error) : resolve(addresses)));
  });
}
