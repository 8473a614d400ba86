/** Compiles settings of sign-in. */
import { withDefaults } from "../../settings/types/registry.ts";
import { compileClientKey } from "../../settings/client-key.ts";
import { GatewayError } from "../../shared/errors.ts";
import { providerShape, type SignInEntries } from "./issuer-sign-in.ts";
import { entraShape, type SignInDoc, signInShape } from "./settings.ts";
import type { EntraSettings, IdpSettings } from "./compiled.ts";
import { accepted, parseOrigin } from "../../settings/values.ts";
import { type SecretSource, secretValues } from "../../settings/secret-forms.ts";

export function compileIdp(doc: SignInDoc, secrets: SecretSource): IdpSettings | undefined {
  if (doc.idp_provider_url === undefined || doc.idp_client_id === undefined) return undefined;
  const { idp_groups_claim, idp_push_requests, idp_require_email_verified } = withDefaults(signInShape, doc);
  return {
    label: doc.idp_label ?? new URL(doc.idp_provider_url).host,
    providerUrl: doc.idp_provider_url,
    clientId: doc.idp_client_id,
    clientSecret: secretValues(doc, "idp_client_secret", secrets)[0],
    clientKey: compileClientKey(doc, "idp_client_key", "idp_provider_url", secrets),
    clientKeyId: doc.idp_client_key_id,
    clientAuth: doc.idp_client_auth,
    provesToEndpoint: doc.idp_client_proof_audience === "token_endpoint",
    pushesRequests: idp_push_requests,
    scopes: doc.idp_scopes,
    groupsClaim: idp_groups_claim,
    requireEmailVerified: idp_require_email_verified,
    emailDomains: undefined,
    requestParams: new Map(Object.entries(doc.idp_request_params ?? {})),
    requiredClaims: new Map(),
    groupsResolver: doc.idp_groups_resolver && compileEntra(doc.idp_groups_resolver.entra, secrets),
  };
}

/**
 * Settings of every provider other than `idp_provider_url`, in the order of the entries. @throws GatewayError
 * `config.secret`
 */
export function compileIssuerSignIn(issuers: SignInEntries, secrets: SecretSource): readonly IdpSettings[] {
  return Object.entries(issuers).flatMap(([issuerName, { issuer, sign_in: doc, email_domains: domains }]) => {
    if (!doc) return [];
    const { groups_claim, push_requests, require_email_verified } = withDefaults(providerShape, doc);
    return {
      issuerName,
      label: doc.label ?? issuerName,
      providerUrl: issuer,
      clientId: doc.client_id,
      clientSecret: secretValues(doc, "client_secret", secrets)[0],
      clientKey: compileClientKey(doc, "client_key", `identity_issuers.${issuerName}.sign_in`, secrets),
      clientKeyId: doc.client_key_id,
      clientAuth: doc.client_auth,
      provesToEndpoint: doc.client_proof_audience === "token_endpoint",
      pushesRequests: push_requests,
      scopes: doc.scopes,
      groupsClaim: groups_claim,
      requireEmailVerified: require_email_verified,
      emailDomains: new Set(domains),
      requestParams: new Map(Object.entries(doc.request_params ?? {})),
      requiredClaims: new Map(Object.entries(doc.required_claims ?? {})),
      groupsResolver: doc.groups_resolver && compileEntra(doc.groups_resolver.entra, secrets),
    };
  });
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
