/**
 * One service behind three routes, one for each way of coming to its tokens. In a program of your own the imports are from
 * "gateform/cdktf".
 */
/* oxlint-disable no-new -- a construct registers itself with its scope */
import { App, LocalBackend, TerraformStack } from "cdktf";

import {
  allow,
  authenticatedUser,
  Gateway,
  McpClientRoute,
  McpServerRoute,
  Secret,
  UpstreamOauth2,
} from "../../cdktf/index.ts";

export interface UpstreamOauthOptions {
  /** What users visit, "http://localhost:8080". */
  readonly origin: string;
  /** Where tracker.ts listens. */
  readonly tracker: string;
  readonly outdir?: string;
}

export function buildUpstreamOauth({ origin, tracker, outdir }: UpstreamOauthOptions): {
  readonly app: App;
  readonly stack: TerraformStack;
} {
  const app = new App({ ...(outdir && { outdir }) });
  const stack = new TerraformStack(app, "upstream-oauth");
  new LocalBackend(stack, { path: "terraform.tfstate" });
  const gateway = new Gateway(stack, "gateway", {
    owner: "tools",
    runtimeFlags: { mcp: true },
    // Nothing learnt from others is contacted unless its host stands here; the hosts of `to` too.
    mcpAllowedAsMetadataDomains: [new URL(tracker).hostname],
  });
  const policy = [allow(authenticatedUser())];
  const route = { from: origin, to: tracker, mcpPath: "/mcp", policy };

  // Registered by hand, endpoints known: nothing is discovered.
  new McpServerRoute(gateway, "by-hand", {
    ...route,
    prefix: "/by-hand",
    upstreamOauth2: UpstreamOauth2.endpoints({
      clientId: "gateway-at-tracker",
      clientSecret: Secret.fromEnvironment("TRACKER_CLIENT_SECRET"),
      endpoint: { authUrl: `${tracker}/auth`, tokenUrl: `${tracker}/token`, authStyle: "header" },
      scopes: ["issues:read", "offline_access"],
      authorizationUrlParams: { prompt: "consent" },
    }),
  });

  // Registered by hand, endpoints found through the service's metadata.
  new McpServerRoute(gateway, "by-credentials", {
    ...route,
    prefix: "/by-credentials",
    upstreamOauth2: UpstreamOauth2.credentials({
      clientId: "gateway-at-tracker",
      clientSecret: Secret.fromEnvironment("TRACKER_CLIENT_SECRET"),
    }),
  });

  // Nothing configured: endpoints are found, and the gateway registers itself.
  new McpServerRoute(gateway, "by-discovery", { ...route, prefix: "/by-discovery" });

  // Applications may send their users to connect only if they are behind an MCP client route.
  new McpClientRoute(gateway, "application", { from: origin, prefix: "/application", to: tracker, policy });

  return { app, stack };
}

if (import.meta.main) {
  buildUpstreamOauth({ origin: "https://mcp.example.com", tracker: "https://tracker.example" }).app.synth();
}
