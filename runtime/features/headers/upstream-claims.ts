/**
 * What a claim of a user means to upstreams: one meaning in plain headers and in the signed one.
 *
 * Promises: under the names of the signed header's own claims stands what the gateway decided, never what a provider sent
 * under such a name; a provider of `identity_issuers` names its own users only, so the names that it gives are qualified as
 * user ids are.
 */
import { foldLetters } from "../../policy/mcp/fold-case.ts";
import { isClaimLeftOut, type UserFacts } from "../../policy/facts.ts";

/** What the JWT says by itself (RFC 7519 §4.1, and who is meant), or would be read as being said by us. */
const OWN_CLAIMS: ReadonlySet<string> = new Set(
  "iss sub aud exp nbf iat jti user email name groups groups_omitted sid gateway_route route cnf act azp nonce scope client_id".split(
    " ",
  ),
);

/** Those of them that are about the user: the others are sent in no plain header. */
const OWN_OF_USER: ReadonlySet<string> = new Set(["sub", "user", "email", "name", "groups", "sid"]);

/** That tell one user of a provider from others: lower case, without separators. */
const NAME_CLAIMS: ReadonlySet<string> = new Set(
  "preferredusername username user nickname login loginname account accountname upn userprincipalname uniquename samaccountname onpremisessamaccountname onpremisesuserprincipalname uid userid oid employeeid employeenumber".split(
    " ",
  ),
);

/** Of all groups, wherever they come from, as JSON: some 210 ids of Entra. A third longer in the header, of which servers take 16 KiB. */
const MAX_GROUPS_BYTES = 8192;

export type GroupsOmitted = "too-many" | "unknown";

/** Why it is not said which groups the user has. Not a part of them is sent: nothing may follow from the absence of the others. */
export function whyGroupsOmitted({ groups, leftOut }: UserFacts): GroupsOmitted | undefined {
  if (leftOut?.groups === true) return "unknown";
  // Six bytes at most for a character: most users' groups need not be written to be measured.
  if (groups.reduce((sum, { length }) => sum + 6 * length + 3, 2) <= MAX_GROUPS_BYTES) return undefined;
  return Buffer.byteLength(JSON.stringify(groups)) > MAX_GROUPS_BYTES ? "too-many" : undefined;
}

/** There is a value, and it is not known or not sent. */
export const OMITTED = Symbol("omitted");

/** @returns undefined when the user lacks it */
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

/** Which of `OWN_CLAIMS` it is: many upstreams read names without regard to case. */
export function ownName(name: string): string | undefined {
  const folded = foldLetters(name);
  return OWN_CLAIMS.has(folded) ? folded : undefined;
}

function isLeftOut({ leftOut, claims }: UserFacts, name: string): boolean {
  return leftOut !== undefined && isClaimLeftOut(leftOut, claims, [name]);
}

function qualified({ id, claims }: UserFacts, name: string): unknown {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  // "issuer:partner/": an issuer's name has no slash.
  const issuer = /^(?:issuer|workload):[^/]*\//.exec(id)?.[0];
  return issuer !== undefined && isNameClaim(name) ? withIssuer(issuer, value) : value;
}

/** Lists, too: the only name in one is sent as that name. */
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
 * Mappings of `jwt_claims_headers` that do not say what they seem to.
 *
 * @param others names in `identity_issuers` whose users call beside those of another provider
 * @returns header and what is wrong with it
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
