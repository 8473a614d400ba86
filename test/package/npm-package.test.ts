/** The published package in a project of its own: bins, entry points, types, and the snippets of the README. */
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { installPackage, type NpmProject } from "../support/npm-project.ts";
import { terraformMissing } from "../support/terraform.ts";

const readme = readFileSync(new URL("../../README.md", import.meta.url), "utf8");

/** Code blocks of a language in the README. */
function snippets(language: string): readonly string[] {
  return [...readme.matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, "gm"))].map(([, text = ""]) => text);
}

const app = (framework: "cdktf" | "cdktn", body = ""): string => `
import { writeFileSync } from "node:fs";
import { App, LocalBackend, TerraformStack } from "${framework}";
import * as gateform from "gateform/${framework}";
import {
  allow, deny, domain, Gateway, type GatewayProps, headerValue, gatewayToken, literal, McpServerRoute, mcpTool, Route,
} from "gateform/${framework}";
import { expectAllow, expectDeny, synthBundle } from "gateform/${framework}/testing";

const app = new App({ outdir: "out-${framework}" });
const stack = new TerraformStack(app, "main");
new LocalBackend(stack, { path: "terraform.tfstate" });
const settings: GatewayProps = { owner: "team", runtimeFlags: { mcp: true } };
const gateway = new Gateway(stack, "gateway", settings);
new Route(gateway, "wiki", {
  from: "https://wiki.example.com",
  to: "http://wiki.internal",
  policy: [allow(domain.is("example.com"))],
  setRequestHeaders: { "X-Token": headerValue\`Bearer \${gatewayToken.accessToken}\`, "X-Literal": literal("\${x} 100%") },
});
const tools = new McpServerRoute(gateway, "tools", {
  from: "https://tools.example.com",
  to: "http://tools.internal",
  policy: [allow(domain.is("example.com")), deny(mcpTool.startsWith("delete_"))],
});
expectAllow(tools, { email: "a@example.com", tool: "read" });
expectDeny(tools, { email: "a@example.com", tool: "delete_all" });
const { routes } = synthBundle(stack);
if (Object.keys(routes).join() !== "tools,wiki") throw new Error(JSON.stringify(routes));
${body}
app.synth();
// @ts-expect-error -- types are known here: a wrong prop is an error
export const wrong: gateform.RouteProps = { from: "https://a.example.com", to: "http://a", nonsense: true };
`;

const VERIFY = `
import { type AssertionClaims, verifyAssertion } from "gateform/verify";
export type Claims = AssertionClaims;
if (typeof verifyAssertion !== "function") throw new Error("verifyAssertion");
`;

const TSCONFIG = {
  compilerOptions: {
    module: "nodenext",
    target: "es2024",
    lib: ["es2024", "dom"],
    types: ["node"],
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
  },
};

describe("the npm package", { timeout: 240_000 }, () => {
  let project: NpmProject;
  beforeAll(async () => {
    project = await installPackage(["cdktf", "cdktn", "constructs", "typescript", "@types/node"]);
    project.write("tsconfig.json", JSON.stringify(TSCONFIG));
  }, 240_000);
  afterAll(() => project?.close());

  const node = (...args: string[]): string =>
    execFileSync(process.execPath, args, { cwd: project.directory, encoding: "utf8", timeout: 60_000 });

  test("carries what it needs and nothing else", () => {
    const files = readdirSync(join(project.directory, "node_modules/gateform"), { recursive: true }).map(String);
    const surprising = files.filter((file) => file.endsWith(".ts") && !file.endsWith(".d.ts"));
    expect(surprising).toEqual([]);
    expect(files.filter((file) => /(^|\/)(test|examples|node_modules)\//.test(file))).toEqual([]);
    expect(files).toEqual(expect.arrayContaining(["README.md", "LICENSE", "CHANGELOG.md", "package.json"]));
    // The maker's own workshop stays at home.
    expect(files.filter((file) => /runtime\/package\/|cdktf\/generate\./.test(file))).toEqual([]);
  });

  test("bins start: gateway checks the README's configuration, the provider says what it is for", async () => {
    const [yaml = ""] = snippets("yaml");
    project.write("gateway.yaml", yaml);
    expect(await project.run("gateway", "check", "gateway.yaml")).toMatch(/^good: 1 route, 0 errors/m);
    expect(await project.run("gateway", "--version")).toMatch(/^\d+\.\d+\.\d+/);
    expect(JSON.parse(await project.run("gateway", "schema"))).toHaveProperty("$defs");
    await expect(project.run("terraform-provider-gateway")).rejects.toThrow("This program is a Terraform plugin");
  });

  test("entry points import, type-check and synthesize the same bundle on cdktf and cdktn", async () => {
    project.write("main-cdktf.ts", app("cdktf"));
    project.write("main-cdktn.ts", app("cdktn"));
    project.write("verify.ts", VERIFY.replace("", ""));
    await project.run("tsc", "-p", ".");
    for (const file of ["main-cdktf.ts", "main-cdktn.ts", "verify.ts"]) node(file);
    const read = (framework: string, name: string): string =>
      readFileSync(join(project.directory, `out-${framework}/stacks/main/${name}`), "utf8");
    expect(read("cdktn", "gateway.bundle.json")).toBe(read("cdktf", "gateway.bundle.json"));
    const resource = (framework: string): unknown =>
      (JSON.parse(read(framework, "cdk.tf.json")) as { resource: unknown }).resource;
    expect(resource("cdktn")).toEqual(resource("cdktf"));
    const bundle = join(project.directory, "out-cdktn/stacks/main/gateway.bundle.json");
    expect(await project.run("gateway", "check", "gateway.yaml", bundle)).toMatch(/^good: 3 routes, 0 errors/m);
  });

  test("the README's constructs type-check and synthesize", async () => {
    const all = snippets("ts").join("\n");
    expect(all).toContain("new McpServerRoute(");
    project.write("readme.ts", app("cdktf", all).replace("out-cdktf", "out-readme"));
    await project.run("tsc", "-p", ".");
    node("readme.ts");
    const bundle = readFileSync(join(project.directory, "out-readme/stacks/main/gateway.bundle.json"), "utf8");
    expect(bundle).toContain("https://github.mcp.example.com");
  });

  const missing = terraformMissing();
  if (missing !== undefined) console.log(`skipped: the provider of the npm package, ${missing}`);
  test.skipIf(missing !== undefined)("gives Terraform the provider: mirror, init, apply", async () => {
    expect(await project.run("terraform-provider-gateway", "mirror", "mirror")).toContain("TF_CLI_CONFIG_FILE");
    const cwd = join(project.directory, "out-cdktn/stacks/main");
    const env = {
      PATH: process.env["PATH"],
      HOME: project.directory,
      CHECKPOINT_DISABLE: "1",
      TF_CLI_CONFIG_FILE: join(project.directory, "mirror/terraform.rc"),
    };
    const terraform = (...args: string[]): string =>
      execFileSync("terraform", args, { cwd, env, encoding: "utf8", timeout: 60_000 });
    terraform("init", "-input=false");
    expect(terraform("apply", "-auto-approve", "-no-color", "-input=false")).toContain("Apply complete!");
  });
});
