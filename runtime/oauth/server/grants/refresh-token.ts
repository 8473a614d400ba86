/**
 * Refresh tokens: `gwr_` and a seal of which grant and which generation.
 *
 * The seal is bound to issuer and client, so a token of one opens for no other. Being sealed, an old token is told from an
 * invented one without keeping a record of every token that ever was: that is what makes reuse detection affordable.
 */
import { hkdfSync } from "node:crypto";

import { createSealer, hashSecret, type Keys, type Sealer, sameSecret } from "../../../shared/keys.ts";
import { REPLAY_WINDOW_SECONDS, type GrantRecord, type RefreshFamily, type RotatedToken } from "../grant-records.ts";

/** Secret scanners find leaked tokens by it. */
export const REFRESH_TOKEN_PREFIX = "gwr_";
const MAX_TOKEN_CHARACTERS = 1024;
/** Rotated tokens remembered at once; a client that rotates faster than this within the window is not a client. */
const MAX_ROTATED = 8;

export interface RefreshTokenOwner {
  readonly issuer: string;
  readonly clientId: string;
}

/** What of a grant its refresh tokens are bound to. */
export type BoundGrant = Pick<GrantRecord, "userId" | "audience" | "scope">;

export interface OpenedRefreshToken {
  readonly grantId: string;
  /** See `isBoundTo`; undefined in tokens of earlier versions, which are good for nothing. */
  readonly binding: string | undefined;
  readonly generation: number;
  readonly hash: string;
}

/** What a token request is answered with. */
export interface TokenAnswer {
  readonly accessToken: string;
  /** Epoch seconds. */
  readonly accessExpiresAt: number;
  readonly audience: string;
  readonly refreshToken?: string;
  readonly scope: string;
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

/** Whether the record still says what it said when the token was made: whoever writes the store must not become another user. */
export function isBoundTo({ binding }: OpenedRefreshToken, grant: BoundGrant): boolean {
  return binding === bindingOf(grant);
}

function bindingOf({ userId, audience, scope }: BoundGrant): string {
  return hashSecret(JSON.stringify([userId, audience, scope]));
}

/** @returns undefined for what we did not make, or made for another client or issuer */
export function openRefreshToken(keys: Keys, owner: RefreshTokenOwner, token: string): OpenedRefreshToken | undefined {
  if (!token.startsWith(REFRESH_TOKEN_PREFIX) || token.length > MAX_TOKEN_CHARACTERS) return undefined;
  const opened = keys.sealer("refresh-token").open(token.slice(REFRESH_TOKEN_PREFIX.length), sealContext(owner));
  if (!opened) return undefined;
  const [grantId, generation, binding] = JSON.parse(opened.toString()) as [string, number, string | undefined];
  return { grantId, generation, binding, hash: hashSecret(token) };
}

/** A space stands in no origin, so no pair of issuer and client can be taken for another. */
function sealContext(owner: RefreshTokenOwner): string {
  return `refresh ${owner.issuer} ${owner.clientId}`;
}

/** What an authentic token is to its family now. */
export type RefreshTokenState =
  | { readonly kind: "current" }
  /** Rotated just now: a repeat by the same client, or by its twin. */
  | { readonly kind: "rotated"; readonly by: RotatedToken }
  /** Rotated before: somebody has a copy (OAuth 2.1 §4.3.1). */
  | { readonly kind: "reused" }
  | { readonly kind: "unknown" };

/** Whether it is the newest one. */
export function isCurrentToken(family: RefreshFamily | undefined, token: OpenedRefreshToken): boolean {
  return family?.generation === token.generation && sameSecret(token.hash, family.hash);
}

/** @param now epoch seconds by the store's clock, as all times of a family */
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

/** The family after its current token was exchanged for the one in `answer`. @param now by the store's clock */
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

/** The family with its newest rotation dated anew, if it was of this token and since then; else undefined. Epoch seconds by the store's clock. */
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
 * The newest answer that the holder of a just rotated token may have: the one it was exchanged for, or, when that one was
 * exchanged too meanwhile, the next, and so on. An older one would be taken for reuse at its next use.
 *
 * @returns undefined when the answer does not open, which means that keys changed
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

/** Keys that exist only while somebody holds the old token: what is stored opens for nobody else. */
function replaySealer(keys: Keys, oldToken: string): Sealer {
  return createSealer(
    keys
      .derive("refresh-replay")
      .map((key) => Buffer.from(hkdfSync("sha256", oldToken, key, "gateform/refresh-answer/v1", 32))),
  );
}
