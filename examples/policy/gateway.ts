/** Policies from simple to elaborate. In your own program the imports are from "gateform/cdktf". */
import { App, TerraformStack } from "cdktf";

import {
  allow,
  and,
  claim,
  corsPreflight,
  deny,
  domain,
  email,
  Gateway,
  groups,
  httpMethod,
  McpServerRoute,
  mcpTool,
  not,
  or,
  Route,
  sourceIp,
} from "../../cdktf/index.ts";

/** Reusable: a policy is a list of rules, so shared rules are shared constants. */
const nobodyDeletes = deny(mcpTool.startsWith("delete_"));

/** @param outdir where the files go; "cdktf.out" without it */
export function buildPolicies(outdir?: string) {
  const app = new App({ ...(outdir && { outdir }) });
  const stack = new TerraformStack(app, "policies");
  const gateway = new Gateway(stack, "gateway", {
    owner: "policies",
    runtimeFlags: { mcp: true },
    mcpAllowedAsMetadataDomains: ["mcp.internal"],
  });
  const to = "http://mcp.internal:8080";

  const routes = {
    // Who may use the server is said under allow, which tools are out under deny.
    denylist: new McpServerRoute(gateway, "denylist", {
      from: "https://denylist.example.com",
      to,
      policy: [allow(domain.is("example.com")), nobodyDeletes],
    }),

    // An allowlist of tools is a denial of all others.
    allowlist: new McpServerRoute(gateway, "allowlist", {
      from: "https://allowlist.example.com",
      to,
      policy: [allow(groups.has("support")), deny(mcpTool.notIn(["search", "read"]))],
    }),

    // The same tool for some and not for others: two denials, one of them with a condition.
    tiered: new McpServerRoute(gateway, "tiered", {
      from: "https://tiered.example.com",
      to,
      policy: [
        allow(or(domain.is("example.com"), email.in(["guest@partner.example"]))),
        deny(and(mcpTool.is("deploy"), groups.exclude("release"))),
        nobodyDeletes,
      ],
    }),

    // The trap: mcp_tool under allow only. A client cannot even list the tools.
    trap: new McpServerRoute(gateway, "trap", {
      from: "https://trap.example.com",
      to,
      policy: [allow(mcpTool.is("search"))],
    }),

    // An ordinary application: managers from anywhere, the others only to read and only from the office.
    report: new Route(gateway, "report", {
      from: "https://report.example.com",
      to: "http://report.internal:8080",
      policy: [
        allow(claim("role").has("manager")),
        allow(and(domain.is("example.com"), httpMethod.in(["GET", "HEAD"]), sourceIp("192.0.2.0/24"))),
        allow(corsPreflight()),
        deny(not(email.endsWith("@example.com"), corsPreflight())),
      ],
    }),
  };
  return { app, stack, routes };
}

if (import.meta.main) buildPolicies().app.synth();
