/** Certificates and their keys as PEM texts: validity for a listener, and whether they match. Pure. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto";
import { createSecureContext } from "node:tls";

/** Far above any chain. */
const MAX_LENGTH = 65_536;
const BLOCK = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g;

/** Problem of a text as a listener certificate; undefined if valid. Quotes nothing of it. */
export function certificateProblem(pem: string): string | undefined {
  if (pem.includes("PRIVATE KEY-----")) return "contains a private key, which must be in the secret setting";
  if (pem.length > MAX_LENGTH) return `is longer than ${MAX_LENGTH} characters, must be one chain`;
  const blocks = pem.match(BLOCK) ?? [];
  if (blocks.length === 0) return "must be PEM: the certificate, then those between it and the root";
  // OpenSSL accepts other PEM labels for certificates, and would use such a one as the first.
  if (pem.replaceAll(BLOCK, "").includes("-----BEGIN")) return "holds something else than certificates";
  return [pem, ...blocks].every((text) => canRead(text)) ? undefined : "holds a certificate that cannot be read";
}

function canRead(pem: string): boolean {
  try {
    return new X509Certificate(pem).raw.length > 0;
  } catch {
    return false;
  }
}

/** DNS names of the certificate, lower case (RFC 6125 §6.4: the common name is ignored). */
export function namesOf(leaf: X509Certificate): readonly string[] {
  const found = (leaf.subjectAltName ?? "").matchAll(/(?:^|, )DNS:([^,\s"]+)/g);
  return [...found].map(([, name = ""]) => name.toLowerCase());
}

/** The wildcard name that covers the host: for "app.example.com", "*.example.com". */
export function wildcardAbove(host: string): string {
  return host.replace(/^[^.]+/, "*");
}

/** @param host lower case; "*.example.com" requires exactly this name */
export function coversHost(names: readonly string[], host: string): boolean {
  return names.includes(host) || (!host.startsWith("*.") && names.includes(wildcardAbove(host)));
}

/** @throws TypeError if the key is invalid, encrypted, or not the certificate's; the message contains nothing of it */
export function checkKey(leaf: X509Certificate, key: string | Buffer): KeyObject {
  let parsed;
  try {
    parsed = createPrivateKey(key);
  } catch (cause) {
    throw new TypeError("the key is not a PEM private key without a passphrase", { cause });
  }
  // OpenSSL accepts any pair and fails at the first handshake.
  if (!leaf.checkPrivateKey(parsed)) throw new TypeError("the key is not the certificate's");
  return parsed;
}

/**
 * Curves that all clients accept. A signature takes at most some milliseconds of each handshake, which delays all
 * requests.
 */
const CURVES = new Set(["prime256v1", "secp384r1", "secp521r1"]);
const MOST_RSA_BITS = 4096;

/**
 * Validates certificates from anyone but the operator.
 *
 * @param certificate accepted by `certificateProblem`
 * @returns the certificate itself, without its chain
 * @throws Error if the listener could not use it, or only at excessive cost; the message contains nothing of the key
 */
export function checkPair(certificate: string, key: string): X509Certificate {
  const leaf = new X509Certificate(certificate);
  const { asymmetricKeyType: type = "", asymmetricKeyDetails: details } = checkKey(leaf, key);
  const isFair = type.startsWith("rsa")
    ? (details?.modulusLength ?? Infinity) <= MOST_RSA_BITS
    : type === "ec"
      ? CURVES.has(details?.namedCurve ?? "")
      : type.startsWith("ed");
  if (!isFair) {
    throw new TypeError(`the key must be RSA of at most ${MOST_RSA_BITS} bits, P-256, P-384, P-521 or EdDSA`);
  }
  // Reveals here what OpenSSL rejects (a weak key, an obsolete signature), not at the first client.
  createSecureContext({ cert: certificate, key });
  return leaf;
}
