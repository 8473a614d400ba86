/**
 * Values of `set_request_headers`: text with `${gateway.…}` substitutions, parsed once at load.
 *
 * @see test/requirements.ts, "Header behavior on proxied requests" 2 and 3
 */

/** Values available to a template; unavailable ones are "". */
export interface TemplateValues {
  readonly accessToken: string;
  readonly idToken: string;
  readonly clientCertFingerprint: string;
  /** Called only if the template uses it, because signing is expensive. */
  readonly jwt: () => string;
  /** Name in lower case. Reads the request after the gateway's credentials and identity headers were removed. */
  readonly requestHeader: (lowerName: string) => string;
}

export type TemplateSource = "access_token" | "id_token" | "client_cert_fingerprint" | "jwt" | "request.headers";

export type TemplatePart =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "access_token" | "id_token" | "client_cert_fingerprint" | "jwt" }
  | { readonly kind: "request.headers"; readonly lowerName: string };

export interface Template {
  /** As written. */
  readonly source: string;
  readonly parts: readonly TemplatePart[];
  /** Sources it reads; empty for plain text, so that the caller fetches nothing needlessly. */
  readonly needs: ReadonlySet<TemplateSource>;
}

const SIMPLE = ["access_token", "id_token", "client_cert_fingerprint", "jwt"] as const;
const HEADER_REFERENCE = /^request\.headers\["([!#$%&'*+.^_`|~0-9A-Za-z-]+)"\]$/;
const KNOWN = 'access_token, id_token, client_cert_fingerprint, jwt or request.headers["Name"]';

/**
 * "Bearer ${gateway.access_token}" → parts. `$$` is a literal `$`; any other `$` must start a known substitution.
 *
 * @throws TypeError with state and expectation; never quotes the text, which may contain a secret
 */
export function parseTemplate(source: string): Template {
  const parts: TemplatePart[] = [];
  const needs = new Set<TemplateSource>();
  let text = "";
  let at = 0;
  while (at < source.length) {
    const dollar = source.indexOf("$", at);
    if (dollar === -1) break;
    text += source.slice(at, dollar);
    if (source[dollar + 1] === "$") {
      text += "$";
      at = dollar + 2;
      continue;
    }
    const { part, end } = parseReference(source, dollar);
    if (text !== "") parts.push({ kind: "text", text });
    text = "";
    parts.push(part);
    if (part.kind !== "text") needs.add(part.kind);
    at = end;
  }
  text += source.slice(at);
  if (text !== "") parts.push({ kind: "text", text });
  return { source, parts, needs };
}

/** The header value for one request. Substituted values are never expanded again. */
export function renderTemplate(template: Template, values: TemplateValues): string {
  let text = "";
  for (const part of template.parts) {
    switch (part.kind) {
      case "text":
        text += part.text;
        break;
      case "access_token":
        text += values.accessToken;
        break;
      case "id_token":
        text += values.idToken;
        break;
      case "client_cert_fingerprint":
        text += values.clientCertFingerprint;
        break;
      case "jwt":
        text += values.jwt();
        break;
      case "request.headers":
        text += values.requestHeader(part.lowerName);
        break;
      default:
        part satisfies never;
    }
  }
  return text;
}

/**
 * A static response header value: `$$` is a literal `$`; `${` is rejected, because there are no substitutions.
 *
 * @throws TypeError with state and expectation
 */
export function parseStaticValue(source: string): string {
  if (source.replaceAll("$$", "").includes("${")) {
    throw new TypeError('has "${", but response header values take no substitutions; a literal "${" is written "$${"');
  }
  return source.replaceAll("$$", () => "$");
}

function parseReference(source: string, dollar: number): { part: TemplatePart; end: number } {
  if (source[dollar + 1] !== "{") {
    throw new TypeError('has a "$" that begins no substitution, a literal "$" is written "$$"');
  }
  const close = source.indexOf("}", dollar);
  if (close === -1) throw new TypeError('has "${" without "}", a literal "$" is written "$$"');
  const body = source.slice(dollar + 2, close);
  const part = parseName(body);
  if (part) return { part, end: close + 1 };
  const bare = body.trim();
  if (bare !== body) {
    throw new TypeError(`has a blank in a substitution, must be "${exampleOf(bare)}"; a literal "$" is written "$$"`);
  }
  if (body.startsWith("pomerium.")) {
    const ours = exampleOf(`gateway.${body.slice("pomerium.".length)}`);
    throw new TypeError(`has a substitution that starts with "pomerium.", must be "${ours}"`);
  }
  if (!body.startsWith("gateway.")) {
    throw new TypeError('has a substitution that does not start with "gateway."; write "$$" for a literal "$"');
  }
  throw new TypeError(
    `has an unknown substitution, must be $\{gateway.…} with ${KNOWN}; a literal "$" is written "$$"`,
  );
}

/** Parses the text between the braces. */
function parseName(body: string): Exclude<TemplatePart, { kind: "text" }> | undefined {
  if (!body.startsWith("gateway.")) return undefined;
  const name = body.slice("gateway.".length);
  const simple = SIMPLE.find((known) => known === name);
  if (simple) return { kind: simple };
  const header = HEADER_REFERENCE.exec(name)?.[1];
  return header === undefined ? undefined : { kind: "request.headers", lowerName: header.toLowerCase() };
}

/** A known substitution as written; the text of others is never repeated. */
function exampleOf(body: string): string {
  return parseName(body) ? `$\{${body}}` : "${gateway.…}";
}
