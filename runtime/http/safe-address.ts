/**
 * Which network addresses the guarded fetch may connect to.
 *
 * Untrusted input: addresses that DNS gave for a name learnt from others, and literal addresses in learnt URLs. Promise:
 * an address that is embedded in another form (IPv4 in IPv6, NAT64) is judged as what it is.
 */
import ipaddr from "ipaddr.js";

/**
 * public: anywhere on the internet. private: networks of the operator's own. loopback: this machine. forbidden: link-local,
 * cloud metadata, and whatever is no host's address.
 */
export type AddressKind = "public" | "private" | "loopback" | "forbidden";

/** Where clouds answer with credentials of the machine; some stand inside ranges that may be private networks. */
const CLOUD_METADATA: ReadonlySet<string> = new Set([
  "169.254.169.254",
  "169.254.170.2",
  "100.100.100.200",
  "192.0.0.192",
  "fd00:ec2::254",
  "fd20:ce::254",
]);

const PRIVATE_RANGES: ReadonlySet<string> = new Set(["private", "uniqueLocal", "carrierGradeNat"]);

/** @param address as DNS or a URL has it; IPv6 with or without brackets */
export function addressKind(address: string): AddressKind {
  const bare = address.startsWith("[") && address.endsWith("]") ? address.slice(1, -1) : address;
  // A zone names an interface of this machine: nothing that others may choose.
  if (bare.includes("%") || !ipaddr.isValid(bare)) return "forbidden";
  const parsed = unwrap(ipaddr.parse(bare));
  if (parsed === undefined || CLOUD_METADATA.has(parsed.toString())) return "forbidden";
  const range = parsed.range();
  if (range === "unicast") return "public";
  if (range === "loopback") return "loopback";
  return PRIVATE_RANGES.has(range) ? "private" : "forbidden";
}

/** The IPv4 address inside an IPv6 form of it; undefined for tunnels, whose far end nobody can judge. */
function unwrap(address: ipaddr.IPv4 | ipaddr.IPv6): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (!(address instanceof ipaddr.IPv6)) return address;
  switch (address.range()) {
    case "ipv4Mapped":
      return address.toIPv4Address();
    case "rfc6052":
    case "rfc6145":
      // NAT64 (RFC 6052 §2.2): the last 32 bits are the IPv4 address that the translator will connect to.
      return new ipaddr.IPv4(address.toByteArray().slice(12));
    case "6to4":
    case "teredo":
      return undefined;
    default:
      return isIpv4Compatible(address) ? undefined : address;
  }
}

/** "::a.b.c.d" (RFC 4291 §2.5.5.1, deprecated), apart from "::" and "::1". */
function isIpv4Compatible(address: ipaddr.IPv6): boolean {
  const bytes = address.toByteArray();
  return bytes.slice(0, 12).every((byte) => byte === 0) && bytes.slice(12, 15).some((byte) => byte !== 0);
}
