/** Clients that sign: `private_key_jwt` of registered clients and of client ID metadata documents. */
import { SignJWT, UnsecuredJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";

import type { FetchedDocument } from "../../runtime/oauth/server/clients/remote-document.ts";
import {
  ASSERTION_TYPE,
  assertionClaims,
  DOCUMENT_ID,
  KEYS_URL,
  makeSigningKey,
  signAssertion,
  type SigningKey,
} from "../support/client-assertion.ts";
import { createPkce, REDIRECT_URI, type OAuthClient } from "../support/oauth-client.ts";
import { ONE_SERVER, ORIGIN, useIssuers, type TestIssuer } from "../support/issuer.ts";

const start = useIssuers();

const TOKEN_ENDPOINT = `${ORIGIN}/.gateway/mcp/token`;
const REVOCATION_ENDPOINT = `${ORIGIN}/.gateway/mcp/revoke`;

let key: SigningKey;
let other: SigningKey;
beforeAll(async () => {
  [key, other] = await Promise.all([makeSigningKey("ES256", "one"), makeSigningKey("ES256", "two")]);
});

interface AssertionParts {
  readonly clientId: string;
  readonly nowMs: number;
  readonly by?: SigningKey;
  readonly kid?: string;
  /** Replaces claims; undefined leaves one out. */
  readonly claims?: Readonly<Record<string, unknown>>;
}

async function assertion(parts: AssertionParts): Promise<Record<string, string>> {
  const { clientId, nowMs, claims, by = key, kid = by.jwk.kid } = parts;
  const header = kid === undefined ? {} : { kid };
  const client_assertion = await signAssertion(assertionClaims(clientId, nowMs, claims), by, header);
  return { client_assertion_type: ASSERTION_TYPE, client_assertion };
}

/** Lets the user approve, and answers the form that exchanges the code, without the client's proof. */
async function approvedForm(oauth: OAuthClient, clientId: string): Promise<Record<string, string>> {
  const { verifier, challenge } = createPkce();
  const outcome = await oauth.authorize({ clientId, redirectUri: REDIRECT_URI, challenge });
  if (outcome.at !== "client") throw new Error(outcome.page.text);
  const code = outcome.parameters["code"] ?? "";
  return { grant_type: "authorization_code", code, redirect_uri: REDIRECT_URI, code_verifier: verifier };
}

async function registerSigner(gateway: TestIssuer): Promise<string> {
  const metadata = { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [key.jwk] } };
  const registration = await gateway.oauth().register(metadata);
  expect(registration).not.toHaveProperty("client_secret");
  return registration.client_id;
}

describe("a registered client that signs", () => {
  test.each([
    ["the issuer", ORIGIN],
    ["the token endpoint", TOKEN_ENDPOINT],
    ["a list of one", [ORIGIN]],
  ])("gets tokens with an assertion addressed to %s, with and without client_id", async (_, aud) => {
    const gateway = await start();
    const clientId = await registerSigner(gateway);
    const oauth = gateway.oauth();
    const nowMs = gateway.clock.now();
    const answer = await oauth.sendToken({
      ...(await approvedForm(oauth, clientId)),
      client_id: clientId,
      ...(await assertion({ clientId, nowMs, claims: { aud } })),
    });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("gwt_")]);
    const refreshed = await oauth.sendToken({
      grant_type: "refresh_token",
      refresh_token: String(answer.json()["refresh_token"]),
      ...(await assertion({ clientId, nowMs, claims: { aud } })),
    });
    expect(refreshed.status).toBe(200);
  });

  test.each<[string, (nowMs: number) => Promise<Partial<AssertionParts>> | Partial<AssertionParts>]>([
    ["signed by a key that is not the client's", () => ({ by: other, kid: "one" })],
    ["by an unknown key", () => ({ by: other })],
    ["of another issuer", () => ({ claims: { iss: "somebody" } })],
    ["about another subject", () => ({ claims: { iss: "x", sub: "gwc_0000000000000000000000" } })],
    ["without audience", () => ({ claims: { aud: undefined } })],
    ["addressed to another server", () => ({ claims: { aud: "https://evil.example" } })],
    ["addressed to the authorization endpoint", () => ({ claims: { aud: `${ORIGIN}/.gateway/mcp/authorize` } })],
    ["addressed to the origin with a slash", () => ({ claims: { aud: `${ORIGIN}/` } })],
    ["addressed to us and to others", () => ({ claims: { aud: [ORIGIN, "https://evil.example"] } })],
    ["without end", () => ({ claims: { exp: undefined } })],
    ["that ended", (nowMs) => ({ claims: { exp: Math.floor(nowMs / 1000) - 31 } })],
    ["that is good for a day", (nowMs) => ({ claims: { exp: Math.floor(nowMs / 1000) + 86_400 } })],
    ["that begins later", (nowMs) => ({ claims: { nbf: Math.floor(nowMs / 1000) + 120 } })],
    ["without id", () => ({ claims: { jti: undefined } })],
    ["with an empty id", () => ({ claims: { jti: "" } })],
    ["with an id of another type", () => ({ claims: { jti: 7 } })],
  ])("is refused an assertion %s", async (_, bend) => {
    const gateway = await start();
    const clientId = await registerSigner(gateway);
    const oauth = gateway.oauth();
    const nowMs = gateway.clock.now();
    const form = await approvedForm(oauth, clientId);
    const answer = await oauth.sendToken({
      ...form,
      ...(await assertion({ clientId, nowMs, ...(await bend(nowMs)) })),
    });
    expect([answer.status, answer.json()["error"]]).toEqual([401, "invalid_client"]);
    // Nothing was consumed.
    const good = await oauth.sendToken({ ...form, ...(await assertion({ clientId, nowMs })) });
    expect(good.status).toBe(200);
  });

  test("is refused unsigned assertions, and ones signed with the public key as a secret", async () => {
    const gateway = await start();
    const clientId = await registerSigner(gateway);
    const nowMs = gateway.clock.now();
    const unsigned = new UnsecuredJWT(assertionClaims(clientId, nowMs)).encode();
    const hmac = await new SignJWT(assertionClaims(clientId, nowMs))
      .setProtectedHeader({ alg: "HS256", kid: "one" })
      .sign(new TextEncoder().encode(JSON.stringify(key.jwk)));
    for (const client_assertion of [unsigned, hmac, "a.b.c", "", "x".repeat(9000)]) {
      const form = { grant_type: "authorization_code", client_assertion_type: ASSERTION_TYPE, client_assertion };
      const answer = await gateway.oauth().sendToken(form);
      expect([answer.status, answer.json()["error"]]).toEqual([401, "invalid_client"]);
    }
  });

  test("cannot use the same assertion twice, not even at another endpoint", async () => {
    const gateway = await start();
    const clientId = await registerSigner(gateway);
    const oauth = gateway.oauth();
    const used = await assertion({ clientId, nowMs: gateway.clock.now() });
    expect((await oauth.sendToken({ ...(await approvedForm(oauth, clientId)), ...used })).status).toBe(200);
    const again = await oauth.sendToken({ ...(await approvedForm(oauth, clientId)), ...used });
    expect([again.status, again.json()["error"]]).toEqual([401, "invalid_client"]);
    expect((await oauth.sendRevocation({ token: "x", ...used })).status).toBe(401);
    // Also at the very end of its life, clock skew included.
    gateway.clock.advance(329_000);
    expect((await oauth.sendRevocation({ token: "x", ...used })).status).toBe(401);
  });

  test("of parallel requests with one assertion one passes", async () => {
    const gateway = await start();
    const clientId = await registerSigner(gateway);
    const oauth = gateway.oauth();
    const used = await assertion({ clientId, nowMs: gateway.clock.now() });
    const answers = await Promise.all(Array.from({ length: 5 }, () => oauth.sendRevocation({ token: "x", ...used })));
    expect(answers.map(({ status }) => String(status)).sort()).toEqual(["200", "401", "401", "401", "401"]);
  });

  test("cannot come without its assertion, with a secret, or with two proofs", async () => {
    const gateway = await start();
    const clientId = await registerSigner(gateway);
    const oauth = gateway.oauth();
    const nowMs = gateway.clock.now();
    const form = await approvedForm(oauth, clientId);
    const outcomes = [
      await oauth.sendToken({ ...form, client_id: clientId }),
      await oauth.sendToken({ ...form, client_id: clientId, client_secret: "x" }),
      await oauth.sendToken({ ...form, client_secret: "x", ...(await assertion({ clientId, nowMs })) }),
      await oauth.sendToken({ ...form, client_id: "other", ...(await assertion({ clientId, nowMs })) }),
      await oauth.sendToken({ ...form, ...(await assertion({ clientId, nowMs })), client_assertion_type: "saml" }),
    ].map((answer) => `${answer.status} ${String(answer.json()["error"])}`);
    expect(outcomes).toEqual([
      "401 invalid_client",
      "401 invalid_client",
      "400 invalid_request",
      "400 invalid_request",
      "400 invalid_request",
    ]);
  });

  test("may have several keys if each has its own id", async () => {
    const gateway = await start();
    const metadata = { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [other.jwk, key.jwk] } };
    const { client_id: clientId } = await gateway.oauth().register(metadata);
    const proof = await assertion({ clientId, nowMs: gateway.clock.now() });
    expect((await gateway.oauth().sendRevocation({ token: "x", ...proof })).status).toBe(200);
  });

  test.each(["ES384", "EdDSA", "PS256", "RS256"])("may sign with %s", async (alg) => {
    const gateway = await start();
    const by = await makeSigningKey(alg, "k");
    const metadata = { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [by.jwk] } };
    const { client_id: clientId } = await gateway.oauth().register(metadata);
    const proof = await assertion({ clientId, nowMs: gateway.clock.now(), by });
    expect((await gateway.oauth().sendRevocation({ token: "x", ...proof })).status).toBe(200);
  });

  test("cannot register keys that are secret, or that lie on a domain that is not permitted", async () => {
    const gateway = await start();
    for (const keys of [
      {},
      { jwks: { keys: [{ kty: "oct", k: "s" }] } },
      { jwks_uri: "https://keys.example.com/k.json" },
      { jwks_uri: "http://127.0.0.1/k.json" },
    ]) {
      const answer = await gateway
        .oauth()
        .sendRegistration({ redirect_uris: [REDIRECT_URI], token_endpoint_auth_method: "private_key_jwt", ...keys });
      expect([answer.status, answer.json()["error"]]).toEqual([400, "invalid_client_metadata"]);
    }
  });

  test("a client with a secret cannot come with an assertion instead", async () => {
    const gateway = await start();
    const metadata = { token_endpoint_auth_method: "client_secret_post", jwks: { keys: [key.jwk] } };
    const { client_id: clientId } = await gateway.oauth().register(metadata);
    const proof = await assertion({ clientId, nowMs: gateway.clock.now() });
    expect((await gateway.oauth().sendRevocation({ token: "x", ...proof })).status).toBe(401);
  });
});

describe("a client ID metadata document that signs", () => {
  const yaml = `mcp_allowed_client_id_domains: ["*.example.org"]\n${ONE_SERVER}`;
  const document = { client_id: DOCUMENT_ID, client_name: "Signer", redirect_uris: [REDIRECT_URI] };

  /** Documents by address, and the number of requests for each. */
  function hosting(files: Record<string, () => object>) {
    const asked: string[] = [];
    const fetchClientDocument = async (url: string): Promise<FetchedDocument> => {
      asked.push(url);
      const file = files[url]?.();
      return file ? { ok: true, document: file } : { ok: false, reason: "status 404" };
    };
    return { asked, fetchClientDocument };
  }

  test("proves itself with keys of its jwks_uri, read once", async () => {
    const { asked, fetchClientDocument } = hosting({
      [DOCUMENT_ID]: () => ({ ...document, token_endpoint_auth_method: "private_key_jwt", jwks_uri: KEYS_URL }),
      [KEYS_URL]: () => ({ keys: [key.jwk] }),
    });
    const gateway = await start({ yaml, fetchClientDocument });
    const oauth = gateway.oauth();
    const nowMs = gateway.clock.now();
    for (let count = 0; count < 3; count += 1) {
      const form = await approvedForm(oauth, DOCUMENT_ID);
      const answer = await oauth.sendToken({ ...form, ...(await assertion({ clientId: DOCUMENT_ID, nowMs })) });
      expect(answer.status).toBe(200);
    }
    expect(asked).toEqual([DOCUMENT_ID, KEYS_URL]);
    const bare = await oauth.sendToken({ ...(await approvedForm(oauth, DOCUMENT_ID)), client_id: DOCUMENT_ID });
    expect([bare.status, bare.json()["error"]]).toEqual([401, "invalid_client"]);
  });

  test("with a changed key is fetched again, but at most once a minute", async () => {
    let current = key;
    const { asked, fetchClientDocument } = hosting({
      [DOCUMENT_ID]: () => ({ ...document, token_endpoint_auth_method: "private_key_jwt", jwks_uri: KEYS_URL }),
      [KEYS_URL]: () => ({ keys: [current.jwk] }),
    });
    const gateway = await start({ yaml, fetchClientDocument });
    const oauth = gateway.oauth();
    const prove = async (by: SigningKey): Promise<number> => {
      const proof = await assertion({ clientId: DOCUMENT_ID, nowMs: gateway.clock.now(), by });
      return (await oauth.sendRevocation({ token: "x", ...proof })).status;
    };
    expect(await prove(key)).toBe(200);
    current = other;
    expect(await prove(other)).toBe(401);
    gateway.clock.advance(61_000);
    expect(await prove(other)).toBe(200);
    for (let count = 0; count < 5; count += 1) expect(await prove(key)).toBe(401);
    expect(asked.filter((url) => url === KEYS_URL)).toHaveLength(2);
  });

  test("that prefers to sign but lists none may come either way, and a bad signature is never passed over", async () => {
    const { fetchClientDocument } = hosting({
      [DOCUMENT_ID]: () => ({
        ...document,
        token_endpoint_auth_method: "private_key_jwt",
        token_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
        jwks_uri: KEYS_URL,
      }),
      [KEYS_URL]: () => ({ keys: [key.jwk] }),
    });
    const gateway = await start({ yaml, fetchClientDocument });
    const oauth = gateway.oauth();
    const nowMs = gateway.clock.now();
    const clientId = DOCUMENT_ID;
    const unsigned = await oauth.sendToken({ ...(await approvedForm(oauth, clientId)), client_id: clientId });
    expect(unsigned.status).toBe(200);
    const signed = { ...(await approvedForm(oauth, clientId)), ...(await assertion({ clientId, nowMs })) };
    expect((await oauth.sendToken(signed)).status).toBe(200);
    const forged = { ...(await approvedForm(oauth, clientId)), ...(await assertion({ clientId, nowMs, by: other })) };
    expect((await oauth.sendToken(forged)).status).toBe(401);
  });

  test("with an unavailable host gets 503 at the token endpoint, so that it keeps its credentials", async () => {
    let away = false;
    const gateway = await start({
      yaml,
      fetchClientDocument: async () =>
        away ? { ok: false, reason: "unreachable", transient: true } : { ok: true, document, mustRevalidate: true },
    });
    const client = await gateway.signIn({ registration: { client_id: DOCUMENT_ID, redirect_uris: [REDIRECT_URI] } });
    away = true;
    gateway.clock.advance(61_000);
    const form = {
      grant_type: "refresh_token",
      refresh_token: client.tokens.refresh_token ?? "",
      client_id: DOCUMENT_ID,
    };
    const refused = await client.oauth.sendToken(form);
    expect([refused.status, refused.json()["error"], refused.headers["retry-after"]]).toEqual([
      503,
      "temporarily_unavailable",
      "5",
    ]);
    away = false;
    expect((await client.oauth.sendToken(form)).status).toBe(200);
  });

  test("is rejected once its domain was removed from the list", async () => {
    const gateway = await start({ yaml, fetchClientDocument: async () => ({ ok: true, document }) });
    const client = await gateway.signIn({ registration: { client_id: DOCUMENT_ID, redirect_uris: [REDIRECT_URI] } });
    gateway.reconfigure(ONE_SERVER);
    await expect(client.refresh()).rejects.toThrow("invalid_client");
  });

  test("at the revocation endpoint may address its assertion to that endpoint", async () => {
    const gateway = await start();
    const clientId = await registerSigner(gateway);
    const nowMs = gateway.clock.now();
    const proof = await assertion({ clientId, nowMs, claims: { aud: REVOCATION_ENDPOINT } });
    expect((await gateway.oauth().sendRevocation({ token: "x", ...proof })).status).toBe(200);
    const elsewhere = await assertion({ clientId, nowMs, claims: { aud: REVOCATION_ENDPOINT } });
    expect((await gateway.oauth().sendToken({ grant_type: "x", ...elsewhere })).status).toBe(401);
  });
});
