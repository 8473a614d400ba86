/** Compiles header settings of a route. */
import type { HeaderDoc } from "./settings.ts";
import { GatewayError } from "../../shared/errors.ts";
import type { HeaderRules, HostRule, ResponseHeaderRules } from "./compiled.ts";
import { headerValueProblem } from "../../shared/http/header-syntax.ts";
import { compileHostRegex } from "./host-regex.ts";
import { type SecretSource, secretValues } from "../../settings/secret-forms.ts";
import { parseStaticValue, parseTemplate } from "./template.ts";
import { acceptedText, parseHostHeader } from "../../settings/values.ts";

export function compileHostRule(doc: HeaderDoc): HostRule {
  if (doc.preserve_host_header === true) return { kind: "preserve" };
  if (doc.host_rewrite !== undefined) {
    return { kind: "fixed", value: acceptedText(parseHostHeader(doc.host_rewrite)) };
  }
  if (doc.host_rewrite_header !== undefined) return { kind: "header", name: doc.host_rewrite_header.toLowerCase() };
  const { host_path_regex_rewrite_pattern: pattern, host_path_regex_rewrite_substitution: substitution } = doc;
  if (pattern === undefined || substitution === undefined) return { kind: "to" };
  return { kind: "path-regex", apply: compileHostRegex(pattern, substitution) };
}

export function compileRequestHeaders(doc: HeaderDoc, secrets: SecretSource): HeaderRules {
  const written = Object.entries(doc.set_request_headers ?? {});
  const secret = Object.entries(doc.set_request_headers_secret ?? {}).map(
    ([name, of]) => [name, secretHeader(name, secretValues(of, "secret", secrets)[0])] as const,
  );
  const header = ([name, value]: readonly [string, string]) => ({
    name,
    lower: name.toLowerCase(),
    value: parseTemplate(value),
  });
  return {
    set: [...written.map(header), ...secret.map((each) => ({ ...header(each), isSecret: true as const }))],
    add: staticHeaders(doc.add_request_headers),
    remove: new Set((doc.remove_request_headers ?? []).map((name) => name.toLowerCase())),
  };
}

/** Template of a secret value, in which `$` is literal. @throws GatewayError `config.secret` */
function secretHeader(name: string, value = ""): string {
  const problem = headerValueProblem(value);
  if (problem !== undefined)
    throw new GatewayError("config.secret", `Cannot use the secret of header "${name}": it ${problem}`);
  return value.replaceAll("$", "$$$$");
}

export function compileResponseHeaders(doc: HeaderDoc, settings: SettingsOfAll): ResponseHeaderRules {
  const own = staticHeaders(doc.set_response_headers);
  const ofAll = headersOfAll(settings);
  const ownNames = new Set(own.map(({ lower }) => lower));
  return {
    set: own.length === 0 ? ofAll : [...ofAll.filter(({ lower }) => !ownNames.has(lower)), ...own],
    add: staticHeaders(doc.add_response_headers),
    remove: (doc.remove_response_headers ?? []).map((name) => name.toLowerCase()),
    rewrite: (doc.rewrite_response_headers ?? []).map((rule) => ({
      lower: rule.header.toLowerCase(),
      prefix: rule.prefix,
      value: parseStaticValue(rule.value),
    })),
  };
}

function staticHeaders(written: Readonly<Record<string, string>> = {}): ResponseHeaderRules["set"] {
  return Object.entries(written).map(([name, value]) => setHeader(name, parseStaticValue(value)));
}

interface SettingsOfAll {
  readonly setResponseHeaders: readonly (readonly [name: string, value: string])[];
}

const preparedOfAll = new WeakMap<SettingsOfAll, ResponseHeaderRules["set"]>();

/** Prepared once for all routes. */
function headersOfAll(settings: SettingsOfAll): ResponseHeaderRules["set"] {
  let prepared = preparedOfAll.get(settings);
  if (prepared === undefined) {
    prepared = settings.setResponseHeaders.map(([name, value]) => setHeader(name, value));
    preparedOfAll.set(settings, prepared);
  }
  return prepared;
}

function setHeader(name: string, value: string): ResponseHeaderRules["set"][number] {
  return { name, lower: name.toLowerCase(), value };
}
