/** Network interface addresses of the gateway's host. */
import { networkInterfaces } from "node:os";

import ipaddr from "ipaddr.js";

/** Reads the interfaces each time, since addresses change. @param address from DNS or a URL, without brackets */
export function isOwnAddress(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  // One form for all: "::ffff:c0a8:101" is 192.168.1.1.
  const normalized = ipaddr.process(address).toNormalizedString();
  return Object.values(networkInterfaces()).some((each) =>
    each?.some((own) => ipaddr.process(own.address).toNormalizedString() === normalized),
  );
}
