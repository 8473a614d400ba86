/**
 * Drives our upstream side as the official conformance suite wants its clients driven.
 *
 * The suite stands for an upstream MCP server with OAuth, and starts client-command.mjs as its client, which hands on what
 * it was given. For each, the adapter starts a whole gateway with one route to it, signs a person in through a scripted
 * MCP client, and lists and calls tools. Each 401 sends the client through the gateway's authorization endpoint again,
 * where the gateway connects the upstream.
 */
import { createServer, type Socket } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { TOKEN_EXCHANGE, type TokenExchange } from "../../examples/demo/identity-provider-exchange.ts";
import { createBrowser, createSend, type Answer } from "../support/browser.ts";
import { startGateway } from "../support/gateway.ts";
import { signInClient } from "../support/oauth-client.ts";
import { freePort } from "../support/ports.ts";

/** The client id that the suite expects of clients that use metadata documents. */
const CLIENT_DOCUMENT_URL = "https://conformance-test.local/client-metadata.json";
/** As often as a patient person would sign in again. */
const MAX_SIGN_INS = 6;

/** What the suite tells its client, by argument and environment. */
interface Task {
  readonly url: string;
  readonly scenario: string;
  readonly revision: string;
  /** Credentials, as far as a scenario has some. */
  readonly context: Readonly<Record<string, unknown>>;
}

export interface ClientAdapter {
  /** For client-command.mjs. */
  readonly socketPath: string;
  close(): Promise<void>;
}

/** Serves the clients of any number of suites, at the same time. */
export async function startClientAdapter(): Promise<ClientAdapter> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-adapter-"));
  const socketPath = join(directory, "socket");
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    let said = "";
    socket.setEncoding("utf8");
    socket.on("error", () => {});
    socket.on("data", (chunk: string) => void (said += chunk));
    socket.once("end", () => void answer(socket, said));
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  return {
    socketPath,
    async close() {
      await new Promise((resolve) => server.close(resolve));
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** An answer that is not JSON of `ok: true` fails the client. */
async function answer(socket: Socket, said: string): Promise<void> {
  try {
    const output = await drive(JSON.parse(said) as Task);
    socket.end(JSON.stringify({ ok: true, output }));
  } catch (error) {
    socket.end(JSON.stringify({ ok: false, output: String(error) }));
  }
}

const wordOf = ({ context }: Task, name: string): string => {
  const value = context[name];
  return typeof value === "string" ? value : "";
};

/** What the route says of OAuth with the suite's server; its URLs stand for an operator's reading of each scenario. */
function upstreamOAuth(task: Task): object | undefined {
  const { context, scenario } = task;
  const word = (name: string): string => wordOf(task, name);
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
const exchangeOf =
  (task: Task): TokenExchange =>
  async ({ parameters }) => {
    const form = { ...parameters, subject_token: wordOf(task, "idp_id_token"), grant_type: TOKEN_EXCHANGE };
    const answered = await createSend()({
      method: "POST",
      url: wordOf(task, "idp_token_endpoint"),
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams(form).toString(),
    });
    return { status: answered.status, body: answered.json() as object };
  };

/** @returns what the answers were, for whoever reads a failure */
async function drive(task: Task): Promise<string> {
  const target = new URL(task.url);
  const oauth = upstreamOAuth(task);
  const credentials = oauth === undefined ? "" : `upstream_oauth2: ${JSON.stringify(oauth)}`;
  const port = await freePort();
  const origin = `http://localhost:${port}`;
  const identityProvider = await startIdentityProvider({
    clients: [{ client_id: "gateway", client_secret: "secret", redirect_uris: [`${origin}/.gateway/callback`] }],
    exchange: exchangeOf(task),
  });
  try {
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
    try {
      return await converse(task, `${origin}${target.pathname}`);
    } finally {
      if (process.env["DEBUG_ADAPTER"] !== undefined) console.error(gateway.log());
      await gateway.close();
    }
  } finally {
    await identityProvider.close();
  }
}

/** What a client does once it has a token: opens a conversation, lists tools, calls the one that is there. */
async function converse({ scenario, revision }: Task, resource: string): Promise<string> {
  const send = createSend();
  const browser = createBrowser(send);
  const isModern = revision >= "2026-07-28";
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
        ...(isModern ? modernMirrors(body, revision) : legacyMirrors(body, revision)),
      },
      body: JSON.stringify(body),
    });

  const ask = async (method: string, parameters: object, session?: string): Promise<Answer> => {
    id += 1;
    const body = { jsonrpc: "2.0", id, method, params: isModern ? withMeta(parameters, revision) : parameters };
    let answer = await post(body, session);
    while (answer.status === 401 && signIns < MAX_SIGN_INS) {
      signIns += 1;
      const client = await signInClient({ resource, user: "alice@example.com", browser, send });
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
  return `${scenario}: tools/list ${listed.status}, tools/call ${called.status}`;
}

interface Message {
  readonly method?: string;
  readonly params?: { readonly name?: string };
}

function legacyMirrors({ method }: Message, revision: string): Readonly<Record<string, string>> {
  return method === "initialize" ? {} : { "mcp-protocol-version": revision };
}

function modernMirrors({ method, params }: Message, revision: string): Readonly<Record<string, string>> {
  return {
    "mcp-protocol-version": revision,
    ...(method === undefined ? {} : { "mcp-method": method }),
    ...(params?.name === undefined ? {} : { "mcp-name": params.name }),
  };
}

function withMeta(parameters: object, revision: string): object {
  return {
    ...parameters,
    _meta: {
      "io.modelcontextprotocol/protocolVersion": revision,
      "io.modelcontextprotocol/clientCapabilities": {},
      "io.modelcontextprotocol/clientInfo": { name: "gateway conformance adapter", version: "1.0.0" },
    },
  };
}
