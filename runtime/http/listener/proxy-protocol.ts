/**
 * The head of the PROXY protocol, versions 1 and 2: at the start of a connection, a load balancer writes the client's
 * address.
 *
 * Untrusted input: the bytes, until the head is complete. Promise: one reading or a rejection; a head with less or more than
 * the format allows is not used at all. Parsed by our own code: it is read off a stream, within bounds of bytes and time,
 * before anything else of the connection is trusted.
 *
 * @see The PROXY protocol, versions 1 & 2 (HAProxy), §2.1 and §2.2
 */
import { isIPv4 } from "node:net";

import ipaddr from "ipaddr.js";

export type ProxyHeader =
  /** The head is not complete. */
  | { readonly kind: "incomplete" }
  | { readonly kind: "bad"; readonly reason: string }
  /** `length` bytes are the head. Without `source` use the connection's address: a health check, or an unknown family. */
  | { readonly kind: "ok"; readonly length: number; readonly source: string | undefined };

/** "PROXY TCP6 " with the longest addresses and ports, and the line's end (PROXY protocol §2.1). */
const MAX_V1_BYTES = 107;
/** Addresses and extensions of version 2 together; load balancers write a few hundred at most. */
const MAX_V2_BYTES = 2_048;
const V1_BEGINNING = Buffer.from("PROXY ");
const V2_SIGNATURE = Buffer.from("\r\n\r\n\0\r\nQUIT\n");
const V2_HEAD_BYTES = 16;

/** Longest possible head: with this many bytes the result is no longer "incomplete". */
export const MAX_PROXY_HEADER_BYTES = MAX_V2_BYTES + V2_HEAD_BYTES;

/** @param bytes the connection's first */
export function readProxyHeader(bytes: Buffer): ProxyHeader {
  if (beginsLike(bytes, V2_SIGNATURE)) return bytes.length < V2_HEAD_BYTES ? INCOMPLETE : readBinary(bytes);
  if (beginsLike(bytes, V1_BEGINNING)) return readLine(bytes);
  return bad("it does not start with a PROXY header");
}

const INCOMPLETE: ProxyHeader = { kind: "incomplete" };

function bad(reason: string): ProxyHeader {
  return { kind: "bad", reason };
}

/** Compares only the bytes that came, so that garbage is detected at its first byte. */
function beginsLike(bytes: Buffer, beginning: Buffer): boolean {
  const length = Math.min(bytes.length, beginning.length);
  return bytes.subarray(0, length).equals(beginning.subarray(0, length));
}

function readLine(bytes: Buffer): ProxyHeader {
  const end = bytes.indexOf("\r\n");
  if (end === -1) return bytes.length >= MAX_V1_BYTES ? bad("the line is too long") : INCOMPLETE;
  const length = end + 2;
  if (length > MAX_V1_BYTES) return bad("the line is too long");
  const line = bytes.toString("latin1", 0, end);
  const [, family, ...rest] = line.split(" ");
  // Ignore the rest of such a line (PROXY protocol §2.1).
  if (family === "UNKNOWN") return { kind: "ok", length, source: undefined };
  const [source = "", destination = "", sourcePort = "", destinationPort = "", ...more] = rest;
  const isAddress = family === "TCP4" ? isIPv4 : family === "TCP6" ? isPlainIPv6 : undefined;
  if (!isAddress) return bad("the protocol is neither TCP4 nor TCP6");
  if (more.length > 0 || !isAddress(source) || !isAddress(destination)) return bad("the addresses are invalid");
  if (!isPort(sourcePort) || !isPort(destinationPort)) return bad("the ports are invalid");
  return { kind: "ok", length, source: canonical(source) };
}

/** Without a zone, which has a meaning on the load balancer only. */
function isPlainIPv6(text: string): boolean {
  return /^[0-9A-Fa-f:.]{2,45}$/.test(text) && ipaddr.IPv6.isValid(text);
}

function isPort(text: string): boolean {
  return /^(?:0|[1-9][0-9]{0,4})$/.test(text) && Number(text) <= 65_535;
}

function canonical(address: string): string {
  return ipaddr.parse(address).toString();
}

const COMMAND = { local: 0, proxy: 1 } as const;
/** Values of the byte with family and transport (PROXY protocol §2.2). */
const FAMILY = { unspecified: 0, inet: 1, inet6: 2, unix: 3 } as const;
const STREAM = 1;

function readBinary(bytes: Buffer): ProxyHeader {
  const version = (bytes[12] as number) >> 4;
  const command = (bytes[12] as number) & 0xf;
  const family = (bytes[13] as number) >> 4;
  const transport = (bytes[13] as number) & 0xf;
  const size = bytes.readUInt16BE(14);
  if (version !== 2) return bad("the version is not 2");
  if (command !== COMMAND.local && command !== COMMAND.proxy) return bad("the command is neither LOCAL nor PROXY");
  if (size > MAX_V2_BYTES) return bad("it is too long");
  const length = V2_HEAD_BYTES + size;
  if (bytes.length < length) return INCOMPLETE;
  // The load balancer itself, or no address: use the connection's (PROXY protocol §2.2).
  if (command === COMMAND.local || family === FAMILY.unspecified || family === FAMILY.unix)
    return { kind: "ok", length, source: undefined };
  if (transport !== STREAM) return bad("the transport is not TCP");
  const addressBytes = family === FAMILY.inet ? 4 : family === FAMILY.inet6 ? 16 : 0;
  if (addressBytes === 0) return bad("the address family is unknown");
  if (size < 2 * addressBytes + 4) return bad("it is too short for its addresses");
  const address = bytes.subarray(V2_HEAD_BYTES, V2_HEAD_BYTES + addressBytes);
  return { kind: "ok", length, source: ipaddr.fromByteArray([...address]).toString() };
}
