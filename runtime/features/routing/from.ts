/**
 * The `from` of a route: an origin, or every host below a domain.
 *
 * `https://*.example.com` takes every host that ends in ".example.com", at any depth, and not example.com itself. The star
 * stands for nothing but whole leading labels, and addresses have none.
 */
import { parseDomainPattern } from "../../settings/domains.ts";
import { parseErrorOf } from "../../settings/types/checks.ts";
import { parseOrigin, type Reading } from "../../settings/values.ts";

export interface From {
  /** Scheme, host and port: "https://app.example.com". With a wildcard no address: "https://*.example.com". */
  readonly origin: string;
  /** As it stands in the Host header: lower case, port only when not the scheme's default. May be "*.example.com". */
  readonly host: string;
  /** Without port, for assertion `iss`/`aud`. May be "*.example.com". */
  readonly hostname: string;
  readonly scheme: "http" | "https";
  readonly port: number;
  /** The host is every one below a domain; never so on MCP routes. */
  readonly isWildcard: boolean;
}

const WILDCARD = /^(https?:\/\/)\*\.(?!\*)/i;
/** A host that stands in for the star while the rest is read. */
const STAND_IN = "gateway-wildcard.";

/** A schema asks whether it is sound, and whoever goes on with it asks again right behind. */
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
  const [host, hostname] = isWildcard
    ? [`*.${url.host.slice(STAND_IN.length)}`, `*.${url.hostname.slice(STAND_IN.length)}`]
    : [url.host, url.hostname];
  if (isWildcard) {
    const problem = parseErrorOf(() => parseDomainPattern(hostname));
    if (problem !== undefined) return { ok: false, problem };
  }
  const scheme = url.protocol === "https:" ? "https" : "http";
  return {
    ok: true,
    value: {
      origin: `${scheme}://${host}`,
      host,
      hostname,
      scheme,
      port: Number(url.port || (scheme === "https" ? 443 : 80)),
      isWildcard,
    },
  };
}
