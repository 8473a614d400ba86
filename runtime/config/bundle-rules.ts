/** Rules across slices, judged on the merged bundle: who may do what, addresses, MCP allowlists. */
import { findDomain, matchesDomain, parseDomainPattern } from "./domains.ts";
import { usesDiscovery } from "./mcp.ts";
import { type Finding, quote } from "./problem.ts";
import type { ReadRoute, ReadSlice } from "./read-slice.ts";
import { routeFields } from "./route.ts";
import { secretUses } from "./secrets.ts";
import { type BootDoc, type SettingsDoc, settingsFields } from "./settings.ts";
import { isLoopbackHost, parseListener, parseOrigin, parseUpstream } from "./values.ts";

export const DEFAULT_ADMIN_ADDRESS = "127.0.0.1:9901";

export interface Bundle {
  /** Absent when no source is the boot file: then what it alone decides is not judged. */
  readonly boot: BootDoc | undefined;
  readonly settings: SettingsDoc;
  readonly slices: readonly ReadSlice[];
}

/** Judges everything that needs more than one source or the settings beside a route. */
export function judgeBundle(bundle: Bundle): void {
  const { boot, slices } = bundle;
  for (const slice of slices) {
    if (boot && !slice.source.boot) judgeOwner(slice, boot, slices);
    for (const route of slice.routes) {
      for (const finding of routeRules(route, bundle)) report(route, finding);
    }
  }
  judgeSettings(bundle);
}

function* routeRules(route: ReadRoute, { boot, settings }: Bundle): Iterable<Finding> {
  const from = parseOrigin(route.sound.from ?? "");
  if (from.ok) {
    if (boot && from.value.protocol === "http:" && boot.insecure_server !== true && boot.development !== true) {
      yield fault(
        ["from"],
        'begins with http://, must begin with https:// unless "insecure_server" or "development" is set',
      );
    }
    const authenticate = parseOrigin(settings.authenticate_service_url ?? "");
    if (authenticate.ok && authenticate.value.host === from.value.host) {
      yield fault(["from"], 'has the host of "authenticate_service_url", which serves no route');
    }
  }
  if (boot) yield* adminRule(route, boot);
  if (route.sound.mcp) yield* mcpBundleRules(route, settings);
}

/** A route to the admin listener would hand out its power to whoever the policy lets in. */
function* adminRule(route: ReadRoute, boot: BootDoc): Iterable<Finding> {
  const admin = parseListener(boot.admin_address ?? DEFAULT_ADMIN_ADDRESS);
  if (!admin.ok) return;
  for (const { url, path } of upstreams(route)) {
    const host = url.hostname.replace(/^\[|\]$/g, "");
    const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
    const everywhere = ["", "0.0.0.0", "::"].includes(admin.value.host);
    const local = isLoopbackHost(host) || ["0.0.0.0", "::"].includes(host);
    const same = host === admin.value.host || (local && (everywhere || isLoopbackHost(admin.value.host)));
    if (same && port === admin.value.port) yield fault(path, 'is the address of the admin listener ("admin_address")');
  }
}

function* mcpBundleRules(route: ReadRoute, settings: SettingsDoc): Iterable<Finding> {
  if (settings.runtime_flags?.mcp !== true) {
    yield warning(["mcp"], 'has no effect until "runtime_flags.mcp" is true; the route answers 503');
  }
  const server = route.sound.mcp?.server;
  if (!server || !usesDiscovery(server)) return;
  const listed = (settings.mcp_allowed_as_metadata_domains ?? []).map((text) => parseDomainPattern(text));
  const setting = '"mcp_allowed_as_metadata_domains"';
  for (const { url, path } of upstreams(route)) {
    if (!matchesDomain(listed, url.hostname)) {
      yield warning(
        path,
        `has the host ${quote(url.hostname)}, which ${setting} does not list, so upstream OAuth is not discovered`,
      );
    }
  }
  const fallback = server.authorization_server_url;
  const host = fallback === undefined ? "" : new URL(fallback).hostname;
  if (fallback !== undefined && !matchesDomain(listed, host)) {
    const path = ["mcp", "server", "authorization_server_url"];
    yield warning(path, `has the host ${quote(host)}, which ${setting} does not list, so it is never asked`);
  }
}

/** What the boot file allows each owner, D7. */
function judgeOwner(slice: ReadSlice, boot: BootDoc, slices: readonly ReadSlice[]): void {
  const rights = boot.owners?.[slice.owner];
  if (boot.owners && !rights) {
    slice.report(fault(["owner"], `is ${quote(slice.owner)}, which "owners" of the boot file does not name`));
    return;
  }
  const hosts = rights?.allowed_from?.map((text) => parseDomainPattern(text));
  for (const route of slice.routes) {
    const from = parseOrigin(route.sound.from ?? "");
    if (hosts && from.ok && !findDomain(hosts, from.value.hostname)) {
      report(route, fault(["from"], `is ${quote(route.sound.from)}, which owner "${slice.owner}" may not serve`));
    }
  }
  const reserved = new Set(slices.filter((each) => each.source.boot).flatMap((each) => bootReferences(each)));
  const judge = (path: Finding["path"], values: readonly string[]): void => {
    for (const value of values) {
      // The reference is a name, not a secret, so it may be quoted.
      if (reserved.has(value)) slice.report(fault(path, `is ${quote(value)}, a secret of the boot file itself`));
      else if (!(rights?.allowed_refs ?? []).some((pattern) => matchesReference(pattern, value))) {
        const wish = `must be allowed by "owners.${slice.owner}.allowed_refs" of the boot file`;
        slice.report(fault(path, `is ${quote(value)}, ${wish}`));
      }
    }
  };
  for (const use of secretUses(settingsFields, slice.settings, slice.settingsPath)) {
    if (use.form === "ref") judge(use.path, use.values);
  }
  for (const route of slice.routes) {
    for (const use of secretUses(routeFields, route.sound, route.path))
      if (use.form === "ref") judge(use.path, use.values);
  }
}

function bootReferences(slice: ReadSlice): readonly string[] {
  const uses = [...secretUses(settingsFields, slice.boot), ...secretUses(settingsFields, slice.settings)];
  return uses.filter((use) => use.form === "ref").flatMap((use) => use.values);
}

function matchesReference(pattern: string, reference: string): boolean {
  return pattern.endsWith("*") ? reference.startsWith(pattern.slice(0, -1)) : reference === pattern;
}

function judgeSettings({ boot, settings, slices }: Bundle): void {
  const place = (...names: string[]): ReadSlice | undefined =>
    slices.find((slice) =>
      names.some((name) => Object.hasOwn(slice.settings, name) || Object.hasOwn(slice.boot, name)),
    );
  const say = (name: string, finding: Omit<Finding, "path">): void => {
    const slice = place(name) ?? slices[0];
    const written = slice !== undefined && place(name) !== undefined;
    slice?.report({ ...finding, path: written ? [...slice.settingsPath, name] : [] });
  };
  if (settings.idp_provider_url !== undefined && settings.idp_client_id === undefined) {
    say("idp_provider_url", { severity: "error", message: 'needs "idp_client_id" beside it' });
  }
  if (settings.idp_client_id !== undefined && settings.idp_provider_url === undefined) {
    say("idp_client_id", { severity: "error", message: 'needs "idp_provider_url" beside it' });
  }
  const insecure = boot?.insecure_server === true || boot?.development === true;
  if (boot && !insecure && settings.authenticate_service_url?.toLowerCase().startsWith("http:") === true) {
    const message = 'must begin with https:// unless "insecure_server" or "development" is set';
    say("authenticate_service_url", { severity: "error", message });
  }
  if (
    boot &&
    !["shared_secret", "shared_secret_ref", "shared_secret_sealed"].some((name) => Object.hasOwn(boot, name))
  ) {
    const message = 'has no "shared_secret"; a random one is made at each start, which ends all sign-ins';
    say("shared_secret", { severity: "warning", message });
  }
}

export function upstreams(
  route: ReadRoute,
): readonly { readonly url: URL; readonly path: readonly (string | number)[] }[] {
  const to = route.sound.to ?? [];
  const items = typeof to === "string" ? [to] : to;
  return items.flatMap((text, index) => {
    const parsed = parseUpstream(text);
    return parsed.ok ? [{ url: parsed.value.url, path: typeof to === "string" ? ["to"] : ["to", index] }] : [];
  });
}

function report(route: ReadRoute, finding: Finding): void {
  route.slice.report({ ...finding, path: [...route.path, ...finding.path] });
}

function fault(path: Finding["path"], message: string): Finding {
  return { severity: "error", path, message };
}

function warning(path: Finding["path"], message: string): Finding {
  return { severity: "warning", path, message };
}
