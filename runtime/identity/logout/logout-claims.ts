/**
 * Checks the claims of a logout token, or of the bearer token of a global token revocation, after their signature.
 * Pure.
 *
 * Untrusted input: the claims. The issuer is trusted to revoke its users' access, but the token may be meant for others
 * or be of another kind: an ID token has no `events`, and a token with a `nonce` is not for logout.
 *
 * @see OpenID Connect Back-Channel Logout 1.0 §2.4, §2.6
 */
import type { TrustedIssuer } from "../../features/sign-in/trusted-issuers.ts";
import { CLOCK_SKEW_SECONDS, isTime } from "../../issuers/assertion-times.ts";
import { isOnlyAudience, isUsableId } from "../../issuers/read-unverified.ts";
import { isRecord } from "../../shared/is-record.ts";
import { providerUserId, type UserId } from "../../shared/user-id.ts";

export type LogoutClaims = Readonly<Record<string, unknown>>;

export const LOGOUT_EVENT = "http://schemas.openid.net/event/backchannel-logout";

/** `detail` is for the log. The sender gets the same text for all causes. */
export type Checked<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly detail: string };

/** Claims that both kinds have. */
export interface Statement {
  readonly jti: string;
  /** Epoch seconds, by the issuer's clock, possibly with a fraction. */
  readonly issuedAt: number;
  /** Epoch seconds. After this the statement is rejected as too old. */
  readonly rememberUntil: number;
}

/** Has `userId`, `sid` or both. */
export interface LogoutStatement extends Statement {
  readonly userId: UserId | undefined;
  readonly sid: string | undefined;
}

interface Expected {
  readonly entry: TrustedIssuer;
  readonly audiences: ReadonlySet<string>;
  /** Epoch seconds. */
  readonly now: number;
}

/** Checks the claims of a back-channel logout token, in the order of the specification. */
export function checkLogout(claims: LogoutClaims, expected: Expected): Checked<LogoutStatement> {
  // The specification requires `exp`, but earlier drafts did not, and Ory Hydra sends none. Then only the age is limited.
  const statement = checkStatement(claims, expected, Object.hasOwn(claims, "exp"));
  if (!statement.ok) return statement;
  const { sub, sid, events } = claims;
  // "Verify that the Logout Token contains a sub Claim, a sid Claim, or both."
  if (sub === undefined && sid === undefined) return bad("neither sub nor sid");
  if (sub !== undefined && typeof sub !== "string") return bad("sub is not text");
  const user = sub === undefined ? undefined : providerUserId(expected.entry.userIssuer, sub);
  if (user?.ok === false) return bad(`sub ${user.problem}`);
  if (sid !== undefined && !isId(sid)) return bad("no usable sid");
  // Its value "MUST be a JSON object".
  if (!isRecord(events) || !Object.hasOwn(events, LOGOUT_EVENT) || !isRecord(events[LOGOUT_EVENT]))
    return bad("events has no back-channel logout");
  // "A nonce Claim MUST NOT be present": prevents misuse of ID tokens.
  if (Object.hasOwn(claims, "nonce")) return bad("nonce is present");
  return { ok: true, value: { ...statement.value, userId: user?.id, sid } };
}

/** Checks the claims of the JWT that authenticates a global token revocation. @param expected `audiences`: the endpoint */
export function checkRevocation(claims: LogoutClaims, expected: Expected): Checked<Statement> {
  return Object.hasOwn(claims, "nonce") ? bad("nonce is present") : checkStatement(claims, expected, true);
}

/** Checks audience, times and id. */
function checkStatement(
  { aud, iat, exp, nbf, jti }: LogoutClaims,
  { entry, audiences, now }: Expected,
  hasEnd: boolean,
): Checked<Statement> {
  if (!isOnlyAudience(aud, (each) => audiences.has(each))) return bad("aud is not only this gateway");
  if (!isTime(iat)) return bad("iat is missing");
  if (iat > now + CLOCK_SKEW_SECONDS) return bad("iat is in the future");
  const oldest = iat + entry.maxAssertionAgeSeconds.logout;
  if (oldest <= now - CLOCK_SKEW_SECONDS) return bad("issued too long ago");
  const end = hasEnd ? exp : oldest;
  if (!isTime(end)) return bad("exp is missing");
  if (end <= now - CLOCK_SKEW_SECONDS) return bad("expired");
  if (nbf !== undefined && (!isTime(nbf) || nbf > now + CLOCK_SKEW_SECONDS)) return bad("nbf is in the future");
  if (!isId(jti)) return bad("no usable jti");
  const rememberUntil = Math.ceil(Math.min(end, oldest)) + CLOCK_SKEW_SECONDS + 1;
  return { ok: true, value: { jti, issuedAt: iat, rememberUntil } };
}

function bad(detail: string): { readonly ok: false; readonly detail: string } {
  return { ok: false, detail };
}

function isId(value: unknown): value is string {
  return isUsableId(value) && value.isWellFormed();
}
