/**
 * The conformance suite's scenario for the server side of enterprise-managed authorization, `resource-authorization-server`
 * (modelcontextprotocol/conformance, issue 470, pull request 490), built again: it is in no release yet. As there, the test
 * is the client and the trusted provider, finds the endpoints in the metadata, proves itself with client_secret_post, and
 * looks at the token by introspection. The names are those of the scenario's options.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { createSend, type Answer } from "../support/browser.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { idJagClaims, JWT_BEARER, signIdJag } from "../support/id-jag.ts";
import { createOAuthClient, type Registration } from "../support/oauth-client.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";

const SCOPE = "mcp";
const IDP_SUB = "user-123";

let trusted: { readonly issuer: string; readonly key: SigningKey; readonly server: Server };
let untrusted: typeof trusted;
let upstream: EchoUpstream;
let world: SignInGateway;
let client: Registration;
let url = "";
let trustedMcpServer = "";
let endpoints = { token: "", introspection: "" };

const send = createSend();

/** Metadata at the address that `iss` leads to, and the key that it names. */
async function startProvider(): Promise<typeof trusted> {
  const key = await makeSigningKey("ES256", "idp");
  const server = createServer((request, response) => {
    const documents: Readonly<Record<string, object>> = {
      "/.well-known/openid-configuration": { issuer, jwks_uri: `${issuer}/jwks` },
      "/jwks": { keys: [{ ...key.jwk, alg: "ES256", use: "sig" }] },
    };
    const document = documents[request.url ?? ""];
    response.writeHead(document ? 200 : 404, { "content-type": "application/json" });
    response.end(JSON.stringify(document ?? {}));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { issuer, key, server };
}

beforeAll(async () => {
  [trusted, untrusted, upstream] = await Promise.all([startProvider(), startProvider(), startEchoUpstream()]);
  world = await startSignInGateway({
    yaml: `
identity_issuers: { company: { issuer: "${trusted.issuer}", uses: [id_jag] } }
routes:
  - { name: mcp, from: "{origin}", prefix: /mcp, to: "${upstream.origin}", mcp: { server: {} }, policy: { allow: { and: [authenticated_user: true] } } }
`,
  });
  url = world.gateway.origin;
  trustedMcpServer = `${url}/mcp`;
  client = await createOAuthClient({ resource: trustedMcpServer }).register({
    token_endpoint_auth_method: "client_secret_post",
  });
  const metadata = (await send({ method: "GET", url: `${url}/.well-known/oauth-authorization-server` })).json();
  endpoints = {
    token: String(metadata["token_endpoint"]),
    introspection: String(metadata["introspection_endpoint"]),
  };
});

afterAll(async () => {
  await world?.close();
  await upstream?.close();
  for (const provider of [trusted, untrusted]) {
    provider?.server.closeAllConnections();
    await new Promise((resolve) => provider?.server.close(resolve));
  }
});

function post(to: string, form: Readonly<Record<string, string>>): Promise<Answer> {
  const proof = { client_id: client.client_id, client_secret: client.client_secret ?? "" };
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return send({ method: "POST", url: to, headers, body: new URLSearchParams({ ...form, ...proof }).toString() });
}

async function present(
  claims: Readonly<Record<string, unknown>> = {},
  by: SigningKey = trusted.key,
  header: Readonly<Record<string, unknown>> = {},
): Promise<Answer> {
  const all = { iss: trusted.issuer, aud: url, sub: IDP_SUB, resource: trustedMcpServer, scope: SCOPE, ...claims };
  const assertion = await signIdJag(idJagClaims(client.client_id, Date.now(), all), by, header);
  return post(endpoints.token, { grant_type: JWT_BEARER, assertion });
}

describe("resource-authorization-server", () => {
  test("the metadata names both endpoints, the grant and its profile", async () => {
    const metadata = (await send({ method: "GET", url: `${url}/.well-known/oauth-authorization-server` })).json();
    expect(metadata).toMatchObject({
      issuer: url,
      token_endpoint: expect.stringContaining(url),
      introspection_endpoint: expect.stringContaining(url),
      grant_types_supported: expect.arrayContaining([JWT_BEARER]),
      authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag"],
      token_endpoint_auth_methods_supported: expect.arrayContaining(["client_secret_post"]),
    });
  });

  test("an ID-JAG of the trusted provider becomes a token for the MCP server alone, which introspection describes", async () => {
    const answer = await present();
    expect([answer.status, answer.headers["cache-control"]]).toEqual([200, "no-store"]);
    expect(answer.json()).toMatchObject({ token_type: "Bearer", scope: SCOPE });
    expect(answer.json()).not.toHaveProperty("refresh_token");
    const token = String(answer.json()["access_token"]);
    const described = await post(endpoints.introspection, { token });
    // `--sub`: what the gateway calls the provider's user.
    expect(described.json()).toMatchObject({
      active: true,
      iss: url,
      aud: trustedMcpServer,
      client_id: client.client_id,
      scope: SCOPE,
      sub: `issuer:company/${IDP_SUB}`,
    });
  });

  test("an ID-JAG without scope is granted what policy decides, one without resource what the request names", async () => {
    expect((await present({ scope: undefined })).json()).toMatchObject({ scope: SCOPE });
    // The host has one server.
    const token = String((await present({ resource: undefined })).json()["access_token"]);
    expect((await post(endpoints.introspection, { token })).json()).toMatchObject({ aud: trustedMcpServer });
  });

  test.each<[string, () => Promise<Answer>]>([
    ["--untrusted-idp-issuer, with a signature of its own", () => present({ iss: untrusted.issuer }, untrusted.key)],
    ["--trusted-idp-issuer, signed by another provider", () => present({}, untrusted.key)],
    ["--untrusted-mcp-server", () => present({ resource: "https://attacker.mcp.example/" })],
    ["the audience of another authorization server", () => present({ aud: untrusted.issuer })],
    ["the token endpoint as audience", () => present({ aud: endpoints.token })],
    ["another client_id", () => present({ client_id: "another-client" })],
    ["no client_id", () => present({ client_id: undefined })],
    ["no jti", () => present({ jti: undefined })],
    ["no sub", () => present({ sub: undefined })],
    ["no exp", () => present({ exp: undefined })],
    ["expired", () => present({ iat: 1, exp: 2 })],
    ["a scope that is not ours", () => present({ scope: "mcp.read" })],
    ["typ JWT", () => present({}, trusted.key, { typ: "JWT" })],
    ["no typ", () => present({}, trusted.key, { typ: undefined })],
  ])("is refused as invalid_grant: %s", async (_, ask) => {
    const answer = await ask();
    expect([answer.status, answer.json()["error"]]).toEqual([400, "invalid_grant"]);
    expect(answer.text).not.toContain("access_token");
  });

  test("an ID-JAG that is presented again is refused", async () => {
    const claims = { iss: trusted.issuer, aud: url, sub: IDP_SUB, resource: trustedMcpServer, scope: SCOPE };
    const assertion = await signIdJag(idJagClaims(client.client_id, Date.now(), claims), trusted.key);
    const form = { grant_type: JWT_BEARER, assertion };
    expect((await post(endpoints.token, form)).status).toBe(200);
    expect((await post(endpoints.token, form)).json()["error"]).toBe("invalid_grant");
  });
});
