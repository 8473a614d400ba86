/** Revocations at an issuer's request: finds access by user or by the issuer's session, and revokes it key by key. */
import type { UserId } from "../../shared/user-id.ts";
import type { Store } from "../../store/store.ts";
import { userTag, type SessionRecord } from "../identity-records.ts";
import type { Revocations } from "../interfaces.ts";
import { listAfterCodes } from "../revocations.ts";
import type { LogoutStatement } from "./logout-claims.ts";
import { recordSignOut, providerSessionTag, type SignedOutDeps } from "./signed-out.ts";

export interface EndDeps extends SignedOutDeps {
  readonly revocations: Pick<Revocations, "revoke">;
}

/** Number of revoked items, for the log. */
export interface Ended {
  readonly users: readonly UserId[];
  readonly sessions: number;
  readonly grants: number;
}

export interface LogoutOf extends LogoutStatement {
  /** `iss`. */
  readonly issuer: string;
  readonly endsGrants: boolean;
}

/**
 * Back-channel logout: with `sid`, ends the sessions signed in under that provider session; otherwise everything of the
 * user. Application tokens, programmatic tokens and open streams of a session end with it.
 *
 * @throws GatewayError `store.unavailable`: revocation may be incomplete, and the request must be repeated
 */
export async function endByLogout(deps: EndDeps, logout: LogoutOf): Promise<Ended> {
  const { issuer, userId, sid, issuedAt, endsGrants } = logout;
  if (sid !== undefined) await recordSignOut(deps, { kind: "session", issuer, sid }, issuedAt);
  else if (userId !== undefined) await recordSignOut(deps, { kind: "user", userId }, issuedAt);
  const sessions = await findSessions(deps.store, { issuer, userId, sid });
  for (const { key } of sessions) await deps.revocations.revoke(key);

  const users = new Set([...(userId === undefined ? [] : [userId]), ...sessions.map(({ value }) => value.userId)]);
  let grants = 0;
  if (endsGrants) for (const user of users) grants += await endGrants(deps, user, issuedAt);
  return { users: [...users], sessions: sessions.length, grants };
}

async function findSessions(
  store: Store,
  {
    issuer,
    userId,
    sid,
  }: { readonly issuer: string; readonly userId: UserId | undefined; readonly sid: string | undefined },
) {
  const tag = sid !== undefined ? providerSessionTag(issuer, sid) : userId !== undefined ? userTag(userId) : undefined;
  if (tag === undefined) return [];
  const records = await store.list<SessionRecord>(tag);
  // If a token names user and session, both must match.
  return records.filter(
    ({ key, value }) => key.startsWith("session:") && (userId === undefined || value.userId === userId),
  );
}

/** Revokes a user's grants of MCP clients, agent runs for the user, and codes that would become grants. @returns number of grants */
async function endGrants(deps: EndDeps, userId: UserId, issuedAt: number): Promise<number> {
  await recordSignOut(deps, { kind: "grants", userId }, issuedAt);
  let grants = 0;
  for (const { key } of await listAfterCodes(deps.store, userTag(userId))) {
    if (!/^(grant|run):/.test(key)) continue;
    await deps.revocations.revoke(key);
    grants += 1;
  }
  return grants;
}
