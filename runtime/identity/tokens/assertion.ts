/**
 * The signed identity header for upstreams: a short-lived ES256 JWT that identifies the user of a request.
 *
 * Promises: provider claims never replace our own, and add at most `MAX_CLAIM_BYTES` to the JWT, since upstreams reject
 * large headers.
 */
import { createHash, sign } from "node:crypto";

import type { CompiledRoute } from "../../config/compiled.ts";
import {
  OMITTED,
  ownName,
  upstreamClaim,
  whyGroupsOmitted,
  type GroupsOmitted,
} from "../../features/headers/upstream-claims.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import type { AssertionKey } from "./assertion-keys.ts";
import type { Principal } from "../principal.ts";
import type { Assertions } from "../interfaces.ts";

const LIFETIME_SECONDS = 300;
/** A signature costs some 25 µs, so one JWT serves all requests of a principal to a route for this time. */
const REUSE_MS = 60_000;
/** Cached JWTs per principal. */
const MAX_SIGNED = 256;
/** Size limit of the claims in `jwt_claims_headers`, as JSON. A claim that exceeds the remaining space is omitted. */
const MAX_CLAIM_BYTES = 4096;

interface Signed {
  readonly jwt: string;
  readonly reuseUntilMs: number;
  /** The settings of the JWT. */
  readonly claimHeaders: ClaimHeaders;
}

/** `jwt_claims_headers`: header → claim. */
type ClaimHeaders = ReadonlyMap<string, string>;

export interface AssertionDeps {
  /** The first signs. */
  readonly keys: readonly AssertionKey[];
  readonly clock: Clock;
  /** Current `jwt_claims_headers`, the same object while unchanged. Default: none. */
  readonly claimHeaders?: () => ClaimHeaders;
  /** A JWT was issued without the user's groups: too many, or omitted by the identity provider. */
  readonly onGroupsOmitted?: ((why: GroupsOmitted) => void) | undefined;
}

export function createAssertions(deps: AssertionDeps): Assertions {
  const { clock } = deps;
  const key = deps.keys[0];
  if (!key) throw new TypeError("no assertion key");
  const header = base64url(JSON.stringify({ alg: "ES256", typ: "JWT", kid: key.kid }));
  // A principal object represents one version of one identity: changed claims create a new principal, and so a new JWT.
  // The inner key is the route. Below a wildcard, where clients choose the host, it is host and route.
  const signed = new WeakMap<Principal, Map<CompiledRoute | string, Signed>>();

  const mint = (principal: Principal, hostname: string, routeKey: string, claimHeaders: ClaimHeaders): string => {
    const now = epochSeconds(clock);
    const { user } = principal;
    const omitted = whyGroupsOmitted(user);
    if (omitted) deps.onGroupsOmitted?.(omitted);
    const groups = omitted ? { groups_omitted: true } : { groups: user.groups };
    const claims = {
      ...namedClaims(principal, claimHeaders),
      iss: hostname,
      aud: hostname,
      sub: user.id,
      user: user.id,
      email: user.email,
      name: user.name,
      ...groups,
      sid: principal.sid,
      // RFC 8693 §4.1. In the issuer's own naming, as `sub` is.
      ...(user.actor && { act: { sub: user.actor.id } }),
      // Routes of one host share its audience. Without this claim, each upstream could pose as the gateway to the others.
      gateway_route: routeKey,
      iat: now,
      exp: now + LIFETIME_SECONDS,
    };
    const input = `${header}.${base64url(JSON.stringify(claims))}`;
    // ieee-p1363: JWS requires two concatenated integers, not DER (RFC 7518 §3.4).
    const signature = sign("sha256", Buffer.from(input), { key: key.privateKey, dsaEncoding: "ieee-p1363" });
    return `${input}.${signature.toString("base64url")}`;
  };

  return {
    sign(principal, route: CompiledRoute, wildcardHost) {
      let byRoute = signed.get(principal);
      if (!byRoute) {
        byRoute = new Map();
        signed.set(principal, byRoute);
      }
      const cacheKey = wildcardHost === undefined ? route : `${wildcardHost} ${route.key}`;
      const now = clock.now();
      const earlier = byRoute.get(cacheKey);
      const claimHeaders = deps.claimHeaders?.() ?? NO_CLAIM_HEADERS;
      if (earlier?.claimHeaders === claimHeaders && now < earlier.reuseUntilMs) return earlier.jwt;
      const jwt = mint(principal, wildcardHost ?? route.hostname, route.key, claimHeaders);
      // Delete and append, so that the first entry is always the oldest.
      byRoute.delete(cacheKey);
      if (byRoute.size >= MAX_SIGNED) byRoute.delete(byRoute.keys().next().value as CompiledRoute | string);
      byRoute.set(cacheKey, { jwt, reuseUntilMs: now + REUSE_MS, claimHeaders });
      return jwt;
    },
  };
}

const NO_CLAIM_HEADERS: ClaimHeaders = new Map();

/** The user's claims listed in `jwt_claims_headers`. */
function namedClaims({ user, sid }: Principal, claimHeaders: ClaimHeaders): Readonly<Record<string, unknown>> {
  const named: (readonly [string, unknown])[] = [];
  let left = MAX_CLAIM_BYTES;
  for (const name of new Set(claimHeaders.values())) {
    const value = ownName(name) !== undefined ? undefined : upstreamClaim(user, sid, name);
    if (value === undefined || value === OMITTED) continue;
    const bytes = Buffer.byteLength(JSON.stringify({ [name]: value }));
    if (bytes > left) continue;
    left -= bytes;
    named.push([name, value]);
  }
  return Object.fromEntries(named);
}

/** The public keys for upstreams, with an ETag. */
export function renderJwks(keys: readonly AssertionKey[]): { readonly body: string; readonly etag: string } {
  const body = JSON.stringify({ keys: keys.map((key) => key.publicJwk) });
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url")}"` };
}

function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}
