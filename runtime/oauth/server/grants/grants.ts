/** Codes and grants: from the user's consent to the right to get tokens, and revocation of that right. */
import type { Lifetimes } from "../../../features/mcp/compiled.ts";
import { hashSecret, randomHandle, randomSecret, type Keys } from "../../../shared/keys.ts";
import type { Log } from "../../../shared/log.ts";
import { epochSeconds, type Clock } from "../../../shared/clock.ts";
import type { Revocations } from "../../../identity/interfaces.ts";
import type { Store } from "../../../store/store.ts";
import {
  CODE_REMEMBERED_SECONDS,
  codeKey,
  grantKey,
  ownerTags,
  type AuthorizationRequestRecord,
  type CodeRecord,
} from "../grant-records.ts";
import type { UserId } from "../../../shared/user-id.ts";

export interface GrantDeps {
  readonly store: Store;
  readonly revocations: Pick<Revocations, "revoke">;
  readonly keys: Keys;
  readonly clock: Clock;
  readonly log: Log;
}

export interface Approval {
  readonly userId: UserId;
  /** Epoch seconds; end of the browser session that consented. */
  readonly sessionExpiresAt: number;
}

/**
 * Issues a code for an approved request.
 *
 * @param lifetimeSeconds `lifetimes.authorizationCode`; OAuth 2.1 §4.1.2 recommends at most 10 minutes, ours is one
 * @returns the code; only its hash is stored
 */
export async function issueCode(
  deps: Pick<GrantDeps, "store" | "keys" | "clock">,
  request: AuthorizationRequestRecord,
  approval: Approval,
  lifetimeSeconds: number,
): Promise<string> {
  const now = epochSeconds(deps.clock);
  const record: CodeRecord = {
    schema: 1,
    issuer: request.issuer,
    clientId: request.clientId,
    userId: approval.userId,
    grantId: randomHandle(16),
    redirectUri: request.redirectUri,
    redirectUriSent: request.redirectUriSent,
    codeChallenge: request.codeChallenge,
    ...(request.keyThumbprint === undefined ? {} : { keyThumbprint: request.keyThumbprint }),
    audience: request.audience,
    scope: request.scope,
    expiresAt: now + lifetimeSeconds,
    sessionExpiresAt: approval.sessionExpiresAt,
    used: false,
    replayed: false,
  };
  const code = deps.keys.sealer("authorization-request").seal(randomSecret(16), codeContext(record));
  await deps.store.put(codeKey(hashSecret(code)), record, {
    ifVersion: 0,
    expiresAt: now + lifetimeSeconds + CODE_REMEMBERED_SECONDS,
    tags: ownerTags(record),
  });
  return code;
}

/** Returns true if the record is unchanged since the code was issued: write access to the store must not change its rights. */
export function isAsIssued(deps: Pick<GrantDeps, "keys">, code: string, record: CodeRecord): boolean {
  return deps.keys.sealer("authorization-request").open(code, codeContext(record)) !== undefined;
}

/** Everything that a code grants, and to which client. */
function codeContext(code: CodeRecord): string {
  const { issuer, clientId, userId, grantId, redirectUri, redirectUriSent, codeChallenge } = code;
  const { audience, scope, expiresAt, sessionExpiresAt } = code;
  const key = code.keyThumbprint === undefined ? [] : [code.keyThumbprint];
  const client = [issuer, clientId, redirectUri, redirectUriSent, codeChallenge, ...key];
  return `code ${JSON.stringify([...client, userId, grantId, audience, scope, expiresAt, sessionExpiresAt])}`;
}

/** The end that no refresh extends, to be spread into a grant. */
export function endOf(createdAt: number, { refreshTokenAbsolute }: Lifetimes): { endsAt?: number } {
  return refreshTokenAbsolute === undefined ? {} : { endsAt: createdAt + refreshTokenAbsolute };
}

/** Revokes a grant in every process: its access tokens within 2 s, its refresh tokens immediately. */
export async function endGrant(
  deps: Pick<GrantDeps, "revocations" | "log">,
  grantId: string,
  reason: string,
): Promise<void> {
  await deps.revocations.revoke(grantKey(grantId));
  deps.log.info({ grant: grantId, reason }, "grant ended");
}
