/**
 * oidc-provider configured like our authorization server, to compare answers with: code flow with S256 only, dynamic
 * registration, one protected resource with the scope `mcp`, refresh tokens that rotate for public clients.
 */
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import type { Client, Configuration } from "oidc-provider";

import { createSend, type Send } from "./browser.ts";

export interface Oracle {
  readonly origin: string;
  readonly send: Send;
  /** A code as after a user's sign-in and consent. */
  mintCode(options: {
    readonly clientId: string;
    readonly redirectUri: string;
    readonly challenge: string;
  }): Promise<string>;
  close(): Promise<void>;
}

const USER = "alice";

export async function startOracle(resource: string): Promise<Oracle> {
  const { Provider, errors } = await quietly(() => import("oidc-provider"));
  const server = createServer();
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const configuration: Configuration = {
    clientDefaults: { id_token_signed_response_alg: "ES256", grant_types: ["authorization_code", "refresh_token"] },
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kty: "EC", use: "sig", alg: "ES256" }] },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
    responseTypes: ["code"],
    scopes: ["mcp"],
    pkce: { required: () => true },
    clientAuthMethods: ["none", "client_secret_basic", "client_secret_post"],
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => resource,
        useGrantedResource: () => true,
        getResourceServerInfo(_ctx, wanted) {
          if (wanted !== resource) throw new errors.InvalidTarget();
          return { scope: "mcp", accessTokenFormat: "opaque" };
        },
      },
    },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    renderError(ctx, out) {
      ctx.type = "text/plain";
      ctx.body = out.error;
    },
    findAccount: (_ctx, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    issueRefreshToken: () => true,
    rotateRefreshToken: (ctx) => ctx.oidc.client?.clientAuthMethod === "none",
    expiresWithSession: () => false,
    ttl: {
      AuthorizationCode: 60,
      AccessToken: 900,
      RefreshToken: 86_400,
      Grant: 86_400,
      Interaction: 600,
      Session: 600,
    },
  };
  const provider = await quietly(async () => new Provider(origin, configuration));
  const answer = provider.callback();
  server.on("request", (request, response) => void answer(request, response));

  return {
    origin,
    send: createSend({ via: (server.address() as AddressInfo).port }),
    async mintCode({ clientId, redirectUri, challenge }) {
      const client = (await provider.Client.find(clientId)) as Client;
      const grant = new provider.Grant({ accountId: USER, clientId });
      grant.addOIDCScope("mcp");
      grant.addResourceScope(resource, "mcp");
      const code = new provider.AuthorizationCode({
        accountId: USER,
        client,
        grantId: await grant.save(),
        redirectUri,
        codeChallenge: challenge,
        codeChallengeMethod: "S256",
        scope: "mcp",
        resource,
        gty: "authorization_code",
      });
      return code.save();
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

/** It says what it thinks of the runtime and of its store in memory, which here are as they should be. */
async function quietly<T>(make: () => Promise<T>): Promise<T> {
  const { warn } = console;
  console.warn = () => {};
  try {
    return await make();
  } finally {
    console.warn = warn;
  }
}
