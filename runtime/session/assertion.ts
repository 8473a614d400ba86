/** The signed identity header for upstreams: a short-lived ES256 JWT that says who makes the request. */
import { createHash, sign } from "node:crypto";

import type { CompiledRoute } from "../config/compiled.ts";
import { epochSeconds, type Clock } from "../ports.ts";
import type { AssertionKey } from "./assertion-keys.ts";
import type { Principal } from "./principal.ts";
import type { Assertions } from "./sessions.ts";

const LIFETIME_SECONDS = 300;
/** One signature costs some 25 µs: the same JWT serves all requests of a principal to a host for so long. */
const REUSE_MS = 60_000;
/** Of one principal, kept at a time. */
const MAX_HOSTS = 256;

interface Signed {
  readonly jwt: string;
  readonly reuseUntilMs: number;
}

/** @param deps.keys first signs */
export function createAssertions(deps: { readonly keys: readonly AssertionKey[]; readonly clock: Clock }): Assertions {
  const { clock } = deps;
  const key = deps.keys[0];
  if (!key) throw new TypeError("no assertion key");
  const header = base64url(JSON.stringify({ alg: "ES256", typ: "JWT", kid: key.kid }));
  // A principal object stands for one version of one identity: a change of claims makes a new one, and with it a new JWT.
  const signed = new WeakMap<Principal, Map<string, Signed>>();

  const mint = (principal: Principal, hostname: string): string => {
    const now = epochSeconds(clock);
    const { user } = principal;
    const claims = {
      iss: hostname,
      aud: hostname,
      sub: user.id,
      user: user.id,
      email: user.email,
      name: user.name,
      groups: user.groups,
      sid: principal.sid,
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
      const hostname = wildcardHost ?? route.hostname;
      let byHost = signed.get(principal);
      if (!byHost) {
        byHost = new Map();
        signed.set(principal, byHost);
      }
      const now = clock.now();
      const earlier = byHost.get(hostname);
      if (earlier && now < earlier.reuseUntilMs) return earlier.jwt;
      const jwt = mint(principal, hostname);
      // Hosts below a wildcard are the client's choice.
      if (wildcardHost !== undefined && byHost.size >= MAX_HOSTS) byHost.clear();
      byHost.set(hostname, { jwt, reuseUntilMs: now + REUSE_MS });
      return jwt;
    },
  };
}

/** The public keys as upstreams fetch them, with the tag of this set. */
export function renderJwks(keys: readonly AssertionKey[]): { readonly body: string; readonly etag: string } {
  const body = JSON.stringify({ keys: keys.map((key) => key.publicJwk) });
  return { body, etag: `"${createHash("sha256").update(body).digest("base64url").slice(0, 22)}"` };
}

function base64url(text: string): string {
  return Buffer.from(text).toString("base64url");
}
