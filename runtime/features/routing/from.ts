/**
 * The `from` of a route: an origin, or every host below a domain.
 *
 * `https://*.example.com` matches every host that ends in ".example.com", at any depth, but not example.com itself. The
 * star represents only whole leading labels, which IP addresses lack.
 */
import { parseDomainPattern } from "../../settings/domains.ts";
import { parseErrorOf } from "../../settings/types/checks.ts";
import { parseOrigin, type Reading } from "../../settings/values.ts";

export interface From {
  /** Normalized: scheme and `host`. */
  readonly text: string;
  /** Scheme, host and port: "https://app.example.com". With a wildcard not an address: "https://*.example.com". */
  readonly origin: string;
  /**
   * As in the Host header: lower case, port only if not the scheme's default. "http://app.example.com:80" keeps its port: it is
   * another address than "https://app.example.com" (http_redirect_address). Can be "*.example.com".
   */
  readonly host: string;
  /** Without port, for assertion `iss`/`aud`. Can be "*.example.com". */
  readonly hostname: string;
  readonly scheme: "http" | "https";
  readonly port: number;
  /** Matches every host below a domain; never on MCP routes. */
  readonly isWildcard: boolean;
}

const PORT_80 = /^http:.*:0*80\/?$/i;
const WILDCARD = /^(https?:\/\/)\*\.(?!\*)/i;
/** Replaces the star while the rest is parsed. */
const STAND_IN = "gateway-wildcard.";

/** Cache: after a schema validated a text, its user parses it again immediately. */
let last: { readonly text: string; readonly reading: Reading<From> } | undefined;

export function parseFrom(text: string): Reading<From> {
  if (last?.text !== text) last = { text, reading: readFrom(text) };
  return last.reading;
}

function readFrom(text: string): Reading<From> {
  const isWildcard = WILDCARD.test(text);
  const read = parseOrigin(isWildcard ? text.replace(WILDCARD, `$1${STAND_IN}`) : text);
  if (!read.ok) {
    return !isWildcard && text.includes("*")
      ? { ok: false, problem: 'has a "*" that is not the whole first label, must be like "https://*.example.com"' }
      : read;
  }
  const url = read.value;
  const [address, hostname] = isWildcard
    ? [`*.${url.host.slice(STAND_IN.length)}`, `*.${url.hostname.slice(STAND_IN.length)}`]
    : [url.host, url.hostname];
  if (isWildcard) {
    const problem = parseErrorOf(() => parseDomainPattern(hostname));
    if (problem !== undefined) return { ok: false, problem };
  }
  const scheme = url.protocol === "https:" ? "https" : "http";
  const host = PORT_80.test(text) ? `${address}:80` : address;
  return {
    ok: true,
    value: {
      text: `${scheme}://${host}`,
      origin: `${scheme}://${address}`,
      host,
      hostname,
      scheme,
      port: Number(url.port || (scheme === "https" ? 443 : 80)),
      isWildcard,
    },
  };
}
