/**
 * Converts the provider's claims about a user to the facts that are stored and used in decisions. Pure.
 *
 * Untrusted input: the claims, whose shapes differ between providers. Promises: an email address that the provider does
 * not verify is never stored, not even as a claim. Omitted claims are distinguished from claims that the user does not
 * have.
 */
import type { LeftOut } from "../../policy/facts.ts";
import type { UserId } from "../../shared/user-id.ts";
import type { Json } from "../../store/store.ts";
import { trustedEmail } from "../../issuers/trusted-email.ts";
import { isRecord } from "../../shared/is-record.ts";
import { isShallow } from "../../shared/json/foreign-json.ts";

type Claims = Readonly<Record<string, unknown>>;

export interface ProfileFacts {
  /** "" if there is none, or none that counts as verified. */
  readonly email: string;
  readonly name: string;
  /** Sorted, unique; [] if none. */
  readonly groups: readonly string[];
  readonly claims: { readonly [key: string]: Json };
  /** Absent: nothing was omitted. */
  readonly leftOut?: LeftOut;
}

/** Rules for reading this provider's claims. */
export interface ClaimRules {
  /** Name of the claim with the groups, or a path with dots ("realm_access.roles"). */
  readonly groupsClaim: string;
  /** Accept an email address only if the provider marks it as verified. */
  readonly requireEmailVerified: boolean;
  /** Accepted email domains; undefined: all. */
  readonly emailDomains: ReadonlySet<string> | undefined;
}

/** Claims about one token, not about the user. Stored, they would make every refresh look like a change of the user. */
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

/** Locations of omitted claims, with access tokens for them (OpenID Connect Core §5.6.2.2). Never stored. */
const CLAIM_SOURCES = "_claim_sources";

/**
 * @param sources claim sets of one moment, later ones win: ID token, then userinfo
 * @param userId replaces `sub`, which is unique at this issuer only
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

/** Returns true if userinfo may have claims that are missing here. */
export function lacksProfile(claims: Claims, { groupsClaim, requireEmailVerified }: ClaimRules): boolean {
  return (
    claims["email"] === undefined ||
    claims["name"] === undefined ||
    findClaim(claims, groupsClaim) === undefined ||
    (requireEmailVerified && claims["email_verified"] === undefined) ||
    findLeftOut([claims], groupsClaim) !== undefined
  );
}

/** Returns true if only the name is missing, on which no decision depends. */
export function lacksOnlyName(claims: Claims, rules: ClaimRules): boolean {
  return claims["name"] === undefined && !lacksProfile({ ...claims, name: "" }, rules);
}

/** Facts after userinfo failed: its further claims are unknown. */
export function withOthersLeftOut(facts: ProfileFacts): ProfileFacts {
  return { ...facts, leftOut: { groups: false, claims: [], ...facts.leftOut, others: true } };
}

/**
 * Removes an email address that does not count: one without `email_verified` under `idp_require_email_verified`, or one
 * in a domain that the provider is not trusted with.
 */
export function withCountedEmail<Facts extends { readonly email: string; readonly claims: Claims }>(
  facts: Facts,
  { requireEmailVerified, emailDomains }: Pick<ClaimRules, "requireEmailVerified" | "emailDomains">,
): Facts {
  const { email, ...claims } = facts.claims;
  if (email === undefined) return facts;
  const isSure = !requireEmailVerified || isVerified(facts.claims["email_verified"]);
  return isSure && (emailDomains === undefined || trustedEmail(email, emailDomains) !== "")
    ? facts
    : { ...facts, email: "", claims };
}

/**
 * Merges the facts of a response without an ID token (OpenID Connect Core §12.2: a refresh may return none) with the
 * earlier ones. An unverified email and omitted claims that only the ID token reported stay so until the provider says
 * otherwise.
 */
export function withEarlierUnverified(
  facts: ProfileFacts,
  earlier: Pick<ProfileFacts, "claims" | "leftOut">,
): ProfileFacts {
  const staysUnverified = earlier.claims["email_verified"] === false && !isVerified(facts.claims["email_verified"]);
  // Userinfo at Entra omits the object id, which directories use and which never changes.
  const { oid } = earlier.claims;
  const stated = oid === undefined ? facts : { ...facts, claims: { oid, ...facts.claims } };
  const { email: _, ...others } = stated.claims;
  const merged = staysUnverified ? { ...stated, email: "", claims: { ...others, email_verified: false } } : stated;
  if (!earlier.leftOut) return merged;
  const missing = earlier.leftOut.claims.filter((name) => !hasValue(findClaim(merged.claims, name)));
  const claims = [...new Set([...missing, ...(facts.leftOut?.claims ?? [])])].sort();
  const { resolver } = facts.leftOut ?? {};
  // Groups fetched by the resolver were also omitted by the provider, so their absence here does not mean "none".
  const wereLeftOut = earlier.leftOut.groups || earlier.leftOut.resolver === "answered";
  const isOpen = wereLeftOut && facts.groups.length === 0 && resolver !== "answered";
  const groups = facts.leftOut?.groups === true || isOpen;
  const { leftOut: _leftOut, ...rest } = merged;
  return claims.length === 0 && !groups
    ? rest
    : { ...rest, leftOut: { claims, groups, ...(resolver && { resolver }) } };
}

/** Reads stored claims of an earlier version by today's rules; see `storedFacts`. */
export function readStoredClaims(stored: { readonly [key: string]: Json }): Pick<ProfileFacts, "claims" | "leftOut"> {
  const leftOut = findLeftOut([stored], "groups");
  return { claims: mergeClaims([stored]), ...(leftOut && { leftOut }) };
}

function mergeClaims(sources: readonly Claims[]): Readonly<Record<string, Json>> {
  const merged = new Map<string, Json>();
  for (const source of sources) {
    // The placeholder of an omitted claim contains its location, and nothing about the user.
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
 * Keeps an email address only if no source calls it unverified, and `email_verified` only for this very address. With
 * two sources the stricter one wins, and neither verifies the other's address.
 */
function mergeEmail(merged: Map<string, Json>, sources: readonly Claims[]): void {
  const words = sources.map((source) => source["email_verified"]).filter((word) => word !== undefined);
  if (words.some((word) => !isVerified(word))) {
    // An address that the provider calls unverified may be anything that the user typed. It must not grant access.
    merged.delete("email");
    merged.set("email_verified", false);
    return;
  }
  const email = merged.get("email");
  const isAboutEmail = sources.some((source) => source["email"] === email && source["email_verified"] !== undefined);
  if (email !== undefined && !isAboutEmail) merged.delete("email_verified");
}

/** Accepts `true` and, as some providers send it, `"true"`. Other values such as "True" or 1 are not defined. */
function isVerified(word: unknown): boolean {
  return word === true || word === "true";
}

function readEmail(claims: Readonly<Record<string, Json>>): string {
  const email = claims["email"];
  return typeof email === "string" ? email : "";
}

/**
 * Finds claims that the provider has but omitted because of their size: distributed and aggregated claims (OpenID
 * Connect Core §5.6.2), and Entra's substitute for too many groups. The URLs in them are never requested, since the
 * token's issuer would choose where we send requests. A source with the full claim makes up for another.
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
    // Entra's other forms: "groups:src1", and "groups": "src1" with a source of that name.
    const [, claim] = /^(.+):src[0-9]+$/.exec(name) ?? [];
    if (claim !== undefined) names.add(claim);
    const from = source[CLAIM_SOURCES];
    if (typeof value === "string" && isRecord(from) && Object.hasOwn(from, value)) names.add(name);
  }
  // Our readers do not support such depth. Rules on the claim treat it as omitted.
  for (const [name, value] of Object.entries(source)) if (!isShallow(value)) names.add(name);
  if (saysHasGroups(source) && !hasValue(source["groups"])) names.add("groups");
  return names;
}

/** An empty value or list does not make up for an omitted claim. */
function hasValue(claim: unknown): boolean {
  return claim !== undefined && claim !== null && !(Array.isArray(claim) && claim.length === 0);
}

/** Entra's form if even the location of the groups would be too large. */
function saysHasGroups(source: Claims): boolean {
  const says = source["hasgroups"];
  return says !== undefined && says !== false && says !== "false";
}

/** @param path may contain dots, like `idp_groups_claim` */
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

/** `access."my.client".roles`: names with dots are quoted. */
function partsOf(path: string): readonly string[] {
  return [...path.matchAll(/"([^"]*)"|([^."]+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

/** A claim with dots in its name wins over the path with the same text: some providers use URLs as names. */
function findClaim(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const part of partsOf(path)) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
