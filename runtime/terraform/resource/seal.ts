/**
 * Seals secrets for the gateway: encrypted to its public key, so that state, plan and bundle contain only ciphertext.
 *
 * Compact JWE, `ECDH-ES+A256KW` with `A256GCM`. Two seals of one secret differ; callers keep a seal while the version of the
 * secret stays the same.
 */
import { createPublicKey, type webcrypto } from "node:crypto";

import { attempting } from "../../shared/errors.ts";

export type SealKeyProblem = { readonly ok: false; readonly problem: string };

/** Checks that the text is a public key for sealing secrets. Private keys are rejected: they must not be near a state. */
export function checkSealKey(text: string): { readonly ok: true } | SealKeyProblem {
  let key: unknown;
  try {
    key = JSON.parse(text);
  } catch {
    return { ok: false, problem: "must be the gateway's public key as JWK JSON" };
  }
  const { kty, crv, d } = (key ?? {}) as Readonly<Record<string, unknown>>;
  if (d !== undefined)
    return { ok: false, problem: 'has the member "d", must be the public key and not the private one' };
  const isUsable = (kty === "EC" && crv === "P-256") || (kty === "OKP" && crv === "X25519");
  if (!isUsable)
    return { ok: false, problem: 'must be a JWK with "kty": "EC", "crv": "P-256" or "kty": "OKP", "crv": "X25519"' };
  try {
    createPublicKey({ key: key as webcrypto.JsonWebKey, format: "jwk" });
  } catch {
    return {
      ok: false,
      problem: "is a JWK whose coordinates are not on its curve, must be the gateway's public key",
    };
  }
  return { ok: true };
}

/**
 * @param owner whose slices may contain the seal. It is in the protected header, which the seal authenticates: a copy of the
 * seal in another owner's slice, made to have the secret sent elsewhere, is rejected
 * @throws GatewayError `terraform.seal`; the secret is not quoted
 * @see settings/secret-forms.ts, which validates it
 */
export async function sealSecret(keyText: string, secret: string, owner?: string): Promise<string> {
  // Loaded when needed: most runs of the provider seal nothing, and start time matters in every run.
  const { CompactEncrypt, importJWK } = await import("jose");
  return attempting("terraform.seal", 'Cannot seal a secret to "seal_key"', async () => {
    const jwk = JSON.parse(keyText) as { kid?: string };
    const key = await importJWK(jwk, "ECDH-ES+A256KW");
    return await new CompactEncrypt(new TextEncoder().encode(secret))
      .setProtectedHeader({
        alg: "ECDH-ES+A256KW",
        enc: "A256GCM",
        ...(jwk.kid !== undefined && { kid: jwk.kid }),
        ...(owner !== undefined && { owner }),
      })
      .encrypt(key);
  });
}
