/** Record of one user: merges the provider's responses and returns the facts for decisions. Pure except for sealing. */
import { isDeepStrictEqual } from "node:util";

import type { LiveSettings } from "../config/compiled.ts";
import type { IdpSettings } from "../features/sign-in/compiled.ts";
import { findProviderOf, type Providers } from "../features/sign-in/providers.ts";
import type { Keys } from "../shared/keys.ts";
import { parseUserId, type UserId } from "../shared/user-id.ts";
import type { ProviderTokenSet } from "./provider/idp.ts";
import type { User } from "./principal.ts";
import { readStoredClaims, withCountedEmail, type ProfileFacts } from "./provider/provider-claims.ts";
import type { IdentityRecord } from "./identity-records.ts";

/** Maximum time between provider checks of an active user, however long the tokens last. */
export const MAX_CONFIRM_SECONDS = 15 * 60;
/** Retry interval after the groups could not be fetched. */
export const RETRY_GROUPS_SECONDS = 60;
/** Access tokens are renewed this long before they expire. */
export const RENEW_AHEAD_SECONDS = 60;

/** Seals a user's provider tokens for storage. A seal opens only for the same user and purpose. */
export interface TokenSeal {
  seal(userId: UserId, what: TokenPurpose, token: string): string;
  open(userId: UserId, what: TokenPurpose, sealed: string | undefined): string | undefined;
}

export type TokenPurpose = "refresh" | "access" | "id";

export function createTokenSeal(keys: Keys): TokenSeal {
  const sealer = keys.sealer("provider-tokens");
  return {
    seal: (userId, what, token) => sealer.seal(token, `${what} ${userId}`),
    open: (userId, what, sealed) =>
      sealed === undefined ? undefined : sealer.open(sealed, `${what} ${userId}`)?.toString(),
  };
}

export interface ProviderAnswer {
  readonly earlier: IdentityRecord | undefined;
  readonly userId: UserId;
  readonly tokens: ProviderTokenSet;
  /** Keeps a refresh token that outlives the provider's session, since MCP grants depend on it. */
  readonly isSignIn?: boolean;
  /** undefined: not read yet. Claims stay unchanged, and the provider is checked again soon. */
  readonly profile: ProfileFacts | undefined;
}

/** Returns the record after a provider response. */
export function mergeIdentity(
  deps: { readonly tokenSeal: TokenSeal; readonly nowMs: number },
  { earlier, userId, tokens, isSignIn = false, profile }: ProviderAnswer,
): IdentityRecord {
  const now = Math.floor(deps.nowMs / 1000);
  const facts: ProfileFacts = profile ??
    (earlier && storedFacts(earlier)) ?? { email: "", name: "", groups: [], claims: {} };
  const isWhole = profile !== undefined && profile.leftOut?.others !== true;
  const changed = earlier === undefined || !sameFacts(earlier, facts);
  // Without a new token the old one stays valid (RFC 6749 §6), but never at another provider.
  const usable = earlier && isFrom(earlier, tokens) ? earlier : undefined;
  const sealed = (what: TokenPurpose, token: string | undefined): string | undefined =>
    token === undefined ? undefined : deps.tokenSeal.seal(userId, what, token);
  const offline = isSignIn && usable?.offline === false ? undefined : usable?.offline;
  const keepsOffline = isSignIn && offline === true && usable?.refreshToken !== undefined;
  const refreshToken = keepsOffline
    ? usable.refreshToken
    : (sealed("refresh", tokens.refreshToken) ?? usable?.refreshToken);
  const idToken = sealed("id", tokens.idToken) ?? usable?.idToken;
  const issuer = issuerOf(userId);
  return {
    userId,
    ...(issuer === undefined ? {} : { issuer }),
    providerUrl: tokens.providerUrl,
    providerClientId: tokens.clientId,
    version: changed ? Math.max(deps.nowMs, (earlier?.version ?? 0) + 1) : earlier.version,
    email: facts.email,
    name: facts.name,
    groups: facts.groups,
    claims: facts.claims,
    leftOut: facts.leftOut ?? null,
    ...(refreshToken === undefined ? {} : { refreshToken, refreshDueAt: isWhole ? dueAt(now, tokens, facts) : now }),
    ...(offline !== undefined && { offline }),
    accessToken: deps.tokenSeal.seal(userId, "access", tokens.accessToken),
    ...(tokens.accessTokenExpiresAt === undefined ? {} : { accessTokenExpiresAt: tokens.accessTokenExpiresAt }),
    ...(idToken === undefined ? {} : { idToken }),
    confirmedAt: profile ? now : (earlier?.confirmedAt ?? now),
    confirmations: (earlier?.confirmations ?? 0) + (profile ? 1 : 0),
    signIns: earlier?.signIns ?? 0,
  };
}

/**
 * Returns the facts in a record.
 *
 * Older versions stored email addresses that the provider had marked unverified, and did not track omitted claims.
 * Their records are read like claims that arrive from the provider now.
 */
export function storedFacts({ email, name, groups, claims, leftOut }: IdentityRecord): ProfileFacts {
  if (leftOut !== undefined) return { email, name, groups, claims, ...(leftOut && { leftOut }) };
  const read = readStoredClaims(claims);
  return {
    email: read.claims["email"] === undefined ? "" : email,
    name,
    groups,
    claims: read.claims,
    // The groups claim is unknown here. If there are no groups, any missing claim may be it.
    ...(read.leftOut && { leftOut: { claims: read.leftOut.claims, groups: groups.length === 0 } }),
  };
}

/** Returns the user for decisions. The current settings may be stricter than those at the time of storing. */
export function toUser(record: IdentityRecord, live: Providers & Pick<LiveSettings, "identityIssuers">): User {
  const { issuer: name, providerUrl: url } = record;
  const issuer = name === undefined ? {} : { issuer: { name, url } };
  const user: User = { id: record.userId, version: record.version, ...issuer, ...storedFacts(record) };
  const settings = findProvider(live, record.userId);
  const counted = settings ? withCountedEmail(user, settings) : user;
  if (record.accessToken !== undefined) return counted;
  // The user never signed in: the email comes from an assertion.
  const entry = live.identityIssuers.find((each) => each.userIssuer === name && each.issuer === url);
  return withCountedEmail(counted, { requireEmailVerified: false, emailDomains: entry?.emailDomains ?? new Set() });
}

function isFrom(record: IdentityRecord, tokens: ProviderTokenSet): boolean {
  return record.providerUrl === tokens.providerUrl && record.providerClientId === tokens.clientId;
}

/**
 * Returns true if the issuer's name refers to another provider now, whose subjects are other users. The first provider
 * may move.
 */
export function isOfAnother(earlier: IdentityRecord | undefined, { providerUrl }: ProviderTokenSet): boolean {
  return earlier?.issuer !== undefined && earlier.providerUrl !== providerUrl;
}

/** Record of a user after the provider rejected them: without tokens, unusable until the next sign-in. */
export function refusedRecord(record: IdentityRecord, now: number): IdentityRecord {
  const { refreshToken: _r, offline: _o, accessToken: _a, idToken: _i, refreshDueAt: _d, ...rest } = record;
  return { ...rest, refusedAt: now };
}

/** Expiry (epoch seconds) of a record written now: after everything that can be refreshed through it. */
export function identityEnd({ cookie, lifetimes }: Pick<LiveSettings, "cookie" | "lifetimes">, now: number): number {
  return now + Math.max(cookie.expirationSeconds, lifetimes.refreshToken);
}

/** Time of the next provider check: before the token expires, and at the latest after the promised interval. */
function dueAt(now: number, tokens: ProviderTokenSet, { leftOut }: ProfileFacts): number {
  const latest = now + (leftOut?.resolver === "failed" ? RETRY_GROUPS_SECONDS : MAX_CONFIRM_SECONDS);
  if (tokens.accessTokenExpiresAt === undefined) return latest;
  const life = Math.max(0, tokens.accessTokenExpiresAt - now);
  const ahead = Math.min(RENEW_AHEAD_SECONDS, Math.floor(life / 2));
  return Math.min(tokens.accessTokenExpiresAt - ahead, latest);
}

function sameFacts(record: IdentityRecord, facts: ProfileFacts): boolean {
  return isDeepStrictEqual(
    [record.email, record.name, record.groups, record.claims, record.leftOut ?? undefined],
    [facts.email, facts.name, facts.groups, facts.claims, facts.leftOut],
  );
}

/** Settings for using this user's tokens: same issuer, provider and client as at their sign-in. */
export function providerOf(record: IdentityRecord, live: Providers): IdpSettings | undefined {
  const settings = findProvider(live, record.userId);
  if (settings?.providerUrl !== record.providerUrl || settings.clientId !== record.providerClientId) return undefined;
  return settings;
}

/**
 * Returns true if the issuer of the user's sign-in is still configured. Users who never signed in depend on their
 * assertions instead.
 */
export function hasProvider({ issuer, accessToken, providerUrl }: IdentityRecord, live: Providers): boolean {
  return issuer === undefined || accessToken === undefined || findProviderOf(live, issuer)?.providerUrl === providerUrl;
}

/** Settings of the issuer of a user; undefined if there are none, and for service accounts and workloads. */
export function findProvider(live: Providers, userId: UserId): IdpSettings | undefined {
  const parts = parseUserId(userId);
  return parts?.kind === "person" ? findProviderOf(live, parts.issuer) : undefined;
}

/** @returns undefined for the first provider, and for service accounts and workloads */
export function issuerOf(userId: UserId): string | undefined {
  const parts = parseUserId(userId);
  return parts?.kind === "person" ? parts.issuer : undefined;
}
