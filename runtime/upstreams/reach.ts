/**
 * Which addresses connections to upstreams may go to.
 *
 * Untrusted input: addresses in `to` of owners that the boot file holds by `owners`, and what DNS says of their names.
 * Promise: what is checked is what is connected to, in the one look-up that there is; nothing is sent to an address that is
 * refused, not even the first packet. Every part that opens a connection to an upstream takes its options from here;
 * connections that are kept were checked when they were opened.
 */
import { isIP, type LookupFunction } from "node:net";

import type { Upstream, UpstreamReach } from "../features/connection/compiled.ts";
import { isOwnAddress } from "../shared/net/own-address.ts";
import { lookUp } from "../shared/net/name-lookup.ts";
import { addressKind } from "../shared/net/safe-address.ts";
import { endpointOf } from "./endpoint.ts";

/** `code` of the error with which a connection is refused. */
export const REFUSED_ADDRESS = "GATEWAY_REFUSED_ADDRESS";

/** For `net.connect`, `tls.connect` and what is made of them. */
export interface ConnectGuard {
  readonly lookup: LookupFunction;
}

/** For one connection. @throws see `checkAddress` */
export function connectGuard(upstream: Upstream): ConnectGuard {
  checkAddress(upstream);
  return { lookup: guardedLookup(upstream) };
}

/** For an address in `to` Node asks no `lookup`. @throws when it is refused */
export function checkAddress(upstream: Upstream): void {
  const reach = upstream.connect?.reach;
  if (reach === undefined) return;
  const { host } = endpointOf(upstream);
  const reason = isIP(host) === 0 ? undefined : refusal(host, reach);
  if (reason !== undefined) throw refusedAddress(`${host} is ${reason}`);
}

/** Within the owner's share of look-ups. */
function guardedLookup({ owner = "", connect }: Upstream): LookupFunction {
  const reach = connect?.reach;
  return (hostname, options, callback) => {
    lookUp(owner, hostname, (error, addresses) => {
      if (error) return callback(error, "", 0);
      for (const { address } of reach === undefined ? [] : addresses) {
        // One bad address among good ones is how a name is made to change its meaning: none of them is used.
        const reason = refusal(address, reach);
        if (reason !== undefined) return callback(refusedAddress(`${hostname} is at ${address}, ${reason}`), "", 0);
      }
      if (options.all === true) return callback(null, [...addresses]);
      const [first] = addresses;
      return callback(null, first?.address ?? "", first?.family ?? 0);
    });
  };
}

const OWN_MACHINE = `an address of the gateway's own machine, which needs "allow_local_upstreams" in "owners"`;

/** @returns what the address is, when it is refused */
function refusal(address: string, reach: UpstreamReach | undefined): string | undefined {
  const kind = addressKind(address);
  if (reach === "network" && (kind === "loopback" || isOwnAddress(address))) return OWN_MACHINE;
  return kind === "forbidden" ? "a link-local, metadata or reserved address" : undefined;
}

function refusedAddress(state: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`the upstream ${state}`), { code: REFUSED_ADDRESS });
}
