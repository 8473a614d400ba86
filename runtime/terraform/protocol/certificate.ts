/**
 * A self-signed certificate for one provider process: P-256, thirty days, DNS name "localhost".
 *
 * Terraform trusts exactly this certificate because it reads it from our handshake line, so it needs no authority.
 * node:crypto signs and parses certificates but makes none; the DER is written here.
 * @see RFC 5280 §4.1
 */
import { generateKeyPairSync, randomBytes, sign } from "node:crypto";

export interface Certificate {
  /** PEM, PKCS #8. */
  readonly privateKey: string;
  readonly certificate: string;
  readonly der: Buffer;
}

const DAY_MS = 86_400_000;
const CLOCK_SKEW_MS = 300_000;

const OID_ECDSA_WITH_SHA256 = "1.2.840.10045.4.3.2";
const OID_COMMON_NAME = "2.5.4.3";
const OID_BASIC_CONSTRAINTS = "2.5.29.19";
const OID_KEY_USAGE = "2.5.29.15";
const OID_ALTERNATIVE_NAME = "2.5.29.17";

/** @param nowMs milliseconds since the epoch; validity is from five minutes before to 30 days after */
export function makeCertificate(nowMs: number): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = sequence(oid(OID_ECDSA_WITH_SHA256));
  const name = sequence(set(sequence(oid(OID_COMMON_NAME), utf8("localhost"))));
  const body = sequence(
    tagged(0xa0, integer(Buffer.from([2]))),
    integer(randomBytes(16)),
    algorithm,
    name,
    sequence(time(nowMs - CLOCK_SKEW_MS), time(nowMs + 30 * DAY_MS)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tagged(0xa3, sequence(...extensions())),
  );
  const der = sequence(body, algorithm, bitString(sign("sha256", body, privateKey)));
  return {
    privateKey: privateKey.export({ type: "pkcs8", format: "pem" }),
    certificate: toPem(der),
    der,
  };
}

function extensions(): Buffer[] {
  const isTrue = tlv(0x01, Buffer.from([0xff]));
  const digitalSignatureAndCertSign = tlv(0x03, Buffer.from([2, 0x84]));
  return [
    // Go accepts a certificate as its own root only when it says that it is one.
    sequence(oid(OID_BASIC_CONSTRAINTS), isTrue, octets(sequence(isTrue))),
    sequence(oid(OID_KEY_USAGE), isTrue, octets(digitalSignatureAndCertSign)),
    sequence(oid(OID_ALTERNATIVE_NAME), octets(sequence(tlv(0x82, Buffer.from("localhost"))))),
  ];
}

function toPem(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n");
}

/** Tag, length, value. @see X.690 §8.1 */
function tlv(tag: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = content.length; rest > 0; rest >>>= 8) length.unshift(rest & 0xff);
  const head = content.length < 0x80 ? [content.length] : [0x80 | length.length, ...length];
  return Buffer.concat([Buffer.from([tag, ...head]), content]);
}

const sequence = (...items: readonly Buffer[]): Buffer => tlv(0x30, Buffer.concat(items));
const set = (...items: readonly Buffer[]): Buffer => tlv(0x31, Buffer.concat(items));
const tagged = (tag: number, content: Buffer): Buffer => tlv(tag, content);
const octets = (content: Buffer): Buffer => tlv(0x04, content);
const utf8 = (text: string): Buffer => tlv(0x0c, Buffer.from(text));
/** The leading byte counts unused bits of the last one; whole bytes leave none. */
const bitString = (content: Buffer): Buffer => tlv(0x03, Buffer.concat([Buffer.from([0]), content]));

/** A positive integer in its shortest form: no superfluous zero bytes, but one where the top bit would mean "negative". */
function integer(bytes: Buffer): Buffer {
  let start = 0;
  while (start < bytes.length - 1 && bytes[start] === 0) start++;
  const shortest = bytes.subarray(start);
  const negative = ((shortest[0] ?? 0) & 0x80) !== 0;
  return tlv(0x02, negative ? Buffer.concat([Buffer.from([0]), shortest]) : shortest);
}

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const part of rest) {
    const septets = [part & 0x7f];
    for (let high = part >>> 7; high > 0; high >>>= 7) septets.unshift(0x80 | (high & 0x7f));
    bytes.push(...septets);
  }
  return tlv(0x06, Buffer.from(bytes));
}

/** UTCTime until 2049, GeneralizedTime from then on. @see RFC 5280 §4.1.2.5 */
function time(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return Number(digits.slice(0, 4)) < 2050 ? tlv(0x17, Buffer.from(digits.slice(2))) : tlv(0x18, Buffer.from(digits));
}
