/**
 * Keys of trusted issuers, and verification of signatures made with them.
 *
 * Untrusted input: the token, and responses from the issuer's URLs. Promises:
 * - Each issuer has its own keys. A failure of one issuer does not affect others.
 * - Regardless of incoming tokens, this process requests the issuer's URLs at most once per `RETRY_MS`.
 * - While keys cannot be read again, the previous ones stay valid for `STALE_MS`.
 * - No URL is taken from a token, and no private network address from a document of another host.
 */
import { createLocalJWKSet, errors, type CompactJWSHeaderParameters } from "jose";

import { MAX_ISSUER_KEYS } from "../features/sign-in/issuer-checks.ts";
import type { TrustedIssuer } from "../features/sign-in/trusted-issuers.ts";
import { METADATA_BYTES, type FetchTarget, type SafeFetch } from "../http/fetch/safe-fetch.ts";
import { steadyClock, type Clock } from "../shared/clock.ts";
import { createCooldowns } from "../shared/backoff.ts";
import { isRecord } from "../shared/is-record.ts";
import { KEY_SET_TYPES, parseKeySet } from "../shared/key-set.ts";
import type { Log } from "../shared/log.ts";
import { fitsNoKey, verifyCompactJws, type FindKey } from "./compact-jws.ts";
import { createKubernetesIssuer, type KubernetesIssuer, type ReadKeySet } from "./kubernetes-issuer.ts";
import { trimSlash } from "../shared/http/trim-slash.ts";
import { parseForeignJson } from "../shared/json/foreign-json.ts";

export type SignatureResult =
  | {
      readonly ok: true;
      readonly header: CompactJWSHeaderParameters;
      readonly claims: Readonly<Record<string, unknown>>;
    }
  /** bad: the token is not valid. unavailable: it cannot be checked without the keys. `detail` is for the log. */
  | { readonly ok: false; readonly reason: "bad" | "unavailable"; readonly detail: string };

/** An issuer and the location of its keys. */
export type KeyOwner = Pick<TrustedIssuer, "name" | "issuer" | "keys" | "algorithms">;

export interface IssuerKeys {
  /** `iss` of the issuer's tokens; undefined while it is unknown. */
  issuerOf(issuer: KeyOwner): string | Promise<string | undefined>;
  /** Verifies the signature of a compact JWS and returns its claims. Checks nothing else. */
  verify(issuer: KeyOwner, token: string): Promise<SignatureResult>;
}

export interface IssuerKeysDeps {
  readonly fetch: SafeFetch;
  readonly clock: Clock;
  readonly log: Log;
  /** The cluster in which this process runs, if any. */
  readonly kubernetes?: KubernetesIssuer;
}

/** Keys older than this are read again, so that a withdrawn key becomes invalid. */
const FRESH_MS = 5 * 60_000;
const RETRY_MS = 30_000;
const STALE_MS = 24 * 3600_000;
/** Providers publish certificates with their keys: Entra's set has about 100 KiB. */
const KEY_SET_BYTES = 1024 * 1024;
const TIMEOUT_MS = 10_000;
/** Bounds the states of issuers that were configured at some time. */
const MAX_ISSUERS = 1000;

interface Known {
  find: FindKey | undefined;
  readAtMs: number;
  reading: Promise<boolean> | undefined;
  problem: string;
}

export function createIssuerKeys({
  fetch,
  clock: wallClock,
  log,
  kubernetes = createKubernetesIssuer(wallClock),
}: IssuerKeysDeps): IssuerKeys {
  const clock = steadyClock(wallClock);
  const known = new Map<string, Known>();
  const fixed = new WeakMap<KeyOwner, FindKey>();
  const cooldowns = createCooldowns(clock);

  const stateOf = (key: string): Known => {
    let state = known.get(key);
    if (!state) {
      const oldest = known.size >= MAX_ISSUERS ? known.keys().next().value : undefined;
      if (oldest !== undefined) known.delete(oldest);
      state = { find: undefined, readAtMs: 0, reading: undefined, problem: "not read yet" };
      known.set(key, state);
    }
    return state;
  };

  /** @returns true if the keys were read; false on failure or during the cooldown */
  const readAgain = (issuer: KeyOwner, key: string, state: Known): Promise<boolean> => {
    if (state.reading) return state.reading;
    if (cooldowns.has(key)) return Promise.resolve(false);
    cooldowns.begin(key, RETRY_MS);
    const reading = readKeys({ fetch, kubernetes }, issuer).then((read) => {
      state.reading = undefined;
      if (read.ok) {
        Object.assign(state, { find: read.find, readAtMs: clock.now() });
        return true;
      }
      state.problem = read.problem;
      log.warn({ issuer: issuer.name, reason: read.problem }, "cannot read issuer keys");
      return false;
    });
    state.reading = reading;
    return reading;
  };

  const usable = ({ find, readAtMs }: Known): FindKey | undefined =>
    find !== undefined && clock.now() - readAtMs < STALE_MS ? find : undefined;

  return {
    issuerOf: ({ issuer, keys }) => (keys.kind === "kubernetes" ? kubernetes.name() : issuer),
    async verify(issuer, token) {
      const { keys } = issuer;
      if (keys.kind === "static") {
        const find = fixed.get(issuer) ?? createLocalJWKSet(keys.keys);
        fixed.set(issuer, find);
        return check(token, find, issuer.algorithms).catch((error: unknown) => bad(error));
      }
      const key = JSON.stringify([issuer.name, issuer.issuer, keys.kind, keys.kind === "url" ? keys.url : ""]);
      const state = stateOf(key);
      if (state.find === undefined || clock.now() - state.readAtMs >= FRESH_MS) await readAgain(issuer, key, state);
      const find = usable(state);
      if (!find) return { ok: false, reason: "unavailable", detail: `keys of ${issuer.name}: ${state.problem}` };
      try {
        return await check(token, find, issuer.algorithms);
      } catch (error) {
        // A key may be new, or may reuse the id of another one.
        const newer = fitsNoKey(error) && (await readAgain(issuer, key, state)) ? usable(state) : undefined;
        return newer === undefined
          ? bad(error)
          : check(token, newer, issuer.algorithms).catch((again: unknown) => bad(again));
      }
    },
  };
}

/** @throws JOSEError */
async function check(token: string, find: FindKey, algorithms: readonly string[]): Promise<SignatureResult> {
  // The header alone decides nothing: "none" and HMACs are never allowed, and embedded keys and URLs are ignored.
  const { payload, header } = await verifyCompactJws(token, find, algorithms);
  const claims = parseForeignJson(payload);
  if (claims === undefined) return { ok: false, reason: "bad", detail: "its claims are not JSON" };
  if (!isRecord(claims)) return { ok: false, reason: "bad", detail: "its claims are not an object" };
  return { ok: true, header, claims };
}

function bad(error: unknown): SignatureResult {
  // Trying several keys would let the caller choose how much work one assertion causes.
  if (error instanceof errors.JWKSMultipleMatchingKeys)
    return { ok: false, reason: "bad", detail: "several keys match, must name one by kid" };
  const detail = error instanceof errors.JOSEError ? `${error.code} ${error.message}` : "not a JWS of a usable key";
  return { ok: false, reason: "bad", detail };
}

type ReadKeys = { readonly ok: true; readonly find: FindKey } | { readonly ok: false; readonly problem: string };

interface Sources {
  readonly fetch: SafeFetch;
  readonly kubernetes: KubernetesIssuer;
}

async function readKeys({ fetch, kubernetes }: Sources, issuer: KeyOwner): Promise<ReadKeys> {
  if (issuer.keys.kind === "kubernetes") return parsed(await kubernetes.readKeys(issuer.keys.host));
  const location =
    issuer.keys.kind === "url" ? { url: issuer.keys.url, target: WRITTEN } : await discover(fetch, issuer);
  if (typeof location === "string") return { ok: false, problem: location };
  return parsed(await readJson(fetch, location.url, location.target, KEY_SET_BYTES));
}

function parsed(document: ReadKeySet): ReadKeys {
  if (!document.ok) return document;
  const set = parseKeySet(document.value, MAX_ISSUER_KEYS);
  if (!set.ok) return { ok: false, problem: `the key set ${set.problem}` };
  if (set.value.keys.length === 0) return { ok: false, problem: "the key set has no key for signatures" };
  return { ok: true, find: createLocalJWKSet(set.value) };
}

const WRITTEN: FetchTarget = { kind: "configured" };

/** Finds the key URL by OpenID Connect Discovery §4. @returns a problem as text */
async function discover(
  fetch: SafeFetch,
  { issuer }: KeyOwner,
): Promise<{ readonly url: string; readonly target: FetchTarget } | string> {
  const read = await readJson(fetch, `${trimSlash(issuer)}/.well-known/openid-configuration`, WRITTEN, METADATA_BYTES);
  if (!read.ok) return read.problem;
  const metadata = isRecord(read.value) ? read.value : {};
  // "MUST also be identical to the iss Claim value in ID Tokens issued from this Issuer" (OpenID Connect Discovery §4.3).
  if (metadata["issuer"] !== issuer) return "the metadata is of another issuer";
  const { jwks_uri: url } = metadata;
  if (typeof url !== "string" || !URL.canParse(url)) return "the metadata names no keys";
  // The operator wrote the issuer's origin. Any other origin that its metadata names must not reach the private network.
  const isOwn = new URL(url).origin === new URL(issuer).origin;
  return { url, target: isOwn ? WRITTEN : { kind: "named", domains: [] } };
}

async function readJson(
  fetch: SafeFetch,
  url: string,
  target: FetchTarget,
  maxBytes: number,
): Promise<{ readonly ok: true; readonly value: unknown } | { readonly ok: false; readonly problem: string }> {
  const answer = await fetch({ url, target, headers: { accept: KEY_SET_TYPES }, maxBytes, timeoutMs: TIMEOUT_MS });
  if (!answer.ok) return { ok: false, problem: `${answer.reason}: ${answer.detail}` };
  const { host } = new URL(url);
  if (answer.status !== 200) return { ok: false, problem: `${host} answered ${answer.status}` };
  const value = parseForeignJson(answer.body);
  return value === undefined ? { ok: false, problem: `${host} answered with no JSON` } : { ok: true, value };
}
