/** Signed tokens of others: only the one that was signed verifies, and a look at an unverified one is jose's look. */
import { createPrivateKey, createPublicKey, sign } from "node:crypto";

import { createLocalJWKSet, decodeJwt, errors } from "jose";

import { verifyCompactJws } from "../../../runtime/issuers/compact-jws.ts";
import { readUnverified } from "../../../runtime/issuers/read-unverified.ts";
import { assertedClientId } from "../../../runtime/oauth/server/clients/client-assertion.ts";
import { latin1, must, mustEqual, orRefused } from "../oracle.ts";

/** A key of tests: its signatures are the same each time, so that a corpus may hold them. */
const privateKey = createPrivateKey({
  key: Buffer.concat([Buffer.from("302e020100300506032b657004220420", "hex"), Buffer.alloc(32, 3)]),
  format: "der",
  type: "pkcs8",
});
const find = createLocalJWKSet({ keys: [createPublicKey(privateKey).export({ format: "jwk" })] });
const base64url = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const signed = `${base64url({ alg: "EdDSA", typ: "JWT" })}.${base64url({ iss: "https://idp.example.com", sub: "alice" })}`;
export const TOKEN = `${signed}.${sign(null, Buffer.from(signed), privateKey).toString("base64url")}`;

export async function fuzz(data: Uint8Array): Promise<void> {
  const text = latin1(data);
  const look = readUnverified(text);
  const reference = orRefused(
    () => true,
    () => decodeJwt(text),
  );
  if (look) mustEqual(look.issuer ?? null, reference?.iss ?? null, "another issuer to jose");
  const client = assertedClientId(text);
  if (client.ok) mustEqual(client.value, reference?.sub ?? null, "another client to jose");
  const verified = await verifyCompactJws(text, find, ["EdDSA"]).catch((error: unknown) => {
    if (!(error instanceof errors.JOSEError)) throw error;
  });
  must((verified !== undefined) === (text === TOKEN), "verified what was not signed so, or not what was", text);
}
