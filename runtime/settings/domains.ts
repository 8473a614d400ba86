/**
 * Domain patterns of the two MCP allowlists, and the hosts compared with them.
 *
 * Untrusted input: hosts of URLs from others. Promise: a host is compared only in its canonical form. A host without
 * one (empty labels, foreign characters, a port) matches nothing.
 */

/** "example.com" (that host only) or "*.example.com" (any subdomain at any depth, not example.com itself). */
export interface DomainPattern {
  /** Canonical text, as configured. */
  readonly text: string;
  readonly wildcard: boolean;
  /** Lower case, without "*." and trailing dot. */
  readonly domain: string;
}

const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * A host name or IP address in canonical form: lower case, IDNA encoded, no port, no trailing dot.
 *
 * @param host without port; IPv6 with or without brackets
 * @returns undefined if it is not a host
 */
export function canonicalHost(host: string): string | undefined {
  const bare = host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;
  if (bare.includes(":")) return canonicalIpv6(bare);
  const named = bare.endsWith(".") ? bare.slice(0, -1) : bare;
  const lower = named.toLowerCase();
  // Fast path for plain names; the URL parser below handles foreign characters and short IPv4 forms.
  if (isDomainName(lower) && !/^[0-9]/.test(lower.slice(lower.lastIndexOf(".") + 1))) return lower;
  if (/[\s/\\?#@%*:[\]]/.test(named) || named === "") return undefined;
  try {
    const parsed = new URL(`http://${named}/`).hostname;
    return isDomainName(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** @throws TypeError with the expected form if the text is not a pattern */
export function parseDomainPattern(text: string): DomainPattern {
  const wildcard = text.startsWith("*.");
  const rest = wildcard ? text.slice(2) : text;
  if (rest.includes("*")) throw new TypeError('has a "*" that is not the leading label, must be like "*.example.com"');
  if (/[/@:]/.test(rest) && !/^\[?[0-9a-fA-F:.]+\]?$/.test(rest)) {
    throw new TypeError('must be a host name without scheme, port or path, such as "example.com" or "*.example.com"');
  }
  const domain = canonicalHost(rest);
  if (domain === undefined) throw new TypeError('must be a host name such as "example.com" or "*.example.com"');
  if (wildcard && /^[0-9.]+$|:/.test(domain)) throw new TypeError("puts a wildcard before an address, must be a name");
  return { text: wildcard ? `*.${domain}` : domain, wildcard, domain };
}

/** Whether a pattern covers the host; a host without canonical form matches nothing. */
export function matchesDomain(patterns: readonly DomainPattern[], host: string): boolean {
  return findDomain(patterns, host) !== undefined;
}

/** The pattern that covers the host. Exact ones precede wildcards, because exact names may be private addresses. */
export function findDomain(patterns: readonly DomainPattern[], host: string): DomainPattern | undefined {
  const name = canonicalHost(host);
  if (name === undefined) return undefined;
  return (
    patterns.find((pattern) => !pattern.wildcard && pattern.domain === name) ??
    patterns.find((pattern) => pattern.wildcard && name.endsWith(`.${pattern.domain}`))
  );
}

/** Whether a pattern covers every host of a name or wildcard ("*.example.com"). */
export function coversHosts(patterns: readonly DomainPattern[], hosts: string): boolean {
  if (!hosts.startsWith("*.")) return findDomain(patterns, hosts) !== undefined;
  const below = canonicalHost(hosts.slice(2));
  if (below === undefined) return false;
  return patterns.some(({ wildcard, domain }) => wildcard && (below === domain || below.endsWith(`.${domain}`)));
}

function isDomainName(text: string): boolean {
  return text.length > 0 && text.length <= 253 && text.split(".").every((label) => LABEL.test(label));
}

function canonicalIpv6(text: string): string | undefined {
  // Any other character could escape the brackets: "@" begins another host, "/" a path.
  if (!/^[0-9a-fA-F:.]+$/.test(text)) return undefined;
  try {
    return new URL(`http://[${text}]/`).hostname.slice(1, -1);
  } catch {
    return undefined;
  }
}
