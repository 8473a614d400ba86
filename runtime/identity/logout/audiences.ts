/** To whom an issuer's logout tokens have to be addressed. */
import { clientIdsAt, type Providers } from "../../features/sign-in/providers.ts";
import type { TrustedIssuer } from "../../features/sign-in/trusted-issuers.ts";

export function logoutAudiences(entry: TrustedIssuer, settings: Providers): ReadonlySet<string> {
  return new Set([...clientIdsAt(settings, entry), ...entry.logoutAudiences]);
}
