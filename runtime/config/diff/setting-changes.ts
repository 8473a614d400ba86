/** Differing settings of two configurations that are not rules: by name, with values where these are harmless. */
import type { CheckedConfig } from "../load.ts";
import { routeFields } from "../route.ts";
import { settingsFields } from "../settings.ts";
import { memberNames } from "../../settings/secret-forms.ts";
import { conditionsText } from "../../features/routing/conditions.ts";
import { canonicalJson } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";

export interface SettingChange {
  /** Key of the route; "" for global settings. */
  readonly route: string;
  /** "timeout", "mcp.server.max_request_bytes" */
  readonly name: string;
  /** As JSON; undefined: absent, or must not be shown. */
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  readonly change: "added" | "removed" | "changed";
}

/** Statements about rules cover these. */
const RULES = new Set(["policy", "shadow_policy", "name"]);
const SECRETS = new Set(
  [...routeFields, ...settingsFields].filter(({ kind }) => kind === "secret").flatMap(memberNames),
);
const MAX_CHANGES = 200;
const MAX_VALUE = 120;

type Sided = Pick<CheckedConfig, "boot" | "settings" | "routes">;

/** @param mayShow whether changes of this route, or of this global setting, are reported */
export function settingChanges(
  before: Sided,
  after: Sided,
  mayShow: (change: { readonly route: string; readonly name: string }) => boolean,
): readonly SettingChange[] {
  const found: SettingChange[] = [];
  const add = (change: SettingChange): void => {
    if (found.length < MAX_CHANGES && mayShow(change)) found.push(change);
  };
  compare("", [], { ...before.boot, ...before.settings }, { ...after.boot, ...after.settings }, add);
  const [old, next] = [byKey(before), byKey(after)];
  for (const key of [...new Set([...old.keys(), ...next.keys()])].toSorted()) {
    const [was, is] = [old.get(key), next.get(key)];
    if (was?.text === is?.text) continue;
    if (was === undefined) add({ route: key, name: "", change: "added" });
    else if (is === undefined) add({ route: key, name: "", change: "removed" });
    else compare(key, [], was.doc, is.doc, add);
  }
  return found;
}

/** Settings that determine a route's address, its upstream, and what the upstream learns about users. */
const LEADS = new Set(
  (
    "from path prefix regex regex_priority_order match_methods match_headers match_query match_priority_order to redirect response prefix_rewrite regex_rewrite_pattern " +
    "regex_rewrite_substitution host_rewrite host_rewrite_header host_path_regex_rewrite_pattern " +
    "host_path_regex_rewrite_substitution preserve_host_header set_request_headers set_request_headers_secret " +
    "remove_request_headers pass_identity_headers jwt_claims_headers tls_skip_verify tls_server_name tls_custom_ca"
  ).split(" "),
);
const SERVER_LEADS =
  /^mcp\.server\.(?:path|extra_paths|members|resource_prefixes|upstream_oauth2|authorization_server_url)(?:\.|$)/;
/** Settings whose values contain no credentials. */
const OPEN = new Set([
  "to",
  "preserve_host_header",
  "pass_identity_headers",
  "jwt_claims_headers",
  "host_rewrite_header",
]);

/**
 * Changes of where requests lead. Routes with another name at the same address count as one. A route added to or
 * removed from a host with other routes takes requests from them, or returns requests to them.
 */
export function leadChanges(before: Sided, after: Sided): readonly SettingChange[] {
  const place = ({ doc }: CheckedConfig["routes"][number]): string =>
    canonicalJson([doc.from, doc.path ?? null, doc.prefix ?? null, doc.regex ?? null, conditionsText(doc)]);
  const old = byKey(before);
  const [wasServed, isServed] = [hostsOf(before), hostsOf(after)];
  const remaining = new Set(after.routes.map(({ key }) => key));
  const renamed = new Map(before.routes.filter(({ key }) => !remaining.has(key)).map((route) => [place(route), route]));
  const found: SettingChange[] = [];
  const add = (change: SettingChange): void => {
    const isLead = LEADS.has(change.name.split(".")[0] ?? "") || SERVER_LEADS.test(change.name);
    if (found.length < MAX_CHANGES && isLead) found.push(change);
  };
  const addRoute = (change: Omit<SettingChange, "name">): void => {
    if (found.length < MAX_CHANGES) found.push({ ...change, name: "route" });
  };
  compare("", [], before.settings, after.settings, add, OPEN);
  for (const route of after.routes) {
    const was = old.get(route.key) ?? renamed.get(place(route));
    if (was) compare(route.key, [], was.doc, route.doc, add, OPEN);
    else if (wasServed(route)) addRoute({ route: route.key, change: "added", after: leadOf(route) });
  }
  const places = new Set(after.routes.map(place));
  for (const route of before.routes) {
    if (remaining.has(route.key) || places.has(place(route)) || !isServed(route)) continue;
    addRoute({ route: route.key, change: "removed", before: leadOf(route) });
  }
  return found;
}

/** @returns whether a route has one of these hosts */
function hostsOf({ routes }: Sided): (route: CheckedConfig["routes"][number]) => boolean {
  const hosts = new Set(routes.map(({ doc }) => doc.from));
  const hasWildcard = [...hosts].some((from) => from.includes("*"));
  return ({ doc: { from } }) => hosts.has(from) || (hosts.size > 0 && (hasWildcard || from.includes("*")));
}

/** "https://app.example.com/admin → http://admin.internal", as JSON */
function leadOf({ doc }: CheckedConfig["routes"][number]): string {
  const where = doc.regex === undefined ? (doc.path ?? doc.prefix ?? "") : `~${doc.regex}`;
  const members = Object.values(doc.mcp?.server?.members ?? {});
  const to = doc.to ?? (members.length > 0 ? members : "an answer of its own");
  return JSON.stringify(`${doc.from}${where} → ${[to].flat().join(", ")}`.slice(0, MAX_VALUE));
}

function byKey({ routes }: Sided): ReadonlyMap<string, CheckedConfig["routes"][number]> {
  return new Map(routes.map((route) => [route.key, route]));
}

function compare(
  route: string,
  path: readonly string[],
  before: object,
  after: object,
  add: (change: SettingChange) => void,
  open: ReadonlySet<string> = new Set(),
): void {
  const [old, next] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  for (const name of [...new Set([...old.keys(), ...next.keys()])].toSorted()) {
    if (path.length === 0 && RULES.has(name)) continue;
    const [was, is]: unknown[] = [old.get(name), next.get(name)];
    if (canonicalJson(was ?? null) === canonicalJson(is ?? null)) continue;
    const full = [...path, name];
    if (isRecord(was) && isRecord(is)) {
      compare(route, full, was, is, add, open);
      continue;
    }
    const change = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    const isOpen = open.has(full[0] ?? "");
    add({ route, name: full.join("."), change, before: shown(full, was, isOpen), after: shown(full, is, isOpen) });
  }
}

/** Header values and values under names of secrets may be credentials; upstreams are only for operators. */
function shown(path: readonly string[], value: unknown, isOpen: boolean): string | undefined {
  const isHidden = path.some((name) => SECRETS.has(name) || /^to$|header|secret|token|key|param/.test(name));
  if (value === undefined || (isHidden && !isOpen)) return undefined;
  const isPlain = (each: unknown): boolean => typeof each !== "object" || each === null;
  if (!isPlain(value) && !(Array.isArray(value) && value.every(isPlain))) return undefined;
  const text = JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}
