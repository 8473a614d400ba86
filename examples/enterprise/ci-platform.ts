/** A CI platform, as far as others see it: it signs for each job which one it is (as GitHub Actions and GitLab do). */
import { generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { SignJWT } from "jose";

export interface Job {
  readonly repository: string;
  readonly ref: string;
  /** The run of the job, for jobs that ask to act for a user. */
  readonly run_id?: string;
}

export interface CiPlatform {
  readonly issuer: string;
  /** Every token that it gave, oldest first. */
  readonly issued: readonly string[];
  /** What a job gets from the platform when it asks: good for minutes, for one audience. */
  tokenFor(job: Job, audience: string): Promise<string>;
  close(): Promise<void>;
}

export async function startCiPlatform(): Promise<CiPlatform> {
  const { privateKey, publicKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  const jwk = { ...publicKey.export({ format: "jwk" }), kid: "ci", use: "sig", alg: "RS256" };
  const server = createServer((request, response) => {
    const documents: Readonly<Record<string, object>> = {
      "/.well-known/openid-configuration": { issuer, jwks_uri: `${issuer}/keys` },
      "/keys": { keys: [jwk] },
    };
    const document = documents[request.url ?? ""];
    response.writeHead(document ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(document ?? { error: "not_found" }));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const issued: string[] = [];
  return {
    issuer,
    issued,
    async tokenFor(job, audience) {
      const { repository, ref } = job;
      const token = await new SignJWT({ ...job })
        .setProtectedHeader({ alg: "RS256", kid: "ci", typ: "JWT" })
        .setIssuer(issuer)
        .setSubject(`repo:${repository}:ref:${ref}`)
        .setAudience(audience)
        .setJti(randomUUID())
        .setIssuedAt()
        .setExpirationTime("5m")
        .sign(privateKey);
      issued.push(token);
      return token;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
