/** Rules on claims that a provider left out are unknown from now on, which people will ask about. */
import { isDeepStrictEqual } from "node:util";

import type { Log } from "../shared/log.ts";
import type { IdentityRecord } from "./identity-records.ts";

/** Says so in the log, where that is new. */
export function tellLeftOut(log: Log, earlier: IdentityRecord | undefined, { userId, leftOut }: IdentityRecord): void {
  if (!leftOut || isDeepStrictEqual(earlier?.leftOut, leftOut)) return;
  if (leftOut.others === true) {
    log.warn({ user: userId }, "userinfo could not be asked at a sign-in: further claims of the user are unknown");
    return;
  }
  // What became of asking elsewhere, that says itself.
  if (leftOut.resolver !== undefined && leftOut.claims.every((name) => name === "groups")) return;
  const claims = [...leftOut.claims, ...(leftOut.groups && !leftOut.claims.includes("groups") ? ["groups"] : [])];
  log.warn({ user: userId, claims }, "the identity provider left out claims of a user: rules on them do not decide");
}
