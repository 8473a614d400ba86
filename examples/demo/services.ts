/** What a gateway of your own needs to try it: the demo's identity provider and MCP server, on loopback. */
import { createOwned } from "./owned.ts";
import { DEMO_USERS, type DemoUser, startIdentityProvider } from "./identity-provider.ts";
import { startMcpServer } from "./mcp-server.ts";

export interface ServicesOptions {
  /** Where users sign in at the gateway, "https://localhost:8443". */
  readonly gateway: string;
  readonly identityPort: number;
  readonly mcpPort: number;
  readonly users?: readonly DemoUser[];
}

export interface Services {
  /** "http://127.0.0.1:9000", what `idp_provider_url` is. */
  readonly issuer: string;
  /** "http://127.0.0.1:9001", what `to` of a route is. */
  readonly mcpServer: string;
  close(): Promise<void>;
}

/** As the README has them. */
export const IDENTITY_PORT = 9000;
export const MCP_PORT = 9001;

/** The identity provider knows one client with this secret. */
export const CLIENT = { client_id: "gateway", client_secret: "demo-secret-of-the-gateway" };

export async function startServices({ gateway, identityPort, mcpPort, users }: ServicesOptions): Promise<Services> {
  const { origin } = new URL(gateway);
  const { own, close } = createOwned();
  try {
    const identityProvider = own(
      await startIdentityProvider({
        port: identityPort,
        users: users ?? DEMO_USERS,
        clients: [
          {
            ...CLIENT,
            redirect_uris: [`${origin}/.gateway/callback`],
            post_logout_redirect_uris: [`${origin}/.gateway/signed_out`],
          },
        ],
      }),
    );
    const mcpServer = own(await startMcpServer({ port: mcpPort }));
    return { issuer: identityProvider.issuer, mcpServer: mcpServer.origin, close };
  } catch (error) {
    await close();
    throw error;
  }
}
