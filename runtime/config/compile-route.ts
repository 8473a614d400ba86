/** Compiles one checked route. */
import { compileMcp } from "../features/mcp/compile.ts";
import { compileAbout } from "../features/catalog/compile.ts";
import { compileRateLimits } from "../features/limits/compile.ts";
import { compileConnect, compileUpstream } from "../features/connection/compile.ts";
import { compileHostRule, compileRequestHeaders, compileResponseHeaders } from "../features/headers/compile.ts";

import { routePolicy } from "../policy/access-keys.ts";
import { compilePolicy } from "../policy/evaluate.ts";
import { bindToolClasses } from "../policy/bind-tool-classes.ts";
import { compileShadow } from "../policy/shadow.ts";
import { accessShape } from "../features/access/settings.ts";
import { websocketShape } from "../features/connection/settings.ts";
import { withDefault } from "../settings/types/registry.ts";
import type { CompiledRoute, LiveSettings } from "./compiled.ts";
import { compileBalancing } from "../features/balancing/compile.ts";
import { accepted, timerMs } from "../settings/values.ts";
import { baseOf, compileAnswer, compileMatch, compileRewrite } from "../features/routing/compile.ts";
import { compileConditions } from "../features/routing/conditions.ts";
import { parseFrom } from "../features/routing/from.ts";
import type { CheckedRoute } from "./load.ts";
import type { PolicyCompiler } from "./policies.ts";
import type { RouteDoc } from "./route.ts";
import type { SecretSource } from "../settings/secret-forms.ts";

/** @param compile policies, see policies.ts @throws GatewayError `config.secret` */
export function compileRoute(
  route: CheckedRoute,
  settings: LiveSettings,
  secrets: SecretSource,
  compile: PolicyCompiler = compilePolicy,
): CompiledRoute {
  const { doc } = route;
  const from = accepted(parseFrom(doc.from));
  const match = compileMatch(doc);
  const base = baseOf(match);
  const to = doc.to ?? [];
  const mcp = compileMcp(doc, from.origin + base, route, secrets);
  const classes = mcp?.kind === "server" ? mcp.toolLock?.classes : undefined;
  const policy = bindToolClasses(compile(routePolicy(doc)), classes);
  const connect = compileConnect(route, secrets);
  return {
    key: route.key,
    owner: route.owner,
    limitedTo: route.limitedTo,
    name: route.name,
    about: compileAbout(doc, route.name),
    origin: from.origin,
    host: from.host,
    hostname: from.hostname,
    isWildcard: from.isWildcard,
    match,
    conditions: compileConditions(doc),
    base,
    rewrite: compileRewrite(doc),
    answer: compileAnswer(doc),
    to: (typeof to === "string" ? [to] : to).map((text) => compileUpstream(text, route.owner, connect)),
    balancing: compileBalancing(doc),
    policy,
    shadow: compileShadow(doc, classes),
    rateLimits: compileRateLimits(doc),
    allowsAnonymous: policy.mayAllowAnonymous,
    bearerTokenFormat: doc.mcp ? "default" : (doc.bearer_token_format ?? settings.bearerTokenFormat),
    accessTokenAudiences: doc.idp_access_token_allowed_audiences ?? settings.accessTokenAudiences,
    showErrorDetails: withDefault(accessShape, "show_error_details", doc),
    hostRule: compileHostRule(doc),
    requestHeaders: compileRequestHeaders(doc, secrets),
    responseHeaders: compileResponseHeaders(doc, settings),
    passIdentityHeaders: doc.pass_identity_headers ?? settings.passIdentityHeaders,
    timeoutMs: compileTimeout(doc, settings),
    idleTimeoutMs: doc.idle_timeout === undefined ? undefined : timerMs(doc.idle_timeout),
    allowWebsockets: withDefault(websocketShape, "allow_websockets", doc),
    mcp,
  };
}

function compileTimeout(doc: RouteDoc, settings: LiveSettings): number {
  // A tool call can take minutes and an event stream stays open: no limit unless configured.
  if (doc.timeout === undefined) return doc.mcp?.server ? 0 : settings.defaultUpstreamTimeoutMs;
  return timerMs(doc.timeout);
}
