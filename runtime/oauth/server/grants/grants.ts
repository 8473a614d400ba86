/** Codes and grants: how an approval becomes the right to get tokens, and how that right ends. */
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
  /** Epoch seconds; end of the browser session that approved. */
  readonly sessionExpiresAt: number;
}

/**
 * A code for an approved request.
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

/** Whether the record is the one that was stored with this code: whoever writes the store must not choose what it stands for. */
export function isAsIssued(deps: Pick<GrantDeps, "keys">, code: string, record: CodeRecord): boolean {
  return deps.keys.sealer("authorization-request").open(code, codeContext(record)) !== undefined;
}

/** All that a code gives, and to whom. */
function codeContext(code: CodeRecord): string {
  const { issuer, clientId, userId, grantId, redirectUri, redirectUriSent, codeChallenge } = code;
  const { audience, scope, expiresAt, sessionExpiresAt } = code;
  const client = [issuer, clientId, redirectUri, redirectUriSent, codeChallenge];
  return `code ${JSON.stringify([...client, userId, grantId, audience, scope, expiresAt, sessionExpiresAt])}`;
}

/** The end that no refresh puts off: to be spread into a grant. */
export function endOf(createdAt: number, { refreshTokenAbsolute }: Lifetimes): { endsAt?: number } {
  return refreshTokenAbsolute === undefined ? {} : { endsAt: createdAt + refreshTokenAbsolute };
}

/** Ends a grant everywhere: its access tokens within 2 s, its refresh tokens at once. */
export async function endGrant(
  deps: Pick<GrantDeps, "revocations" | "log">,
  grantId: string,
  reason: string,
): Promise<void> {
  await deps.revocations.revoke(grantKey(grantId));
  deps.log.info({ grant: grantId, reason }, "grant ended");
}
