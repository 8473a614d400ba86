/** To whom an issuer's logout tokens have to be addressed. */
import type { LiveSettings } from "../../config/compiled.ts";
import type { TrustedIssuer } from "../../features/sign-in/trusted-issuers.ts";

/** The client ids under which the users of an entry sign in here. */
export function clientIdsOf({ userIssuer }: TrustedIssuer, { idp }: Pick<LiveSettings, "idp">): readonly string[] {
  return idp !== undefined && idp.issuerName === userIssuer ? [idp.clientId] : [];
}

export function logoutAudiences(entry: TrustedIssuer, settings: Pick<LiveSettings, "idp">): ReadonlySet<string> {
  return new Set([...clientIdsOf(entry, settings), ...entry.logoutAudiences]);
}
