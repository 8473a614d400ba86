/**
 * Settings of one Pomerium route that exclude each other here: the one that was effective in Pomerium stays, and the
 * other is reported.
 */
import { ACCESS_WITHOUT_MCP } from "../../features/access/rules.ts";
import { type Members, isRecord } from "../../shared/is-record.ts";
import { choiceText } from "./values.ts";
import type { ImportReport } from "./note.ts";
import { isWritten } from "./secret.ts";

/** In Pomerium's order of precedence. */
const HOST = ["host_rewrite", "host_rewrite_header", "host_path_regex_rewrite_pattern", "preserve_host_header"];

/** A replacement, and its value: in Pomerium, without the value it is replaced by nothing. */
const PAIRS = [
  ["regex_rewrite_pattern", "regex_rewrite_substitution"],
  ["host_path_regex_rewrite_pattern", "host_path_regex_rewrite_substitution"],
] as const;

/** @param route a copy, which is modified */
export function resolveConflicts(route: Record<string, unknown>, place: string, report: ImportReport): void {
  for (const name of HOST) if (route[name] === "" || route[name] === false) delete route[name];
  keepFirst(route, HOST, place, report);
  for (const [pattern, substitution] of PAIRS) {
    if (isWritten(route[pattern])) route[substitution] ??= "";
    else drop(route, substitution, `"${pattern}" is not set, so this had no effect there`, place, report);
  }
  preferInline(route, place, report);
  for (const setting of ["set_request_headers", "set_response_headers"]) mergeNames(route, setting, place, report);
  keepSetHeaders(route, place, report);
  dropUnused(route, place, report);
}

/** Keeps the setting that was effective in Pomerium, of several that exclude each other here. */
export function keepFirst(
  route: Record<string, unknown>,
  names: readonly string[],
  place: string,
  report: ImportReport,
): void {
  const [first, ...rest] = names.filter((name) => route[name] !== undefined && route[name] !== null);
  for (const name of rest) drop(route, name, `"${first}" is also set, so this had no effect there`, place, report);
}

function drop(route: Record<string, unknown>, name: string, why: string, place: string, report: ImportReport): void {
  const value = route[name];
  delete route[name];
  if (isWritten(value)) report("lost", `${place}, ${name}`, why);
}

/** In Pomerium, text in the file wins over a file name; a certificate and its key come from one source. */
function preferInline(route: Record<string, unknown>, place: string, report: ImportReport): void {
  const pairs = [["tls_custom_ca"], ["tls_client_cert", "tls_client_key"]];
  for (const names of pairs) {
    const isInline = names.every((name) => isWritten(route[name]));
    if (!isInline && !names.every((name) => isWritten(route[`${name}_file`]))) continue;
    for (const name of names) {
      const [kept, dropped] = isInline ? [name, `${name}_file`] : [`${name}_file`, name];
      drop(route, dropped, `"${kept}" is also set, so this had no effect there`, place, report);
    }
  }
}

/** Names that differ only in case are one header: Pomerium sends the last one in the order of names. */
function mergeNames(route: Record<string, unknown>, setting: string, place: string, report: ImportReport): void {
  const headers = route[setting];
  if (!isRecord(headers)) return;
  const last = new Map(
    Object.keys(headers)
      .toSorted()
      .map((name) => [name.toLowerCase(), name]),
  );
  const isLast = (name: string): boolean => last.get(name.toLowerCase()) === name;
  for (const name of Object.keys(headers).filter((each) => !isLast(each)))
    report("lost", `${place}, ${setting}, ${name}`, `"${last.get(name.toLowerCase())}" is the same header and wins`);
  route[setting] = Object.fromEntries(Object.entries(headers).filter(([name]) => isLast(name)));
}

/** In Pomerium a header that is both removed and set is set; here removal always wins. */
function keepSetHeaders(route: Record<string, unknown>, place: string, report: ImportReport): void {
  const { set_request_headers: set, remove_request_headers: removed } = route;
  if (!isRecord(set) || !Array.isArray(removed)) return;
  const names = new Set(Object.keys(set).map((name) => name.toLowerCase()));
  route["remove_request_headers"] = removed.filter((name: unknown) => {
    if (typeof name !== "string" || !names.has(name.toLowerCase())) return true;
    report("lost", `${place}, remove_request_headers`, `"${name}" is in "set_request_headers", which wins there`);
    return false;
  });
}

function dropUnused(route: Record<string, unknown>, place: string, report: ImportReport): void {
  const { mcp, circuit_breaker_thresholds: limits } = route;
  if (isRecord(mcp))
    for (const name of ACCESS_WITHOUT_MCP) {
      if (name === "show_error_details" && mcp["server"] === undefined) continue;
      const value = route[name];
      delete route[name];
      if (isWritten(value) && value !== false && choiceText(value) !== "default")
        report("lost", `${place}, ${name}`, "callers of MCP routes present External Tokens");
    }
  drop(route, "maglev_lb_config", "Maglev needs no table here", place, report);
  if (isRecord(limits) && isWritten(limits["max_pending_requests"]) && !isWritten(limits["max_connections"])) {
    const { max_pending_requests: _, ...rest } = limits;
    route["circuit_breaker_thresholds"] = rest satisfies Members;
    const why = '"max_connections" is not set, so requests wait for no connection';
    report("lost", `${place}, circuit_breaker_thresholds, max_pending_requests`, why);
  }
}
