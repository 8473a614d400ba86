/** Settings of sign-in → their compiled form. */
import { withDefaults } from "../../settings/types/registry.ts";
import { type SignInDoc, signInShape } from "./settings.ts";
import type { IdpSettings } from "./compiled.ts";
import { type SecretSource, secretValues } from "../../settings/secret-spellings.ts";

export function compileIdp(doc: SignInDoc, secrets: SecretSource): IdpSettings | undefined {
  if (doc.idp_provider_url === undefined || doc.idp_client_id === undefined) return undefined;
  const { idp_groups_claim, idp_require_email_verified } = withDefaults(signInShape, doc);
  return {
    providerUrl: doc.idp_provider_url,
    clientId: doc.idp_client_id,
    clientSecret: secretValues(doc, "idp_client_secret", secrets)[0],
    scopes: doc.idp_scopes,
    groupsClaim: idp_groups_claim,
    requireEmailVerified: idp_require_email_verified,
    requestParams: new Map(Object.entries(doc.idp_request_params ?? {})),
  };
}
