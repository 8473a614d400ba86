/** DPoP proofs of clients. @see RFC 9449 §4.2 */
import { createHash, randomUUID } from "node:crypto";

import { SignJWT } from "jose";

import type { SigningKey } from "./client-assertion.ts";

export interface DpopProof {
  readonly by: SigningKey;
  readonly method?: string;
  readonly token?: string;
  readonly nonce?: string;
}

/** A proof for one request to this address. */
export async function dpopProof(url: string, { by, method = "POST", token, nonce }: DpopProof): Promise<string> {
  const claims = {
    jti: randomUUID(),
    htm: method,
    htu: url,
    iat: Math.floor(Date.now() / 1000),
    ...(token !== undefined && { ath: createHash("sha256").update(token).digest("base64url") }),
    ...(nonce !== undefined && { nonce }),
  };
  return new SignJWT(claims).setProtectedHeader({ typ: "dpop+jwt", alg: by.alg, jwk: by.jwk }).sign(by.privateKey);
}
