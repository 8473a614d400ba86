/**
 * Compiles the settings of a checked configuration for the running proxy: defaults filled, patterns compiled, secrets
 * resolved.
 */
import { compileTracing, sharedSecret, signingKey } from "../features/process/compile.ts";
import { compileBranding } from "../features/process/branding.ts";
import { compileWebhook, webhookShape } from "../features/process/webhook.ts";
import { acmeShape, compileAcme } from "../features/listener/acme.ts";
import { compileForwardedFor } from "../features/listener/compile.ts";
import { compileIdp, compileIssuerSignIn } from "../features/sign-in/compile.ts";
import { compileDirectories } from "../features/sign-in/directories.ts";
import { compileTrustedIssuers } from "../features/sign-in/trusted-issuers.ts";
import { compileConsole } from "../features/access/console.ts";
import { bearerShape } from "../features/access/settings.ts";
import { upstreamTimeoutShape } from "../features/connection/settings.ts";
import { headerSettingsShape } from "../features/headers/settings.ts";
import { adminListenerShape, listenerShape, streamShape } from "../features/listener/settings.ts";
import { lifetimeShape, mcpSettingsShape } from "../features/mcp/settings.ts";
import { developmentShape, keysShape, logShape } from "../features/process/settings.ts";
import { compileRecords } from "../features/records/compile.ts";
import { recordFieldsShape } from "../features/records/settings.ts";
import { cookieShape } from "../features/sign-in/settings.ts";
import { withDefaults } from "../settings/types/registry.ts";
import type { BootDoc, SettingsDoc } from "./settings.ts";
import { randomBytes } from "node:crypto";

import { compilePublishWorkloads } from "../features/process/publish-workloads.ts";
import { compileAdminTokens } from "../features/process/admin-tokens.ts";
import type { BootSettings, LiveSettings } from "./compiled.ts";
import { canonicalHost, parseDomainPattern } from "../settings/domains.ts";
import { parseClientIdDomains } from "../features/mcp/known-clients.ts";
import { publicAddress } from "./rules/own-addresses.ts";
import { type SecretSource, secretValues } from "../settings/secret-forms.ts";
import { parseStaticValue } from "../features/headers/template.ts";
import { accepted, acceptedText, durationSeconds, parseDuration, parseOrigin } from "../settings/values.ts";

export { compileRoute } from "./compile-route.ts";
export type { SecretSource } from "../settings/secret-forms.ts";

/** @throws GatewayError `config.secret` */
export function compileBoot(doc: BootDoc, secrets: SecretSource): BootSettings {
  const listener = withDefaults(listenerShape, doc);
  const admin = withDefaults(adminListenerShape, doc);
  const keys = withDefaults(keysShape, doc);
  const log = withDefaults(logShape, doc);
  const { acme } = withDefaults(acmeShape, doc);
  const { webhook } = withDefaults(webhookShape, doc);
  const sharedSecrets = ["shared_secret", "previous_shared_secret"].flatMap((name) =>
    secretValues(doc, name, secrets).map((value) => sharedSecret(name, value)),
  );
  // Previous secrets only open existing seals; sealing with one would extend its life.
  if (secretValues(doc, "shared_secret", secrets).length === 0) sharedSecrets.unshift(randomBytes(32));
  return {
    address: publicAddress(doc),
    insecureServer: listener.insecure_server,
    certificates: (doc.certificates ?? []).map((each) => ({
      certificateFile: each.certificate_file,
      keyFile: each.certificate_key_file,
    })),
    acme: acme && compileAcme(acme, doc.owners, secrets),
    downstreamMtls: listener.downstream_mtls && {
      caFile: listener.downstream_mtls.ca_file,
      enforcement: listener.downstream_mtls.enforcement,
    },
    httpRedirectAddress: doc.http_redirect_address,
    useProxyProtocol: listener.use_proxy_protocol,
    forwardedFor: compileForwardedFor(listener),
    trustedProxyHeaders: new Set(doc.trusted_proxy_headers?.map((name) => name.toLowerCase())),
    maxConnections: doc.max_connections,
    sendTimeoutMs: durationMs(listener.send_timeout),
    queueTimeoutMs: durationMs(listener.queue_timeout),
    development: withDefaults(developmentShape, doc).development,
    adminAddress: admin.admin_address,
    adminHosts: new Set(doc.admin_hosts?.map((name) => acceptedText(canonicalHost(name)))),
    adminTls: doc.admin_tls && {
      certificateFile: doc.admin_tls.certificate_file,
      keyFile: doc.admin_tls.certificate_key_file,
      clientCaFile: doc.admin_tls.client_ca_file,
    },
    ...compileAdminTokens(doc, secrets),
    publishWorkloads: compilePublishWorkloads(doc.owners),
    sharedSecrets,
    signingKeys: secretValues(doc, "signing_key", secrets).map((value) => signingKey(value)),
    storageUrl: secretValues(doc, "storage_url", secrets)[0] ?? keys.storage_url,
    drainTimeoutMs: durationMs(keys.drain_timeout),
    drainDelayMs: durationMs(keys.drain_delay),
    ...compileRecords(doc, secrets),
    logLevel: log.log_level,
    tracing: log.tracing && compileTracing(log.tracing, secrets),
    webhook: webhook && compileWebhook(webhook, secrets),
    console: doc.console && compileConsole(doc.console),
    branding: doc.branding && compileBranding(doc.branding),
  };
}

/** @throws GatewayError `config.secret` */
export function compileSettings(doc: SettingsDoc, secrets: SecretSource): LiveSettings {
  const mcp = withDefaults(mcpSettingsShape, doc);
  const cookie = withDefaults(cookieShape, doc);
  const headers = withDefaults(headerSettingsShape, doc);
  const lifetimes = withDefaults(lifetimeShape, doc);
  const streams = withDefaults(streamShape, doc);
  const idp = compileIdp(doc, secrets);
  const identityIssuers = compileTrustedIssuers(doc, doc.idp_provider_url);
  return {
    mcpEnabled: mcp.runtime_flags?.mcp ?? false,
    mcpCatalog: doc.mcp_catalog,
    mcpAllowedClientIdDomains: parseClientIdDomains(doc.mcp_allowed_client_id_domains ?? []),
    mcpAllowedAsMetadataDomains: (doc.mcp_allowed_as_metadata_domains ?? []).map((text) => parseDomainPattern(text)),
    mcpAllowedOrigins: (doc.mcp_allowed_origins ?? []).map((text) => origin(text)),
    mcpDynamicRegistration: mcp.mcp_dynamic_registration,
    mcpAllowedPrivateRedirectUris: doc.mcp_allowed_private_redirect_uris ?? [],
    authorizeLogFields: withDefaults(recordFieldsShape, doc).authorize_log_fields,
    authenticateServiceUrl:
      doc.authenticate_service_url === undefined ? undefined : origin(doc.authenticate_service_url),
    signOutRedirectUrl: doc.signout_redirect_url,
    supportUrl: doc.support_url,
    bearerTokenFormat: withDefaults(bearerShape, doc).bearer_token_format,
    accessTokenAudiences:
      doc.idp_access_token_allowed_audiences ?? (doc.idp_client_id === undefined ? [] : [doc.idp_client_id]),
    programmaticRedirectDomains: doc.programmatic_redirect_domain_whitelist?.map((text) => parseDomainPattern(text)),
    idp,
    providers: [...(idp ? [idp] : []), ...compileIssuerSignIn(doc.identity_issuers ?? {}, secrets)],
    identityIssuers,
    directories: compileDirectories(doc, identityIssuers, secrets),
    cookie: {
      name: cookie.cookie_name,
      expirationSeconds: durationSeconds(cookie.cookie_expiration),
      sameSite: cookie.cookie_same_site,
    },
    unconfirmedUserSeconds: durationSeconds(cookie.unconfirmed_user_limit),
    lifetimes: {
      accessToken: durationSeconds(lifetimes.access_token_lifetime),
      clientRouteToken: durationSeconds(lifetimes.client_route_token_lifetime),
      refreshToken: durationSeconds(lifetimes.refresh_token_lifetime),
      refreshTokenAbsolute:
        doc.refresh_token_absolute_lifetime === undefined
          ? undefined
          : durationSeconds(doc.refresh_token_absolute_lifetime),
      authorizationCode: durationSeconds(lifetimes.authorization_code_lifetime),
    },
    passIdentityHeaders: headers.pass_identity_headers,
    jwtClaimsHeaders: new Map(Object.entries(doc.jwt_claims_headers ?? {})),
    setResponseHeaders: Object.entries(doc.set_response_headers ?? {}).map(
      ([name, value]) => [name, parseStaticValue(value)] as const,
    ),
    defaultUpstreamTimeoutMs: durationMs(withDefaults(upstreamTimeoutShape, doc).default_upstream_timeout),
    maxStreamsPerUser: streams.max_streams_per_user,
    expiryGraceSeconds: durationSeconds(streams.expiry_grace),
  };
}

function origin(text: string): string {
  return accepted(parseOrigin(text)).origin;
}

function durationMs(text: string): number {
  return accepted(parseDuration(text));
}
