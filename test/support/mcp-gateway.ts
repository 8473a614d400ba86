/** A gateway for sign-in (sign-in-gateway.ts) with a real MCP server behind it: for flows with real clients. */
import type { IdentityProvider } from "../../examples/demo/identity-provider.ts";
import { type RunningMcpServer, startMcpServer } from "../../examples/demo/mcp-server.ts";
import type { Clock } from "../../runtime/shared/clock.ts";
import type { TestGateway } from "./gateway.ts";
import { type SignedInClient, signInClient, type SignInOptions } from "./oauth-client.ts";
import { startSignInGateway } from "./sign-in-gateway.ts";

export interface McpGateway {
  readonly gateway: TestGateway;
  readonly identityProvider: IdentityProvider;
  readonly mcpServer: RunningMcpServer;
  /** Address of the MCP server as clients know it. */
  readonly resource: string;
  /** Address of a second one, which only engineering may use. */
  readonly otherResource: string;
  /** Address of both as one, with the prefixes "t" and "n", if the options have `federated`. */
  readonly federatedResource: string;
  readonly signIn: (options?: Partial<SignInOptions>) => Promise<SignedInClient>;
  close(): Promise<void>;
}

export interface McpGatewayOptions {
  readonly clock?: Clock;
  readonly boot?: Readonly<Record<string, unknown>>;
  /** More dynamic settings, as YAML lines. */
  readonly settings?: string;
  /** Sign-in and consent on a host of their own (127.0.0.1; routes are on localhost). */
  readonly authenticateHost?: boolean;
  readonly federated?: boolean;
  /** More settings of the first MCP server, in YAML: "dpop: required". */
  readonly server?: string;
}

const FEDERATED = `  - name: both
    from: "{origin}"
    prefix: /both/mcp
    mcp: { server: { members: { t: tools, n: notes } } }
    policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
`;

export async function startMcpGateway(options: McpGatewayOptions = {}): Promise<McpGateway> {
  const mcpServer = await startMcpServer();
  const world = await startSignInGateway({
    ...(options.clock && { clock: options.clock }),
    ...(options.boot && { boot: options.boot }),
    ...(options.authenticateHost && { pagesHost: "127.0.0.1" }),
    yaml: `
${options.settings ?? ""}
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${mcpServer.origin}
    mcp: { server: { path: /mcp, ${options.server ?? ""} } }
    policy:
      - allow: { and: [{ domain: { is: example.com } }] }
        deny: { and: [{ mcp_tool: { starts_with: delete_ } }] }
  - name: notes
    from: "{origin}"
    prefix: /notes
    to: ${mcpServer.origin}
    mcp: { server: { path: /mcp } }
    policy: [{ allow: { and: [{ groups: { has: engineering } }] } }]
${options.federated === true ? FEDERATED : ""}`,
  });
  const { gateway, identityProvider } = world;
  const resource = `${gateway.origin}/tools/mcp`;
  return {
    gateway,
    identityProvider,
    mcpServer,
    resource,
    otherResource: `${gateway.origin}/notes/mcp`,
    federatedResource: `${gateway.origin}/both/mcp`,
    signIn: (more = {}) => signInClient({ resource, user: "alice@example.com", ...more }),
    async close() {
      await world.close();
      await mcpServer.close();
    },
  };
}
