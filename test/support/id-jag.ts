/** An issuer of ID-JAGs as far as an authorization server sees it: its keys, what it signs, and a client that presents it. */
import { randomUUID } from "node:crypto";

import { createClient } from "../../runtime/oauth/server/clients/pre-registered.ts";
import type { SafeFetch } from "../../runtime/http/fetch/safe-fetch.ts";
import { REDIRECT_URI } from "./oauth-client.ts";
import { type SigningKey, signAssertion } from "./client-assertion.ts";
import { ORIGIN, RESOURCE, type TestIssuer } from "./issuer.ts";
import type { Answer } from "./browser.ts";

export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
export const ID_JAG_PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";
export const IDP = "https://idp.example.net";

/** Claims of a valid ID-JAG for RESOURCE. @param claims replace them; undefined omits one */
export function idJagClaims(
  clientId: string,
  nowMs: number,
  claims: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const now = Math.floor(nowMs / 1000);
  const all = {
    iss: IDP,
    sub: "alice",
    aud: ORIGIN,
    client_id: clientId,
    jti: randomUUID(),
    iat: now,
    exp: now + 300,
    resource: RESOURCE,
    scope: "mcp",
    ...claims,
  };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined));
}

export function signIdJag(
  claims: Readonly<Record<string, unknown>>,
  by: SigningKey,
  header: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const kid = by.jwk.kid === undefined ? {} : { kid: by.jwk.kid };
  return signAssertion(claims, by, { typ: "oauth-id-jag+jwt", ...kid, ...header });
}

/** Requests to the issuer's addresses, and the responses: JSON by address, which may change meanwhile. */
export interface FakeIssuer {
  readonly fetch: SafeFetch;
  readonly documents: Map<string, unknown>;
  /** Addresses, in order. */
  readonly asked: string[];
}

/** A fetch as strict as the real one about addresses that it has no document for. */
export function fakeIssuer(documents: Readonly<Record<string, unknown>> = {}): FakeIssuer {
  const known = new Map(Object.entries(documents));
  const asked: string[] = [];
  return {
    documents: known,
    asked,
    async fetch({ url }) {
      asked.push(url);
      const document = known.get(url);
      return document === undefined
        ? { ok: false, reason: "unreachable", detail: "it is away" }
        : { ok: true, status: 200, headers: {}, body: Buffer.from(JSON.stringify(document)) };
    },
  };
}

export interface Presenter {
  readonly clientId: string;
  /** @param form members in addition to, or instead of, the default ones; undefined omits one */
  readonly present: (assertion: string, form?: Readonly<Record<string, string | undefined>>) => Promise<Answer>;
}

/** A client that an administrator made, with a secret. */
export async function presenter(gateway: TestIssuer, issuer = ORIGIN): Promise<Presenter> {
  const made = await createClient(gateway, { name: "desk", issuer, redirectUris: [REDIRECT_URI] });
  if (!made.ok) throw new Error(made.problem);
  const { clientId, secret } = made;
  return {
    clientId,
    present: (assertion, form) =>
      presentIdJag(gateway, { client_id: clientId, client_secret: secret, ...form }, assertion),
  };
}

export function presentIdJag(
  gateway: TestIssuer,
  form: Readonly<Record<string, string | undefined>>,
  assertion: string,
): Promise<Answer> {
  const all = Object.entries({ grant_type: JWT_BEARER, assertion, ...form });
  const body = new URLSearchParams(all.flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return gateway.send({ method: "POST", url: `${ORIGIN}/.gateway/mcp/token`, headers, body: body.toString() });
}
