/**
 * The client's address behind trusted proxies (`xff_num_trusted_hops`).
 *
 * Untrusted input: X-Forwarded-For. Each trusted proxy appends the address of its peer, so the last N entries come from the N
 * trusted proxies. Entries to the left of them come from the client, and are neither trusted nor forwarded. With fewer
 * entries than proxies, or an invalid address, the request bypassed a proxy: then only the connection's address is used.
 */
import { isIP } from "node:net";

export interface ForwardedForSettings {
  /** Number of proxies in front of us; 0: X-Forwarded-For is ignored. */
  readonly trustedHops: number;
  /** Omits the peer's own address from the chain for upstreams. */
  readonly skipAppend: boolean;
}

export interface ForwardedFor {
  /** Address of the client. */
  readonly address: string;
  /** X-Forwarded-For for the upstream; "" = none. */
  readonly chain: string;
}

/** A longer value is not a list of proxies. */
const MAX_LENGTH = 4_096;

/** @param values of the X-Forwarded-For headers, in order @param peer address of the connection */
export function readForwardedFor(
  { trustedHops, skipAppend }: ForwardedForSettings,
  values: readonly string[],
  peer: string,
): ForwardedFor {
  const trusted = trustedHops === 0 ? [] : trustedEntries(values, trustedHops);
  const [address = peer] = trusted;
  return { address, chain: (skipAppend ? trusted : [...trusted, peer]).join(", ") };
}

/** @returns the addresses that trusted proxies wrote, [] if there are fewer */
function trustedEntries(values: readonly string[], trustedHops: number): readonly string[] {
  const text = values.join(",");
  if (text.length > MAX_LENGTH) return [];
  const entries = text.split(",").slice(-trustedHops).map(addressOf);
  return entries.length === trustedHops && entries.every((each) => each !== undefined) ? entries : [];
}

/** "192.0.2.1", "2001:db8::1", and with a port, as some proxies write it: "192.0.2.1:8080", "[2001:db8::1]:8080". */
function addressOf(entry: string): string | undefined {
  const text = entry.trim();
  const match = /^(?:\[([^\]]*)\]|([0-9.]+))(?::[0-9]{1,5})?$/.exec(text);
  const address = match?.[1] ?? match?.[2] ?? text;
  if (match?.[1] !== undefined && isIP(address) !== 6) return undefined;
  // A zone ("fe80::1%eth0") names an interface of another host.
  return isIP(address) === 0 || address.includes("%") ? undefined : address;
}
