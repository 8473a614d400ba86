/**
 * One team's routes as a CDKTF program: `cdktf synth`, `diff` and `deploy` work on it, and so does plain `terraform` on
 * what it synthesizes. In your own program the imports are from "gateform/cdktf".
 */
/* oxlint-disable no-new -- a construct registers itself with its scope */
import { App, DataResource, LocalBackend, propertyAccess, TerraformOutput, TerraformStack, Token } from "cdktf";

import {
  accept,
  allow,
  Gateway,
  gatewayToken,
  groups,
  headerValue,
  McpServerRoute,
  requestHeader,
  Route,
  Secret,
  UpstreamOauth2,
} from "../../cdktf/index.ts";
import { readOnlyTools } from "./policies.ts";

export interface Surroundings {
  /** What users visit; one host per route where there is DNS, paths on one host here. */
  readonly origin: string;
  readonly upstream: string;
  /** Directory that the gateway watches. */
  readonly directory: string;
}

/** @param outdir where the files go; "cdktf.out" without it */
export function buildTeam({ origin, upstream, directory }: Surroundings, outdir?: string) {
  const app = new App({ ...(outdir && { outdir }) });
  const stack = new TerraformStack(app, "team");
  // Set a backend: the framework would write an absolute path of this machine. In earnest: S3Backend, GcsBackend, …
  new LocalBackend(stack, { path: "terraform.tfstate" });

  const gateway = new Gateway(stack, "gateway", {
    owner: "team",
    runtimeFlags: { mcp: true },
    mcpAllowedAsMetadataDomains: [new URL(upstream).hostname],
    file: { directory },
  });

  // A value that only Terraform knows, as a load balancer's address would be.
  const release = new DataResource(stack, "release", { input: { version: "2026.11" } });

  const status = new Route(gateway, "status", {
    from: origin,
    prefix: "/status",
    to: upstream,
    policy: [allow(accept())],
    setRequestHeaders: {
      "X-Tier": "silver",
      "X-Price": "$5",
      "X-Release": headerValue`release ${Token.asString(propertyAccess(release.output, ["version"]))}`,
      "X-Browser": requestHeader("User-Agent"),
    },
    setResponseHeaders: { "X-Frame-Options": "DENY" },
  });

  const wiki = new Route(gateway, "wiki", {
    from: origin,
    prefix: "/wiki",
    to: upstream,
    policy: [allow(groups.has("engineering"))],
    setRequestHeaders: { Authorization: headerValue`Bearer ${gatewayToken.idToken}` },
  });

  const issues = new McpServerRoute(gateway, "issues", {
    from: origin,
    prefix: "/issues",
    to: upstream,
    mcpPath: "/mcp",
    policy: readOnlyTools("engineering"),
    upstreamOauth2: UpstreamOauth2.endpoints({
      clientId: "gateway",
      // The gateway reads it; it is in no plan, state or bundle.
      clientSecret: Secret.fromEnvironment("ISSUES_CLIENT_SECRET"),
      endpoint: { authUrl: "https://issues.example.com/authorize", tokenUrl: "https://issues.example.com/token" },
      scopes: ["issues:read"],
    }),
  });

  new TerraformOutput(stack, "sha256", { value: gateway.sha256 });
  return { app, stack, status, wiki, issues };
}

if (import.meta.main) {
  const { GATEWAY_ORIGIN, GATEWAY_UPSTREAM, GATEWAY_DIRECTORY } = process.env;
  buildTeam({
    origin: GATEWAY_ORIGIN ?? "https://team.example.com",
    upstream: GATEWAY_UPSTREAM ?? "http://team.internal:8080",
    directory: GATEWAY_DIRECTORY ?? "/etc/gateway/slices",
  }).app.synth();
}
