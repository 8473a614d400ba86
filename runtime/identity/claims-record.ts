/** One user's record: how an answer of the provider changes it, and what decisions read from it. Pure but for the seal. */
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

/** The provider is asked for news of an active user at least this often, however long its tokens last. */
export const MAX_CONFIRM_SECONDS = 15 * 60;
/** Groups that could not be asked for are asked for again after so long. */
export const RETRY_GROUPS_SECONDS = 60;
/** So long before its end an access token is renewed. */
export const RENEW_AHEAD_SECONDS = 60;

/** Seals a user's provider tokens for rest; a seal opens only for the user and the purpose it was made for. */
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
  /** A refresh token that outlives the provider's session is kept: MCP grants stand on it. */
  readonly isSignIn?: boolean;
  /** undefined = not read yet: claims stay as they are, and the provider is due to be asked again. */
  readonly profile: ProfileFacts | undefined;
}

/** The record after an answer of the provider. */
export function mergeIdentity(
  deps: { readonly tokenSeal: TokenSeal; readonly nowMs: number },
  { earlier, userId, tokens, isSignIn = false, profile }: ProviderAnswer,
): IdentityRecord {
  const now = Math.floor(deps.nowMs / 1000);
  const facts: ProfileFacts = profile ??
    (earlier && storedFacts(earlier)) ?? { email: "", name: "", groups: [], claims: {} };
  const isWhole = profile !== undefined && profile.leftOut?.others !== true;
  const changed = earlier === undefined || !sameFacts(earlier, facts);
  // Without a new token the old one stays good (RFC 6749 §6), but never at another provider.
  const kept = earlier && isFrom(earlier, tokens) ? earlier : undefined;
  const sealed = (what: TokenPurpose, token: string | undefined): string | undefined =>
    token === undefined ? undefined : deps.tokenSeal.seal(userId, what, token);
  const offline = isSignIn && kept?.offline === false ? undefined : kept?.offline;
  const isKept = isSignIn && offline === true && kept?.refreshToken !== undefined;
  const refreshToken = isKept ? kept.refreshToken : (sealed("refresh", tokens.refreshToken) ?? kept?.refreshToken);
  const idToken = sealed("id", tokens.idToken) ?? kept?.idToken;
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
 * The facts in a record. Older programs kept addresses that the provider called unverified, and knew nothing of claims that
 * it left out: their records are read as if these claims came from the provider now.
 */
export function storedFacts({ email, name, groups, claims, leftOut }: IdentityRecord): ProfileFacts {
  if (leftOut !== undefined) return { email, name, groups, claims, ...(leftOut && { leftOut }) };
  const read = readStoredClaims(claims);
  return {
    email: read.claims["email"] === undefined ? "" : email,
    name,
    groups,
    claims: read.claims,
    // Which claim has the groups is not known here: where there are none, any claim that is missing may be it.
    ...(read.leftOut && { leftOut: { claims: read.leftOut.claims, groups: groups.length === 0 } }),
  };
}

/** What decisions read, by the settings of today: they may ask for more than those under which it was stored. */
export function toUser(record: IdentityRecord, live: Providers & Pick<LiveSettings, "identityIssuers">): User {
  const { issuer: name, providerUrl: url } = record;
  const issuer = name === undefined ? {} : { issuer: { name, url } };
  const user: User = { id: record.userId, version: record.version, ...issuer, ...storedFacts(record) };
  const settings = findProvider(live, record.userId);
  const counted = settings ? withCountedEmail(user, settings) : user;
  if (record.accessToken !== undefined) return counted;
  // Who never signed in has the address that an assertion said.
  const entry = live.identityIssuers.find((each) => each.userIssuer === name && each.issuer === url);
  return withCountedEmail(counted, { requireEmailVerified: false, emailDomains: entry?.emailDomains ?? new Set() });
}

function isFrom(record: IdentityRecord, tokens: ProviderTokenSet): boolean {
  return record.providerUrl === tokens.providerUrl && record.providerClientId === tokens.clientId;
}

/** The issuer's name stands for another one than it did: its subjects are other people. The first provider may move. */
export function isOfAnother(earlier: IdentityRecord | undefined, { providerUrl }: ProviderTokenSet): boolean {
  return earlier?.issuer !== undefined && earlier.providerUrl !== providerUrl;
}

/** The record of somebody whom the provider refused, or ended: nothing of theirs works before they sign in again. */
export function refusedRecord(record: IdentityRecord, now: number): IdentityRecord {
  const { refreshToken: _r, offline: _o, accessToken: _a, idToken: _i, refreshDueAt: _d, ...rest } = record;
  return { ...rest, refusedAt: now };
}

/** Epoch seconds at which a record that is written now ends: after all that may be refreshed through it. */
export function identityEnd({ cookie, lifetimes }: Pick<LiveSettings, "cookie" | "lifetimes">, now: number): number {
  return now + Math.max(cookie.expirationSeconds, lifetimes.refreshToken);
}

/** When the provider should be asked next: before its token ends, and never later than the promised interval. */
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

/** The settings under which this user's tokens may be used: the same issuer, provider and client. */
export function providerOf(record: IdentityRecord, live: Providers): IdpSettings | undefined {
  const settings = findProvider(live, record.userId);
  if (settings?.providerUrl !== record.providerUrl || settings.clientId !== record.providerClientId) return undefined;
  return settings;
}

/** Whether people may still sign in where this user did, by that issuer. Who never signed in is its assertions' matter. */
export function hasProvider({ issuer, accessToken, providerUrl }: IdentityRecord, live: Providers): boolean {
  return issuer === undefined || accessToken === undefined || findProviderOf(live, issuer)?.providerUrl === providerUrl;
}

/** The settings of the issuer that a user comes from; undefined when there are none, and for machines. */
export function findProvider(live: Providers, userId: UserId): IdpSettings | undefined {
  const parts = parseUserId(userId);
  return parts?.kind === "person" ? findProviderOf(live, parts.issuer) : undefined;
}

/** @returns undefined for the first provider, and for machines */
export function issuerOf(userId: UserId): string | undefined {
  const parts = parseUserId(userId);
  return parts?.kind === "person" ? parts.issuer : undefined;
}
