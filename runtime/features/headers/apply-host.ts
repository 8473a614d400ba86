/** Host header for the upstream (test/requirements.ts, "Header behavior on proxied requests" 4 and 5; D6). */
import { canonicalAuthority } from "../../shared/http/target.ts";
import type { HostRule } from "./compiled.ts";
import type { Upstream } from "../connection/compiled.ts";

/** Parts of a request that can determine the upstream's Host. */
export interface HostRequest {
  readonly host: string;
  readonly path: string;
  /** @param name lower case; undefined if absent, or if several values contradict each other */
  header(name: string): string | undefined;
}

/**
 * Applies the route's host rule. If it yields no host (header missing, no match, not a `host[:port]`), the host of `to`
 * is used, so that no client chooses more than the rule permits.
 */
export function upstreamHost(request: HostRequest, rule: HostRule, upstream: Upstream): string {
  return chooseHost(request, rule) ?? upstream.host;
}

function chooseHost(request: HostRequest, rule: HostRule): string | undefined {
  switch (rule.kind) {
    case "to":
      return undefined;
    case "preserve":
      return request.host;
    case "fixed":
      return rule.value;
    case "header": {
      // Two different values count as none: the upstream would see another one than the policy.
      const value = request.header(rule.name.toLowerCase())?.trim();
      return value !== undefined && isHost(value) ? value : undefined;
    }
    case "path-regex": {
      const value = rule.apply(request.path);
      return value !== undefined && isHost(value) ? value : undefined;
    }
    default:
      rule satisfies never;
      return undefined;
  }
}

/**
 * `host[:port]` (RFC 9110 §7.2): a name, an IPv4 address or a bracketed IPv6 address, without characters that end a
 * header.
 */
function isHost(text: string): boolean {
  // Like a caller's host, but without a trailing dot: few upstreams recognize themselves with it.
  return canonicalAuthority(text, "") !== undefined && !/\.(?::[0-9]+)?$/.test(text);
}
