/** Signs the bearer JWTs of the comparison (RS256, 2,048 bits) and publishes the key, as an identity provider does. */
import { generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { dayJwt } from "../common/jwt.ts";
import type { User } from "./contender.ts";

export const AUDIENCE = "comparison-api";

export interface Issuer {
  /** "http://127.0.0.1:4000" */
  readonly url: string;
  readonly jwks: string;
  /** PEM. */
  readonly publicKey: string;
  tokenOf(user: User): string;
  close(): Promise<void>;
}

export async function startIssuer(): Promise<Issuer> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwks = JSON.stringify({
    keys: [{ ...publicKey.export({ format: "jwk" }), kid: "comparison", use: "sig", alg: "RS256" }],
  });
  const server = createServer((request, response) => {
    response.setHeader("content-type", "application/json");
    if (request.url === "/jwks") response.end(jwks);
    else if (request.url === "/.well-known/openid-configuration") response.end(metadata);
    else response.writeHead(404).end("{}");
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const metadata = JSON.stringify({
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    jwks_uri: `${url}/jwks`,
    response_types_supported: ["code"],
    subject_types_supported: ["public"],
    id_token_signing_alg_values_supported: ["RS256"],
  });
  const tokenOf = (user: User): string => {
    const claims = {
      iss: url,
      aud: AUDIENCE,
      sub: randomUUID(),
      email: `${user}@example.com`,
      email_verified: true,
      groups: ["engineering"],
      jti: randomUUID(),
    };
    const header = { alg: "RS256", kid: "comparison" };
    return dayJwt(header, claims, (text) => sign("sha256", Buffer.from(text), privateKey));
  };
  return {
    url,
    jwks,
    publicKey: publicKey.export({ type: "spki", format: "pem" }),
    tokenOf,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
