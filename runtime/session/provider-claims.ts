/**
 * What the provider says of a user → what we keep and decide on. Pure.
 *
 * Untrusted input: the claims; they are the provider's word, but their shapes differ from provider to provider.
 */
import type { Json } from "../store/store.ts";

export interface ProfileFacts {
  readonly email: string;
  readonly name: string;
  /** Sorted, unique, [] when none. */
  readonly groups: readonly string[];
  readonly claims: { readonly [key: string]: Json };
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

/**
 * @param sources claim sets, later ones win
 * @param groupsClaim name of the claim with the groups, or a path with dots ("realm_access.roles")
 */
export function readProfile(sources: readonly Readonly<Record<string, unknown>>[], groupsClaim: string): ProfileFacts {
  const merged = new Map<string, Json>();
  for (const source of sources) {
    for (const [name, value] of Object.entries(source)) {
      if (!TOKEN_CLAIMS.has(name) && value !== undefined) merged.set(name, value as Json);
    }
  }
  // Not by assignment: a claim named "__proto__" would become the prototype.
  const claims: Readonly<Record<string, Json>> = Object.fromEntries(merged);
  return { email: readEmail(claims), name: readName(claims), groups: readGroups(claims, groupsClaim), claims };
}

/** Whether these claims leave something open that the userinfo endpoint may know. */
export function lacksProfile(claims: Readonly<Record<string, unknown>>, groupsClaim: string): boolean {
  return claims["email"] === undefined || claims["name"] === undefined || findClaim(claims, groupsClaim) === undefined;
}

function readEmail(claims: Readonly<Record<string, Json>>): string {
  const email = claims["email"];
  if (typeof email !== "string") return "";
  // An address the provider itself calls unverified is whatever the user typed in: it must not open anything.
  if (claims["email_verified"] === false || claims["email_verified"] === "false") return "";
  return email;
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

/** A claim whose name has dots wins over the path of the same spelling: some providers use URLs as names. */
function findClaim(claims: Readonly<Record<string, unknown>>, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path];
  let value: unknown = claims;
  for (const part of path.split(".")) {
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, part)) return undefined;
    value = (value as Record<string, unknown>)[part];
  }
  return value;
}
