/** Rules across slices, validated on the merged bundle: permissions, addresses, MCP allowlists. */
import type { BootDoc, SettingsDoc } from "../settings.ts";
import { CONSOLE_HOST_PROBLEM, rolesOfAnyProvider } from "../../features/access/console.ts";
import { approvalPageRules, certificateRules } from "../../features/access/rules.ts";
import { matchesDomain, parseDomainPattern } from "../../settings/domains.ts";
import { setNames } from "../../features/headers/rules.ts";
import { claimHeaderProblems } from "../../features/headers/upstream-claims.ts";
import { hostCertificateProblems } from "./host-certificates.ts";
import { sliceUpstreamRules } from "../../features/balancing/rules.ts";
import { sliceAuthorityRules } from "../../features/connection/rules.ts";
import { usesDiscovery } from "../../features/mcp/rules.ts";
import { memberBundleRules } from "./members.ts";
import { httpsHosts, plainRules } from "./plain-routes.ts";
import { ownerProblems, vaultReferenceProblems } from "./owners.ts";
import { below, warningAt, errorAt, type UnplacedProblem, quote, type Report } from "../../settings/problem.ts";
import { ownAddressRules, ownHostRules, type OwnListener, ownListeners } from "./own-addresses.ts";
import type { ReadRoute, ReadSlice } from "../read-slice.ts";
import { directoryProblems } from "../../features/sign-in/directories.ts";
import { hasProvider, providerNames, providerProblems, userIssuers } from "../../features/sign-in/issuer-sign-in.ts";
import {
  acceptsHttpProvider,
  authenticateServiceProblem,
  idJagRules,
  providerNameRules,
  signInRules,
} from "./sign-in.ts";
import { accepted, parseOrigin } from "../../settings/values.ts";

const HTTPS_PROBLEM = 'starts with http://, must start with https:// unless "insecure_server" or "development" is set';
const NEEDS_PROVIDER = 'requires "idp_provider_url", which issues these tokens';
const NEEDS_PLATFORM = 'needs an entry of "identity_issuers" with the use "workload", whose tokens they are';

export interface MergedBundle {
  /** Absent if no source is the main configuration file: rules that depend on it are skipped. */
  readonly boot: BootDoc | undefined;
  readonly settings: SettingsDoc;
  readonly slices: readonly ReadSlice[];
}

/** Validates all rules that need more than one source, or the settings in addition to a route. */
export function validateBundle(bundle: MergedBundle): void {
  const { boot, settings, slices } = bundle;
  const { authenticate_service_url: authenticate } = settings;
  const addresses: Addresses = {
    origins: originsOf(slices),
    httpsHosts: httpsHosts(slices),
    listeners: boot && ownListeners(boot),
    authenticateUrl: authenticate === undefined ? undefined : accepted(parseOrigin(authenticate)),
  };
  for (const slice of slices) {
    if (boot && !slice.source.boot) {
      for (const problem of ownerProblems(slice, boot, slices)) slice.report(problem);
    }
    if (boot) for (const problem of vaultReferenceProblems(slice, boot)) slice.report(problem);
    if (boot) for (const problem of hostCertificateProblems(slice, boot, slices)) slice.report(problem);
    sliceUpstreamRules(slice.routes, slice.report);
    sliceAuthorityRules(slice.routes, slice.report);
    for (const route of slice.routes) {
      routeRules(route, bundle, addresses, (problem) => report(route, problem));
    }
  }
  validateSettings(bundle);
}

/** Addresses that users open; without wildcards, which cannot be upstreams. */
function originsOf(slices: readonly ReadSlice[]): ReadonlySet<string> {
  const from = slices.flatMap(({ routes }) => routes.flatMap((route) => route.from ?? []));
  return new Set(from.flatMap(({ origin, isWildcard }) => (isWildcard ? [] : [origin])));
}

interface Addresses {
  readonly origins: ReadonlySet<string>;
  /** With port, unless it is 443. */
  readonly httpsHosts: ReadonlySet<string>;
  /** Absent without the main configuration file. */
  readonly listeners: readonly OwnListener[] | undefined;
  readonly authenticateUrl: URL | undefined;
}

function routeRules(
  route: ReadRoute,
  { boot, settings, slices }: MergedBundle,
  { origins, httpsHosts, listeners, authenticateUrl }: Addresses,
  report: Report,
): void {
  const { from, upstreams } = route;
  if (from) {
    if (boot && from.scheme === "http") plainRules(route, { boot, httpsHosts, isAllowed: acceptsHttp(boot) }, report);
    const part = boot?.http_redirect_address !== undefined && from.scheme === "http" ? "hostname" : "host";
    if (from[part] === authenticateUrl?.[part]) {
      const problem = errorAt(["from"], 'has the host of "authenticate_service_url", which serves no route');
      report(against(problem, route, slices, "authenticate_service_url", () => true));
    }
  }
  if (listeners) ownAddressRules(upstreams, listeners, report);
  ownHostRules(upstreams, origins, report);
  if (boot) certificateRules(route.criteria, boot.downstream_mtls, report);
  if (boot) approvalPageRules(route.criteria, settings.authenticate_service_url, report);
  // Without a provider there is no sign-in; another warning covers that.
  if (boot && hasProvider(settings)) {
    signInRules(route, settings, (problem) => {
      const source = settings.idp_provider_url === undefined ? "identity_issuers" : "idp_provider_url";
      report(against(problem, route, slices, source, () => true));
    });
  }
  if (boot) providerNameRules(route, settings, report);
  memberBundleRules(route, { boot, slices }, report);
  if (route.valid.mcp) mcpBundleRules(route, settings, acceptsHttp(boot), report);
  if (boot) idJagRules(route, settings, report);
  claimHeaderRule(route, settings, slices, report);
  const bearer = bearerProblem(route.valid, { boot, settings });
  if (bearer !== undefined) report(errorAt(["bearer_token_format"], bearer));
}

/** Reports accepted tokens for which no issuer is configured. */
function bearerProblem(
  { bearer_token_format: format = "default" }: Pick<SettingsDoc, "bearer_token_format">,
  { boot, settings }: Pick<MergedBundle, "boot" | "settings">,
): string | undefined {
  if (boot === undefined || format === "default") return undefined;
  if (format !== "jwt") return settings.idp_provider_url === undefined ? NEEDS_PROVIDER : undefined;
  const issuers = Object.values(settings.identity_issuers ?? {});
  return issuers.some(({ uses }) => uses.includes("workload")) ? undefined : NEEDS_PLATFORM;
}

/** Whether http addresses are allowed; without the main configuration file, the reader of the whole bundle decides. */
function acceptsHttp(boot: BootDoc | undefined): boolean {
  return boot === undefined || boot.insecure_server === true || boot.development === true;
}

function isHttp(url: string | undefined): boolean {
  return url?.toLowerCase().startsWith("http:") === true;
}

/** A header set by settings would replace the claim header of the same name. */
function claimHeaderRule(route: ReadRoute, settings: SettingsDoc, slices: readonly ReadSlice[], report: Report): void {
  if (!settings.jwt_claims_headers) return;
  const claims = new Set(Object.keys(settings.jwt_claims_headers).map((name) => name.toLowerCase()));
  for (const [setting, name] of setNames(route.valid)) {
    if (!claims.has(name.toLowerCase())) continue;
    const problem = errorAt([setting, name], 'is one of "jwt_claims_headers", only the gateway may set it');
    report(
      against(problem, route, slices, "jwt_claims_headers", (headers) =>
        Object.keys(headers).some((other) => other.toLowerCase() === name.toLowerCase()),
      ),
    );
  }
}

/** Reports a route's conflict with a setting to the setting's authors, unless the route's own slice wrote it. */
function against<Name extends keyof SettingsDoc>(
  problem: UnplacedProblem,
  { slice }: ReadRoute,
  slices: readonly ReadSlice[],
  name: Name,
  concerns: (value: NonNullable<SettingsDoc[Name]>) => boolean,
): UnplacedProblem {
  const writers = slices.filter(({ settings: { [name]: value } }) => value !== undefined && concerns(value));
  if (writers.includes(slice)) return problem;
  return {
    ...problem,
    rivals: writers.map(({ source, settingsPath }) => ({
      file: source.file,
      path: [...settingsPath, name],
      isSetting: true,
    })),
  };
}

function mcpBundleRules(route: ReadRoute, settings: SettingsDoc, plainHttp: boolean, report: Report): void {
  const server = route.valid.mcp?.server;
  if (!server) return;
  const endpoint = server.upstream_oauth2?.endpoint;
  for (const name of ["auth_url", "token_url"] as const) {
    if (!plainHttp && endpoint?.[name].toLowerCase().startsWith("http:") === true) {
      report(errorAt(["mcp", "server", "upstream_oauth2", "endpoint", name], HTTPS_PROBLEM));
    }
  }
  if (!usesDiscovery(server)) return;
  const listed = (settings.mcp_allowed_as_metadata_domains ?? []).map((text) => parseDomainPattern(text));
  const setting = '"mcp_allowed_as_metadata_domains"';
  for (const { hostname, path } of route.upstreams) {
    if (!matchesDomain(listed, hostname)) {
      report(
        warningAt(
          path,
          `has the host ${quote(hostname)}, which ${setting} does not list, so upstream OAuth is not discovered`,
        ),
      );
    }
  }
  const fallback = server.authorization_server_url;
  const host = fallback === undefined ? "" : new URL(fallback).hostname;
  if (fallback !== undefined && !matchesDomain(listed, host)) {
    const path = ["mcp", "server", "authorization_server_url"];
    report(warningAt(path, `has the host ${quote(host)}, which ${setting} does not list, so it is never asked`));
  }
}

function validateSettings(bundle: MergedBundle): void {
  const { slices } = bundle;
  for (const { setting, under = [], ...problem } of settingProblems(bundle)) {
    const writer = slices.find((slice) => Object.hasOwn(slice.settings, setting) || Object.hasOwn(slice.boot, setting));
    // A missing setting is reported at the first source, the main configuration file if present.
    const slice = writer ?? slices[0];
    slice?.report({ ...problem, path: writer ? [...writer.settingsPath, setting, ...under] : [] });
  }
}

type SettingProblem = Omit<UnplacedProblem, "path"> & {
  readonly setting: keyof SettingsDoc | keyof BootDoc;
  readonly under?: UnplacedProblem["path"];
};

function* settingProblems({ boot, settings, slices }: MergedBundle): Iterable<SettingProblem> {
  const routes = slices.flatMap((slice) => slice.routes);
  for (const [one, other] of [
    ["idp_provider_url", "idp_client_id"],
    ["idp_client_id", "idp_provider_url"],
  ] as const) {
    if (settings[one] !== undefined && settings[other] === undefined) {
      yield { setting: one, severity: "error", message: `requires "${other}"` };
    }
  }
  for (const setting of ["authenticate_service_url", "signout_redirect_url"] as const) {
    if (!acceptsHttp(boot) && isHttp(settings[setting])) yield { setting, severity: "error", message: HTTPS_PROBLEM };
  }
  if (!acceptsHttpProvider(boot) && isHttp(settings.idp_provider_url)) {
    const message = 'starts with http://, must start with https:// unless "development" is set';
    yield { setting: "idp_provider_url", severity: "error", message };
  }
  for (const message of providerProblems(settings, acceptsHttpProvider(boot))) {
    yield { setting: "identity_issuers", severity: "error", message };
  }
  for (const [header, problem] of claimHeaderProblems(settings.jwt_claims_headers ?? {}, userIssuers(settings)))
    yield { setting: "jwt_claims_headers", severity: "warning", message: `has ${quote(header)}, which ${problem}` };
  for (const message of directoryProblems(settings)) yield { setting: "directories", severity: "error", message };
  const problem = boot && acceptsHttp(boot) ? authenticateServiceProblem(settings) : undefined;
  if (problem !== undefined) yield { setting: "authenticate_service_url", severity: "error", message: problem };
  const mcpRoutes = routes.filter((route) => route.valid.mcp).length;
  if (mcpRoutes > 0 && settings.runtime_flags?.mcp !== true) {
    const answers = mcpRoutes === 1 ? "the MCP route answers" : `${mcpRoutes} MCP routes answer`;
    const message =
      boot === undefined && settings.runtime_flags?.mcp === undefined
        ? `does not set "runtime_flags.mcp", so ${answers} 503 unless the gateway's own file sets it to true`
        : `leaves MCP off, so ${answers} 503; to enable it set "runtime_flags.mcp" to true`;
    yield { setting: "runtime_flags", severity: "warning", message };
  }
  const clients = routes.some((route) => route.valid.mcp?.client);
  if (boot && clients && !routes.some((route) => route.valid.mcp?.server)) {
    const message = "has MCP client routes but no MCP server route, so the list of servers is empty";
    yield { setting: "runtime_flags", severity: "warning", message };
  }
  if (settings.idp_access_token_allowed_audiences?.length === 0) {
    const message = "is an empty list, must have an audience or be removed";
    yield { setting: "idp_access_token_allowed_audiences", severity: "error", message };
  }
  const bearer = bearerProblem(settings, { boot, settings });
  if (bearer !== undefined) yield { setting: "bearer_token_format", severity: "error", message: bearer };
  if (boot?.console && settings.authenticate_service_url === undefined)
    yield { setting: "console", severity: "error", message: CONSOLE_HOST_PROBLEM };
  for (const { path, ...problem } of rolesOfAnyProvider(boot?.console, providerNames(settings)))
    yield { setting: "console", under: path.slice(1), ...problem };
  if (boot) yield* startProblems(boot, settings, routes);
}

/** Consequences at process start that the operator may not expect. */
function* startProblems(boot: BootDoc, settings: SettingsDoc, routes: readonly ReadRoute[]): Iterable<SettingProblem> {
  if (!["shared_secret", "shared_secret_ref", "shared_secret_sealed"].some((name) => Object.hasOwn(boot, name))) {
    const message = 'has no "shared_secret"; a random one is made at each start, which ends all sign-ins';
    yield { setting: "shared_secret", severity: "warning", message };
  }
  if (routes.length > 0 && !hasProvider(settings)) {
    const message = 'has no "idp_provider_url", so users cannot sign in';
    yield { setting: "idp_provider_url", severity: "warning", message };
  }
  const shared = settings.authenticate_service_url === undefined ? sharedHost(routes) : undefined;
  if (shared !== undefined && hasProvider(settings)) {
    const message = `has no "authenticate_service_url", and ${quote(shared)} serves a web application and an MCP server: its scripts run on the origin on which users consent to MCP clients`;
    yield { setting: "authenticate_service_url", severity: "warning", message };
  }
  const hosts = new Set(routes.map(({ from }) => from?.host ?? ""));
  const isSpread = hosts.size > 1 || [...hosts].some((host) => host.startsWith("*."));
  if (isSpread && settings.authenticate_service_url === undefined && hasProvider(settings)) {
    const message =
      'has no "authenticate_service_url", so every route host has its own sign-in and shares its origin with its upstream';
    yield { setting: "authenticate_service_url", severity: "warning", message };
  }
}

/** A host whose web pages share an origin with the consent page for its MCP servers. */
function sharedHost(routes: readonly ReadRoute[]): string | undefined {
  const servers = new Set(routes.flatMap(({ valid, from }) => (valid.mcp?.server && from ? [from.host] : [])));
  const isWeb = ({ valid, upstreams }: ReadRoute): boolean => valid.mcp?.server === undefined && upstreams.length > 0;
  return routes.find((route) => route.from && servers.has(route.from.host) && isWeb(route))?.from?.host;
}

function report(route: ReadRoute, problem: UnplacedProblem): void {
  route.slice.report(below(route.path, problem));
}
