/**
 * Network addresses that the guarded fetch may connect to.
 *
 * Untrusted input: addresses that DNS returned for a name learnt from others, and literal addresses in learnt URLs.
 * Promise: an address that is embedded in another form (IPv4 in IPv6, NAT64) is checked as the embedded address.
 */
import ipaddr from "ipaddr.js";

/**
 * public: anywhere on the internet. private: the operator's own networks. loopback: this host. forbidden: link-local,
 * cloud metadata, and everything that is not a host's address.
 */
export type AddressKind = "public" | "private" | "loopback" | "forbidden";

/**
 * Addresses where clouds return credentials of the host or reach its agent; some are in public or private ranges.
 * Link-local ones are forbidden as such; they are listed for their other forms.
 */
const CLOUD_METADATA: ReadonlySet<string> = new Set([
  // Most clouds; AWS for containers and pods.
  "169.254.169.254",
  "169.254.170.2",
  "169.254.170.23",
  // Azure's agent.
  "168.63.129.16",
  // Alibaba Cloud.
  "100.100.100.200",
  // Oracle Cloud.
  "192.0.0.192",
  "fd00:c1::a9fe:a9fe",
  // Google Cloud.
  "fd20:ce::254",
  // Linode, Scaleway.
  "fd00:a9fe:a9fe::1",
  "fd00:42::42",
]);

/** AWS uses this range for services of its hosts: metadata at ::254, container credentials at ::23, more may follow. */
const AWS_SERVICES = ipaddr.parseCIDR("fd00:ec2::/32");

const PRIVATE_RANGES: ReadonlySet<string> = new Set(["private", "uniqueLocal", "carrierGradeNat"]);

/** @param address from DNS or a URL; IPv6 with or without brackets */
export function addressKind(address: string): AddressKind {
  const bare = address.startsWith("[") && address.endsWith("]") ? address.slice(1, -1) : address;
  // A zone names an interface of this host: others must not choose it.
  if (bare.includes("%") || !ipaddr.isValid(bare)) return "forbidden";
  const parsed = unwrap(ipaddr.parse(bare));
  if (parsed === undefined || isCloudService(parsed)) return "forbidden";
  const range = parsed.range();
  if (range === "unicast") return "public";
  if (range === "loopback") return "loopback";
  return PRIVATE_RANGES.has(range) ? "private" : "forbidden";
}

function isCloudService(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (CLOUD_METADATA.has(address.toString())) return true;
  if (!(address instanceof ipaddr.IPv6)) return false;
  // A network may have its own NAT64 prefix, which cannot be recognized: checks what its translator would make of this.
  return address.match(AWS_SERVICES) || CLOUD_METADATA.has(lowIpv4(address).toString());
}

/** The IPv4 address inside an IPv6 form of it; undefined for tunnels, whose far end cannot be checked. */
function unwrap(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (!(address instanceof ipaddr.IPv6)) return address;
  switch (address.range()) {
    case "ipv4Mapped":
      return address.toIPv4Address();
    case "rfc6052":
      // NAT64. With 64:ff9b:1::/48 (RFC 8215) the prefix may be of any length, so the IPv4 address may be anywhere.
      return address.match(WELL_KNOWN_NAT64) || hasZeros(address, 6, 12) ? lowIpv4(address) : undefined;
    case "rfc6145":
      return lowIpv4(address);
    case "6to4":
    case "teredo":
      return undefined;
    default:
      return isIpv4Compatible(address) || isIsatap(address) ? undefined : address;
  }
}

const WELL_KNOWN_NAT64 = ipaddr.parseCIDR("64:ff9b::/96");

/** The last 32 bits: position of the IPv4 address for a translator with a 96-bit prefix (RFC 6052 §2.2). */
function lowIpv4(address: ipaddr.IPv6): ipaddr.IPv4 {
  return new ipaddr.IPv4(address.toByteArray().slice(12));
}

function hasZeros(address: ipaddr.IPv6, from: number, to: number): boolean {
  return address
    .toByteArray()
    .slice(from, to)
    .every((byte) => byte === 0);
}

/** "::a.b.c.d" (RFC 4291 §2.5.5.1, deprecated), apart from "::" and "::1". */
function isIpv4Compatible(address: ipaddr.IPv6): boolean {
  return hasZeros(address, 0, 12) && !hasZeros(address, 12, 15);
}

/** A tunnel to the IPv4 address in the last 32 bits, after 0000:5efe or 0200:5efe (RFC 5214 §6.1). */
function isIsatap(address: ipaddr.IPv6): boolean {
  const [high, low] = address.parts.slice(4, 6);
  return (high === 0 || high === 0x200) && low === 0x5efe;
}
