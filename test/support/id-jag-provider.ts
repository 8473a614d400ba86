/**
 * A company's identity provider that issues ID-JAGs: oidc-provider with the token exchange of the draft. Its users have
 * signed in already, so it returns their ID tokens to any caller.
 */
import { generateKeyPairSync, randomBytes, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { importJWK, jwtVerify, SignJWT } from "jose";
import type { KoaContextWithOIDC } from "oidc-provider";

export interface IdJagProvider {
  readonly issuer: string;
  /** Client ID of the application at this provider. */
  readonly clientId: string;
  readonly clientSecret: string;
  /** Every ID-JAG that was issued, in order. */
  readonly issued: string[];
  /** An application's ID token of a signed-in user. */
  idToken(user: string): Promise<string>;
  close(): Promise<void>;
}

export interface IdJagProviderOptions {
  /** The application's client id at an authorization server, which the provider's administrator wrote down. */
  readonly clientIdAt: (audience: string) => string;
  /** Claims about each user in addition to `sub`. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";

export async function startIdJagProvider(options: IdJagProviderOptions): Promise<IdJagProvider> {
  const { Provider } = await import("oidc-provider");
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const jwk = { ...privateKey.export({ format: "jwk" }), kty: "EC", kid: "company", use: "sig", alg: "ES256" };
  const key = await importJWK(jwk, "ES256");
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const [clientId, clientSecret] = ["assistant", "secret-at-the-provider"];
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        grant_types: [TOKEN_EXCHANGE],
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: "client_secret_post",
        id_token_signed_response_alg: "ES256",
      },
    ],
    jwks: { keys: [jwk] },
    features: { devInteractions: { enabled: false } },
    cookies: { keys: [randomBytes(32).toString("base64url")] },
  });
  const issued: string[] = [];
  const exchange = async (ctx: KoaContextWithOIDC): Promise<void> => {
    const {
      subject_token: subjectToken,
      requested_token_type: type,
      audience,
      resource,
      scope,
    } = ctx.oidc.params ?? {};
    if (type !== ID_JAG) throw new Error(`Cannot issue ${String(type)}`);
    const { payload } = await jwtVerify(String(subjectToken), publicKey, { issuer, audience: clientId });
    const claims = {
      ...options.claims,
      client_id: options.clientIdAt(String(audience)),
      ...(resource === undefined ? {} : { resource }),
      ...(scope === undefined ? {} : { scope }),
    };
    const idJag = await new SignJWT(claims)
      .setProtectedHeader({ alg: "ES256", kid: "company", typ: "oauth-id-jag+jwt" })
      .setIssuer(issuer)
      .setSubject(payload.sub ?? "")
      .setAudience(String(audience))
      .setJti(randomUUID())
      .setIssuedAt()
      .setExpirationTime("2m")
      .sign(key);
    issued.push(idJag);
    ctx.body = { issued_token_type: ID_JAG, access_token: idJag, token_type: "N_A", expires_in: 120 };
  };
  provider.registerGrantType(
    TOKEN_EXCHANGE,
    exchange,
    ["subject_token", "subject_token_type", "requested_token_type", "audience", "resource", "scope"],
    ["audience", "resource"],
  );
  const answer = provider.callback();
  server.on("request", (request, response) => void answer(request, response));
  return {
    issuer,
    clientId,
    clientSecret,
    issued,
    idToken: (user) =>
      new SignJWT({})
        .setProtectedHeader({ alg: "ES256", kid: "company" })
        .setIssuer(issuer)
        .setSubject(user)
        .setAudience(clientId)
        .setIssuedAt()
        .setExpirationTime("10m")
        .sign(key),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
