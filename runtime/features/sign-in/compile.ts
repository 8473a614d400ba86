/** Settings of sign-in → their compiled form. */
import { withDefaults } from "../../settings/types/registry.ts";
import { GatewayError } from "../../shared/errors.ts";
import { entraShape, type SignInDoc, signInShape } from "./settings.ts";
import type { EntraSettings, IdpSettings } from "./compiled.ts";
import { accepted, parseOrigin } from "../../settings/values.ts";
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
    groupsResolver: doc.idp_groups_resolver && compileEntra(doc.idp_groups_resolver.entra, secrets),
  };
}

type EntraDoc = NonNullable<SignInDoc["idp_groups_resolver"]>["entra"];

/** @throws GatewayError `config.secret` */
function compileEntra(doc: EntraDoc, secrets: SecretSource): EntraSettings {
  const { tenant, client_id, security_enabled_only, login_url, graph_url } = withDefaults(entraShape, doc);
  const [clientSecret] = secretValues(doc, "client_secret", secrets);
  if (clientSecret === undefined)
    throw new GatewayError("config.secret", 'Cannot use "idp_groups_resolver.entra": it must have a client_secret');
  return {
    tenant: tenant.toLowerCase(),
    clientId: client_id,
    clientSecret,
    securityEnabledOnly: security_enabled_only,
    loginUrl: accepted(parseOrigin(login_url)).origin,
    graphUrl: accepted(parseOrigin(graph_url)).origin,
  };
}
