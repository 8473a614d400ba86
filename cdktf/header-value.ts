/**
 * Values of `setRequestHeaders` as typed parts.
 *
 * A plain string is literal: its "$" is doubled, so that no substitution happens by accident, for instance from a value of
 * another resource. Substitutions exist only as the typed values below.
 */
import { Fn } from "./framework.ts";
import { splitTokens } from "./synth/terraform-text.ts";

/** Text in the product's template language (`$$` for "$", `${gateway.…}`), made by the functions of this file. */
export class HeaderValue {
  /** The value in the form of a configuration file. It may still contain tokens of the framework. */
  readonly template: string;

  /** @internal use `headerValue`, `literal`, `gatewayToken` or `requestHeader` */
  constructor(template: string) {
    this.template = template;
  }
}

/** Values about the caller; each is replaced per request, and empty if it is not available. */
export const gatewayToken = {
  /** OAuth access token from the identity provider. The upstream can act as the user with it. */
  accessToken: new HeaderValue("${gateway.access_token}"),
  /** OIDC ID token from the identity provider. */
  idToken: new HeaderValue("${gateway.id_token}"),
  /** Short-form SHA-256 fingerprint of the client certificate, with downstream mTLS. */
  clientCertFingerprint: new HeaderValue("${gateway.client_cert_fingerprint}"),
  /** The signed identity, the same value as in `X-Gateway-Assertion`. */
  jwt: new HeaderValue("${gateway.jwt}"),
} as const;

/** RFC 9110 §5.6.2 `token`: allowed characters of a header name. */
const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;

/**
 * The value of an incoming request header, empty when it is absent.
 * @throws Error when `name` is not a header name
 */
export function requestHeader(name: string): HeaderValue {
  if (!HEADER_NAME.test(name)) {
    throw new Error(`Cannot take a request header: "${name}" is not a header name`);
  }
  return new HeaderValue(`\${gateway.request.headers["${name}"]}`);
}

/**
 * Text that is sent exactly as written.
 * @throws Error for characters that are not allowed in header values (RFC 9110 §5.5: CR, LF, NUL)
 */
export function literal(text: string): HeaderValue {
  const pieces = splitTokens(text).map((piece) =>
    piece.isToken ? doubleDollarsLater(piece.text) : escapeLiteral(piece.text),
  );
  return new HeaderValue(pieces.join(""));
}

function escapeLiteral(text: string): string {
  if (/[\r\n\0]/.test(text)) {
    throw new Error(`Cannot use a header value: ${JSON.stringify(text)} has a line break or NUL in it`);
  }
  return text.replaceAll("$", "$$$$");
}

/** The value is not known yet, so Terraform doubles the "$". */
function doubleDollarsLater(token: string): string {
  return Fn.replace(token, "$", "$$");
}

/**
 * A header value with substitutions in it:
 *
 * ```ts setRequestHeaders: { Authorization: headerValue`Bearer ${gatewayToken.accessToken}` } ```
 *
 * The text in between and interpolated strings are literal.
 */
export function headerValue(strings: TemplateStringsArray, ...values: readonly (HeaderValue | string)[]): HeaderValue {
  let template = literal(strings[0] ?? "").template;
  for (const [index, value] of values.entries()) {
    template += asHeaderValue(value).template + literal(strings[index + 1] ?? "").template;
  }
  return new HeaderValue(template);
}

/** Converts both forms of a prop into one. */
export function asHeaderValue(value: HeaderValue | string): HeaderValue {
  return typeof value === "string" ? literal(value) : value;
}

/**
 * `asHeaderValue()` for `setRequestHeaders`, where a string that looks like a substitution is certainly a mistake: it was
 * copied from a configuration file, where it would work.
 * @throws Error naming the typed value to write instead
 */
export function requestHeaderValue(name: string, value: HeaderValue | string): HeaderValue {
  if (typeof value === "string" && splitTokens(value).some((piece) => !piece.isToken && piece.text.includes("${"))) {
    throw new Error(
      `Cannot set request header "${name}": the string "${value}" has "\${" in it and strings are literal here; ` +
        "write headerValue`…` with gatewayToken or requestHeader() for a substitution, literal(…) to send it unchanged",
    );
  }
  return asHeaderValue(value);
}
