/** Upstreams that are this gateway itself: one would hand out the power of the admin listener, the other go round without end. */
import ipaddr from "ipaddr.js";

import { canonicalHost } from "./domains.ts";
import { doubt, fault, type Finding, quote } from "./problem.ts";
import type { BootDoc } from "./settings.ts";
import { isLoopbackHost, parseListener } from "./values.ts";

export const DEFAULT_ADMIN_ADDRESS = "127.0.0.1:9901";

interface PlacedUpstream {
  readonly url: URL;
  readonly path: readonly (string | number)[];
}

/** Where the public listener stands. */
export function publicAddress({
  address,
  development = false,
  insecure_server: insecure = false,
}: Pick<BootDoc, "address" | "development" | "insecure_server">): string {
  return address ?? (development ? "127.0.0.1:8080" : insecure ? ":8080" : ":443");
}

/** What is certain: addresses of this machine. A name may lead elsewhere from here. */
export function* ownAddressRules(upstreams: readonly PlacedUpstream[], boot: BootDoc): Iterable<Finding> {
  for (const { url, path } of upstreams) {
    if (isListener(url, boot.admin_address ?? DEFAULT_ADMIN_ADDRESS))
      yield fault(path, 'is the address of the admin listener ("admin_address")');
    if (isListener(url, publicAddress(boot)))
      yield fault(path, "is this gateway's own address, so that requests would go round in circles");
  }
}

/** @param origins of all routes */
export function* ownHostRules(upstreams: readonly PlacedUpstream[], origins: ReadonlySet<string>): Iterable<Finding> {
  for (const { url, path } of upstreams) {
    if (!origins.has(url.origin)) continue;
    yield doubt(
      path,
      `is ${quote(url.origin)}, which a route serves: unless that name leads elsewhere from here, requests go round in circles`,
    );
  }
}

function isListener(url: URL, address: string): boolean {
  const listener = parseListener(address);
  if (!listener.ok) return false;
  const own = connectedHost(listener.value.host);
  const host = connectedHost(url.hostname);
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const everywhere = ["", "0.0.0.0", "::"].includes(own);
  const local = isLoopbackHost(host) || ["0.0.0.0", "::"].includes(host);
  const same = host === own || (local && (everywhere || isLoopbackHost(own)));
  return same && port === listener.value.port;
}

/** A host as connections take it: without the trailing dot, and an IPv4 address mapped into IPv6 as what it is. */
function connectedHost(hostname: string): string {
  const host = canonicalHost(hostname) ?? hostname;
  return ipaddr.isValid(host) ? ipaddr.process(host).toString() : host;
}
