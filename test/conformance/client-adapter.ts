/**
 * Drives our upstream side as the official conformance suite wants its clients driven: `node client-adapter.ts URL`.
 *
 * The suite stands for an upstream MCP server with OAuth, whose address is the last argument; scenario and credentials
 * come in the environment. The adapter starts a whole gateway with one route to it, signs a person in through a scripted
 * MCP client, and lists and calls tools. Each 401 sends the client through the gateway's authorization endpoint again,
 * where the gateway connects the upstream.
 */
import { startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { TOKEN_EXCHANGE, type TokenExchange } from "../../examples/demo/identity-provider-exchange.ts";
import { createBrowser, createSend, type Answer, type Browser } from "../support/browser.ts";
import { startGateway } from "../support/gateway.ts";
import { signInClient } from "../support/oauth-client.ts";
import { freePort } from "../support/ports.ts";

/** The client id that the suite expects of clients that use metadata documents. */
const CLIENT_DOCUMENT_URL = "https://conformance-test.local/client-metadata.json";
/** As often as a patient person would sign in again. */
const MAX_SIGN_INS = 6;

const target = new URL(process.argv.at(-1) ?? "");
const context = JSON.parse(process.env["MCP_CONFORMANCE_CONTEXT"] ?? "{}") as Readonly<Record<string, unknown>>;
const revision = process.env["MCP_CONFORMANCE_PROTOCOL_VERSION"] ?? "2025-11-25";
const scenario = process.env["MCP_CONFORMANCE_SCENARIO"] ?? "";
const isModern = revision >= "2026-07-28";

const word = (name: string): string => {
  const value = context[name];
  return typeof value === "string" ? value : "";
};

/** What the route says of OAuth with the suite's server; its URLs stand for an operator's reading of each scenario. */
function upstreamOAuth(): object | undefined {
  const client = { client_id: word("client_id"), client_secret: context["client_secret"] };
  switch (scenario) {
    case "auth/enterprise-managed-authorization":
      return { ...client, id_jag: {} };
    case "auth/wif-jwt-bearer":
      return { workload: { assertion: word("valid_jwt") } };
    case "auth/client-credentials-basic":
      return { ...client, client_credentials: true };
    case "auth/client-credentials-jwt":
      return { client_id: word("client_id"), client_key: word("private_key_pem"), client_credentials: true };
    default:
      return client.client_id === "" ? undefined : client;
  }
}

/**
 * The suite's own identity provider has no page to sign in at: people sign in at ours, which has the suite's exchange its
 * user's ID token instead of theirs.
 */
const exchange: TokenExchange = async ({ parameters }) => {
  const form = { ...parameters, subject_token: word("idp_id_token"), grant_type: TOKEN_EXCHANGE };
  const answer = await send({
    method: "POST",
    url: word("idp_token_endpoint"),
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams(form).toString(),
  });
  return { status: answer.status, body: answer.json() as object };
};

const oauth = upstreamOAuth();
const credentials = oauth === undefined ? "" : `upstream_oauth2: ${JSON.stringify(oauth)}`;
const send = createSend();
const port = await freePort();
const origin = `http://localhost:${port}`;
const identityProvider = await startIdentityProvider({
  clients: [{ client_id: "gateway", client_secret: "secret", redirect_uris: [`${origin}/.gateway/callback`] }],
  exchange,
});
const gateway = await startGateway({
  port,
  clientDocumentUrl: CLIENT_DOCUMENT_URL,
  yaml: `
runtime_flags: { mcp: true }
mcp_allowed_as_metadata_domains: [localhost, "127.0.0.1"]
idp_provider_url: ${identityProvider.issuer}
idp_client_id: gateway
idp_client_secret: secret
routes:
  - name: upstream
    from: "{origin}"
    to: ${target.origin}
    mcp:
      server:
        path: ${target.pathname}
        max_request_bytes: 65536
        ${credentials}
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`,
});
const browser = createBrowser(send);
try {
  await converse(browser);
} finally {
  if (process.env["DEBUG_ADAPTER"] !== undefined) console.error(gateway.log());
  await gateway.close();
  await identityProvider.close();
}

/** What a client does once it has a token: opens a conversation, lists tools, calls the one that is there. */
async function converse(person: Browser): Promise<void> {
  const resource = `${origin}${target.pathname}`;
  let token: string | undefined;
  let signIns = 0;
  let id = 0;

  const post = (body: object, session: string | undefined): Promise<Answer> =>
    send({
      method: "POST",
      url: resource,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(session === undefined ? {} : { "mcp-session-id": session }),
        ...mirrors(body),
      },
      body: JSON.stringify(body),
    });

  const ask = async (method: string, parameters: object, session?: string): Promise<Answer> => {
    id += 1;
    const body = { jsonrpc: "2.0", id, method, params: withMeta(parameters) };
    let answer = await post(body, session);
    while (answer.status === 401 && signIns < MAX_SIGN_INS) {
      signIns += 1;
      const client = await signInClient({ resource, user: "alice@example.com", browser: person, send });
      token = client.tokens.access_token;
      answer = await post(body, session);
    }
    return answer;
  };

  let session: string | undefined;
  if (isModern) await ask("server/discover", {});
  else {
    const clientInfo = { name: "gateway conformance adapter", version: "1.0.0" };
    const opened = await ask("initialize", { protocolVersion: revision, capabilities: {}, clientInfo });
    session = opened.headers["mcp-session-id"];
    if (opened.status === 200) {
      await post({ jsonrpc: "2.0", method: "notifications/initialized" }, session);
    }
  }
  const listed = await ask("tools/list", {}, session);
  const called = await ask("tools/call", { name: "test-tool", arguments: {} }, session);
  console.log(`${scenario}: tools/list ${listed.status}, tools/call ${called.status}`);
}

function mirrors(body: object): Readonly<Record<string, string>> {
  const { method, params } = body as { method?: string; params?: { name?: string } };
  if (!isModern) return method === "initialize" ? {} : { "mcp-protocol-version": revision };
  return {
    "mcp-protocol-version": revision,
    ...(method === undefined ? {} : { "mcp-method": method }),
    ...(params?.name === undefined ? {} : { "mcp-name": params.name }),
  };
}

function withMeta(parameters: object): object {
  if (!isModern) return parameters;
  return {
    ...parameters,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": revision,
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name: "gateway conformance adapter", version: "1.0.0" },
    },
  };
}
