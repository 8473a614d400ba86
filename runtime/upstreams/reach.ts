/**
 * Restricts the addresses that connections to upstreams may use.
 *
 * Untrusted input: addresses in `to` of owners that the main configuration file restricts by `owners`, and the DNS results
 * for their names. Promise: the checked address is the connected one, from the same single look-up; nothing is sent to a
 * rejected address, not even the first packet. Every part that opens a connection to an upstream takes its options from here.
 * Pooled connections were checked when they were opened.
 */
import { isIP, type LookupFunction } from "node:net";

import type { Upstream, UpstreamReach } from "../features/connection/compiled.ts";
import { isOwnAddress } from "../shared/net/own-address.ts";
import { lookUp } from "../shared/net/name-lookup.ts";
import { addressKind } from "../shared/net/safe-address.ts";
import { endpointOf } from "./endpoint.ts";

/** `code` of the error for a rejected connection. */
export const REFUSED_ADDRESS = "GATEWAY_REFUSED_ADDRESS";

/** For `net.connect`, `tls.connect` and functions based on them. */
export interface ConnectGuard {
  readonly lookup: LookupFunction;
}

/** Options for one connection. @throws see `checkAddress` */
export function connectGuard(upstream: Upstream): ConnectGuard {
  checkAddress(upstream);
  return { lookup: guardedLookup(upstream) };
}

/** Checks an address in `to`, for which Node calls no `lookup`. @throws when it is rejected */
export function checkAddress(upstream: Upstream): void {
  const reach = upstream.connect?.reach;
  if (reach === undefined) return;
  const { host } = endpointOf(upstream);
  const reason = isIP(host) === 0 ? undefined : refusal(host, reach);
  if (reason !== undefined) throw refusedAddress(`${host} is ${reason}`);
}

/** Uses the owner's share of look-ups. */
function guardedLookup({ owner = "", connect }: Upstream): LookupFunction {
  const reach = connect?.reach;
  return (hostname, options, callback) => {
    lookUp(owner, hostname, (error, addresses) => {
      if (error) return callback(error, "", 0);
      for (const { address } of reach === undefined ? [] : addresses) {
        // A bad address among good ones is a sign of DNS rebinding: use none of them.
        const reason = refusal(address, reach);
        if (reason !== undefined) return callback(refusedAddress(`${hostname} is at ${address}, ${reason}`), "", 0);
      }
      if (options.all === true) return callback(null, [...addresses]);
      const [first] = addresses;
      return callback(null, first?.address ?? "", first?.family ?? 0);
    });
  };
}

const OWN_MACHINE = `an address of the gateway's own host, which needs "allow_local_upstreams" in "owners"`;

/** @returns a description of the address, if it is rejected */
function refusal(address: string, reach: UpstreamReach | undefined): string | undefined {
  const kind = addressKind(address);
  if (reach === "network" && (kind === "loopback" || isOwnAddress(address))) return OWN_MACHINE;
  return kind === "forbidden" ? "a link-local, metadata or reserved address" : undefined;
}

function refusedAddress(state: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`the upstream ${state}`), { code: REFUSED_ADDRESS });
}
