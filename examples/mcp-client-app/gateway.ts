/**
 * An application that is an MCP client, and two MCP servers for it: one of our own, and one behind an upstream's OAuth. In a
 * program of your own the imports are from "gateform/cdktf".
 */
/* oxlint-disable no-new -- a construct registers itself with its scope */
import { App, LocalBackend, TerraformStack } from "cdktf";

import {
  allow,
  authenticatedUser,
  deny,
  Gateway,
  groups,
  McpClientRoute,
  McpServerRoute,
  mcpTool,
} from "../../cdktf/index.ts";

export interface ClientAppOptions {
  readonly origin: string;
  /** Where app.ts listens. */
  readonly app: string;
  /** Where the demo's MCP server listens. */
  readonly notes: string;
  /** Where the tracker of examples/upstream-oauth listens. */
  readonly tracker: string;
  readonly outdir?: string;
}

export function buildClientApp(options: ClientAppOptions): { readonly app: App; readonly stack: TerraformStack } {
  const { origin, outdir } = options;
  const app = new App({ ...(outdir && { outdir }) });
  const stack = new TerraformStack(app, "mcp-client-app");
  new LocalBackend(stack, { path: "terraform.tfstate" });
  const gateway = new Gateway(stack, "gateway", {
    owner: "assistant",
    runtimeFlags: { mcp: true },
    mcpAllowedAsMetadataDomains: ["127.0.0.1"],
  });

  // The application gets an External Token with each request, and may send its users to connect servers.
  new McpClientRoute(gateway, "assistant", {
    from: origin,
    prefix: "/assistant",
    to: options.app,
    policy: [allow(authenticatedUser())],
  });

  // Whatever the application or its LLM asks for is decided for the user: nobody deletes anything.
  new McpServerRoute(gateway, "notes", {
    from: origin,
    prefix: "/notes",
    to: options.notes,
    mcpPath: "/mcp",
    policy: [allow(groups.has("engineering")), deny(mcpTool.startsWith("delete_"))],
  });

  // Wants OAuth of its own: each user connects it once.
  new McpServerRoute(gateway, "tracker", {
    from: origin,
    prefix: "/tracker",
    to: options.tracker,
    mcpPath: "/mcp",
    policy: [allow(authenticatedUser())],
  });

  return { app, stack };
}

if (import.meta.main) {
  buildClientApp({
    origin: "https://assistant.example.com",
    app: "http://app.internal:8080",
    notes: "http://notes.internal:8080",
    tracker: "https://tracker.example",
  }).app.synth();
}
