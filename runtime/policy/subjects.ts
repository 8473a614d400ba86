/** Extracts the values that criteria check from the facts: email domains, claims, addresses. Untrusted: the values. */
import ipaddr from "ipaddr.js";

import { lowerAscii } from "../shared/ascii.ts";
import { describe, FEW } from "./match.ts";
import type { ReportAt } from "./match.ts";
import { isRecord } from "../shared/is-record.ts";

/**
 * An email address in lower case; "" if there is none.
 *
 * @throws if there is more than one "@": the end of the local part is ambiguous, so neither domain nor suffix may be
 *   compared; and if the local part is empty, because that is not an address
 */
export function emailAddress(email: string): string {
  if (email === lastEmail) return lastAddress;
  if (email.indexOf("@") !== email.lastIndexOf("@"))
    throw new Error("Cannot evaluate the email address: it has more than one @");
  if (email.startsWith("@")) throw new Error("Cannot evaluate the email address: it has nothing before the @");
  lastAddress = lowerAscii(email);
  lastEmail = email;
  return lastAddress;
}

/** Cache of the last result: all rules of a policy check the same address. */
let lastEmail = "";
let lastAddress = "";

/** The domain of an email address in lower case; "" if there is no address. @throws like `emailAddress` */
export function emailDomain(email: string): string {
  const address = emailAddress(email);
  const at = address.indexOf("@");
  return at === -1 ? "" : address.slice(at + 1);
}

/**
 * The texts of a claim: of a claim named like the whole path, else of the nested claim by the path's segments. Numbers
 * and flags count as text; objects and null are ignored.
 */
export function claimTexts(claims: Readonly<Record<string, unknown>>, path: string): readonly string[] {
  if (Object.hasOwn(claims, path)) return texts(claims[path]);
  let value: unknown = claims;
  for (const segment of path.split("/")) {
    // hasOwn: every object inherits "constructor" and others, which are not claims.
    if (!isRecord(value) || !Object.hasOwn(value, segment)) return [];
    value = value[segment];
  }
  return texts(value);
}

/** Address ranges, parsed. */
export interface Ranges {
  /** Canonical CIDR texts, sorted. */
  readonly texts: readonly string[];
  /** Networks by prefix length: a list can have 100,000 ranges, checked for each request. */
  readonly networks: readonly Networks[];
}

interface Networks {
  readonly kind: "ipv4" | "ipv6";
  /** Number of address bits outside the prefix. */
  readonly hostBits: bigint;
  readonly prefixes: ReadonlySet<bigint>;
}

/** Enough to show that there are more than a hundred, the number reported. */
const MAX_WRONG = 100;

export function parseRanges(data: unknown, path: string, report: ReportAt): Ranges | undefined {
  const items: readonly unknown[] = Array.isArray(data) ? data : [data];
  if (items.length === 0) {
    report(path, "is an empty list, must have at least one IP address or CIDR range");
    return undefined;
  }
  const parsed = new Map<string, readonly [ipaddr.IPv4 | ipaddr.IPv6, number]>();
  let wrong = 0;
  for (const [index, item] of items.entries()) {
    // Not reported anyway, and each costs the library an error with its stack.
    if (wrong > MAX_WRONG) break;
    const range = typeof item === "string" ? parseRange(item) : undefined;
    if (range) {
      parsed.set(`${range[0].toString()}/${range[1]}`, range);
    } else {
      report(
        Array.isArray(data) ? `${path}[${index}]` : path,
        `is ${describe(item)}, must be an IP address or CIDR range`,
      );
      wrong += 1;
    }
  }
  const texts = [...parsed.keys()].sort();
  return wrong === 0 ? { texts, networks: networksOf([...parsed.values()]) } : undefined;
}

function networksOf(ranges: readonly (readonly [ipaddr.IPv4 | ipaddr.IPv6, number])[]): readonly Networks[] {
  const alike = Map.groupBy(ranges, ([network, bits]) => `${network.kind()} ${bits}`);
  return [...alike.values()].map((group) => {
    const [[network, bits]] = group as [(typeof group)[number]];
    const kind = network.kind();
    const hostBits = BigInt((kind === "ipv4" ? 32 : 128) - bits);
    return { kind, hostBits, prefixes: new Set(group.map(([each]) => numberOf(each) >> hostBits)) };
  });
}

/** In few steps: a list can have 100,000 ranges. */
function numberOf(address: ipaddr.IPv4 | ipaddr.IPv6): bigint {
  if ("octets" in address) return BigInt(address.octets.reduce((sum, octet) => sum * 256 + octet, 0));
  const [a, b, c, d, e, f, g, h] = address.parts as [number, number, number, number, number, number, number, number];
  const pair = (high: number, low: number): bigint => BigInt(high * 65_536 + low);
  return (((((pair(a, b) << 32n) | pair(c, d)) << 32n) | pair(e, f)) << 32n) | pair(g, h);
}

/** @throws if `address` is not an IP address */
export function isInRanges(address: string, { networks }: Ranges): boolean {
  if (address !== lastPeer.address) {
    // process: a listener on "::" sees IPv4 peers as ::ffff:a.b.c.d.
    const peer = ipaddr.process(address);
    lastPeer = { address, kind: peer.kind(), number: numberOf(peer) };
  }
  const { kind, number } = lastPeer;
  return networks.some((each) => each.kind === kind && each.prefixes.has(number >> each.hostBits));
}

/** Cache of the last result: all rules of a policy check the same address. */
let lastPeer: { readonly address: string; readonly kind: "ipv4" | "ipv6"; readonly number: bigint } = {
  address: "",
  kind: "ipv4",
  number: 0n,
};

function parseRange(text: string): readonly [ipaddr.IPv4 | ipaddr.IPv6, number] | undefined {
  const slash = text.indexOf("/");
  const host = slash === -1 ? text : text.slice(0, slash);
  const address = host.includes(":") ? parseIPv6(host) : parseIPv4(host);
  if (address === undefined) return undefined;
  const widest = address.kind() === "ipv4" ? 32 : 128;
  const bitsText = slash === -1 ? String(widest) : text.slice(slash + 1);
  if (!/^(0|[1-9][0-9]{0,2})$/.test(bitsText) || Number(bitsText) > widest) return undefined;
  return [address, Number(bitsText)];
}

/**
 * Four decimal numbers: the library also accepts "10.1" and octal "010.0.0.1", which users and resolvers read
 * differently.
 */
function parseIPv4(text: string): ipaddr.IPv4 | undefined {
  if (!/^(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}$/.test(text)) return undefined;
  const octets = text.split(".").map(Number);
  return octets.every((octet) => octet <= 255) ? new ipaddr.IPv4(octets) : undefined;
}

function parseIPv6(text: string): ipaddr.IPv6 | undefined {
  try {
    return ipaddr.IPv6.parse(text);
  } catch {
    return undefined;
  }
}

/** Cache for long claims, by source object: each criterion of a policy reads them. */
const longClaims = new WeakMap<object, readonly string[]>();

function texts(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return textsOf(value);
  if (value.length <= FEW) return value.flatMap(textsOf);
  let found = longClaims.get(value);
  if (!found) longClaims.set(value, (found = value.flatMap(textsOf)));
  return found;
}

function textsOf(item: unknown): readonly string[] {
  if (typeof item === "string") return [item];
  return typeof item === "number" || typeof item === "boolean" ? [String(item)] : [];
}
