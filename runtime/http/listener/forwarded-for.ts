/**
 * The client's address where trusted proxies stand in front of us (`xff_num_trusted_hops`).
 *
 * Untrusted input: X-Forwarded-For. Each trusted proxy appends the address of who connected to it, so the last entries,
 * as many as there are proxies, are theirs; what stands to the left of them was written by whoever came first, and is
 * neither believed nor sent on. With fewer entries than proxies, or one that is no address, somebody came another way:
 * then nothing but the connection is believed.
 */
import { isIP } from "node:net";

export interface ForwardedForSettings {
  /** Proxies in front of us; 0: X-Forwarded-For is not looked at. */
  readonly trustedHops: number;
  /** The peer's own address is not added to what upstreams get. */
  readonly skipAppend: boolean;
}

export interface ForwardedFor {
  /** Of the client. */
  readonly address: string;
  /** X-Forwarded-For for the upstream; "" = none. */
  readonly chain: string;
}

/** More than that is no list of proxies. */
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

/** @returns the addresses that trusted proxies wrote, [] when there are fewer */
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
  // A zone ("fe80::1%eth0") names an interface of some other machine.
  return isIP(address) === 0 || address.includes("%") ? undefined : address;
}
