/**
 * Refresh tokens: `gwr_` and a seal of grant and generation.
 *
 * The seal is bound to issuer and client, so a token is invalid for others. It also distinguishes an old token from an
 * invented one without storing every token, which makes reuse detection cheap.
 */
import { hkdfSync } from "node:crypto";

import { createSealer, hashSecret, type Keys, type Sealer, sameSecret } from "../../../shared/keys.ts";
import { REPLAY_WINDOW_SECONDS, type GrantRecord, type RefreshFamily, type RotatedToken } from "../grant-records.ts";

/** Lets secret scanners find leaked tokens. */
export const REFRESH_TOKEN_PREFIX = "gwr_";
const MAX_TOKEN_CHARACTERS = 1024;
/** Rotated tokens stored at a time. No real client rotates faster within the window. */
const MAX_ROTATED = 8;

export interface RefreshTokenOwner {
  readonly issuer: string;
  readonly clientId: string;
}

/** Fields of a grant to which its refresh tokens are bound. */
export type BoundGrant = Pick<GrantRecord, "userId" | "audience" | "scope" | "keyThumbprint">;

export interface OpenedRefreshToken {
  readonly grantId: string;
  /** See `isBoundTo`; undefined in tokens of earlier versions, which are invalid. */
  readonly binding: string | undefined;
  readonly generation: number;
  readonly hash: string;
}

/** Result of a token request. */
export interface TokenAnswer {
  readonly accessToken: string;
  /** Epoch seconds. */
  readonly accessExpiresAt: number;
  readonly audience: string;
  readonly refreshToken?: string;
  /** The access token is valid only with proofs by this key. */
  readonly keyThumbprint?: string;
  readonly scope: string;
  /** The response is that of a token exchange (RFC 8693 §2.2.1). */
  readonly isExchanged?: true;
}

export function mintRefreshToken(
  keys: Keys,
  owner: RefreshTokenOwner,
  grantId: string,
  generation: number,
  grant: BoundGrant,
): string {
  const text = JSON.stringify([grantId, generation, bindingOf(grant)]);
  return REFRESH_TOKEN_PREFIX + keys.sealer("refresh-token").seal(text, sealContext(owner));
}

/**
 * Returns true if the record is unchanged since the token was issued: write access to the store must not allow
 * impersonation.
 */
export function isBoundTo({ binding }: OpenedRefreshToken, grant: BoundGrant): boolean {
  return binding === bindingOf(grant);
}

function bindingOf({ userId, audience, scope, keyThumbprint }: BoundGrant): string {
  return hashSecret(JSON.stringify([userId, audience, scope, ...(keyThumbprint === undefined ? [] : [keyThumbprint])]));
}

/** @returns undefined for tokens that we did not issue, or issued to another client or by another issuer */
export function openRefreshToken(keys: Keys, owner: RefreshTokenOwner, token: string): OpenedRefreshToken | undefined {
  if (!token.startsWith(REFRESH_TOKEN_PREFIX) || token.length > MAX_TOKEN_CHARACTERS) return undefined;
  const opened = keys.sealer("refresh-token").open(token.slice(REFRESH_TOKEN_PREFIX.length), sealContext(owner));
  if (!opened) return undefined;
  const [grantId, generation, binding] = JSON.parse(opened.toString()) as [string, number, string | undefined];
  return { grantId, generation, binding, hash: hashSecret(token) };
}

/** Origins contain no space, so issuer and client are unambiguous. */
function sealContext(owner: RefreshTokenOwner): string {
  return `refresh ${owner.issuer} ${owner.clientId}`;
}

/** State of an authentic token. */
export type RefreshTokenState =
  | { readonly kind: "current" }
  /** Rotated just now: a repeat by the same client, or by a parallel request. */
  | { readonly kind: "rotated"; readonly by: RotatedToken }
  /** Rotated earlier: another party has a copy (OAuth 2.1 §4.3.1). */
  | { readonly kind: "reused" }
  | { readonly kind: "unknown" };

/** Returns true for the newest token. */
export function isCurrentToken(family: RefreshFamily | undefined, token: OpenedRefreshToken): boolean {
  return family?.generation === token.generation && sameSecret(token.hash, family.hash);
}

/** @param now epoch seconds by the store's clock, like all times of a family */
export function classifyRefreshToken(
  family: RefreshFamily | undefined,
  token: OpenedRefreshToken,
  now: number,
): RefreshTokenState {
  if (isCurrentToken(family, token)) return { kind: "current" };
  if (!family || token.generation >= family.generation) return { kind: "unknown" };
  const by = family.rotated.find((each) => each.generation === token.generation);
  return by && sameSecret(token.hash, by.hash) && now - by.rotatedAt <= REPLAY_WINDOW_SECONDS
    ? { kind: "rotated", by }
    : { kind: "reused" };
}

/** Replaces the current token with the one in `answer`. @param now by the store's clock */
export function rotateFamily(
  keys: Keys,
  family: RefreshFamily,
  oldToken: string,
  answer: TokenAnswer & { readonly refreshToken: string },
  now: number,
): RefreshFamily {
  const rotated: RotatedToken = {
    generation: family.generation,
    hash: family.hash,
    rotatedAt: now,
    answer: replaySealer(keys, oldToken).seal(JSON.stringify(answer), "refresh-answer"),
  };
  const recent = family.rotated.filter((each) => now - each.rotatedAt <= REPLAY_WINDOW_SECONDS);
  return {
    generation: family.generation + 1,
    hash: hashSecret(answer.refreshToken),
    rotated: [...recent, rotated].slice(-MAX_ROTATED),
  };
}

/**
 * Returns the family with a new date of its last rotation, if that was of this token since `since`; else undefined.
 * Epoch seconds by the store's clock.
 */
export function prolongReplay(
  family: RefreshFamily | undefined,
  token: OpenedRefreshToken,
  { since, now }: { readonly since: number; readonly now: number },
): RefreshFamily | undefined {
  const newest = family?.rotated.at(-1);
  if (!family || !newest || newest.generation !== token.generation || !sameSecret(newest.hash, token.hash))
    return undefined;
  if (newest.rotatedAt < since) return undefined;
  return { ...family, rotated: [...family.rotated.slice(0, -1), { ...newest, rotatedAt: now }] };
}

/**
 * Returns the newest response for the holder of a recently rotated token: the one of its rotation, or of the next if
 * that token was rotated too, and so on. An older one would look like reuse later.
 *
 * @returns undefined if the seal does not open because the keys changed
 */
export function replayAnswer(
  keys: Keys,
  family: RefreshFamily,
  oldToken: string,
  by: RotatedToken,
): TokenAnswer | undefined {
  const opened = replaySealer(keys, oldToken).open(by.answer, "refresh-answer");
  if (!opened) return undefined;
  const answer = JSON.parse(opened.toString()) as TokenAnswer;
  const next = family.rotated.find((each) => each.generation === by.generation + 1);
  if (!next || answer.refreshToken === undefined) return answer;
  return replayAnswer(keys, family, answer.refreshToken, next);
}

/** Keys derived from the old token: only its holder can open the stored response. */
function replaySealer(keys: Keys, oldToken: string): Sealer {
  return createSealer(
    keys
      .derive("refresh-replay")
      .map((key) => Buffer.from(hkdfSync("sha256", oldToken, key, "gateform/refresh-answer/v1", 32))),
  );
}
