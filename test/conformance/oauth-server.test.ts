/**
 * The modules of the OpenID Foundation's server plans that are about OAuth, rebuilt by their names against our authorization
 * server: of "oidcc-basic-certification-test-plan" what needs no ID token, of "fapi2-security-profile-final-test-plan" (here "fapi2-…",
 * its variants plain_oauth, private_key_jwt) what needs neither PAR nor sender-constrained tokens, which this server does not offer.
 * The suite itself is a Java program with a database and cannot run here. It has no modules for introspection and revocation:
 * see test/flows/issuer-introspection.test.ts and issuer-token.test.ts.
 *
 * @see https://openid.net/certification/
 */
import { describe, expect, test } from "vitest";

import type { Answer } from "../support/browser.ts";
import {
  ASSERTION_TYPE,
  assertionClaims,
  makeSigningKey,
  signAssertion,
  type SigningKey,
} from "../support/client-assertion.ts";
import { ORIGIN, useIssuers, type TestIssuer } from "../support/issuer.ts";
import {
  clientProof,
  createPkce,
  REDIRECT_URI,
  type AuthorizeOptions,
  type AuthorizeOutcome,
  type OAuthClient,
  type Registration,
} from "../support/oauth-client.ts";

const start = useIssuers();
const APP = "https://app.example.com/cb";
const SECRET_POST = { token_endpoint_auth_method: "client_secret_post" };

interface Client {
  readonly gateway: TestIssuer;
  readonly oauth: OAuthClient;
  readonly registration: Registration;
}

async function register(metadata: Readonly<Record<string, unknown>> = {}, on?: TestIssuer): Promise<Client> {
  const gateway = on ?? (await start());
  const oauth = gateway.oauth();
  return { gateway, oauth, registration: await oauth.register({ redirect_uris: [APP], ...metadata }) };
}

const pkce = createPkce();

function authorize(
  { oauth, registration }: Client,
  parameters: AuthorizeOptions["parameters"] = {},
  more: Partial<AuthorizeOptions> = {},
): Promise<AuthorizeOutcome> {
  const redirectUri = parameters["redirect_uri"] ?? registration.redirect_uris[0] ?? "";
  return oauth.authorize({
    clientId: registration.client_id,
    redirectUri,
    challenge: pkce.challenge,
    parameters,
    ...more,
  });
}

/** A good token request, without the client's proof. */
async function codeForm(client: Client): Promise<Readonly<Record<string, string>>> {
  const outcome = await authorize(client);
  const code = outcome.at === "client" ? outcome.parameters["code"] : undefined;
  if (code === undefined) throw new Error("no code");
  return { grant_type: "authorization_code", code, redirect_uri: APP, code_verifier: pkce.verifier };
}

const said = (answer: Answer): string =>
  answer.status === 200 ? "ok" : `${answer.status} ${String(answer.json()["error"])}`;
/** What came back to the client: "code", or the error; or the status of a page that stayed here. */
function came(outcome: AuthorizeOutcome): string {
  if (outcome.at === "page") return `page ${outcome.page.status}`;
  // Told to the client whatever it is (RFC 6749 §4.1.2.1, RFC 9207 §2), and never in the fragment.
  expect(outcome.parameters).toMatchObject({ state: "state-of-the-test", iss: ORIGIN });
  expect(new URL(outcome.url).hash).toBe("");
  return outcome.parameters["error"] ?? (outcome.parameters["code"] === undefined ? "nothing" : "code");
}

async function refreshed(client: Client, tokens: Answer): Promise<string> {
  const refresh_token = String(tokens.json()["refresh_token"]);
  const form = { grant_type: "refresh_token", refresh_token, ...clientProof(client.registration) };
  return said(await client.oauth.sendToken(form));
}

describe("discovery", () => {
  test("oidcc-discovery-endpoint-verification, fapi2-…-discovery-end-point-verification", async () => {
    const metadata = await (await start()).oauth().discover();
    expect(metadata).toMatchObject({
      issuer: ORIGIN,
      response_types_supported: ["code"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
    });
    expect(metadata["grant_types_supported"]).toEqual(expect.arrayContaining(["authorization_code", "refresh_token"]));
    expect(metadata["grant_types_supported"]).not.toContain("implicit");
    expect(metadata["token_endpoint_auth_methods_supported"]).toContain("private_key_jwt");
    expect(metadata["token_endpoint_auth_signing_alg_values_supported"]).not.toContain("none");
    for (const [name, value] of Object.entries(metadata)) {
      if (name.endsWith("_endpoint")) expect([name, new URL(String(value)).origin]).toEqual([name, ORIGIN]);
    }
  });
});

describe("the authorization endpoint", () => {
  test("oidcc-server, fapi2-…-happy-flow", async () => {
    const client = await register();
    const form = await codeForm(client);
    const answer = await client.oauth.sendToken({ ...form, ...clientProof(client.registration) });
    expect(answer.json()).toMatchObject({ token_type: "Bearer", expires_in: expect.any(Number) as number });
    expect(answer.headers["cache-control"]).toContain("no-store");
    expect(answer.headers["content-type"]).toMatch(/^application\/json/);
  });

  test.each([
    ["oidcc-ensure-request-with-unknown-parameter-succeeds", { extra: "foobar" }],
    ["oidcc-ensure-request-without-nonce-succeeds-for-code-flow", { nonce: undefined }],
    ["fapi2-…-ensure-authorization-request-with-64-char-nonce-success", { nonce: "n".repeat(64) }],
    ["fapi2-…-ensure-authorization-request-with-long-nonce", { nonce: "n".repeat(384) }],
    ["oidcc-ensure-request-with-acr-values-succeeds", { acr_values: "urn:example:1 urn:example:2" }],
    ["oidcc-login-hint", { login_hint: "alice@example.com" }],
    ["oidcc-ui-locales", { ui_locales: "se" }],
    ["oidcc-claims-locales", { claims_locales: "se" }],
    ["oidcc-ensure-request-with-valid-pkce-succeeds", { code_challenge: pkce.challenge }],
  ])("%s", async (_, parameters) => {
    expect(came(await authorize(await register(), parameters))).toBe("code");
  });

  test("fapi2-…-ensure-authorization-request-with-long-state", async () => {
    const state = "s".repeat(384);
    expect(await authorize(await register(), { state })).toMatchObject({ at: "client", parameters: { state } });
  });

  test("fapi2-…-ensure-authorization-request-without-state-success", async () => {
    const outcome = await authorize(await register(), { state: undefined });
    expect(outcome).toMatchObject({ at: "client", parameters: { code: expect.any(String) as string, iss: ORIGIN } });
    expect(outcome.at === "client" && outcome.parameters).not.toHaveProperty("state");
  });

  test.each([
    ["oidcc-response-type-missing", { response_type: undefined }, "invalid_request"],
    ["fapi2-…-ensure-response-type-token-fails", { response_type: "token" }, "unsupported_response_type"],
    // At the authorization endpoint, as there is no other: the modules push the request.
    [
      "fapi2-…-par-ensure-pkce-required",
      { code_challenge: undefined, code_challenge_method: undefined },
      "invalid_request",
    ],
    ["fapi2-…-par-plain-pkce-rejected", { code_challenge_method: "plain" }, "invalid_request"],
    [
      "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported",
      { request: "e30.e30." },
      "request_not_supported",
    ],
    ["oidcc-request-uri-unsigned", { request_uri: "https://app.example.com/request" }, "request_uri_not_supported"],
  ])("%s", async (_, parameters, error) => {
    // Of a client that registered itself for an address on the network the person decides first (RFC 9700 §4.11.2).
    expect(came(await authorize(await register(), parameters))).toBe("page 400");
    expect(came(await authorize(await register({ redirect_uris: [REDIRECT_URI] }), parameters))).toBe(error);
  });

  test("fapi2-…-user-rejects-authentication", async () => {
    expect(came(await authorize(await register(), {}, { decision: "deny" }))).toBe("access_denied");
  });
});

describe("redirect URIs", () => {
  test.each([
    ["oidcc-ensure-registered-redirect-uri", [APP], "https://app.example.com/other"],
    ["fapi2-…-ensure-registered-redirect-uri", [APP], "https://evil.example/cb"],
    ["oidcc-redirect-uri-query-added", [APP], `${APP}?foo=bar`],
    ["oidcc-redirect-uri-query-mismatch", [`${APP}?foo=bar`], `${APP}?foo=baz`],
    ["oidcc-ensure-redirect-uri-in-authorization-request", [APP, `${APP}2`], undefined],
  ])("%s", async (_, registered, redirect_uri) => {
    // Nobody is sent to an address that may not be the client's.
    expect(came(await authorize(await register({ redirect_uris: registered }), { redirect_uri }))).toBe("page 400");
  });

  test("oidcc-redirect-uri-query-OK", async () => {
    const outcome = await authorize(await register({ redirect_uris: [`${APP}?foo=bar`] }));
    expect(came(outcome)).toBe("code");
    expect(outcome).toMatchObject({ parameters: { foo: "bar" } });
  });

  test("oidcc-redirect-uri-regfrag", async () => {
    const answer = await (await start()).oauth().sendRegistration({ redirect_uris: [`${APP}#foobar`] });
    expect(said(answer)).toBe("400 invalid_redirect_uri");
  });
});

describe("the code", () => {
  test.each([
    ["oidcc-codereuse", 0],
    ["fapi2-…-attempt-reuse-authorization-code-after-one-second", 1_000],
    ["oidcc-codereuse-30seconds", 30_000],
  ])("%s", async (_, afterMs) => {
    const client = await register(SECRET_POST);
    const proof = clientProof(client.registration);
    const form = { ...(await codeForm(client)), ...proof };
    const tokens = await client.oauth.sendToken(form);
    const token = String(tokens.json()["access_token"]);
    const isActive = async () => (await client.oauth.sendIntrospection({ token, ...proof })).json()["active"];
    expect(await isActive()).toBe(true);
    client.gateway.clock.advance(afterMs);
    expect(said(await client.oauth.sendToken(form))).toBe("400 invalid_grant");
    // The suite asks for it, and warns where it is not so.
    expect([await isActive(), await refreshed(client, tokens)]).toEqual([false, "400 invalid_grant"]);
  });

  test("fapi2-…-ensure-authorization-code-is-bound-to-client", async () => {
    const client = await register();
    const other = await register({}, client.gateway);
    const form = await codeForm(client);
    expect(said(await other.oauth.sendToken({ ...form, ...clientProof(other.registration) }))).toBe(
      "400 invalid_grant",
    );
    expect(said(await client.oauth.sendToken({ ...form, ...clientProof(client.registration) }))).toBe("ok");
  });

  test("fapi2-…-ensure-token-endpoint-fails-with-expired-auth-code", async () => {
    const client = await register();
    const form = await codeForm(client);
    client.gateway.clock.advance(61_000);
    expect(said(await client.oauth.sendToken({ ...form, ...clientProof(client.registration) }))).toBe(
      "400 invalid_grant",
    );
  });

  test.each([
    ["fapi2-…-ensure-pkce-code-verifier-required", {}, /^400 invalid_(request|grant)$/],
    ["fapi2-…-incorrect-pkce-code-verifier-rejected", { code_verifier: "x".repeat(43) }, /^400 invalid_grant$/],
  ])("%s", async (_, verifier, error) => {
    const client = await register();
    const { code_verifier: _left, ...form } = await codeForm(client);
    const answer = await client.oauth.sendToken({ ...form, ...verifier, ...clientProof(client.registration) });
    expect(said(answer)).toMatch(error);
  });
});

describe("clients and their proof", () => {
  const basic = ({ client_id, client_secret }: Registration) => ({
    authorization: `Basic ${Buffer.from(`${encodeURIComponent(client_id)}:${encodeURIComponent(client_secret ?? "")}`).toString("base64")}`,
  });

  test("oidcc-server with client_secret_basic", async () => {
    const client = await register({ token_endpoint_auth_method: "client_secret_basic" });
    const form = await codeForm(client);
    const wrong = { ...client.registration, client_secret: "another" };
    expect(said(await client.oauth.sendToken(form, basic(wrong)))).toBe("401 invalid_client");
    expect(said(await client.oauth.sendToken(form, basic(client.registration)))).toBe("ok");
  });

  test("oidcc-server-client-secret-post", async () => {
    const client = await register(SECRET_POST);
    const form = { ...(await codeForm(client)), ...clientProof(client.registration) };
    expect(said(await client.oauth.sendToken({ ...form, client_secret: "another" }))).toBe("401 invalid_client");
    expect(said(await client.oauth.sendToken(form))).toBe("ok");
  });

  let key: SigningKey | undefined;
  async function signer(): Promise<Client> {
    key ??= await makeSigningKey("ES256", "one");
    return register({ token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [key.jwk] } });
  }
  async function proven(
    { gateway, registration }: Client,
    claims: (now: number) => Readonly<Record<string, unknown>>,
  ): Promise<Record<string, string>> {
    const nowMs = gateway.clock.now();
    const all = assertionClaims(registration.client_id, nowMs, claims(Math.floor(nowMs / 1000)));
    const client_assertion = await signAssertion(all, key as SigningKey, { kid: "one" });
    return { client_assertion_type: ASSERTION_TYPE, client_assertion };
  }

  test.each<[string, (now: number) => Readonly<Record<string, unknown>>, boolean]>([
    ["fapi2-…-ensure-client-assertion-in-token-endpoint", () => ({}), true],
    ["oidcc-ensure-client-assertion-with-iss-aud-succeeds", () => ({ aud: ORIGIN }), true],
    [
      "fapi2-…-par-ensure-jwt-client-assertions-nbf-8-seconds-in-the-future-is-accepted",
      (now) => ({ nbf: now + 8 }),
      true,
    ],
    [
      "fapi2-…-par-ensure-jwt-client-assertions-nbf-over-60-seconds-in-the-future-fails",
      (now) => ({ nbf: now + 61 }),
      false,
    ],
    ["fapi2-…-ensure-client-assertion-with-exp-is-5-minutes-in-past-fails", (now) => ({ exp: now - 300 }), false],
    ["fapi2-…-ensure-client-assertion-with-no-sub-fails", () => ({ sub: undefined }), false],
    ["fapi2-…-ensure-client-assertion-with-wrong-aud-fails", () => ({ aud: "https://as.example.org" }), false],
    ["fapi2-…-par-test-par-endpoint-url-as-audience-fails", () => ({ aud: `${ORIGIN}/.gateway/mcp/register` }), false],
  ])("%s", async (_, claims, isGood) => {
    const client = await signer();
    const form = await codeForm(client);
    const answer = await client.oauth.sendToken({ ...form, ...(await proven(client, claims)) });
    expect(said(answer)).toBe(isGood ? "ok" : "401 invalid_client");
  });

  test("fapi2-…-ensure-client-id-in-token-endpoint", async () => {
    const client = await signer();
    const other = await register({}, client.gateway);
    const form = { ...(await codeForm(client)), client_id: other.registration.client_id };
    expect(said(await client.oauth.sendToken({ ...form, ...(await proven(client, () => ({}))) }))).toBe(
      "400 invalid_request",
    );
  });
});

test("oidcc-refresh-token, fapi2-…-refresh-token", async () => {
  const client = await register();
  const other = await register({}, client.gateway);
  const tokens = await client.oauth.sendToken({ ...(await codeForm(client)), ...clientProof(client.registration) });
  // Another client's it is not, and asking does not cost the one who has it.
  expect(await refreshed(other, tokens)).toBe("400 invalid_grant");
  expect(await refreshed(client, tokens)).toBe("ok");
});
