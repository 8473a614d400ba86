/** A platform with keys at an address of its own: discovery, a key set, and tokens for its jobs. */
import { randomUUID } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

import { makeSigningKey, signAssertion } from "./client-assertion.ts";

export interface Platform {
  readonly issuer: string;
  /** Every token that it gave, in order. */
  readonly issued: string[];
  /** For a job of project 42 on its main branch. @param claims take their place */
  token(audience: string, claims?: Readonly<Record<string, unknown>>): Promise<string>;
  close(): Promise<void>;
}

/** @param more answers what is neither discovery nor keys */
export async function startPlatform(more?: (platform: Platform) => RequestListener): Promise<Platform> {
  const key = await makeSigningKey("RS256", "platform");
  const server = createServer((request, response) => {
    const document = {
      "/.well-known/openid-configuration": { issuer, jwks_uri: `${issuer}/keys` },
      "/keys": { keys: [key.jwk] },
    }[request.url ?? ""];
    if (document) response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
    else if (more) more(platform)(request, response);
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issued: string[] = [];
  const platform: Platform = {
    issuer,
    issued,
    async token(audience, claims = {}) {
      const now = Math.floor(Date.now() / 1000);
      const all = {
        iss: issuer,
        sub: "repo:acme/app:ref:refs/heads/main",
        aud: audience,
        jti: randomUUID(),
        iat: now,
        exp: now + 300,
        repository_id: "42",
        ref: "refs/heads/main",
        actor: "dana-the-actor",
        ...claims,
      };
      const token = await signAssertion(all, key, { typ: "JWT", kid: "platform" });
      issued.push(token);
      return token;
    },
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return platform;
}
