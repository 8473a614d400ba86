/** Certificates and their keys as PEM texts: what they are for, and whether they belong together. Pure. */
import { createPrivateKey, X509Certificate } from "node:crypto";

/** Far above any chain. */
const MAX_LENGTH = 65_536;
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** What a text must be to serve as the certificate of a listener; undefined when it is. Quotes nothing of it. */
export function certificateProblem(pem: string): string | undefined {
  if (pem.includes("PRIVATE KEY-----")) return "holds a private key, which must stand beside it as a secret";
  if (pem.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters, must be one chain`;
  const blocks = pem.match(BLOCK) ?? [];
  if (blocks.length === 0) return "must be PEM: the certificate, then those between it and the root";
  return blocks.every((block) => canRead(block)) ? undefined : "holds a certificate that cannot be read";
}

function canRead(block: string): boolean {
  try {
    return new X509Certificate(block).raw.length > 0;
  } catch {
    return false;
  }
}

/** DNS names of the certificate, lower case (RFC 6125 §6.4: the common name is not looked at). */
export function namesOf(leaf: X509Certificate): readonly string[] {
  const found = (leaf.subjectAltName ?? "").matchAll(/(?:^|, )DNS:([^,\s"]+)/g);
  return [...found].map(([, name = ""]) => name.toLowerCase());
}

/** The name of a certificate that covers one label more: of "app.example.com" "*.example.com". */
export function wildcardAbove(host: string): string {
  return host.replace(/^[^.]+/, "*");
}

/** @param host lower case; "*.example.com" asks for just that name */
export function coversHost(names: readonly string[], host: string): boolean {
  return names.includes(host) || (!host.startsWith("*.") && names.includes(wildcardAbove(host)));
}

/** @throws TypeError when the key is none, is encrypted, or is not the certificate's; the message holds nothing of it */
export function checkKey(leaf: X509Certificate, key: string | Buffer): void {
  let parsed;
  try {
    parsed = createPrivateKey(key);
  } catch (cause) {
    throw new TypeError("the key is no private key in PEM without a passphrase", { cause });
  }
  // OpenSSL takes any pair and fails with the first handshake.
  if (!leaf.checkPrivateKey(parsed)) throw new TypeError("the key is not the certificate's");
}
