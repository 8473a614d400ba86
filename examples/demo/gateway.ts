/**
 * The program of the demo: four routes of one gateway, told apart by their path.
 *
 * `npm start` synthesizes it, publishes it and serves it; save a change here and it is live a moment later. In a
 * program of your own the imports are from "gateform/cdktf".
 */
/* oxlint-disable no-new -- a construct registers itself with its scope */
import { App, LocalBackend, TerraformStack } from "cdktf";

import {
  allow,
  authenticatedUser,
  deny,
  domain,
  Gateway,
  groups,
  headerValue,
  McpClientRoute,
  McpServerRoute,
  mcpTool,
  mcpToolArgument,
  requestHeader,
  Route,
} from "../../cdktf/index.ts";

export interface DemoOptions {
  /** What users visit, "http://localhost:8080". */
  readonly origin: string;
  /** Where mcp-server.ts listens, "http://127.0.0.1:9001". */
  readonly mcpServer: string;
  /** Where web-app.ts listens, "http://127.0.0.1:9002". */
  readonly webApp: string;
  /** Directory that the gateway watches; without it nothing is published by `terraform apply`. */
  readonly directory?: string;
  /** Where cdk.tf.json and gateway.bundle.json go; "cdktf.out" without it. */
  readonly outdir?: string;
}

/** Builds the program; `.synth()` on the result writes the files. */
export function buildDemo({ origin, mcpServer, webApp, directory, outdir }: DemoOptions): App {
  const app = new App({ ...(outdir && { outdir }) });
  const stack = new TerraformStack(app, "demo");
  // A relative path: the files are the same wherever the program runs.
  new LocalBackend(stack, { path: "terraform.tfstate" });

  const gateway = new Gateway(stack, "gateway", {
    owner: "demo",
    runtimeFlags: { mcp: true },
    mcpAllowedClientIdDomains: ["vscode.dev", "claude.ai"],
    mcpAllowedAsMetadataDomains: ["127.0.0.1"],
    authorizeLogFields: ["request-id", "route", "user", "email", "mcp-method", "mcp-tool", "mcp-tool-parameters"],
    setResponseHeaders: { "X-Served-By": "gateway" },
    ...(directory && { file: { directory } }),
  });

  // Users at example.com can use the GitHub server, but not delete anything, nor open issues in one repository.
  new McpServerRoute(gateway, "github", {
    from: origin,
    prefix: "/github",
    to: mcpServer,
    mcpPath: "/mcp",
    policy: [
      allow(domain.is("example.com")),
      deny(mcpTool.startsWith("delete_")),
      deny(mcpToolArgument({ tool: "create_issue", argument: "/repo", is: "website" })),
    ],
    setRequestHeaders: {
      "X-Demo-Route": "github",
      "X-Demo-Caller": headerValue`${requestHeader("User-Agent")} through the gateway`,
    },
    removeRequestHeaders: ["X-Debug"],
  });

  // Engineers may use the notes server: an allowlist of tools is a denial of all others.
  new McpServerRoute(gateway, "notes", {
    from: origin,
    prefix: "/notes",
    to: mcpServer,
    mcpPath: "/mcp",
    policy: [allow(groups.has("engineering")), deny(mcpTool.notIn(["add_note", "list_notes", "whoami"]))],
    setRequestHeaders: { "X-Demo-Route": "notes" },
  });

  // An application that calls the MCP servers above as the user who visits it.
  new McpClientRoute(gateway, "assistant", {
    from: origin,
    prefix: "/assistant",
    to: webApp,
    policy: [allow(authenticatedUser())],
  });

  // An ordinary application that knows only its own address, so its redirects are corrected on the way out.
  new Route(gateway, "app", {
    from: origin,
    prefix: "/app",
    to: webApp,
    policy: [allow(authenticatedUser())],
    rewriteResponseHeaders: [{ header: "Location", prefix: webApp, value: origin }],
    setResponseHeaders: { "X-Frame-Options": "DENY" },
  });

  return app;
}

if (import.meta.main) {
  const environment = process.env;
  const directory = environment["DEMO_DIRECTORY"];
  buildDemo({
    origin: `http://localhost:${environment["DEMO_PORT"] ?? "8080"}`,
    mcpServer: `http://127.0.0.1:${environment["DEMO_MCP_PORT"] ?? "9001"}`,
    webApp: `http://127.0.0.1:${environment["DEMO_APP_PORT"] ?? "9002"}`,
    ...(directory && { directory }),
  }).synth();
}
