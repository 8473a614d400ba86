/**
 * Rejects upstreams that are this gateway itself: one to the admin listener would expose its privileges, one to the
 * public listener would loop.
 */
import { DEFAULT_ADMIN_ADDRESS } from "../../features/listener/settings.ts";
import { type BootDoc } from "../settings.ts";
import ipaddr from "ipaddr.js";

import { canonicalHost } from "../../settings/domains.ts";
import { warningAt, errorAt, quote, type Report } from "../../settings/problem.ts";
import { accepted, isLoopbackHost, parseListener } from "../../settings/values.ts";

export interface PlacedUpstream {
  readonly origin: string;
  readonly hostname: string;
  readonly port: number;
  readonly pathname: string;
  /** Path in the route. */
  readonly path: readonly (string | number)[];
}

/** Address of the public listener. */
export function publicAddress({
  address,
  development = false,
  insecure_server: insecure = false,
}: Pick<BootDoc, "address" | "development" | "insecure_server">): string {
  return address ?? (development ? "127.0.0.1:8080" : insecure ? ":8080" : ":443");
}

export interface OwnListener {
  readonly host: string;
  readonly port: number;
  /** Problem of an upstream that is this listener. */
  readonly message: string;
}

/** Addresses this gateway listens on, read once for all routes. */
export function ownListeners(boot: BootDoc): readonly OwnListener[] {
  const circle = "is this gateway's own address, so that requests would go round in circles";
  const written = [
    [boot.admin_address ?? DEFAULT_ADMIN_ADDRESS, 'is the address of the admin listener ("admin_address")'],
    [publicAddress(boot), circle],
    ...(boot.http_redirect_address === undefined ? [] : [[boot.http_redirect_address, circle] as const]),
  ] as const;
  return written.map(([address, message]) => {
    const { host, port } = accepted(parseListener(address));
    return { host: connectedHost(host), port, message };
  });
}

/** Rejects only certain cases: addresses of this host. A name may resolve differently here. */
export function ownAddressRules(
  upstreams: readonly PlacedUpstream[],
  listeners: readonly OwnListener[],
  report: Report,
): void {
  for (const { hostname, port, path } of upstreams) {
    for (const listener of listeners) {
      // The port first: it is the cheaper check and rules out most.
      if (port === listener.port && leadsTo(hostname, listener.host)) report(errorAt(path, listener.message));
    }
  }
}

/** @param origins origins of all routes */
export function ownHostRules(upstreams: readonly PlacedUpstream[], origins: ReadonlySet<string>, report: Report): void {
  for (const { origin, path } of upstreams) {
    if (!origins.has(origin)) continue;
    report(
      warningAt(
        path,
        `is ${quote(origin)}, which a route serves: unless that name leads elsewhere from here, requests go round in circles`,
      ),
    );
  }
}

function leadsTo(hostname: string, own: string): boolean {
  const host = connectedHost(hostname);
  const everywhere = ["", "0.0.0.0", "::"].includes(own);
  const local = isLoopbackHost(host) || ["0.0.0.0", "::"].includes(host);
  return host === own || (local && (everywhere || isLoopbackHost(own)));
}

/** The host that a connection uses: without trailing dot, and IPv4-mapped IPv6 as IPv4. */
function connectedHost(hostname: string): string {
  const host = canonicalHost(hostname) ?? hostname;
  return ipaddr.isValid(host) ? ipaddr.process(host).toString() : host;
}
