/** The providers of a configuration: where people sign in. */
import { FIRST_PROVIDER } from "../../shared/user-id.ts";
import type { IdpSettings } from "./compiled.ts";
import type { TrustedIssuer } from "./trusted-issuers.ts";

/** What of the settings is asked. */
export interface Providers {
  /** The first provider before those of `identity_issuers`. */
  readonly providers: readonly IdpSettings[];
}

/** As policies name it. */
export function providerName({ issuerName }: IdpSettings): string {
  return issuerName ?? FIRST_PROVIDER;
}

/** @param issuer name in `identity_issuers`; undefined: the first provider */
export function findProviderOf({ providers }: Providers, issuer: string | undefined): IdpSettings | undefined {
  return providers.find(({ issuerName }) => issuerName === issuer);
}

/** The client identifiers by which an issuer's users sign in here; [] where nobody does. */
export function clientIdsAt({ providers }: Providers, { userIssuer }: TrustedIssuer): readonly string[] {
  return providers.filter(({ issuerName }) => issuerName === userIssuer).map(({ clientId }) => clientId);
}
