/** What operators read in the log about a user's answer from the provider. */
import { isDeepStrictEqual } from "node:util";

import { errorCode, errorText } from "../shared/errors.ts";
import type { Log } from "../shared/log.ts";
import { providerNameOf } from "../shared/user-id.ts";
import type { IdentityRecord } from "./identity-records.ts";
import type { ProviderTokenSet } from "./provider/idp.ts";
import type { ProviderVerdict } from "./provider/provider-verdicts.ts";

export interface TellIdentities {
  /** Reports claims that a provider omitted, where that is new: rules on them are unknown from now on. */
  leftOut(earlier: IdentityRecord | undefined, now: IdentityRecord): void;
  /** After a sign-in. Reports a provider that grants no refresh token once: it concerns all its users. */
  signedIn(earlier: IdentityRecord | undefined, now: IdentityRecord, tokens: ProviderTokenSet): void;
  /** A refresh failed and costs the user nothing: not the user's fault, a wrong secret must not sign out all users. */
  failed(userId: string, verdict: ProviderVerdict, error: unknown): void;
  /** The user's sessions and grants end. */
  ended(userId: string, verdict: "refused" | "unconfirmed", reason: string): void;
}

export function createTellIdentities(log: Log): TellIdentities {
  const withoutRefresh = new Set<string>();

  const leftOut: TellIdentities["leftOut"] = (earlier, { userId, leftOut: omitted }) => {
    if (!omitted || isDeepStrictEqual(earlier?.leftOut, omitted)) return;
    if (omitted.others === true) {
      log.warn({ user: userId }, "userinfo could not be asked at a sign-in: further claims of the user are unknown");
      return;
    }
    // The outcome of a query elsewhere is logged there.
    if (omitted.resolver !== undefined && omitted.claims.every((name) => name === "groups")) return;
    const claims = [...omitted.claims, ...(omitted.groups && !omitted.claims.includes("groups") ? ["groups"] : [])];
    log.warn({ user: userId, claims }, "the identity provider left out claims of a user: rules on them do not decide");
  };

  return {
    leftOut,
    failed(user, verdict, error) {
      const fields = { user, reason: errorText(error) };
      if (verdict === "outage")
        log.warn({ ...fields }, "the identity provider refuses many users and confirms none: taken for an outage");
      else if (errorCode(error) === "idp.misconfigured")
        log.error({ ...fields }, "the identity provider cannot confirm a user now");
      else log.warn({ ...fields }, "the identity provider cannot confirm a user now");
    },
    ended(user, verdict, reason) {
      if (verdict === "refused")
        log.info({ user, reason }, "the identity provider refused a user; sessions and grants end");
      else log.warn({ user, reason }, "the identity provider confirms others and not a user; sessions and grants end");
    },
    signedIn(earlier, now, { refreshToken, providerUrl, clientId }) {
      leftOut(earlier, now);
      const key = JSON.stringify([providerUrl, clientId]);
      if (refreshToken !== undefined || withoutRefresh.has(key)) return;
      withoutRefresh.add(key);
      log.warn({ idp: providerNameOf(now.userId) }, "the identity provider grants no refresh token");
    },
  };
}
