/** Certificates for tests, made here: an authority, and what it signs for servers and clients. Ten days. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  type KeyObject,
} from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { type Certificates, openCertificates } from "../../runtime/http/listener/certificates.ts";
import { silentLog } from "../../runtime/shared/log.ts";

export interface TestCertificate {
  readonly cert: string;
  readonly key: string;
  /** SHA-256 of the DER, lower-case hex. */
  readonly fingerprint: string;
  readonly authority: { readonly name: Buffer; readonly privateKey: KeyObject };
}

export interface CertificateRequest {
  /** Common name. */
  readonly name: string;
  readonly dns?: readonly string[];
  readonly emails?: readonly string[];
  /** Default: since a day, for ten. */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** Absent: self-signed. */
  readonly by?: TestCertificate;
  readonly isAuthority?: boolean;
  /** Absent: P-256. Others need `by`. */
  readonly keys?: { readonly privateKey: KeyObject; readonly publicKey: KeyObject };
}

/** An RSA key of 4484 bits, of two Mersenne primes: looking for others would take seconds. */
export function largeRsaKey(): { readonly privateKey: KeyObject; readonly publicKey: KeyObject } {
  const [p, q, e] = [2n ** 2281n - 1n, 2n ** 2203n - 1n, 65_537n];
  const d = inverse(e, (p - 1n) * (q - 1n));
  const members = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) };
  const text = (value: bigint): string => {
    const hex = value.toString(16);
    return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, "hex").toString("base64url");
  };
  const jwk = Object.fromEntries(Object.entries(members).map(([name, value]) => [name, text(value)]));
  const privateKey = createPrivateKey({ key: { kty: "RSA", ...jwk }, format: "jwk" });
  return { privateKey, publicKey: createPublicKey(privateKey) };
}

/** Modular, by Euclid. */
function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n];
  while (b !== 0n) [a, b, x, y] = [b, a % b, y, x - (a / b) * y];
  return ((x % modulus) + modulus) % modulus;
}

export function makeTestCertificate(request: CertificateRequest): TestCertificate {
  const { privateKey, publicKey } = request.keys ?? generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(set(sequence(oid("2.5.4.3"), tlv(0x0c, Buffer.from(request.name)))));
  const issuer = request.by?.authority ?? { name, privateKey };
  const algorithm = sequence(oid("1.2.840.10045.4.3.2"));
  const alternatives = [
    ...(request.dns ?? []).map((each) => tlv(0x82, Buffer.from(each))),
    ...(request.emails ?? []).map((each) => tlv(0x81, Buffer.from(each))),
  ];
  const isTrue = tlv(0x01, Buffer.from([0xff]));
  const extensions = [
    ...(request.isAuthority === true
      ? [sequence(oid("2.5.29.19"), isTrue, octets(sequence(isTrue)))]
      : [sequence(oid("2.5.29.19"), octets(sequence()))]),
    ...(alternatives.length === 0 ? [] : [sequence(oid("2.5.29.17"), octets(sequence(...alternatives)))]),
  ];
  const { fromMs = Date.now() - 86_400_000, toMs = Date.now() + 864_000_000 } = request;
  const body = sequence(
    tlv(0xa0, tlv(0x02, Buffer.from([2]))),
    tlv(0x02, Buffer.concat([Buffer.from([1]), randomBytes(15)])),
    algorithm,
    issuer.name,
    sequence(time(fromMs), time(toMs)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    tlv(0xa3, sequence(...extensions)),
  );
  const der = sequence(body, algorithm, bits(sign("sha256", body, issuer.privateKey)));
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return {
    cert: ["-----BEGIN CERTIFICATE-----", ...lines, "-----END CERTIFICATE-----", ""].join("\n"),
    key: privateKey.export({ type: "pkcs8", format: "pem" }),
    fingerprint: createHash("sha256").update(der).digest("hex"),
    authority: { name, privateKey },
  };
}

export interface CertificateFolder {
  readonly path: string;
  /** Writes NAME.crt and NAME.key. @returns their paths as settings have them */
  write(
    name: string,
    certificate: TestCertificate,
  ): Promise<{ readonly certificateFile: string; readonly keyFile: string }>;
  close(): Promise<void>;
}

export async function openCertificateFolder(): Promise<CertificateFolder> {
  const path = await mkdtemp(join(tmpdir(), "gateway-certificates-"));
  return {
    path,
    async write(name, { cert, key }) {
      const files = { certificateFile: join(path, `${name}.crt`), keyFile: join(path, `${name}.key`) };
      await writeFile(files.certificateFile, cert);
      await writeFile(files.keyFile, key);
      return files;
    },
    close: () => rm(path, { recursive: true, force: true }),
  };
}

export interface ListenerCertificates {
  readonly certificates: Certificates;
  /** Also removes their files. */
  close(): Promise<void>;
}

/** Self-signed certificates for these hosts, one each; the first is the fallback. */
export async function openListenerCertificates(...hosts: readonly string[]): Promise<ListenerCertificates> {
  const folder = await openCertificateFolder();
  const write = (host: string, index: number) =>
    folder.write(`${index}`, makeTestCertificate({ name: host, dns: [host] }));
  const certificates = await openCertificates(await Promise.all(hosts.map(write)), { log: silentLog() });
  return {
    certificates,
    async close() {
      await certificates.close();
      await folder.close();
    },
  };
}

/** @see X.690 §8.1 */
function tlv(tag: number, content: Buffer): Buffer {
  const length: number[] = [];
  for (let rest = content.length; rest > 0; rest >>>= 8) length.unshift(rest & 0xff);
  return Buffer.concat([
    Buffer.from([tag, ...(content.length < 0x80 ? [content.length] : [0x80 | length.length, ...length])]),
    content,
  ]);
}

const sequence = (...items: readonly Buffer[]): Buffer => tlv(0x30, Buffer.concat(items));
const set = (...items: readonly Buffer[]): Buffer => tlv(0x31, Buffer.concat(items));
const octets = (content: Buffer): Buffer => tlv(0x04, content);
const bits = (content: Buffer): Buffer => tlv(0x03, Buffer.concat([Buffer.from([0]), content]));

function time(ms: number): Buffer {
  const text = new Date(ms)
    .toISOString()
    .replace(/[-:T]|\.\d+/g, "")
    .slice(2);
  return tlv(0x17, Buffer.from(text));
}

function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  const bytes = [first * 40 + second];
  for (const arc of rest) {
    const groups = [arc & 0x7f];
    for (let left = arc >>> 7; left > 0; left >>>= 7) groups.unshift(0x80 | (left & 0x7f));
    bytes.push(...groups);
  }
  return tlv(0x06, Buffer.from(bytes));
}
