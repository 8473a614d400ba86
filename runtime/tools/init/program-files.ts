/** Terraform or CDKTF program of `gateway init`, with the first route. */
import type { InitAnswers } from "./questions.ts";

const FRAMEWORK = "cdktf";
const ADMIN_URL = "http://127.0.0.1:9901";

/** File name → text */
export function programFiles(answers: InitAnswers, version: string): Readonly<Record<string, string>> {
  switch (answers.program) {
    case "none":
      return {};
    case "terraform":
      return { "main.tf": terraformText(answers) };
    default:
      return { "main.ts": cdktfText(answers), "cdktf.json": CDKTF_JSON, "package.json": packageText(version) };
  }
}

function routeOf({ kind, to }: InitAnswers): { readonly upstream: string; readonly path: string } {
  const { origin, pathname } = new URL(to);
  return kind === "mcp" ? { upstream: origin, path: pathname === "/" ? "" : pathname } : { upstream: to, path: "" };
}

function terraformText(answers: InitAnswers): string {
  const { url, kind, domain } = answers;
  const { upstream, path } = routeOf(answers);
  const allowed = domain === "" ? "{ authenticated_user = true }" : `{ domain = { is = ${JSON.stringify(domain)} } }`;
  const mcp =
    kind === "mcp"
      ? `    mcp {\n      server {${path === "" ? "" : `\n        path = ${JSON.stringify(path)}\n      `}}\n    }\n`
      : "";
  return `# Routes of the gateway. The token is ADMIN_TOKEN of gateway.env:
#   export GATEWAY_ADMIN_TOKEN="$(sed -n 's/^ADMIN_TOKEN=//p' gateway.env)"
#   terraform init && terraform apply
terraform {
  required_version = ">= 1.8"
  required_providers {
    gateway = {
      source = "gateform/gateway"
    }
  }
}

resource "gateway_bundle" "main" {
  owner = "platform"

  http {
    url = "${ADMIN_URL}"
  }

  route "first" {
    from   = ${JSON.stringify(url)}
    to     = [${JSON.stringify(upstream)}]
    policy = jsonencode([{ allow = { and = [${allowed}] } }])
${mcp}  }
}
`;
}

function cdktfText(answers: InitAnswers): string {
  const { url, kind, domain } = answers;
  const { upstream, path } = routeOf(answers);
  const route = kind === "mcp" ? "McpServerRoute" : "Route";
  const criterion = domain === "" ? "authenticatedUser" : "domain";
  const allowed = domain === "" ? "authenticatedUser()" : `domain.is(${JSON.stringify(domain)})`;
  return `/**
 * Routes of the gateway. The token is ADMIN_TOKEN of gateway.env:
 *   npm install
 *   export GATEWAY_ADMIN_TOKEN="$(sed -n 's/^ADMIN_TOKEN=//p' gateway.env)"
 *   npx cdktf deploy
 */
import { App, LocalBackend, TerraformStack } from "${FRAMEWORK}";
import { allow, ${criterion}, Gateway, ${route} } from "gateform/cdktf";

const app = new App();
const stack = new TerraformStack(app, "gateway");
// On this machine. Your team's backend: S3Backend, GcsBackend, …
new LocalBackend(stack, { path: "terraform.tfstate" });

const gateway = new Gateway(stack, "gateway", {
  owner: "platform",
  http: { url: "${ADMIN_URL}" },
});

new ${route}(gateway, "first", {
  from: ${JSON.stringify(url)},
  to: ${JSON.stringify(upstream)},
${path === "" ? "" : `  mcpPath: ${JSON.stringify(path)},\n`}  policy: [allow(${allowed})],
});

app.synth();
`;
}

const CDKTF_JSON = `${JSON.stringify({ language: "typescript", app: "node main.ts", sendCrashReports: "false" }, null, 2)}\n`;

function packageText(version: string): string {
  const dependencies = { [FRAMEWORK]: "0.21.0", constructs: "~10.7.0", gateform: `^${version}` };
  const devDependencies = { "cdktf-cli": "0.21.0" };
  return `${JSON.stringify({ private: true, type: "module", dependencies, devDependencies }, null, 2)}\n`;
}
