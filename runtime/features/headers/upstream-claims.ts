/**
 * Value of a user's claim for upstreams: the same in plain headers and in the signed one.
 *
 * Promises: the signed header's own claim names have only values decided by the gateway, never a provider's. A provider
 * of `identity_issuers` names only its own users, so its names are qualified like user IDs.
 */
import { foldLetters } from "../../policy/mcp/fold-case.ts";
import { isClaimOmitted, type UserFacts } from "../../policy/facts.ts";

/** Claims that the JWT defines (RFC 7519 §4.1, and the user), or that would seem to come from the gateway. */
const OWN_CLAIMS: ReadonlySet<string> = new Set(
  "iss sub aud exp nbf iat jti user email name groups groups_omitted sid gateway_route route cnf act azp nonce scope client_id".split(
    " ",
  ),
);

/** Those about the user: the others are in no plain header. */
const OWN_OF_USER: ReadonlySet<string> = new Set(["sub", "user", "email", "name", "groups", "sid"]);

/** Claims that distinguish a provider's users: lower case, without separators. */
const NAME_CLAIMS: ReadonlySet<string> = new Set(
  "preferredusername username user nickname login loginname account accountname upn userprincipalname uniquename samaccountname onpremisessamaccountname onpremisesuserprincipalname uid userid oid employeeid employeenumber".split(
    " ",
  ),
);

/**
 * Limit of all groups as JSON, from any source: some 210 IDs of Entra. In the header a third longer; servers accept 16
 * KiB.
 */
const MAX_GROUPS_BYTES = 8192;

export type GroupsOmitted = "too-many" | "unknown";

/**
 * Reason for omitting the user's groups. A part is never sent: readers must not conclude that other groups are absent.
 */
export function whyGroupsOmitted({ groups, leftOut }: UserFacts): GroupsOmitted | undefined {
  if (leftOut?.groups === true) return "unknown";
  // At most six bytes per character: most users' groups need no serialization to be measured.
  if (groups.reduce((sum, { length }) => sum + 6 * length + 3, 2) <= MAX_GROUPS_BYTES) return undefined;
  return Buffer.byteLength(JSON.stringify(groups)) > MAX_GROUPS_BYTES ? "too-many" : undefined;
}

/** A value exists, but is unknown or not sent. */
export const OMITTED = Symbol("omitted");

/** @returns undefined if the user lacks it */
export function upstreamClaim(user: UserFacts, sid: string, name: string): unknown {
  switch (name) {
    case "sub":
    case "user":
      return user.id;
    case "sid":
      return sid;
    case "groups":
      return whyGroupsOmitted(user) === undefined ? user.groups : OMITTED;
    case "email":
    case "name":
      return user[name] === "" && isLeftOut(user, name) ? OMITTED : user[name];
    default: {
      const own = ownName(name);
      if (own === name) return undefined;
      if (own !== undefined) return upstreamClaim(user, sid, own);
      return isLeftOut(user, name) ? OMITTED : qualified(user, name);
    }
  }
}

/** The matching name in `OWN_CLAIMS`: many upstreams ignore case in names. */
export function ownName(name: string): string | undefined {
  const folded = foldLetters(name);
  return OWN_CLAIMS.has(folded) ? folded : undefined;
}

function isLeftOut({ leftOut, claims }: UserFacts, name: string): boolean {
  return leftOut !== undefined && isClaimOmitted(leftOut, claims, [name]);
}

function qualified({ id, claims }: UserFacts, name: string): unknown {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  // "issuer:partner/": an issuer's name has no slash.
  const issuer = /^(?:issuer|workload):[^/]*\//.exec(id)?.[0];
  return issuer !== undefined && isNameClaim(name) ? withIssuer(issuer, value) : value;
}

/** Also for lists: a list with one name is sent as that name. */
function withIssuer(issuer: string, value: unknown): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => withIssuer(issuer, each));
  return (typeof value === "string" && value !== "") || typeof value === "number" ? `${issuer}${value}` : value;
}

function isNameClaim(name: string): boolean {
  return NAME_CLAIMS.has(name.toLowerCase().replace(/[-_.]/g, ""));
}

/** "X-Remote-User" */
const NAMES_USER = /(?:^|[-_])(?:user|username|userid|login|account|principal|uid|upn|subject|e?mail)(?:$|[-_])/i;

/**
 * Mappings of `jwt_claims_headers` with a misleading result.
 *
 * @param others names in `identity_issuers` with users in addition to another provider's
 * @returns header and problem
 */
export function* claimHeaderProblems(
  headers: Readonly<Record<string, string>>,
  others: readonly string[],
): Iterable<readonly [header: string, problem: string]> {
  for (const [header, claim] of Object.entries(headers)) {
    const own = ownName(claim);
    if (own !== undefined && !OWN_OF_USER.has(own)) {
      yield [header, `names "${claim}", which is about the signed header and not about the user: it is always empty`];
      continue;
    }
    const isSure = own === "sub" || own === "user" || own === "email" || isNameClaim(claim);
    if (others.length === 0 || isSure || !NAMES_USER.test(header)) continue;
    const who = others.map((name) => `"${name}"`).join(", ");
    yield [header, `names "${claim}", in which users of ${who} may pass as others; use "user"`];
  }
}
