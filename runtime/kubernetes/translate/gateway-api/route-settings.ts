/** Settings of a policy with those of a rule's filters: what the filters name wins, header by header. */
import { asksUpstream } from "../../../features/routing/rules.ts";
import { isRecord } from "../../../shared/is-record.ts";

type Settings = Readonly<Record<string, unknown>>;

/** At most one of these can choose the Host header. */
const HOST_SETTINGS = [
  "preserve_host_header",
  "host_rewrite",
  "host_rewrite_header",
  "host_path_regex_rewrite_pattern",
];

/** Routes with upstreams send the client's Host, unless something else chooses it. */
export function upstreamSettings(policy: Settings, filters: Settings): Settings {
  const merged: Record<string, unknown> = { ...policy };
  const rewrites = ["prefix_rewrite", "regex_rewrite_pattern"].some((name) => filters[name] !== undefined);
  if (rewrites)
    for (const name of ["prefix_rewrite", "regex_rewrite_pattern", "regex_rewrite_substitution"]) delete merged[name];
  if (filters["host_rewrite"] !== undefined) {
    for (const name of [...HOST_SETTINGS, "host_path_regex_rewrite_substitution"]) delete merged[name];
  }
  for (const [name, value] of Object.entries(filters)) {
    const before = merged[name];
    merged[name] = isRecord(before) && isRecord(value) ? { ...before, ...value } : value;
  }
  if (!HOST_SETTINGS.some((name) => merged[name] !== undefined)) merged["preserve_host_header"] = true;
  return merged;
}

/** Routes that answer themselves have no settings of upstreams. */
export function answerSettings(policy: Settings, filters: Settings): Settings {
  const all = { ...upstreamSettings(policy, filters) };
  for (const name of Object.keys(all)) if (asksUpstream(name)) delete all[name];
  return all;
}
