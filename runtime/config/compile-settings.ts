/** A checked configuration → what the running proxy reads: defaults filled, patterns compiled, secrets resolved. */
import { compileTracing, sharedSecret, signingKey } from "../features/process/compile.ts";
import { compileForwardedFor } from "../features/listener/compile.ts";
import { compileIdp } from "../features/sign-in/compile.ts";
import type { BootDoc, SettingsDoc } from "./settings.ts";
import { randomBytes } from "node:crypto";

import { DEFAULT_RECORD_FIELDS } from "../audit/record.ts";
import { compileAdminTokens } from "../features/process/admin-tokens.ts";
import { DEFAULT_STORAGE_URL } from "../features/process/settings.ts";
import type { BootSettings, LiveSettings } from "./compiled.ts";
import { canonicalHost, parseDomainPattern } from "../settings/domains.ts";
import { parseClientIdDomains } from "../features/mcp/known-clients.ts";
import { DEFAULT_ADMIN_ADDRESS, publicAddress } from "./rules/own-addresses.ts";
import { type SecretSource, secretValues } from "../settings/secret-spellings.ts";
import { parseStaticValue } from "../features/headers/template.ts";
import { parseDuration, parseOrigin } from "../settings/values.ts";

export { compileRoute } from "./compile-route.ts";
export type { SecretSource } from "../settings/secret-spellings.ts";

/** @throws GatewayError `config.secret` */
export function compileBoot(doc: BootDoc, secrets: SecretSource): BootSettings {
  const insecureServer = doc.insecure_server ?? false;
  const development = doc.development ?? false;
  const sharedSecrets = ["shared_secret", "previous_shared_secret"].flatMap((name) =>
    secretValues(doc, name, secrets).map((value) => sharedSecret(name, value)),
  );
  // Previous secrets only open what they sealed; sealing under one of them would keep it alive.
  if (secretValues(doc, "shared_secret", secrets).length === 0) sharedSecrets.unshift(randomBytes(32));
  return {
    address: publicAddress(doc),
    insecureServer,
    certificates: (doc.certificates ?? []).map((each) => ({
      certificateFile: each.certificate_file,
      keyFile: each.certificate_key_file,
    })),
    downstreamMtls: doc.downstream_mtls && {
      caFile: doc.downstream_mtls.ca_file,
      enforcement: doc.downstream_mtls.enforcement ?? "policy_with_default_deny",
    },
    httpRedirectAddress: doc.http_redirect_address,
    useProxyProtocol: doc.use_proxy_protocol ?? false,
    forwardedFor: compileForwardedFor(doc),
    trustedProxyHeaders: new Set(doc.trusted_proxy_headers?.map((name) => name.toLowerCase())),
    maxConnections: doc.max_connections,
    development,
    adminAddress: doc.admin_address ?? DEFAULT_ADMIN_ADDRESS,
    adminHosts: new Set(doc.admin_hosts?.flatMap((name) => canonicalHost(name) ?? [])),
    adminTls: doc.admin_tls && {
      certificateFile: doc.admin_tls.certificate_file,
      keyFile: doc.admin_tls.certificate_key_file,
      clientCaFile: doc.admin_tls.client_ca_file,
    },
    ...compileAdminTokens(doc, secrets),
    sharedSecrets,
    signingKeys: secretValues(doc, "signing_key", secrets).map((value) => signingKey(value)),
    storageUrl: secretValues(doc, "storage_url", secrets)[0] ?? DEFAULT_STORAGE_URL,
    drainTimeoutMs: durationMs(doc.drain_timeout, "30s"),
    drainDelayMs: durationMs(doc.drain_delay, "0s"),
    authorizeLog: doc.authorize_log ?? "stdout",
    logLevel: doc.log_level ?? "info",
    tracing: doc.tracing && compileTracing(doc.tracing, secrets),
  };
}

/** @throws GatewayError `config.secret` */
export function compileSettings(doc: SettingsDoc, secrets: SecretSource): LiveSettings {
  return {
    mcpEnabled: doc.runtime_flags?.mcp ?? false,
    mcpAllowedClientIdDomains: parseClientIdDomains(doc.mcp_allowed_client_id_domains ?? []),
    mcpAllowedAsMetadataDomains: (doc.mcp_allowed_as_metadata_domains ?? []).map((text) => parseDomainPattern(text)),
    mcpAllowedOrigins: (doc.mcp_allowed_origins ?? []).map((text) => origin(text)),
    mcpDynamicRegistration: doc.mcp_dynamic_registration ?? true,
    mcpAllowedPrivateRedirectUris: doc.mcp_allowed_private_redirect_uris ?? [],
    authorizeLogFields: doc.authorize_log_fields ?? DEFAULT_RECORD_FIELDS,
    authenticateServiceUrl:
      doc.authenticate_service_url === undefined ? undefined : origin(doc.authenticate_service_url),
    signOutRedirectUrl: doc.signout_redirect_url,
    bearerTokenFormat: doc.bearer_token_format ?? "default",
    accessTokenAudiences:
      doc.idp_access_token_allowed_audiences ?? (doc.idp_client_id === undefined ? [] : [doc.idp_client_id]),
    programmaticRedirectDomains: doc.programmatic_redirect_domain_whitelist?.map((text) => parseDomainPattern(text)),
    idp: compileIdp(doc, secrets),
    cookie: {
      name: doc.cookie_name ?? "gateway_session",
      expirationSeconds: durationSeconds(doc.cookie_expiration, "14h"),
      sameSite: doc.cookie_same_site ?? "lax",
    },
    lifetimes: {
      accessToken: durationSeconds(doc.access_token_lifetime, "15m"),
      clientRouteToken: durationSeconds(doc.client_route_token_lifetime, "5m"),
      refreshToken: durationSeconds(doc.refresh_token_lifetime, "90d"),
      refreshTokenAbsolute:
        doc.refresh_token_absolute_lifetime === undefined
          ? undefined
          : durationSeconds(doc.refresh_token_absolute_lifetime, "0s"),
      authorizationCode: durationSeconds(doc.authorization_code_lifetime, "60s"),
    },
    passIdentityHeaders: doc.pass_identity_headers ?? true,
    jwtClaimsHeaders: new Map(Object.entries(doc.jwt_claims_headers ?? {})),
    setResponseHeaders: Object.entries(doc.set_response_headers ?? {}).map(
      ([name, value]) => [name, parseStaticValue(value)] as const,
    ),
    defaultUpstreamTimeoutMs: durationMs(doc.default_upstream_timeout, "30s"),
    maxStreamsPerUser: doc.max_streams_per_user ?? 250,
  };
}

function origin(text: string): string {
  const parsed = parseOrigin(text);
  return parsed.ok ? parsed.value.origin : text;
}

function durationMs(text: string | undefined, fallback: string): number {
  const parsed = parseDuration(text ?? fallback);
  return parsed.ok ? parsed.value : 0;
}

function durationSeconds(text: string | undefined, fallback: string): number {
  return Math.floor(durationMs(text, fallback) / 1000);
}
