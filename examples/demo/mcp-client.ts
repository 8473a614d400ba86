/**
 * An MCP client as hosts build it: the official SDK finds the authorization server, registers, sends the user to the
 * browser, takes the code from the redirect, and refreshes by itself. Both SDK generations behind one small interface.
 */
import {
  Client as ClientV2,
  type OAuthClientProvider,
  type OAuthDiscoveryState,
  StreamableHTTPClientTransport as TransportV2,
} from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

/** The user's part: visits the address, signs in, consents. @returns the redirect back to the client */
export type Browse = (authorizeUrl: URL) => Promise<URL>;

export interface ConnectedClient {
  tools(): Promise<readonly string[]>;
  /** @returns the text of the answer. @throws what the SDK throws, for a denied call an error with its message */
  call(tool: string, input?: Record<string, unknown>): Promise<string>;
  /** The External Token in use. */
  token(): string;
  close(): Promise<void>;
}

const REDIRECT = "http://127.0.0.1:33418/callback";

/** Keeps in memory what a host keeps in its settings. */
export function createLogin(
  name: string,
): OAuthClientProvider & { readonly state: () => string; sentTo: URL | undefined; token(): string } {
  let information: Parameters<NonNullable<OAuthClientProvider["saveClientInformation"]>>[0] | undefined;
  let tokens: Parameters<OAuthClientProvider["saveTokens"]>[0] | undefined;
  let discovery: OAuthDiscoveryState | undefined;
  let verifier = "";
  const state = crypto.randomUUID();
  return {
    sentTo: undefined,
    redirectUrl: REDIRECT,
    clientMetadata: {
      client_name: name,
      redirect_uris: [REDIRECT],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    },
    state: () => state,
    clientInformation: () => information,
    saveClientInformation: (given) => void (information = given),
    tokens: () => tokens,
    saveTokens: (given) => void (tokens = given),
    saveDiscoveryState: (given) => void (discovery = given),
    discoveryState: () => discovery,
    saveCodeVerifier: (given) => void (verifier = given),
    codeVerifier: () => verifier,
    redirectToAuthorization(url) {
      this.sentTo = url;
    },
    token: () => tokens?.access_token ?? "",
  };
}

export async function connectClient(
  sdk: "v1" | "v2",
  url: string,
  browse: Browse,
  login = createLogin(`Demo client (SDK ${sdk})`),
): Promise<ConnectedClient> {
  const open = sdk === "v2" ? openV2 : openV1;
  let session = open(url, login);
  try {
    await session.connect();
  } catch (error) {
    if (!login.sentTo) throw error;
    // The SDK stops where the user must act; afterwards a fresh connection goes on with the tokens.
    const back = await browse(login.sentTo);
    await session.finish(back);
    session = open(url, login);
    await session.connect();
  }
  return {
    tools: () => session.tools(),
    call: (tool, input = {}) => session.call(tool, input),
    token: () => login.token(),
    close: () => session.close(),
  };
}

interface Session {
  connect(): Promise<void>;
  finish(back: URL): Promise<void>;
  tools(): Promise<readonly string[]>;
  call(tool: string, input: Record<string, unknown>): Promise<string>;
  close(): Promise<void>;
}

type Login = ReturnType<typeof createLogin>;

function openV2(url: string, login: Login): Session {
  const transport = new TransportV2(new URL(url), { authProvider: login });
  const client = new ClientV2({ name: "demo", version: "1.0.0" }, { versionNegotiation: { mode: "auto" } });
  return {
    connect: () => client.connect(transport),
    finish: (back) => transport.finishAuth(back.searchParams),
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (name, input) => textOf(await client.callTool({ name, arguments: input })),
    close: () => client.close(),
  };
}

function openV1(url: string, login: Login): Session {
  const transport = new TransportV1(new URL(url), { authProvider: login });
  const client = new ClientV1({ name: "demo", version: "1.0.0" });
  return {
    // The SDK's own types disagree under exactOptionalPropertyTypes.
    connect: () => client.connect(transport),
    finish: (back) => transport.finishAuth(back.searchParams.get("code") ?? ""),
    tools: async () => (await client.listTools()).tools.map((tool) => tool.name),
    call: async (name, input) => textOf(await client.callTool({ name, arguments: input })),
    close: () => client.close(),
  };
}

function textOf(result: object): string {
  const content: unknown = "content" in result ? result.content : undefined;
  const first: unknown = Array.isArray(content) ? content[0] : undefined;
  return typeof first === "object" && first !== null && "text" in first ? String(first.text) : JSON.stringify(result);
}
