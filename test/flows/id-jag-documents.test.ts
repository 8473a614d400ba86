/** Clients of enterprise-managed authorization that are known by a client ID metadata document, through a whole gateway. */
import { Client, CrossAppAccessProvider, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type RunningMcpServer, startMcpServer } from "../../examples/demo/mcp-server.ts";
import { createSend } from "../support/browser.ts";
import {
  ASSERTION_TYPE,
  assertionClaims,
  makeSigningKey,
  signAssertion,
  type SigningKey,
} from "../support/client-assertion.ts";
import { startDocumentHost, type DocumentHost } from "../support/document-host.ts";
import { IDP, idJagClaims, JWT_BEARER, signIdJag } from "../support/id-jag.ts";
import { REDIRECT_URI } from "../support/oauth-client.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";

let host: DocumentHost;
let mcpServer: RunningMcpServer;
let world: SignInGateway;
let company: SigningKey;
let clientKey: SigningKey;
let origin = "";
/** Addresses of a document of a client that proves nothing, and of one that signs. */
let open = "";
let signing = "";

beforeAll(async () => {
  [host, mcpServer, company, clientKey] = await Promise.all([
    startDocumentHost(),
    startMcpServer(),
    makeSigningKey("ES256", "company"),
    makeSigningKey("ES256", "client"),
  ]);
  open = `${host.origin}/open.json`;
  signing = `${host.origin}/signing.json`;
  // As today's clients have them: they name the code flow, and not this grant.
  const common = { redirect_uris: [REDIRECT_URI], grant_types: ["authorization_code", "refresh_token"] };
  host.serve({
    "/open.json": { ...common, client_id: open, client_name: "Assistant", token_endpoint_auth_method: "none" },
    "/signing.json": {
      ...common,
      client_id: signing,
      client_name: "Signing assistant",
      token_endpoint_auth_method: "private_key_jwt",
      jwks: { keys: [clientKey.jwk] },
    },
  });
  inForce = settings(false);
  world = await startSignInGateway({ yaml: inForce });
  ({ origin } = world.gateway);
});

afterAll(async () => {
  await world?.close();
  await Promise.all([host?.close(), mcpServer?.close()]);
});

function settings(allowsPublic: boolean, more = ""): string {
  const jwks = JSON.stringify({ keys: [company.jwk] });
  return `
mcp_allowed_client_id_domains: [localhost]
identity_issuers:
  company: { issuer: "${IDP}", uses: [id_jag], jwks: '${jwks}', allow_public_clients: ${allowsPublic}${more} }
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${mcpServer.origin}
    mcp: { server: { path: /mcp } }
    policy: { allow: { and: [authenticated_user: true] } }
`;
}

let inForce = "";
async function use(yaml: string): Promise<void> {
  if (yaml === inForce) return;
  inForce = yaml;
  await world.reconfigure(yaml);
}

const idJag = (clientId: string): Promise<string> =>
  signIdJag(idJagClaims(clientId, Date.now(), { aud: origin, resource: `${origin}/tools/mcp` }), company);

/** The SDK's provider always has a secret; a client with such a document has none. */
class PublicAccessProvider extends CrossAppAccessProvider {
  override clientInformation(): { client_id: string; issuer: string } {
    return { client_id: open, issuer: origin };
  }
}

function provider(): CrossAppAccessProvider {
  const assertion = (): Promise<string> => idJag(open);
  return new PublicAccessProvider({ clientId: open, clientSecret: "", expectedIssuer: origin, assertion });
}

async function connect(authProvider: CrossAppAccessProvider): Promise<Client> {
  const client = new Client({ name: "assistant", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${origin}/tools/mcp`), { authProvider }));
  return client;
}

const send = createSend();

async function exchange(form: Readonly<Record<string, string>>): Promise<readonly [number, unknown]> {
  const answer = await send({
    method: "POST",
    url: `${origin}/.gateway/mcp/token`,
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ grant_type: JWT_BEARER, ...form }).toString(),
  });
  return [answer.status, answer.json()["error"]];
}

describe("a client with a document and without credentials", () => {
  test("is refused where the entry does not let such clients in, before the assertion is used up", async () => {
    const authProvider = provider();
    await expect(connect(authProvider)).rejects.toThrow();
    expect(authProvider.tokens()).toBeUndefined();
    const assertion = await idJag(open);
    expect(await exchange({ client_id: open, assertion })).toEqual([401, "invalid_client"]);
    await use(settings(true));
    expect(await exchange({ client_id: open, assertion })).toEqual([200, undefined]);
  });

  test("connects with the SDK where it does", async () => {
    await use(settings(true));
    const client = await connect(provider());
    expect((await client.listTools()).tools.length).toBeGreaterThan(0);
    await client.close();
  });

  test("is refused where allowed_clients names others", async () => {
    await use(settings(true, `, allowed_clients: ["${signing}"]`));
    expect(await exchange({ client_id: open, assertion: await idJag(open) })).toEqual([400, "invalid_grant"]);
  });

  test("gets nothing with an assertion for another document", async () => {
    await use(settings(true));
    expect(await exchange({ client_id: open, assertion: await idJag(signing) })).toEqual([400, "invalid_grant"]);
  });
});

test("a signing client with a document needs its signature, but no permission for public clients", async () => {
  await use(settings(false));
  const proof = async (by: SigningKey): Promise<Readonly<Record<string, string>>> => ({
    client_id: signing,
    client_assertion_type: ASSERTION_TYPE,
    client_assertion: await signAssertion(assertionClaims(signing, Date.now(), { aud: origin }), by),
  });
  const assertion = await idJag(signing);
  expect(await exchange({ client_id: signing, assertion })).toEqual([401, "invalid_client"]);
  const stranger = await makeSigningKey("ES256", "client");
  expect(await exchange({ ...(await proof(stranger)), assertion })).toEqual([401, "invalid_client"]);
  expect(await exchange({ ...(await proof(clientKey)), assertion })).toEqual([200, undefined]);
});
