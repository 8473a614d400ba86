/** JWK sets of clients and issuers: every key that is kept can be used, is public, and is not too small. */
import { createPublicKey } from "node:crypto";

import { kidProblem, parseKeySet } from "../../../runtime/shared/key-set.ts";
import { jsonOf, must, utf8 } from "../oracle.ts";

export function fuzz(data: Uint8Array): void {
  const parsed = parseKeySet(jsonOf(utf8(data)));
  if (!parsed.ok) return;
  kidProblem(parsed.value);
  for (const key of parsed.value.keys) {
    const secret = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"].filter((name) => name in key);
    must(secret.length === 0, "a secret member is kept", secret);
    const { asymmetricKeyType, asymmetricKeyDetails } = createPublicKey({ key, format: "jwk" });
    must(["rsa", "ec", "ed25519"].includes(asymmetricKeyType ?? ""), "a key of another kind", asymmetricKeyType);
    must(asymmetricKeyType !== "rsa" || (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048, "a short RSA key");
  }
}
