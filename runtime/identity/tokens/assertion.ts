/**
 * The signed identity header for upstreams: a short-lived ES256 JWT that says who makes the request.
 *
 * Promises: claims of the provider never stand in the place of our own, and make the JWT longer by `MAX_CLAIM_BYTES` at
 * most, since upstreams refuse requests with large heads.
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
/** One signature costs some 25 µs: the same JWT serves all requests of a principal to a route for so long. */
const REUSE_MS = 60_000;
/** Of one principal, kept at a time. */
const MAX_SIGNED = 256;
/** Of the claims that `jwt_claims_headers` names, as JSON: a claim that does not fit beside those before it stays out. */
const MAX_CLAIM_BYTES = 4096;

interface Signed {
  readonly jwt: string;
  readonly reuseUntilMs: number;
  /** The settings under which it was made. */
  readonly claimHeaders: ClaimHeaders;
}

/** `jwt_claims_headers`: header → claim. */
type ClaimHeaders = ReadonlyMap<string, string>;

export interface AssertionDeps {
  /** The first signs. */
  readonly keys: readonly AssertionKey[];
  readonly clock: Clock;
  /** `jwt_claims_headers` as it is now: the same object while it did not change. Default: none. */
  readonly claimHeaders?: () => ClaimHeaders;
  /** A JWT was made without the user's groups: too many, or the identity provider left them out. */
  readonly onGroupsOmitted?: ((why: GroupsOmitted) => void) | undefined;
}

export function createAssertions(deps: AssertionDeps): Assertions {
  const { clock } = deps;
  const key = deps.keys[0];
  if (!key) throw new TypeError("no assertion key");
  const header = base64url(JSON.stringify({ alg: "ES256", typ: "JWT", kid: key.kid }));
  // A principal object stands for one version of one identity: a change of claims makes a new one, and with it a new JWT.
  // Within it by route; below a wildcard, where hosts are the client's choice, by host and route.
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
      // Routes of one host share its audience: without this each upstream could pass as the gateway to the others.
      gateway_route: routeKey,
      iat: now,
      exp: now + LIFETIME_SECONDS,
    };
    const input = `${header}.${base64url(JSON.stringify(claims))}`;
    // ieee-p1363: JWS wants the two integers side by side, not DER (RFC 7518 §3.4).
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
      const place = wildcardHost === undefined ? route : `${wildcardHost} ${route.key}`;
      const now = clock.now();
      const earlier = byRoute.get(place);
      const claimHeaders = deps.claimHeaders?.() ?? NO_CLAIM_HEADERS;
      if (earlier?.claimHeaders === claimHeaders && now < earlier.reuseUntilMs) return earlier.jwt;
      const jwt = mint(principal, wildcardHost ?? route.hostname, route.key, claimHeaders);
      // Anew and at the end, so that the first one is always the oldest.
      byRoute.delete(place);
      if (byRoute.size >= MAX_SIGNED) byRoute.delete(byRoute.keys().next().value as CompiledRoute | string);
      byRoute.set(place, { jwt, reuseUntilMs: now + REUSE_MS, claimHeaders });
      return jwt;
    },
  };
}

const NO_CLAIM_HEADERS: ClaimHeaders = new Map();

/** The user's claims that `jwt_claims_headers` names. */
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

/** The public keys as upstreams fetch them, with the tag of this set. */
export function renderJwks(keys: readonly AssertionKey[]): { readonly body: string; readonly etag: string } {
  const body = JSON.stringify({ keys: keys.map((key) => key.publicJwk) });
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url")}"` };
}

function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}
