/** How a Pomerium route chooses, changes and answers requests, said in our words. */
import { asksUpstream } from "../../features/routing/rules.ts";
import { parseUpstream } from "../../settings/values.ts";
import type { Report } from "./note.ts";
import { type Members, isRecord } from "../../shared/is-record.ts";

/** Texts that mean nothing there when they are empty. */
const TEXTS = ["regex", "path", "prefix", "prefix_rewrite", "regex_rewrite_pattern", "regex_rewrite_substitution"];

/** @returns the same route, without what has no effect there and would be refused here */
export function convertRouting(written: Members, place: string, report: Report): Members {
  const route: Record<string, unknown> = { ...written };
  for (const name of TEXTS) if (route[name] === "" || route[name] === null) delete route[name];
  keepFirst(route, ["regex", "path", "prefix"], place, report);
  if (route["regex"] === undefined) delete route["regex_priority_order"];
  keepFirst(route, ["redirect", "response"], place, report);
  for (const answer of ["redirect", "response"] as const) {
    if (!isRecord(route[answer])) delete route[answer];
    else dropUpstream(route, answer, place, report);
  }
  if (isRecord(route["redirect"])) route["redirect"] = convertRedirect(route["redirect"]);
  convertUpstreamPath(route, place, report);
  return route;
}

/** Of settings that exclude each other here the one that had effect there. */
function keepFirst(route: Record<string, unknown>, names: readonly string[], place: string, report: Report): void {
  const [first, ...rest] = names.filter((name) => route[name] !== undefined && route[name] !== null);
  for (const name of rest) {
    delete route[name];
    report("lost", `${place}, ${name}`, `"${first}" stands beside it, so it had no effect there`);
  }
}

/** Settings of an upstream that is never asked. */
function dropUpstream(route: Record<string, unknown>, answer: string, place: string, report: Report): void {
  for (const name of Object.keys(route)) {
    if (!asksUpstream(name)) continue;
    const value = route[name];
    delete route[name];
    if (value === false || value === null || value === "") continue;
    report("lost", `${place}, ${name}`, `"${answer}" answers, so it had no effect there`);
  }
}

function convertRedirect(written: Members): Members {
  const redirect = Object.fromEntries(
    Object.entries(written).filter(([, value]) => value !== null && value !== "" && value !== 0),
  );
  // What comes first there takes the place of the other.
  if (redirect["https_redirect"] !== undefined) delete redirect["scheme_redirect"];
  if (redirect["path_redirect"] !== undefined) delete redirect["prefix_rewrite"];
  const { host_redirect: to } = redirect;
  const [, host, port] = (typeof to === "string" && /^([^:]+):([0-9]+)$/.exec(to)) || [];
  if (host !== undefined) Object.assign(redirect, { host_redirect: host, port_redirect: Number(port) });
  return redirect;
}

/**
 * There a path of `to` takes the place of what the route matched, unless a rewrite says otherwise; here it stands in front
 * of the whole path.
 */
function convertUpstreamPath(route: Record<string, unknown>, place: string, report: Report): void {
  const { to, mcp } = route;
  const urls: readonly unknown[] = Array.isArray(to) ? to : [to];
  const path = pathOf(urls[0]);
  if (!urls.some((url) => pathOf(url) !== undefined) || (isRecord(mcp) && mcp["server"] !== undefined)) return;
  const rewrites = ["prefix_rewrite", "regex_rewrite_pattern"].some((name) => route[name] !== undefined);
  const prefix = typeof route["prefix"] === "string" ? route["prefix"] : "/";
  const matchesAll = prefix === "/" && route["path"] === undefined && route["regex"] === undefined;
  if (!rewrites && matchesAll) return;
  const stripped = urls.map(withoutPath);
  route["to"] = Array.isArray(to) ? stripped : stripped[0];
  if (rewrites)
    report("differs", `${place}, to`, "the path of the address had no effect beside the rewrite and is left out");
  else if (path !== undefined) route["prefix_rewrite"] = path;
}

/** undefined for none or "/". */
function pathOf(url: unknown): string | undefined {
  const parsed = typeof url === "string" ? parseUpstream(url) : undefined;
  return parsed?.ok === true && parsed.value.url.pathname !== "/" ? parsed.value.url.pathname : undefined;
}

function withoutPath(url: unknown): unknown {
  if (typeof url !== "string" || pathOf(url) === undefined) return url;
  const [, origin = url, weight = ""] = /^(https?:\/\/[^/]+)[^,]*(,[0-9]+)?$/i.exec(url) ?? [];
  return origin + weight;
}
