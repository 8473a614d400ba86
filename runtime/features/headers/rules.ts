/** Rules between the header settings of a route. @see test/requirements.ts, "Header behavior on proxied requests"; DECISIONS.md D6 */
import { groupCount, highestGroup, parsePattern, parseSubstitution } from "../../shared/re2.ts";
import { warningAt, errorAt, quote, type Report } from "../../settings/problem.ts";
import type { HeaderDoc } from "./settings.ts";

/**
 * Rules across several settings.
 *
 * @param route its valid members
 * @param wrote whether the document has a member, valid or not
 * @param token which of our tokens the upstream gets in Authorization
 */
export function headerRules(
  route: Partial<HeaderDoc>,
  wrote: (name: keyof HeaderDoc) => boolean,
  token: "External" | "Internal" | undefined,
  report: Report,
): void {
  const forms = hostForms(route, wrote);
  if (forms.length > 1) {
    report(
      errorAt(
        [forms[1] ?? ""],
        `cannot be combined with "${forms[0]}", at most one setting may choose the Host header`,
      ),
    );
  }
  regexPair(route, wrote, report);
  twiceNamed(Object.keys(route.set_request_headers ?? {}), "set_request_headers", report);
  secretHeaders(route, report);
  twiceNamed(Object.keys(route.set_response_headers ?? {}), "set_response_headers", report);
  twiceNamed(Object.keys(route.add_request_headers ?? {}), "add_request_headers", report);
  twiceNamed(Object.keys(route.add_response_headers ?? {}), "add_response_headers", report);
  const { remove_request_headers: removed = [] } = route;
  if (removed.length === 0) return authorizationRule(route, token, report);
  const set = new Set(setNames(route).map(([, name]) => name.toLowerCase()));
  for (const [index, name] of removed.entries()) {
    if (set.has(name.toLowerCase())) {
      const message = `is ${quote(name)}, which "set_request_headers" sets too; it is removed and never sent`;
      report(warningAt(["remove_request_headers", index], message));
    }
  }
  authorizationRule(route, token, report);
  removedTokenRule(route, token, report);
}

/** Reports header names that occur twice in one map, in different case. */
export function twiceNamed(names: readonly string[], setting: string, report: Report): void {
  if (names.length < 2) return;
  const seen = new Map<string, string>();
  for (const name of names) {
    const first = seen.get(name.toLowerCase());
    if (first !== undefined)
      report(errorAt([setting, name], `names the same header as ${quote(first)}, must be written once`));
    seen.set(name.toLowerCase(), name);
  }
}

function hostForms(route: Partial<HeaderDoc>, wrote: (name: keyof HeaderDoc) => boolean): readonly string[] {
  const forms: string[] = [];
  // `preserve_host_header: false` only states the default; it is not a choice.
  if (route.preserve_host_header === true) forms.push("preserve_host_header");
  if (wrote("host_rewrite")) forms.push("host_rewrite");
  if (wrote("host_rewrite_header")) forms.push("host_rewrite_header");
  if (wrote("host_path_regex_rewrite_pattern")) forms.push("host_path_regex_rewrite_pattern");
  return forms;
}

function regexPair(route: Partial<HeaderDoc>, wrote: (name: keyof HeaderDoc) => boolean, report: Report): void {
  const [pattern, substitution] = ["host_path_regex_rewrite_pattern", "host_path_regex_rewrite_substitution"] as const;
  if (wrote(pattern) !== wrote(substitution)) {
    const [present, absent] = wrote(pattern) ? [pattern, substitution] : [substitution, pattern];
    report(errorAt([present], `requires "${absent}"`));
  }
  if (route[pattern] === undefined || route[substitution] === undefined) return;
  const groups = groupCount(parsePattern(route[pattern]));
  const wanted = highestGroup(parseSubstitution(route[substitution]));
  if (wanted > groups) {
    report(
      errorAt(
        [substitution],
        `names group \\${wanted}, but the pattern has ${groups === 0 ? "no groups" : `only ${groups}`}`,
      ),
    );
  }
}

/** Names of request headers, with the setting that sets each. */
export function setNames(route: Partial<HeaderDoc>): readonly (readonly [setting: string, name: string])[] {
  const settings = ["set_request_headers", "set_request_headers_secret"] as const;
  return settings.flatMap((setting) => Object.keys(route[setting] ?? {}).map((name) => [setting, name] as const));
}

function secretHeaders(route: Partial<HeaderDoc>, report: Report): void {
  if (!route.set_request_headers_secret) return;
  const secret = Object.keys(route.set_request_headers_secret);
  twiceNamed(secret, "set_request_headers_secret", report);
  const plain = new Set(Object.keys(route.set_request_headers ?? {}).map((name) => name.toLowerCase()));
  for (const name of secret) {
    const path = ["set_request_headers_secret", name];
    if (plain.has(name.toLowerCase())) report(errorAt(path, 'is in "set_request_headers" too, must be in one of them'));
    const value: object = route.set_request_headers_secret[name] ?? {};
    if (Object.keys(value).length === 0) report(errorAt(path, 'is empty, must have "secret_ref" or "secret_sealed"'));
  }
}

function authorizationRule(
  route: Partial<HeaderDoc>,
  token: "External" | "Internal" | undefined,
  report: Report,
): void {
  if (token === undefined) return;
  const path = setNames(route).find(([, name]) => name.toLowerCase() === "authorization");
  if (path === undefined) return;
  if (token === "External")
    report(errorAt(path, "cannot be set on an MCP client route, where it carries the External Token"));
  if (token === "Internal") {
    report(errorAt(path, 'cannot be set with "mcp.server.upstream_oauth2", which uses it for the Internal Token'));
  }
}

/** Legal, since removal always wins, but it removes the purpose of the route. */
function removedTokenRule(
  { remove_request_headers: removed = [] }: Partial<HeaderDoc>,
  token: "External" | "Internal" | undefined,
  report: Report,
): void {
  const index = removed.findIndex((name) => name.toLowerCase() === "authorization");
  if (token === undefined || index === -1) return;
  report(warningAt(["remove_request_headers", index], `removes the ${token} Token, so the upstream never gets it`));
}
