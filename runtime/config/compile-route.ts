/** One checked route → its compiled form. */
import { createSecureContext } from "node:tls";

import { errorText, GatewayError } from "../shared/errors.ts";
import { routePolicy } from "../policy/access-keys.ts";
import { compilePolicy } from "../policy/evaluate.ts";
import type { CompiledRoute, LiveSettings } from "./compiled.ts";
import type { HeaderRules, HostRule, ResponseHeaderRules } from "../features/headers/compiled.ts";
import type { McpClient, McpServer, UpstreamOAuth } from "../features/mcp/compiled.ts";
import type { Upstream, UpstreamConnect } from "../features/connection/compiled.ts";
import { compileBalancing, compileLimits, durationMs } from "../features/balancing/compile.ts";
import { baseOf, compileAnswer, compileMatch, compileRewrite } from "../features/routing/compile.ts";
import { parseExtraPath } from "../features/mcp/extra-paths.ts";
import { type From, parseFrom } from "../features/routing/from.ts";
import { headerValueWish } from "../shared/http/header-syntax.ts";
import { compileHostRegex } from "../features/headers/host-regex.ts";
import type { CheckedRoute } from "./load.ts";
import { DEFAULT_MAX_REQUEST_BYTES } from "../features/mcp/settings.ts";
import type { McpServerDoc } from "../features/mcp/settings.ts";
import type { RouteDoc } from "./route.ts";
import { type SecretSource, secretValues } from "../settings/secret-spellings.ts";
import { canonicalJson, sha256 } from "./slice.ts";
import { parseStaticValue, parseTemplate } from "../features/headers/template.ts";
import { parseDuration, parseHostHeader, parseUpstream } from "../settings/values.ts";

/** @throws GatewayError `config.secret` */
export function compileRoute(route: CheckedRoute, settings: LiveSettings, secrets: SecretSource): CompiledRoute {
  const { doc } = route;
  const from = readFrom(doc.from);
  const match = compileMatch(doc);
  const base = baseOf(match);
  const to = doc.to ?? [];
  const policy = compilePolicy(routePolicy(doc));
  const connect = compileConnect(route, secrets);
  return {
    key: route.key,
    owner: route.owner,
    heldTo: route.heldTo,
    name: route.name,
    origin: from.origin,
    host: from.host,
    hostname: from.hostname,
    isWildcard: from.isWildcard,
    match,
    base,
    rewrite: compileRewrite(doc),
    answer: compileAnswer(doc),
    to: (typeof to === "string" ? [to] : to).flatMap((text) => compileUpstream(text, connect)),
    balancing: compileBalancing(doc),
    policy,
    allowsAnonymous: policy.mayAllowAnonymous,
    bearerTokenFormat: doc.mcp ? "default" : (doc.bearer_token_format ?? settings.bearerTokenFormat),
    accessTokenAudiences: doc.idp_access_token_allowed_audiences ?? settings.accessTokenAudiences,
    showErrorDetails: doc.show_error_details ?? false,
    hostRule: compileHostRule(doc),
    requestHeaders: compileRequestHeaders(doc, secrets),
    responseHeaders: compileResponseHeaders(doc, settings),
    passIdentityHeaders: doc.pass_identity_headers ?? settings.passIdentityHeaders,
    timeoutMs: compileTimeout(doc, settings),
    idleTimeoutMs: doc.idle_timeout === undefined ? undefined : durationMs(doc.idle_timeout, "0s"),
    allowWebsockets: doc.allow_websockets ?? false,
    mcp: compileMcp(doc, from.origin + base, secrets),
  };
}

function readFrom(text: string): From {
  const read = parseFrom(text);
  if (!read.ok) throw new TypeError(`Cannot compile a route from ${text}: it ${read.wish}`);
  return read.value;
}

/** @returns undefined where nothing but the address was written */
function compileConnect(
  { key: routeKey, doc, reach }: CheckedRoute,
  secrets: SecretSource,
): (Omit<UpstreamConnect, "poolKey"> & { readonly limitedFor?: string }) | undefined {
  const [ca] = secretValues(doc, "tls_custom_ca", secrets);
  const [cert] = secretValues(doc, "tls_client_cert", secrets);
  const [key] = secretValues(doc, "tls_client_key", secrets);
  const { http2 = false, tls_skip_verify: skipVerify = false, tls_server_name: servername } = doc;
  const limits = compileLimits(doc);
  const isPlain =
    !http2 && !skipVerify && [servername, ca, cert, key, limits, reach].every((each) => each === undefined);
  if (isPlain) return undefined;
  const tls = {
    rejectUnauthorized: !skipVerify,
    ...(servername !== undefined && { servername }),
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
  };
  try {
    createSecureContext(tls);
  } catch (cause) {
    // OpenSSL's reason names no bytes of the key.
    const message = `Cannot use the TLS settings of an upstream: ${errorText(cause)}`;
    throw new GatewayError("config.secret", message, { cause });
  }
  return { http2, tls, ...(reach && { reach }), ...(limits && { limits, limitedFor: routeKey }) };
}

function compileUpstream(text: string, connect: ReturnType<typeof compileConnect>): readonly Upstream[] {
  const parsed = parseUpstream(text);
  if (!parsed.ok) return [];
  const { url, weight } = parsed.value;
  const upstream = { origin: url.origin, host: url.host, basePath: trimSlash(url.pathname), weight };
  if (!connect) return [upstream];
  return [{ ...upstream, connect: { ...connect, poolKey: `${url.origin} ${sha256(canonicalJson(connect))}` } }];
}

function compileHostRule(doc: RouteDoc): HostRule {
  if (doc.preserve_host_header === true) return { kind: "preserve" };
  if (doc.host_rewrite !== undefined) {
    return { kind: "fixed", value: parseHostHeader(doc.host_rewrite) ?? doc.host_rewrite };
  }
  if (doc.host_rewrite_header !== undefined) return { kind: "header", name: doc.host_rewrite_header.toLowerCase() };
  const { host_path_regex_rewrite_pattern: pattern, host_path_regex_rewrite_substitution: substitution } = doc;
  if (pattern === undefined || substitution === undefined) return { kind: "to" };
  return { kind: "path-regex", apply: compileHostRegex(pattern, substitution) };
}

function compileRequestHeaders(doc: RouteDoc, secrets: SecretSource): HeaderRules {
  const written = Object.entries(doc.set_request_headers ?? {});
  const secret = Object.entries(doc.set_request_headers_secret ?? {}).map(
    ([name, of]) => [name, secretHeader(name, secretValues(of, "secret", secrets)[0])] as const,
  );
  return {
    set: [...written, ...secret].map(([name, value]) => ({
      name,
      lower: name.toLowerCase(),
      value: parseTemplate(value),
    })),
    remove: new Set((doc.remove_request_headers ?? []).map((name) => name.toLowerCase())),
  };
}

/** The template of a secret value, in which `$` means itself. @throws GatewayError `config.secret` */
function secretHeader(name: string, value = ""): string {
  const wish = headerValueWish(value);
  if (wish !== undefined)
    throw new GatewayError("config.secret", `Cannot use the secret of header "${name}": it ${wish}`);
  return value.replaceAll("$", "$$$$");
}

function compileResponseHeaders(doc: RouteDoc, settings: LiveSettings): ResponseHeaderRules {
  const own = Object.entries(doc.set_response_headers ?? {}).map(
    ([name, value]) => [name, parseStaticValue(value)] as const,
  );
  const overridden = new Set(own.map(([name]) => name.toLowerCase()));
  const inherited = settings.setResponseHeaders.filter(([name]) => !overridden.has(name.toLowerCase()));
  return {
    set: [...inherited, ...own].map(([name, value]) => ({ name, lower: name.toLowerCase(), value })),
    rewrite: (doc.rewrite_response_headers ?? []).map((rule) => ({
      lower: rule.header.toLowerCase(),
      prefix: rule.prefix,
      value: parseStaticValue(rule.value),
    })),
  };
}

function compileTimeout(doc: RouteDoc, settings: LiveSettings): number {
  // A tool call may take minutes and an event stream stays open: no limit unless somebody sets one.
  if (doc.timeout === undefined) return doc.mcp?.server ? 0 : settings.defaultUpstreamTimeoutMs;
  const parsed = parseDuration(doc.timeout);
  return parsed.ok ? durationMs(doc.timeout, "0s") : settings.defaultUpstreamTimeoutMs;
}

function compileMcp(doc: RouteDoc, address: string, secrets: SecretSource): McpServer | McpClient | undefined {
  if (doc.mcp?.client) return { kind: "client" };
  const server = doc.mcp?.server;
  if (!server) return undefined;
  const path = trimSlash(server.path ?? "");
  return {
    kind: "server",
    path,
    extraPaths: (server.extra_paths ?? []).map(parseExtraPath),
    maxRequestBytes: server.max_request_bytes ?? DEFAULT_MAX_REQUEST_BYTES,
    resource: address + path,
    upstreamOAuth: compileUpstreamOAuth(server, secrets),
    authorizationServerUrl: server.authorization_server_url,
    allowedApplications: server.allowed_applications ?? [],
  };
}

function compileUpstreamOAuth(server: McpServerDoc, secrets: SecretSource): UpstreamOAuth | undefined {
  const oauth = server.upstream_oauth2;
  if (!oauth) return undefined;
  const { endpoint } = oauth;
  return {
    clientId: oauth.client_id,
    clientSecret: secretValues(oauth, "client_secret", secrets)[0],
    endpoint: endpoint && { authUrl: endpoint.auth_url, tokenUrl: endpoint.token_url },
    authStyle: endpoint?.auth_style,
    scopes: oauth.scopes ?? [],
    authorizationUrlParams: new Map(Object.entries(oauth.authorization_url_params ?? {})),
  };
}

function trimSlash(path: string): string {
  return path.endsWith("/") ? path.slice(0, -1) : path;
}
