/**
 * Token exchange at the development identity provider: what somebody else decides about a user's ID token, such as an
 * assertion (ID-JAG) for another service.
 */
import { createPublicKey, type KeyObject, randomUUID } from "node:crypto";

import { jwtVerify, SignJWT } from "jose";
import type { KoaContextWithOIDC, Provider } from "oidc-provider";

export const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
export const ID_JAG = "urn:ietf:params:oauth:token-type:id-jag";

export interface ExchangeRequest {
  /** The user whose ID token was shown; it was given to the client that shows it. */
  readonly subject: string;
  readonly clientId: string;
  /** As sent: `audience`, `resource`, `scope`, `requested_token_type`. */
  readonly parameters: Readonly<Record<string, string | undefined>>;
  /** An ID-JAG about the user, for five minutes. @param claims beside the usual ones, or instead of them */
  readonly sign: (claims: Readonly<Record<string, unknown>>, type?: string) => Promise<string>;
}

export interface ExchangeAnswer {
  /** Default 200. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** JSON, or text as it stands. */
  readonly body: object | string;
}

export type TokenExchange = (request: ExchangeRequest) => Promise<ExchangeAnswer>;

/** The answer that carries an ID-JAG. */
export function idJagAnswer(idJag: string): ExchangeAnswer {
  return { body: { issued_token_type: ID_JAG, access_token: idJag, token_type: "N_A", expires_in: 300 } };
}

/** @param signing its private key, and how tokens name it */
export function registerExchange(
  provider: Provider,
  signing: { readonly key: KeyObject; readonly keyId: string },
  exchange: TokenExchange,
): void {
  const { issuer } = provider;
  const publicKey = createPublicKey(signing.key);
  const answer = async (ctx: KoaContextWithOIDC): Promise<ExchangeAnswer> => {
    const clientId = ctx.oidc.client?.clientId ?? "";
    const parameters = (ctx.oidc.params ?? {}) as Readonly<Record<string, string | undefined>>;
    let subject: string;
    try {
      const { payload } = await jwtVerify(parameters["subject_token"] ?? "", publicKey, { issuer, audience: clientId });
      subject = payload.sub ?? "";
    } catch {
      return { status: 400, body: { error: "invalid_grant" } };
    }
    const sign: ExchangeRequest["sign"] = (claims, type = "oauth-id-jag+jwt") => {
      const now = Math.floor(Date.now() / 1000);
      const { audience: aud, resource, scope } = parameters;
      const usual = { iss: issuer, sub: subject, aud, resource, scope, jti: randomUUID(), iat: now, exp: now + 300 };
      return new SignJWT(JSON.parse(JSON.stringify({ ...usual, ...claims })) as Record<string, unknown>)
        .setProtectedHeader({ alg: "ES256", kid: signing.keyId, typ: type })
        .sign(signing.key);
    };
    return exchange({ subject, clientId, parameters, sign });
  };
  provider.registerGrantType(
    TOKEN_EXCHANGE,
    async (ctx) => {
      const { status = 200, headers = {}, body } = await answer(ctx);
      ctx.status = status;
      ctx.set({ ...headers });
      ctx.body = body;
    },
    ["subject_token", "subject_token_type", "requested_token_type", "audience", "resource", "scope"],
    ["audience", "resource"],
  );
}
