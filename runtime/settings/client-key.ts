/** Private keys that authenticate an OAuth client (`private_key_jwt`): which are valid, and how they sign. */
import { createPrivateKey, type KeyObject, type webcrypto } from "node:crypto";

import { type SecretSource, secretValues } from "./secret-forms.ts";
import { GatewayError } from "../shared/errors.ts";

/** Signature algorithm in the terms of Web Cryptography. */
export type SigningWay =
  | { readonly name: "ECDSA"; readonly namedCurve: "P-256" | "P-384" }
  | { readonly name: "RSASSA-PKCS1-v1_5"; readonly hash: "SHA-256" }
  | { readonly name: "Ed25519" };

export interface ClientKey {
  readonly key: KeyObject;
  readonly way: SigningWay;
}

const MIN_RSA_BITS = 2048;

/** @param pem PKCS #8. @returns undefined if it is not a private key for signatures, or too weak */
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

/**
 * @param name of the secret in `members`
 * @param of enclosing block, such as "upstream_oauth2", for the error
 * @throws GatewayError `config.secret`
 */
export function compileClientKey(
  members: Readonly<Record<string, unknown>>,
  name: string,
  of: string,
  secrets: SecretSource,
): ClientKey | undefined {
  const [pem] = secretValues(members, name, secrets);
  if (pem === undefined) return undefined;
  const key = parseClientKey(pem);
  if (key) return key;
  const message = "must be a private key in PEM: EC on P-256 or P-384, RSA of 2048 bits or more, or Ed25519";
  throw new GatewayError("config.secret", `Cannot use secret "${name}" of "${of}": it ${message}`);
}

export function signingKey({ key, way }: ClientKey): webcrypto.CryptoKey {
  return key.toCryptoKey(way, false, ["sign"]);
}

function wayOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): SigningWay | undefined {
  if (type === "ed25519") return { name: "Ed25519" };
  if (type === "rsa" && (details?.modulusLength ?? 0) >= MIN_RSA_BITS)
    return { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  if (type !== "ec") return undefined;
  if (details?.namedCurve === "prime256v1") return { name: "ECDSA", namedCurve: "P-256" };
  return details?.namedCurve === "secp384r1" ? { name: "ECDSA", namedCurve: "P-384" } : undefined;
}
