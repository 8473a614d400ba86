/**
 * An issue tracker with an MCP endpoint and an OAuth server of its own, as many services on the internet have it.
 *
 * The OAuth server is oidc-provider: PKCE, resource indicators, dynamic registration, rotating refresh tokens, revocation.
 * People have accounts here that have nothing to do with the gateway's identity provider.
 *
 * `node examples/upstream-oauth/tracker.ts` starts it alone and prints its address.
 */
import { generateKeyPairSync } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { type NodeIncomingMessageLike, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import type { Provider } from "oidc-provider";

import { createTokenStorage } from "../demo/identity-provider-storage.ts";

export interface Tracker {
  /** "http://127.0.0.1:PORT", what a route's `to` is, and the issuer. */
  readonly origin: string;
  /** How often each path was asked for, by "GET /path". */
  readonly seen: ReadonlyMap<string, number>;
  /** Bearer tokens that came with MCP requests; "" for none. */
  readonly tokens: readonly string[];
  /** Lets every access token end now, as if an hour had passed. */
  endAccessTokens(): void;
  close(): Promise<void>;
}

export interface TrackerOptions {
  readonly port?: number;
  /** A client that was registered by hand. */
  readonly client?: { readonly id: string; readonly secret: string; readonly redirectUris: readonly string[] };
}

const MCP_PATH = "/mcp";
const SCOPES = "issues:read";

export async function startTracker(options: TrackerOptions = {}): Promise<Tracker> {
  const seen = new Map<string, number>();
  const tokens: string[] = [];
  /** Tokens given out before this are worth nothing. */
  let validFrom = 0;
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const resource = origin + MCP_PATH;

  const provider = await createProvider(origin, options.client);
  const answerOAuth = provider.callback();
  const handler = createMcpHandler((context) => {
    const mcp = new McpServer({ name: "tracker", version: "1.0.0" });
    const inputSchema = fromJsonSchema<Record<string, never>>({ type: "object", properties: {} });
    mcp.registerTool("my_issues", { description: "Issues of the account that is connected", inputSchema }, () => ({
      content: [
        {
          type: "text" as const,
          text: `issues of ${accounts.get(bearerOf(context.requestInfo?.headers.get("authorization"))) ?? "nobody"}`,
        },
      ],
    }));
    return mcp;
  });
  /** Access token → account, as far as seen: what the tool answers with. */
  const accounts = new Map<string, string>();
  const serveMcp = toNodeHandler(handler);

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname } = new URL(request.url ?? "/", origin);
    const what = `${request.method} ${pathname.startsWith("/sign-in/") ? "/sign-in" : pathname}`;
    seen.set(what, (seen.get(what) ?? 0) + 1);
    if (pathname === `/.well-known/oauth-protected-resource${MCP_PATH}`) {
      const metadata = { resource, authorization_servers: [origin], scopes_supported: ["issues:read"] };
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(metadata));
    } else if (pathname.startsWith("/sign-in/")) {
      await signIn(provider, resource, request, response);
    } else if (pathname !== MCP_PATH) {
      await answerOAuth(request, response);
    } else {
      const token = bearerOf(request.headers.authorization);
      tokens.push(token);
      const found = token === "" ? undefined : await provider.AccessToken.find(token);
      if (!found || (found.iat ?? 0) < validFrom || !found.isValid) {
        const challenge = `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource${MCP_PATH}"`;
        response.writeHead(401, { "www-authenticate": challenge }).end();
        return;
      }
      accounts.set(token, found.accountId);
      // The cast: Node types `method` as "string or undefined", the SDK as optional.
      await serveMcp(request as NodeIncomingMessageLike, response);
    }
  };
  server.on("request", (request, response) => {
    answer(request, response).catch(() => response.writeHead(500).end());
  });

  return {
    origin,
    seen,
    tokens,
    endAccessTokens: () => void (validFrom = Math.floor(Date.now() / 1000) + 1),
    close: async () => {
      await handler.close();
      await new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** The tracker's own pages, pressed through: there is one user, and she always agrees. */
async function signIn(
  provider: Provider,
  resource: string,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { prompt, params } = await provider.interactionDetails(request, response);
  if (prompt.name === "login") {
    await provider.interactionFinished(request, response, { login: { accountId: "alice@tracker" } });
    return;
  }
  const grant = new provider.Grant({ clientId: String(params["client_id"]), accountId: "alice@tracker" });
  grant.addResourceScope(resource, SCOPES);
  grant.addOIDCScope(`openid offline_access ${SCOPES}`);
  await provider.interactionFinished(request, response, { consent: { grantId: await grant.save() } });
}

function bearerOf(authorization: string | null | undefined): string {
  return /^Bearer (.+)$/.exec(authorization ?? "")?.[1] ?? "";
}

async function createProvider(origin: string, client: TrackerOptions["client"]): Promise<Provider> {
  const { Provider: Implementation } = await importQuietly();
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return new Implementation(origin, {
    adapter: createTokenStorage().adapter,
    jwks: { keys: [{ ...privateKey.export({ format: "jwk" }), kty: "EC", kid: "tracker", use: "sig", alg: "ES256" }] },
    clients: client
      ? [
          {
            client_id: client.id,
            client_secret: client.secret,
            redirect_uris: [...client.redirectUris],
            grant_types: ["authorization_code", "refresh_token"],
            response_types: ["code"],
          },
        ]
      : [],
    clientDefaults: { grant_types: ["authorization_code", "refresh_token"], id_token_signed_response_alg: "ES256" },
    scopes: ["openid", "offline_access", "issues:read"],
    // Own names: on localhost cookies are shared by all ports.
    cookies: {
      names: { session: "tracker", interaction: "tracker_interaction", resume: "tracker_resume" },
      keys: ["k"],
    },
    interactions: { url: (_ctx, interaction) => `/sign-in/${interaction.uid}` },
    findAccount: (_ctx, accountId) => ({ accountId, claims: () => ({ sub: accountId }) }),
    issueRefreshToken: async () => true,
    rotateRefreshToken: true,
    expiresWithSession: async () => false,
    features: {
      devInteractions: { enabled: false },
      registration: { enabled: true },
      revocation: { enabled: true, allowedPolicy: (_context, client, token) => token.clientId === client.clientId },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: () => ({ scope: "issues:read", accessTokenFormat: "opaque" as const }),
        useGrantedResource: () => true,
      },
    },
    pkce: { required: () => true },
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: 60,
      Grant: 86_400,
      Interaction: 600,
      RefreshToken: 86_400,
      Session: 86_400,
    },
  });
}

/** The library greets every Node that is not a long-term release with a warning. */
async function importQuietly(): Promise<typeof import("oidc-provider")> {
  const { warn } = console;
  console.warn = () => {};
  try {
    return await import("oidc-provider");
  } finally {
    console.warn = warn;
  }
}

if (import.meta.main) console.log(`Tracker on ${(await startTracker()).origin}`);
