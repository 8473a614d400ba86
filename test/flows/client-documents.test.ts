/** Client ID metadata documents through the whole gateway, read over real https from a host on the allowlist. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { assertionClaims, makeSigningKey, signAssertion } from "../support/client-assertion.ts";
import { startDocumentHost, type DocumentHost } from "../support/document-host.ts";
import { startMcpGateway, type McpGateway } from "../support/mcp-gateway.ts";
import { createOAuthClient, createPkce, REDIRECT_URI, type AuthorizeOutcome } from "../support/oauth-client.ts";

const PATH = "/oauth/client.json";

let host: DocumentHost;
let world: McpGateway;
let id = "";
let serial = 0;
let document: Record<string, unknown> = {};

beforeAll(async () => {
  host = await startDocumentHost();
  const clock = { now: () => Date.now() + serial * 60_000 };
  world = await startMcpGateway({ settings: 'mcp_allowed_client_id_domains: ["localhost"]', clock });
});
afterAll(async () => {
  await world?.close();
  await host?.close();
});
// A separate address and minute for every test: documents are cached for a minute, and one peer may name few of them.
beforeEach(() => {
  serial += 1;
  id = `${host.origin}${PATH}?${serial}`;
  document = { client_id: id, client_name: "Document client", redirect_uris: [REDIRECT_URI] };
  host.serve({ [`${PATH}?${serial}`]: document });
});

const asked = (): number => host.asked.filter((path) => path === `${PATH}?${serial}`).length;

function authorize(clientId = id): Promise<AuthorizeOutcome> {
  const oauth = createOAuthClient({ resource: world.resource });
  const { challenge } = createPkce();
  return oauth.authorize({ clientId, redirectUri: REDIRECT_URI, challenge, user: "alice@example.com" });
}

describe("a URL client id whose host is in mcp_allowed_client_id_domains", () => {
  test("is supported by the metadata, and its user can sign in and call the server", async () => {
    const client = await world.signIn({ registration: { client_id: id, redirect_uris: [REDIRECT_URI] } });
    expect(await client.oauth.discover()).toMatchObject({ client_id_metadata_document_supported: true });
    const answer = await client.oauth.send({
      method: "POST",
      url: world.resource,
      headers: {
        authorization: `Bearer ${client.tokens.access_token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
      }),
    });
    expect(answer.status).toBe(200);
    await client.refresh();
    expect(asked()).toBe(1);
  });

  test("proves itself with private_key_jwt and the keys at its jwks_uri", async () => {
    const key = await makeSigningKey("ES256", "k");
    const keys = `/oauth/keys.json?${serial}`;
    host.serve({
      [`${PATH}?${serial}`]: {
        ...document,
        token_endpoint_auth_method: "private_key_jwt",
        jwks_uri: `${host.origin}${keys}`,
      },
      [keys]: { keys: [key.jwk] },
    });
    const oauth = createOAuthClient({ resource: world.resource });
    const { verifier, challenge } = createPkce();
    const outcome = await oauth.authorize({
      clientId: id,
      redirectUri: REDIRECT_URI,
      challenge,
      user: "alice@example.com",
    });
    if (outcome.at !== "client") throw new Error(outcome.page.text);
    const { issuer } = await oauth.discover();
    const claims = assertionClaims(id, Date.now(), { aud: issuer });
    const client_assertion = await signAssertion(claims, key, { kid: "k" });
    const form = {
      grant_type: "authorization_code",
      code: outcome.parameters["code"] ?? "",
      redirect_uri: REDIRECT_URI,
      code_verifier: verifier,
      client_id: id,
    };
    expect((await oauth.sendToken(form)).json()["error"]).toBe("invalid_client");
    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    const answer = await oauth.sendToken({ ...form, client_assertion, client_assertion_type });
    expect([answer.status, answer.text]).toEqual([200, expect.stringContaining("gwt_")]);
  });

  test.each<[string, (id: string) => void]>([
    ["a redirect", () => host.answer((_, response) => response.writeHead(302, { location: "/elsewhere" }).end())],
    ["an error", () => host.answer((_, response) => response.writeHead(404).end())],
    ["HTML", () => host.answer((_, response) => response.writeHead(200, { "content-type": "text/html" }).end("{}"))],
    ["more than 5 KiB", () => host.serve({ [`${PATH}?${serial}`]: { ...document, x: "y".repeat(5200) } })],
    ["another client_id", () => host.serve({ [`${PATH}?${serial}`]: { ...document, client_id: `${id}x` } })],
    ["text that is no JSON", () => host.answer((_, response) => response.writeHead(200, json).end("{"))],
  ])("is refused on a page when the address answers %s", async (_, bend) => {
    bend(id);
    const outcome = await authorize();
    if (outcome.at !== "page") throw new Error(outcome.url);
    expect(outcome.page.status).toBe(400);
    expect(outcome.page.text).toContain("cannot be identified");
    expect(outcome.page.text).toContain(outcome.page.headers["x-request-id"]);
    // Never cached: the corrected document is read at the next attempt.
    host.serve({ [`${PATH}?${serial}`]: document });
    expect((await authorize()).at).toBe("client");
  });

  test("is refused for now when its server fails", async () => {
    host.answer((_, response) => response.writeHead(500).end());
    expect(await authorize()).toMatchObject({ at: "page", page: { status: 503 } });
  });
});

const json = { "content-type": "application/json" };

test("a URL client id outside the list shows the administrator's restriction, and its host is never contacted", async () => {
  const before = host.asked.length;
  for (const clientId of [
    `https://127.0.0.1:${new URL(host.origin).port}${PATH}`,
    `https://[::1]:${new URL(host.origin).port}${PATH}`,
    `https://evil.example${PATH}`,
  ]) {
    const outcome = await authorize(clientId);
    if (outcome.at !== "page") throw new Error(outcome.url);
    expect(outcome.page.status).toBe(403);
    expect(outcome.page.text).toContain("administrator restricted the permitted MCP client ID document domains");
    expect(outcome.page.text).toContain(outcome.page.headers["x-request-id"]);
    expect(outcome.page.text).toContain(clientId);
  }
  expect(host.asked.length).toBe(before);
});
