/** Private keys that prove an OAuth client (`private_key_jwt`): which of them can, and how they sign. */
import { createPrivateKey, type KeyObject } from "node:crypto";

/** What Web Cryptography calls a key's way of signing. */
export type SigningWay =
  | { readonly name: "ECDSA"; readonly namedCurve: "P-256" | "P-384" }
  | { readonly name: "RSASSA-PKCS1-v1_5"; readonly hash: "SHA-256" }
  | { readonly name: "Ed25519" };

export interface ClientKey {
  readonly key: KeyObject;
  readonly way: SigningWay;
}

const MIN_RSA_BITS = 2048;

/** @param pem PKCS #8. @returns undefined for what is no private key for signatures, or too weak */
export function parseClientKey(pem: string): ClientKey | undefined {
  let key: KeyObject;
  try {
    key = createPrivateKey(pem);
  } catch {
    return undefined;
  }
  const way = wayOf(key);
  return way && { key, way };
}

function wayOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): SigningWay | undefined {
  if (type === "ed25519") return { name: "Ed25519" };
  if (type === "rsa" && (details?.modulusLength ?? 0) >= MIN_RSA_BITS)
    return { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  if (type !== "ec") return undefined;
  if (details?.namedCurve === "prime256v1") return { name: "ECDSA", namedCurve: "P-256" };
  return details?.namedCurve === "secp384r1" ? { name: "ECDSA", namedCurve: "P-384" } : undefined;
}
