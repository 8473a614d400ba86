/** The payments team's slice: its routes, below its own domain. It cannot touch anybody else's. */
/* oxlint-disable no-new -- a construct registers itself with its scope */
import { App, LocalBackend, TerraformStack } from "cdktf";

import { accept, allow, and, deny, Gateway, groups, McpServerRoute, mcpTool, Route } from "../../../cdktf/index.ts";

export function buildPayments(env: NodeJS.ProcessEnv) {
  const app = new App();
  const stack = new TerraformStack(app, "payments");
  new LocalBackend(stack, { path: env["STATE_FILE"] ?? "terraform.tfstate" });

  const gateway = new Gateway(stack, "gateway", {
    owner: "payments",
    http: { url: env["GATEWAY_ADMIN_URL"] ?? "http://127.0.0.1:9901" },
  });
  const to = env["UPSTREAM"] ?? "http://payments.internal:8080";
  const from = env["PAYMENTS_ORIGIN"] ?? "https://pay.payments.example.com";

  const shop = new Route(gateway, "shop", {
    from,
    prefix: "/shop",
    to,
    policy: [allow(accept())],
    setRequestHeaders: { "X-Owner": "payments", "X-Version": "1" },
  });
  const ledger = new McpServerRoute(gateway, "ledger", {
    from,
    prefix: "/ledger",
    to,
    policy: [
      allow(groups.has("payments")),
      deny(and(mcpTool.notIn(["read_entry", "list_entries"]), groups.exclude("treasury"))),
    ],
  });
  return { app, stack, shop, ledger };
}

if (import.meta.main) buildPayments(process.env).app.synth();
