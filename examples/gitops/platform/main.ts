/** The platform team's slice: what concerns everybody, and a status page. */
/* oxlint-disable no-new -- a construct registers itself with its scope */
import { App, LocalBackend, TerraformStack } from "cdktf";

import { accept, allow, Gateway, Route, Secret } from "../../../cdktf/index.ts";

export function buildPlatform(env: NodeJS.ProcessEnv) {
  const app = new App();
  const stack = new TerraformStack(app, "platform");
  // In earnest a remote backend with locking: a runner is thrown away after each run.
  new LocalBackend(stack, { path: env["STATE_FILE"] ?? "terraform.tfstate" });

  const upstream = env["UPSTREAM"] ?? "http://status.internal:8080";
  const gateway = new Gateway(stack, "gateway", {
    owner: "platform",
    http: { url: env["GATEWAY_ADMIN_URL"] ?? "http://127.0.0.1:9901" },
    runtimeFlags: { mcp: true },
    mcpAllowedClientIdDomains: ["vscode.dev", "claude.ai"],
    // Which upstreams the gateway may ask whether they want OAuth of their own: the payments team asked for this one.
    mcpAllowedAsMetadataDomains: [new URL(upstream).hostname, "payments.internal"],
    idpProviderUrl: "https://idp.example.com",
    idpClientId: "gateway",
    idpClientSecret: Secret.fromEnvironment("IDP_CLIENT_SECRET"),
    setResponseHeaders: { "X-Frame-Options": "SAMEORIGIN" },
  });

  const status = new Route(gateway, "status", {
    from: env["PLATFORM_ORIGIN"] ?? "https://status.platform.example.com",
    to: upstream,
    policy: [allow(accept())],
    setRequestHeaders: { "X-Owner": "platform" },
  });
  return { app, stack, status };
}

if (import.meta.main) buildPlatform(process.env).app.synth();
