/**
 * Verifies a signed logout statement: its kind, its issuer and the issuer's signature. Claims are checked separately.
 *
 * Untrusted input: the token. Promises: only issuers with the use `logout` count. Invalid statements count against the
 * peer's rate limit, since verifying costs more than sending. Unreadable keys are reported separately, so that the
 * issuer retries and no statement is lost.
 */
import { issuersWith, type TrustedIssuer } from "../../features/sign-in/trusted-issuers.ts";
import type { LiveSettings } from "../../config/compiled.ts";
import type { Exchange } from "../../http/exchange.ts";
import { networkOf, type FailureLimit } from "../../shared/rate-limit.ts";
import type { IssuerKeys } from "../../issuers/issuer-keys.ts";
import { MAX_ASSERTION_CHARACTERS, readUnverified } from "../../issuers/read-unverified.ts";
import type { Checked, LogoutClaims } from "./logout-claims.ts";

export interface StatementDeps {
  readonly issuerKeys: IssuerKeys;
  readonly failedProofs: FailureLimit;
}

export interface Expectation<T> {
  /** Invalid statements are limited separately per kind. */
  readonly kind: "back-channel" | "global-revocation";
  /** Returns true if `typ` of the header belongs to this kind. */
  readonly isType: (type: unknown) => boolean;
  readonly checkClaims: (claims: LogoutClaims, entry: TrustedIssuer) => Checked<T>;
}

/** `detail` is for the log. */
export type StatementResult<T> =
  | { readonly ok: true; readonly entry: TrustedIssuer; readonly value: T }
  | { readonly ok: false; readonly reason: "bad" | "unavailable"; readonly issuer?: string; readonly detail: string }
  | { readonly ok: false; readonly reason: "too-many"; readonly seconds: number; readonly detail: string };

export function logoutIssuers({ identityIssuers }: Pick<LiveSettings, "identityIssuers">): readonly TrustedIssuer[] {
  return issuersWith(identityIssuers, "logout");
}

export async function verifyStatement<T>(
  deps: StatementDeps,
  {
    exchange,
    settings,
    token,
  }: { readonly exchange: Exchange; readonly settings: LiveSettings; readonly token: string },
  expected: Expectation<T>,
): Promise<StatementResult<T>> {
  const sender = `${networkOf(exchange.remoteAddress)} ${expected.kind}`;
  const seconds = deps.failedProofs.take(sender);
  if (seconds > 0) return { ok: false, reason: "too-many", seconds, detail: "too many invalid tokens from one peer" };
  const result = await verify(deps.issuerKeys, settings, token, expected);
  if (result.ok || result.reason !== "bad") deps.failedProofs.giveBack(sender);
  return result;
}

async function verify<T>(
  issuerKeys: IssuerKeys,
  settings: LiveSettings,
  token: string,
  expected: Expectation<T>,
): Promise<StatementResult<T>> {
  const claimed = token.length > MAX_ASSERTION_CHARACTERS ? undefined : readUnverified(token);
  if (claimed === undefined) return bad("not a compact JWS, or too long");
  if (!expected.isType(claimed.type)) return bad("typ is another one");
  // For the look-up only: the issuer is not verified yet.
  const entry = logoutIssuers(settings).find(({ issuer }) => issuer === claimed.issuer);
  if (!entry) return bad("iss is not an issuer with the use logout");
  const { name: issuer } = entry;
  const signed = await issuerKeys.verify(entry, token);
  if (!signed.ok) return { ...signed, issuer };
  const checked = expected.checkClaims(signed.claims, entry);
  return checked.ok ? { ok: true, entry, value: checked.value } : { ...bad(checked.detail), issuer };
}

function bad(detail: string): { readonly ok: false; readonly reason: "bad"; readonly detail: string } {
  return { ok: false, reason: "bad", detail };
}
