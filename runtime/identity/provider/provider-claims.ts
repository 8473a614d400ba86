/**
 * What the provider says of a user → what we keep and decide on. Pure.
 *
 * Untrusted input: the claims; they are the provider's word, but their shapes differ from provider to provider. Promises:
 * an e-mail address that the provider does not vouch for is kept nowhere, not as a claim either; a claim that the provider
 * has and did not send is told apart from one that the user does not have.
 */
import type { LeftOut } from "../../policy/facts.ts";
import type { UserId } from "../../shared/user-id.ts";
import type { Json } from "../../store/store.ts";
import { vouchedEmail } from "../../issuers/vouched-email.ts";
import { isRecord } from "../../shared/is-record.ts";
import { isShallow } from "../../shared/json/foreign-json.ts";

type Claims = Readonly<Record<string, unknown>>;

export interface ProfileFacts {
  /** "" when there is none, or none that counts as verified. */
  readonly email: string;
  readonly name: string;
  /** Sorted, unique, [] when none. */
  readonly groups: readonly string[];
  readonly claims: { readonly [key: string]: Json };
  /** Absent: the provider sent everything. */
  readonly leftOut?: LeftOut;
}

/** How the claims of this provider are read. */
export interface ClaimRules {
  /** Name of the claim with the groups, or a path with dots ("realm_access.roles"). */
  readonly groupsClaim: string;
  /** An address counts only when the provider says that it is verified. */
  readonly requireEmailVerified: boolean;
  /** Domains of the addresses that count; undefined: all. */
  readonly emailDomains: ReadonlySet<string> | undefined;
}

/** Claims about one token, not about the user: kept they would make every refresh look like a change of the user. */
const TOKEN_CLAIMS = new Set([
  "iss",
  "aud",
  "azp",
  "exp",
  "iat",
  "nbf",
  "jti",
  "nonce",
  "auth_time",
  "rat",
  "at_hash",
  "c_hash",
  "s_hash",
  "sid",
  "sub_jwk",
]);

/** Where the values of claims that were left out can be had, with tokens for it (OpenID Connect Core §5.6.2.2): never kept. */
const CLAIM_SOURCES = "_claim_sources";

/**
 * @param sources claim sets of one moment, later ones win: ID token, then userinfo
 * @param userId stands in the place of `sub`, which means somebody at this issuer alone
 */
export function readProfile(sources: readonly Claims[], rules: ClaimRules, userId: UserId): ProfileFacts {
  const claims = mergeClaims(
    sources.map((source) => (Object.hasOwn(source, "sub") ? { ...source, sub: userId } : source)),
  );
  const leftOut = findLeftOut(sources, rules.groupsClaim);
  const facts = {
    email: readEmail(claims),
    name: readName(claims),
    groups: leftOut?.groups === true ? [] : readGroups(claims, rules.groupsClaim),
    claims,
    ...(leftOut && { leftOut }),
  };
  return withCountedEmail(facts, rules);
}

/** Whether these claims leave something open that the userinfo endpoint may know. */
export function lacksProfile(claims: Claims, { groupsClaim, requireEmailVerified }: ClaimRules): boolean {
  return (
    claims["email"] === undefined ||
    claims["name"] === undefined ||
    findClaim(claims, groupsClaim) === undefined ||
    (requireEmailVerified && claims["email_verified"] === undefined) ||
    findLeftOut([claims], groupsClaim) !== undefined
  );
}

/** Whether userinfo would be asked for the name alone: nothing that is decided by hangs on that. */
export function lacksOnlyName(claims: Claims, rules: ClaimRules): boolean {
  return claims["name"] === undefined && !lacksProfile({ ...claims, name: "" }, rules);
}

/** The facts where userinfo could not be asked: which further claims it has is not known. */
export function withOthersLeftOut(facts: ProfileFacts): ProfileFacts {
  return { ...facts, leftOut: { groups: false, claims: [], ...facts.leftOut, others: true } };
}

/**
 * The facts without an address that does not count: under `idp_require_email_verified` one that the provider is silent about,
 * and one of a domain for which it may not speak.
 */
export function withCountedEmail<Facts extends { readonly email: string; readonly claims: Claims }>(
  facts: Facts,
  { requireEmailVerified, emailDomains }: Pick<ClaimRules, "requireEmailVerified" | "emailDomains">,
): Facts {
  const { email, ...claims } = facts.claims;
  if (email === undefined) return facts;
  const isSure = !requireEmailVerified || isVerified(facts.claims["email_verified"]);
  return isSure && (emailDomains === undefined || vouchedEmail(email, emailDomains) !== "")
    ? facts
    : { ...facts, email: "", claims };
}

/**
 * The facts of an answer without an ID token (OpenID Connect Core §12.2: a refresh may bring none): what only that said
 * against an address, or of claims that were left out, holds until the provider says otherwise.
 */
export function withEarlierUnverified(
  facts: ProfileFacts,
  earlier: Pick<ProfileFacts, "claims" | "leftOut">,
): ProfileFacts {
  const staysUnverified = earlier.claims["email_verified"] === false && !isVerified(facts.claims["email_verified"]);
  // Userinfo at Entra is silent about what directories know people by, which does not change.
  const { oid } = earlier.claims;
  const stated = oid === undefined ? facts : { ...facts, claims: { oid, ...facts.claims } };
  const { email: _, ...others } = stated.claims;
  const kept = staysUnverified ? { ...stated, email: "", claims: { ...others, email_verified: false } } : stated;
  if (!earlier.leftOut) return kept;
  const missing = earlier.leftOut.claims.filter((name) => !hasValue(findClaim(kept.claims, name)));
  const claims = [...new Set([...missing, ...(facts.leftOut?.claims ?? [])])].sort();
  const { resolver } = facts.leftOut ?? {};
  // Groups that were asked for elsewhere were left out no less: silence about them is no answer.
  const wereLeftOut = earlier.leftOut.groups || earlier.leftOut.resolver === "answered";
  const isOpen = wereLeftOut && facts.groups.length === 0 && resolver !== "answered";
  const groups = facts.leftOut?.groups === true || isOpen;
  const { leftOut: _leftOut, ...rest } = kept;
  return claims.length === 0 && !groups
    ? rest
    : { ...rest, leftOut: { claims, groups, ...(resolver && { resolver }) } };
}

/** Brings what an earlier program stored to today's reading; see `storedFacts`. */
export function readStoredClaims(stored: { readonly [key: string]: Json }): Pick<ProfileFacts, "claims" | "leftOut"> {
  const leftOut = findLeftOut([stored], "groups");
  return { claims: mergeClaims([stored]), ...(leftOut && { leftOut }) };
}

function mergeClaims(sources: readonly Claims[]): Readonly<Record<string, Json>> {
  const merged = new Map<string, Json>();
  for (const source of sources) {
    // What stands in the place of a claim that was left out says where to find it, and nothing about the user.
    const leftOut = namesLeftOut(source);
    for (const [name, value] of Object.entries(source)) {
      if (!TOKEN_CLAIMS.has(name) && !leftOut.has(name) && value !== undefined) merged.set(name, value as Json);
    }
  }
  merged.delete(CLAIM_SOURCES);
  mergeEmail(merged, sources);
  // Not by assignment: a claim named "__proto__" would become the prototype.
  return Object.fromEntries(merged);
}

/**
 * Leaves an address only where no source calls it unverified, and the word about it only where it was said of this very
 * address: with two sources, the one that is strict about it wins, and neither vouches for the other's.
 */
function mergeEmail(merged: Map<string, Json>, sources: readonly Claims[]): void {
  const words = sources.map((source) => source["email_verified"]).filter((word) => word !== undefined);
  if (words.some((word) => !isVerified(word))) {
    // An address the provider itself calls unverified is whatever the user typed in: it must not open anything.
    merged.delete("email");
    merged.set("email_verified", false);
    return;
  }
  const email = merged.get("email");
  const isMeant = sources.some((source) => source["email"] === email && source["email_verified"] !== undefined);
  if (email !== undefined && !isMeant) merged.delete("email_verified");
}

/** `true`, and as some providers write it, `"true"`; "True", 1 and the like are no promise that anybody defined. */
function isVerified(word: unknown): boolean {
  return word === true || word === "true";
}

function readEmail(claims: Readonly<Record<string, Json>>): string {
  const email = claims["email"];
  return typeof email === "string" ? email : "";
}

/**
 * What the provider has and did not send, since it was too much for a token: distributed and aggregated claims (OpenID
 * Connect Core §5.6.2), and what Entra sends instead of more groups than fit. The addresses named there are never asked:
 * whoever makes the token would choose where we send requests. A source that has the claim in full makes up for another.
 */
function findLeftOut(sources: readonly Claims[], groupsClaim: string): LeftOut | undefined {
  const missing = sources.map(namesLeftOut);
  if (missing.every((names) => names.size === 0)) return undefined;
  const isElsewhere = (path: string): boolean =>
    sources.some((source, index) => !isNamed(missing[index], path) && hasValue(findClaim(source, path)));
  const all = new Set(missing.flatMap((names) => [...names]));
  const claims = [...all].filter((name) => !isElsewhere(name)).sort();
  const groups = (isNamed(all, groupsClaim) || sources.some(saysHasGroups)) && !isElsewhere(groupsClaim);
  return claims.length === 0 && !groups ? undefined : { claims, groups };
}

function namesLeftOut(source: Claims): ReadonlySet<string> {
  const names = new Set<string>();
  const named = source["_claim_names"];
  if (isRecord(named)) for (const name of Object.keys(named)) names.add(name);
  for (const [name, value] of Object.entries(source)) {
    // "groups:src1", and "groups": "src1" beside a source of that name: Entra's other spellings.
    const [, claim] = /^(.+):src[0-9]+$/.exec(name) ?? [];
    if (claim !== undefined) names.add(claim);
    const from = source[CLAIM_SOURCES];
    if (typeof value === "string" && isRecord(from) && Object.hasOwn(from, value)) names.add(name);
  }
  // No reader of ours goes that deep: rules on such a claim do not decide, as if it were not sent.
  for (const [name, value] of Object.entries(source)) if (!isShallow(value)) names.add(name);
  if (saysHasGroups(source) && !hasValue(source["groups"])) names.add("groups");
  return names;
}

/** Nothing, or a list of nothing, does not make up for what is said to be there. */
function hasValue(claim: unknown): boolean {
  return claim !== undefined && claim !== null && !(Array.isArray(claim) && claim.length === 0);
}

/** Entra, where even the address of the groups would be too much. */
function saysHasGroups(source: Claims): boolean {
  const says = source["hasgroups"];
  return says !== undefined && says !== false && says !== "false";
}

/** @param path with dots, as `idp_groups_claim` may have them */
function isNamed(names: ReadonlySet<string> | undefined, path: string): boolean {
  return names !== undefined && (names.has(path) || names.has(partsOf(path)[0] ?? path));
}

function readName(claims: Readonly<Record<string, Json>>): string {
  const name = claims["name"];
  if (typeof name === "string" && name !== "") return name;
  const parts = [claims["given_name"], claims["family_name"]].filter(
    (part): part is string => typeof part === "string",
  );
  return parts.join(" ").trim();
}

function readGroups(claims: Readonly<Record<string, Json>>, groupsClaim: string): readonly string[] {
  const value = findClaim(claims, groupsClaim);
  const list = Array.isArray(value) ? value : typeof value === "string" ? [value] : [];
  const names = list.filter((item): item is string => typeof item === "string" && item !== "");
  return [...new Set(names)].sort();
}

/** `access."my.client".roles`: names with dots in quotes. */
function partsOf(path: string): readonly string[] {
  return [...path.matchAll(/"([^"]*)"|([^."]+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

/** A claim whose name has dots wins over the path of the same spelling: some providers use URLs as names. */
function findClaim(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const part of partsOf(path)) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
