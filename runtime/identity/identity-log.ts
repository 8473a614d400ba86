/** Log records about the provider's responses for a user. */
import { isDeepStrictEqual } from "node:util";

import { errorCode, errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { providerNameOf } from "../shared/user-id.ts";
import type { IdentityRecord } from "./identity-records.ts";
import type { ProviderTokenSet } from "./provider/idp.ts";
import type { ProviderVerdict } from "./provider/provider-verdicts.ts";

export interface IdentityLog {
  /** Reports newly omitted claims: rules on them are unknown from now on. */
  leftOut(earlier: IdentityRecord | undefined, now: IdentityRecord): void;
  /** After a sign-in. Reports a provider without refresh tokens once, since it affects all its users. */
  signedIn(earlier: IdentityRecord | undefined, now: IdentityRecord, tokens: ProviderTokenSet): void;
  /** A refresh failed without effect on the user: a problem like a wrong secret must not sign out all users. */
  failed(userId: string, verdict: ProviderVerdict, error: unknown): void;
  /** The user's sessions and grants end. */
  ended(userId: string, verdict: "refused" | "unconfirmed", reason: string): void;
}

export function createIdentityLog(log: Log): IdentityLog {
  const withoutRefresh = new Set<string>();

  const leftOut: IdentityLog["leftOut"] = (earlier, { userId, leftOut: omitted }) => {
    if (!omitted || isDeepStrictEqual(earlier?.leftOut, omitted)) return;
    if (omitted.others === true) {
      log.warn({ user: userId }, "cannot read userinfo at sign-in, further claims unknown");
      return;
    }
    // The groups resolver logs its own result.
    if (omitted.resolver !== undefined && omitted.claims.every((name) => name === "groups")) return;
    const claims = [...omitted.claims, ...(omitted.groups && !omitted.claims.includes("groups") ? ["groups"] : [])];
    log.warn({ user: userId, claims }, "claims omitted by identity provider, rules on them cannot decide");
  };

  return {
    leftOut,
    failed(user, verdict, error) {
      const fields = { user, reason: errorText(error) };
      if (verdict === "outage") log.warn({ ...fields }, "identity provider rejects every user, treated as outage");
      else if (errorCode(error) === "idp.misconfigured")
        log.error({ ...fields }, "cannot confirm user with identity provider");
      else log.warn({ ...fields }, "cannot confirm user with identity provider");
    },
    ended(user, verdict, reason) {
      if (verdict === "refused")
        log.info({ user, reason }, "user rejected by identity provider, sessions and grants ended");
      else log.warn({ user, reason }, "user not confirmed by identity provider, sessions and grants ended");
    },
    signedIn(earlier, now, { refreshToken, providerUrl, clientId }) {
      leftOut(earlier, now);
      const key = JSON.stringify([providerUrl, clientId]);
      if (refreshToken !== undefined || withoutRefresh.has(key)) return;
      withoutRefresh.add(key);
      log.warn({ idp: providerNameOf(now.userId) }, "no refresh token from identity provider");
    },
  };
}
