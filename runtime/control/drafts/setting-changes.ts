/** Settings that differ between two configurations, beside what rules say: by name, and with values where these are plain. */
import type { CheckedConfig } from "../../config/load.ts";
import { routeFields } from "../../config/route.ts";
import { settingsFields } from "../../config/settings.ts";
import { memberNames } from "../../settings/secret-spellings.ts";
import { canonicalJson } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";

export interface SettingChange {
  /** Key of the route; "" for settings of the gateway. */
  readonly route: string;
  /** "timeout", "mcp.server.max_request_bytes" */
  readonly name: string;
  /** As JSON; undefined: not there, or not to be shown. */
  readonly before?: string | undefined;
  readonly after?: string | undefined;
  readonly change: "added" | "removed" | "changed";
}

/** Of what a route asks its callers rules tell, and statements about them. */
const RULES = new Set(["policy", "shadow_policy", "name"]);
const SECRETS = new Set(
  [...routeFields, ...settingsFields].filter(({ kind }) => kind === "secret").flatMap(memberNames),
);
const MAX_CHANGES = 200;
const MAX_VALUE = 120;

type Sided = Pick<CheckedConfig, "boot" | "settings" | "routes">;

/** @param mayShow whether changes of this route, or of this setting of the gateway, are told */
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

function byKey({ routes }: Sided): ReadonlyMap<string, CheckedConfig["routes"][number]> {
  return new Map(routes.map((route) => [route.key, route]));
}

function compare(
  route: string,
  path: readonly string[],
  before: object,
  after: object,
  add: (change: SettingChange) => void,
): void {
  const [old, next] = [new Map(Object.entries(before)), new Map(Object.entries(after))];
  for (const name of [...new Set([...old.keys(), ...next.keys()])].toSorted()) {
    if (path.length === 0 && RULES.has(name)) continue;
    const [was, is]: unknown[] = [old.get(name), next.get(name)];
    if (canonicalJson(was ?? null) === canonicalJson(is ?? null)) continue;
    const full = [...path, name];
    if (isRecord(was) && isRecord(is)) {
      compare(route, full, was, is, add);
      continue;
    }
    const change = was === undefined ? "added" : is === undefined ? "removed" : "changed";
    add({ route, name: full.join("."), change, before: shown(full, was), after: shown(full, is) });
  }
}

/** Header values may be credentials, and so may what stands under names of secrets; upstreams are for operators. */
function shown(path: readonly string[], value: unknown): string | undefined {
  if (value === undefined || path.some((name) => SECRETS.has(name) || /^to$|header|secret|token|key|param/.test(name)))
    return undefined;
  const isPlain = (each: unknown): boolean => typeof each !== "object" || each === null;
  if (!isPlain(value) && !(Array.isArray(value) && value.every(isPlain))) return undefined;
  const text = JSON.stringify(value);
  return text.length > MAX_VALUE ? `${text.slice(0, MAX_VALUE)}…` : text;
}
