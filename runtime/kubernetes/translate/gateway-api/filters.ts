/** Filters and timeouts of a rule → settings of its routes. What no setting expresses is an error. */
import type { HeaderFilter, PathModifier, RouteFilter, RouteRule } from "./objects.ts";
import { type DraftProblem, ingressError } from "../ingress-problem.ts";
import { quote } from "../../../settings/problem.ts";

export interface FilterContext {
  /** Location in the route, for messages. */
  readonly path: string;
  /** Match of the routes: "prefix", or another one for which a path is replaced as a whole. */
  readonly isPrefix: boolean;
  readonly report: (problem: DraftProblem) => void;
}

/** Settings of one feature, which later filters extend. */
type Settings = Record<string, unknown>;

export function filterSettings(filters: readonly RouteFilter[], context: FilterContext): Settings {
  const settings: Settings = {};
  for (const [index, filter] of filters.entries()) {
    const path = `${context.path}[${index}]`;
    const refuse = (at: string, message: string): void =>
      context.report(ingressError({ path: at === "" ? path : `${path}.${at}` }, message));
    switch (filter.type) {
      case "RequestHeaderModifier":
        modifyHeaders(settings, "request", filter.requestHeaderModifier);
        break;
      case "ResponseHeaderModifier":
        modifyHeaders(settings, "response", filter.responseHeaderModifier);
        break;
      case "RequestRedirect":
        settings["redirect"] = redirectOf(filter.requestRedirect ?? {}, context, refuse);
        break;
      case "URLRewrite": {
        const { hostname, path: modifier } = filter.urlRewrite ?? {};
        if (hostname !== undefined) settings["host_rewrite"] = hostname;
        if (modifier) Object.assign(settings, rewriteOf(modifier, context, refuse));
        break;
      }
      default:
        refuse("type", `is ${quote(filter.type)}, which this gateway does not serve`);
    }
  }
  return settings;
}

/** `$` begins a template in settings. */
function literal(value: string): string {
  return value.replaceAll("$", "$$$$");
}

function modifyHeaders(settings: Settings, side: "request" | "response", filter: HeaderFilter = {}): void {
  const extend = (name: string, entries: HeaderFilter["set"] = []): void => {
    if (entries.length === 0) return;
    const written = Object.fromEntries(entries.map((entry) => [entry.name, literal(entry.value)]));
    settings[name] = { ...(settings[name] as object | undefined), ...written };
  };
  extend(`set_${side}_headers`, filter.set);
  extend(`add_${side}_headers`, filter.add);
  const { remove = [] } = filter;
  const name = `remove_${side}_headers`;
  if (remove.length > 0) settings[name] = [...((settings[name] as readonly string[] | undefined) ?? []), ...remove];
}

type Refuse = (at: string, message: string) => void;

function redirectOf(
  { scheme, hostname, path, port, statusCode }: NonNullable<RouteFilter["requestRedirect"]>,
  { isPrefix }: FilterContext,
  refuse: Refuse,
): Settings {
  const redirect: Settings = { response_code: statusCode ?? 302 };
  if (scheme !== undefined) redirect["scheme_redirect"] = scheme;
  if (hostname !== undefined) redirect["host_redirect"] = hostname;
  if (port !== undefined) redirect["port_redirect"] = port;
  else if (scheme !== undefined) redirect["port_redirect"] = scheme === "https" ? 443 : 80;
  if (path?.type === "ReplaceFullPath") redirect["path_redirect"] = path.replaceFullPath ?? "/";
  if (path?.type === "ReplacePrefixMatch") {
    if (isPrefix) redirect["prefix_rewrite"] = prefixOf(path.replacePrefixMatch);
    else refuse("requestRedirect.path", NEEDS_PREFIX);
  }
  return redirect;
}

const NEEDS_PREFIX = "replaces a prefix, so each match of the rule must be a PathPrefix";

function rewriteOf(path: PathModifier, { isPrefix }: FilterContext, refuse: Refuse): Settings {
  if (path.type === "ReplacePrefixMatch") {
    if (isPrefix) return { prefix_rewrite: prefixOf(path.replacePrefixMatch) };
    refuse("urlRewrite.path", NEEDS_PREFIX);
    return {};
  }
  const whole = path.replaceFullPath ?? "/";
  if (!isPrefix) return { prefix_rewrite: whole };
  return { regex_rewrite_pattern: "^.*$", regex_rewrite_substitution: whole.replaceAll("\\", "\\\\") };
}

/** "/new/" equals "/new": a prefix has whole segments. */
function prefixOf(text = "/"): string {
  return text === "/" || text === "" ? "/" : text.replace(/\/$/, "");
}

/** The shorter one of both counts, since a request is sent once. */
export function timeoutSettings(
  { timeouts }: RouteRule,
  path: string,
  report: (problem: DraftProblem) => void,
): Settings {
  const { request, backendRequest } = timeouts ?? {};
  const found: number[] = [];
  for (const [name, text] of Object.entries({ request, backendRequest })) {
    if (text === undefined) continue;
    const ms = durationMs(text);
    if (ms === undefined)
      report(ingressError({ path: `${path}.timeouts.${name}` }, `is ${quote(text)}, must be a duration like "10s"`));
    else found.push(ms);
  }
  if (found.length === 0) return {};
  const limits = found.filter((ms) => ms > 0);
  // 0 disables the limit.
  return { timeout: limits.length === 0 ? "0s" : `${Math.min(...limits)}ms` };
}

const UNITS = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1 } as const;

/** @returns undefined for a text that is not a duration: "1h30m", "500ms" */
function durationMs(text: string): number | undefined {
  if (!/^([0-9]{1,5}(h|m|s|ms)){1,4}$/.test(text)) return undefined;
  let sum = 0;
  for (const [, count, unit] of text.matchAll(/([0-9]+)(ms|h|m|s)/g))
    sum += Number(count) * UNITS[unit as keyof typeof UNITS];
  return sum;
}
