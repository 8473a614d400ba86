/** Sessions that start, or continue, after a sign-in at a provider. */
import { decodeJwt, type JWTPayload } from "jose";

import type { Snapshot } from "../../config/snapshot.ts";
import { issuersWith } from "../../features/sign-in/trusted-issuers.ts";
import { epochSeconds, type Clock } from "../../shared/clock.ts";
import { randomHandle, type Keys } from "../../shared/keys.ts";
import type { UserId } from "../../shared/user-id.ts";
import type { Store } from "../../store/store.ts";
import type { SessionHandle } from "../cookie.ts";
import { SESSIONS_TAG, userTag, type SessionRecords } from "../identity-records.ts";
import { isSignedOut, providerSessionTag } from "../logout/signed-out.ts";
import { authTime } from "../provider/auth-time.ts";
import type { ProviderTokenSet } from "../provider/idp.ts";
import type { ProviderStep } from "./ticket.ts";

export interface ProviderSessions {
  /** @param fresh for a required new authentication: the session to continue, if it exists and belongs to this user */
  begin(
    snapshot: Snapshot,
    userId: UserId,
    tokens: ProviderTokenSet,
    fresh: ProviderStep["fresh"],
  ): Promise<SessionHandle>;
  /** Returns true if the provider has signed the user out since: its notification arrived before the browser. */
  isSignedOut(snapshot: Snapshot, userId: UserId, tokens: ProviderTokenSet): Promise<boolean>;
}

/** To change a session's record that other requests change at the same time. */
const ATTEMPTS = 3;

export function createProviderSessions(deps: {
  readonly store: Pick<Store, "get">;
  readonly records: SessionRecords;
  readonly keys: Keys;
  readonly clock: Clock;
}): ProviderSessions {
  const { records, clock } = deps;
  const secrets = deps.keys.sealer("provider-tokens");

  /** Continues a session with its proven devices, so that no old session remains and devices need no new proof. */
  const continueSession = async (
    sessionId: string,
    userId: UserId,
    facts: { readonly authenticatedAt?: number; readonly idToken?: string },
    tags: readonly string[],
  ): Promise<SessionHandle | undefined> => {
    // A concurrent change may be the end of the session, or only a note of its use.
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      const found = await records.sessions.get(sessionId);
      if (found?.expiresAt === undefined || found.value.userId !== userId) return undefined;
      const { value, version: ifVersion, expiresAt } = found;
      const options = { ifVersion, expiresAt, tags: [...new Set([...found.tags, ...tags])] };
      const { ok } = await records.sessions.put(sessionId, { ...value, ...facts }, options);
      if (ok) return { sessionId, userId, expiresAt };
    }
    return undefined;
  };

  return {
    async begin(snapshot, userId, tokens, fresh) {
      const now = epochSeconds(clock);
      const authenticatedAt = authTime(tokens, now) ?? (fresh && now);
      const factsOf = (sessionId: string) => ({
        ...(authenticatedAt === undefined ? {} : { authenticatedAt }),
        ...(tokens.idToken === undefined ? {} : { idToken: secrets.seal(tokens.idToken, `session ${sessionId}`) }),
      });
      const ofProvider = providerSessionOf(tokens);
      const tags = ofProvider ? [providerSessionTag(ofProvider.issuer, ofProvider.sid)] : [];
      const known = fresh?.sessionId;
      const gone = known === undefined ? undefined : await continueSession(known, userId, factsOf(known), tags);
      if (gone) return gone;
      const sessionId = randomHandle(18);
      const expiresAt = now + snapshot.settings.cookie.expirationSeconds;
      const record = { userId, createdAt: now, ...factsOf(sessionId) };
      const all = [SESSIONS_TAG, userTag(userId), ...tags];
      await records.sessions.put(sessionId, record, { ifVersion: 0, expiresAt, tags: all });
      return { sessionId, userId, expiresAt };
    },

    async isSignedOut(snapshot, userId, tokens) {
      if (issuersWith(snapshot.settings.identityIssuers, "logout").length === 0) return false;
      const session = providerSessionOf(tokens);
      const iat = tokens.idClaims?.["iat"];
      const issuedAt = typeof iat === "number" ? iat : epochSeconds(clock);
      return (
        (session !== undefined && (await isSignedOut(deps.store, { kind: "session", ...session }, issuedAt))) ||
        (await isSignedOut(deps.store, { kind: "user", userId }, issuedAt))
      );
    },
  };
}

/**
 * Chooses the ID token for the provider's sign-out, since it may reject an old one. A user's tokens are refreshed for
 * all their browsers together, so the refreshed one may belong to another provider session.
 *
 * @param refreshed "" if there is none
 */
export function newestOfSession(own: string, refreshed: string): string {
  const [ours, newer] = [claimsOf(own), claimsOf(refreshed)];
  const isSame = newer !== undefined && newer["sid"] === ours?.["sid"];
  return isSame && (newer.iat ?? 0) >= (ours?.iat ?? 0) ? refreshed : own;
}

/** The signature was verified on arrival. */
function claimsOf(idToken: string): JWTPayload | undefined {
  try {
    return decodeJwt(idToken);
  } catch {
    return undefined;
  }
}

/** The provider's own session, from the ID token; undefined if it names none. */
function providerSessionOf({
  idClaims,
}: ProviderTokenSet): { readonly issuer: string; readonly sid: string } | undefined {
  const { iss: issuer, sid } = idClaims ?? {};
  return typeof issuer === "string" && typeof sid === "string" ? { issuer, sid } : undefined;
}
