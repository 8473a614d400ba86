/** The Host that the upstream sees (test/requirements.ts, "Header behavior on proxied requests" 4 and 5; D6). */
import { canonicalAuthority } from "../../shared/http/target.ts";
import type { HostRule } from "./compiled.ts";
import type { Upstream } from "../connection/compiled.ts";

/** What of a request may choose the Host of the upstream. */
export interface HostRequest {
  readonly host: string;
  readonly path: string;
  /** @param name lower case; undefined when absent or when several values contradict each other */
  header(name: string): string | undefined;
}

/**
 * Applies the route's host rule. What a rule cannot make — header missing, no match, not a `host[:port]` — falls back to
 * the host of `to`, so that no client chooses more than the rule allows.
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
      // Two different values are no value: the upstream would see another one than the policy read.
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

/** `host[:port]` (RFC 9110 §7.2): a name, an IPv4 address or a bracketed IPv6 address, nothing that could end a header. */
function isHost(text: string): boolean {
  // As callers may write it, but for the dot behind a name: few upstreams know themselves by that.
  return canonicalAuthority(text, "") !== undefined && !/\.(?::[0-9]+)?$/.test(text);
}
