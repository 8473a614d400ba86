/** The sign-in providers of a configuration. */
import { FIRST_PROVIDER } from "../../shared/user-id.ts";
import type { IdpSettings } from "./compiled.ts";
import type { TrustedIssuer } from "./trusted-issuers.ts";

/** Settings needed for these functions. */
export interface Providers {
  /** The default provider before those of `identity_issuers`. */
  readonly providers: readonly IdpSettings[];
}

/** Name for policies. */
export function providerName({ issuerName }: IdpSettings): string {
  return issuerName ?? FIRST_PROVIDER;
}

/** @param issuer name in `identity_issuers`; undefined: the default provider */
export function findProviderOf({ providers }: Providers, issuer: string | undefined): IdpSettings | undefined {
  return providers.find(({ issuerName }) => issuerName === issuer);
}

/** Client IDs with which an issuer's users sign in here; [] if it is not a sign-in provider. */
export function clientIdsAt({ providers }: Providers, { userIssuer }: TrustedIssuer): readonly string[] {
  return providers.filter(({ issuerName }) => issuerName === userIssuer).map(({ clientId }) => clientId);
}
