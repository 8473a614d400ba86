/** How a Pomerium route matches, changes and answers requests, in our settings. */
import { asksUpstream } from "../../features/routing/rules.ts";
import { parseUpstream } from "../../settings/values.ts";
import type { ImportReport } from "./note.ts";
import { keepFirst, resolveConflicts } from "./resolve.ts";
import { trimSlash } from "../../shared/http/trim-slash.ts";
import { type Members, isRecord } from "../../shared/is-record.ts";

/** Texts that Pomerium ignores when they are empty. */
const TEXTS = ["regex", "path", "prefix", "prefix_rewrite", "regex_rewrite_pattern", "regex_rewrite_substitution"];

/** @returns the same route, without settings that have no effect in Pomerium and would be rejected here */
export function convertRouting(written: Members, place: string, report: ImportReport): Members {
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
  resolveConflicts(route, place, report);
  if (isRecord(route["mcp"]) && route["mcp"]["server"] !== undefined) convertServerPaths(route, place, report);
  else convertUpstreamPath(route, place, report);
  return route;
}

/** Drops settings of an upstream that is never used. */
function dropUpstream(route: Record<string, unknown>, answer: string, place: string, report: ImportReport): void {
  for (const name of Object.keys(route)) {
    if (!asksUpstream(name)) continue;
    const value = route[name];
    delete route[name];
    if (value === false || value === null || value === "") continue;
    report("lost", `${place}, ${name}`, `"${answer}" responds, so it had no effect there`);
  }
}

function convertRedirect(written: Members): Members {
  const redirect = Object.fromEntries(
    Object.entries(written).filter(([, value]) => value !== null && value !== "" && value !== 0),
  );
  // In Pomerium the first one replaces the other.
  if (redirect["https_redirect"] !== undefined) delete redirect["scheme_redirect"];
  if (redirect["path_redirect"] !== undefined) delete redirect["prefix_rewrite"];
  const { host_redirect: to } = redirect;
  const [, host, port] = (typeof to === "string" && /^([^:]+):([0-9]+)$/.exec(to)) || [];
  if (host !== undefined) Object.assign(redirect, { host_redirect: host, port_redirect: Number(port) });
  return redirect;
}

/**
 * In Pomerium a path of `to` replaces the matched part of the path, unless the route has a rewrite; here it precedes
 * the whole path.
 */
function convertUpstreamPath(route: Record<string, unknown>, place: string, report: ImportReport): void {
  const { to } = route;
  const urls: readonly unknown[] = Array.isArray(to) ? to : [to];
  const path = pathOf(urls[0]);
  if (!urls.some((url) => pathOf(url) !== undefined)) return;
  const rewrites = ["prefix_rewrite", "regex_rewrite_pattern"].some((name) => route[name] !== undefined);
  const prefix = typeof route["prefix"] === "string" ? route["prefix"] : "/";
  const matchesAll = prefix === "/" && route["path"] === undefined && route["regex"] === undefined;
  if (!rewrites && matchesAll) return;
  const stripped = urls.map(withoutPath);
  route["to"] = Array.isArray(to) ? stripped : stripped[0];
  if (rewrites) report("differs", `${place}, to`, "the path of the URL had no effect with the rewrite and is omitted");
  else if (path !== undefined) route["prefix_rewrite"] = path;
}

/**
 * Here, for an MCP server, the path of `to` replaces the route's base. In Pomerium the server also gets the base,
 * unless a rewrite or a path of `to` replaces it. It also gets every path below the base, not only the MCP endpoint's.
 */
function convertServerPaths(route: Record<string, unknown>, place: string, report: ImportReport): void {
  const { to, prefix, path, prefix_rewrite: rewrite } = route;
  const base = typeof path === "string" ? path : typeof prefix === "string" ? trimSlash(prefix) : "";
  if (route["regex_rewrite_pattern"] === undefined) {
    const urls: readonly unknown[] = Array.isArray(to) ? to : [to];
    const instead = typeof rewrite === "string" ? rewrite : (pathOf(urls[0]) ?? base);
    delete route["prefix_rewrite"];
    const led = urls.map((url) => withPath(url, trimSlash(instead)));
    route["to"] = Array.isArray(to) ? led : led[0];
  }
  const server = isRecord(route["mcp"]) && isRecord(route["mcp"]["server"]) ? route["mcp"]["server"] : {};
  const endpoint = base + (typeof server["path"] === "string" ? trimSlash(server["path"]) : "");
  if (typeof path === "string" && endpoint === path) return;
  const below = base === "" ? "every path of the host" : `every path below "${base}"`;
  const what = `only "${endpoint || "/"}" reaches the server here, there ${below} did: list others in mcp.server.extra_paths`;
  report("differs", place, what);
}

/** undefined for none or "/". */
function pathOf(url: unknown): string | undefined {
  const parsed = typeof url === "string" ? parseUpstream(url) : undefined;
  return parsed?.ok === true && parsed.value.url.pathname !== "/" ? parsed.value.url.pathname : undefined;
}

function withoutPath(url: unknown): unknown {
  return pathOf(url) === undefined ? url : withPath(url, "");
}

/** @param path "" for none */
function withPath(url: unknown, path: string): unknown {
  if (typeof url !== "string" || (pathOf(url) ?? "") === path) return url;
  const [, origin, weight = ""] = /^(https?:\/\/[^/,]+)[^,]*(,[0-9]+)?$/i.exec(url) ?? [];
  return origin === undefined ? url : origin + path + weight;
}
