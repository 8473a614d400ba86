/* oxlint-disable no-new -- a construct registers itself with its scope */
/** Programs through the real Terraform. The provider is in this process: Terraform would start it two or three times per command. */
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { App, Fn, type IResolvable, LocalBackend, TerraformStack, TerraformVariable } from "cdktf";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  allow,
  authenticatedUser,
  deny,
  domain,
  email,
  Gateway,
  gatewayToken,
  headerValue,
  McpClientRoute,
  McpServerRoute,
  mcpTool,
  requestHeader,
  Route,
  shadow,
} from "../../cdktf/index.ts";
import { buildDemo } from "../../examples/demo/gateway.ts";
import { loadSlices } from "../../runtime/config/load.ts";
import { digestOf } from "../../runtime/shared/canonical-json.ts";
import { parseTemplate, renderTemplate, type TemplateValues } from "../../runtime/features/headers/template.ts";
import {
  createWorkspace,
  type InProcessProvider,
  serveInProcess,
  terraformMissing,
  type Workspace,
} from "../support/terraform.ts";
import { LONG_MS } from "../support/limits.ts";

const missing = terraformMissing();
if (missing !== undefined) console.log(`skipped: test/cdktf/terraform.test.ts, ${missing}`);

let root = "";
let provider: InProcessProvider;
beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "gateform-cdktf-"));
  provider = await serveInProcess();
});
afterAll(() => {
  provider.close();
  rmSync(root, { recursive: true });
});

interface Program {
  readonly app: App;
  readonly stack: TerraformStack;
  readonly gateway: Gateway;
}

/** A program that publishes as `name` to `slices(name)`. */
function program(name: string): Program {
  const app = new App({ outdir: join(root, name) });
  const stack = new TerraformStack(app, name);
  new LocalBackend(stack, { path: "terraform.tfstate" });
  const gateway = new Gateway(stack, "gateway", {
    owner: name,
    runtimeFlags: { mcp: true },
    file: { directory: slices(name) },
  });
  return { app, stack, gateway };
}

const slices = (name: string): string => join(root, `${name}-slices`);
const published = (name: string): string => readFileSync(join(slices(name), `${name}.json`), "utf8");
const bundleFile = (name: string): string =>
  readFileSync(join(root, name, "stacks", name, "gateway.bundle.json"), "utf8");

/** Synthesizes, applies, and plans again: nothing may be left to do. Then `check`, then destroys. */
async function apply(app: App, name: string, check: (terraform: Workspace) => Promise<void>, ...variables: string[]) {
  const terraform = createWorkspace(provider.env);
  try {
    app.synth();
    terraform.write("cdk.tf.json", readFileSync(join(root, name, "stacks", name, "cdk.tf.json"), "utf8"));
    await terraform.succeed("init");
    await terraform.succeed("apply", "-auto-approve", ...variables);
    expect(await terraform.succeed("plan", "-detailed-exitcode", ...variables)).toContain("No changes.");
    await check(terraform);
    await terraform.succeed("destroy", "-auto-approve", ...variables);
    expect(() => published(name)).toThrow("ENOENT");
  } finally {
    terraform.close();
  }
}

describe.skipIf(missing !== undefined)("terraform", { timeout: LONG_MS }, () => {
  test("publishes the bytes of gateway.bundle.json: the demo program", async () => {
    const app = buildDemo({
      origin: "http://localhost:8080",
      mcpServer: "http://127.0.0.1:9001",
      webApp: "http://127.0.0.1:9002",
      directory: slices("demo"),
      outdir: join(root, "demo"),
    });
    await apply(app, "demo", async (terraform) => {
      expect(published("demo")).toBe(bundleFile("demo"));
      const state = JSON.parse(await terraform.succeed("show", "-json")) as State;
      expect(state.values.root_module.resources[0]?.values.sha256).toBe(digestOf(JSON.parse(bundleFile("demo"))));
    });
  });

  test("delivers literal text and substitutions unread, and keeps empty blocks", async () => {
    const { app, gateway } = program("escapes");
    const literals = ["$", "$$", "${gateway.jwt}", "$${x}", "a$$$b", "100%{if}", '"q" \\ \\" }', "%%{", "$%{${"];
    new Route(gateway, "web", {
      from: "https://a.example.com",
      to: "http://a:1",
      setRequestHeaders: {
        ...Object.fromEntries(literals.map((text, index) => [`X-L${index}`, headerValue`${text}`])),
        "X-Token": headerValue`Bearer ${gatewayToken.accessToken} $ ${requestHeader("X-Foo")}`,
      },
      policy: [allow(email.in(['${x} "q" \\', "%{y}"])), shadow(allow(email.in(["${z}"])))],
      shadowPolicy: [allow(email.in(["%{s}"]))],
    });
    new McpServerRoute(gateway, "server", { from: "https://b.example.com", to: "http://a:1" });
    new McpClientRoute(gateway, "client", { from: "https://c.example.com", to: "http://a:1" });

    await apply(app, "escapes", async () => {
      const { config } = loadSlices([{ file: "published", text: published("escapes"), boot: false }]);
      const route = (name: string) => config?.routes.find(({ key }) => key === `escapes/${name}`)?.doc;
      const sent = Object.entries(route("web")?.set_request_headers ?? {}).map(([name, text]) => [
        name,
        renderTemplate(parseTemplate(text), SUBSTITUTES),
      ]);
      expect(Object.fromEntries(sent)).toEqual({
        ...Object.fromEntries(literals.map((text, index) => [`X-L${index}`, text])),
        "X-Token": "Bearer AT $ FOO",
      });
      expect(route("web")?.policy).toEqual([
        { allow: { and: [{ email: { in: ['${x} "q" \\', "%{y}"] } }] } },
        { shadow: true, allow: { and: [{ email: { in: ["${z}"] } }] } },
      ]);
      expect(route("web")?.shadow_policy).toEqual([{ allow: { and: [{ email: { in: ["%{s}"] } }] } }]);
      expect(route("server")?.mcp).toEqual({ server: {} });
      expect(route("client")?.mcp).toEqual({ client: {} });
      expect(published("escapes")).toBe(bundleFile("escapes"));
    });
  });

  test("delivers patterns, rewrites, redirects and fixed responses as they are", async () => {
    const { app, gateway } = program("routing");
    const policy = [allow(email.in(["a@example.com"]))];
    new Route(gateway, "pattern", {
      from: "https://*.example.com",
      to: "http://a:1",
      regex: String.raw`^/api/v([0-9]+)/[^$]+\.json$`,
      regexPriorityOrder: 7,
      regexRewritePattern: "^/api/v([0-9]+)/(.*)$",
      regexRewriteSubstitution: String.raw`/\1/$\2`,
      policy,
    });
    new Route(gateway, "swapped", {
      from: "https://a.example.com",
      to: "http://a:1",
      prefix: "/a",
      prefixRewrite: "/b",
      policy,
    });
    new Route(gateway, "moved", {
      from: "https://b.example.com",
      redirect: { hostRedirect: "c.example.com", portRedirect: 8443, responseCode: 308, stripQuery: true },
      policy,
    });
    new Route(gateway, "robots", {
      from: "https://b.example.com",
      path: "/robots.txt",
      response: { status: 200, body: "User-agent: *\n${x} %{y}\n" },
      policy,
    });
    new Route(gateway, "gone", { from: "https://d.example.com", response: { status: 410 }, policy });

    await apply(app, "routing", async () => {
      expect(published("routing")).toBe(bundleFile("routing"));
      const { config, problems } = loadSlices([{ file: "published", text: published("routing"), boot: false }]);
      expect(problems.filter(({ severity }) => severity === "error")).toEqual([]);
      const route = (name: string) => config?.routes.find(({ key }) => key === `routing/${name}`)?.doc;
      expect(route("pattern")).toMatchObject({
        regex: String.raw`^/api/v([0-9]+)/[^$]+\.json$`,
        regex_rewrite_substitution: String.raw`/\1/$\2`,
      });
      expect(route("moved")).toEqual({
        from: "https://b.example.com",
        redirect: { host_redirect: "c.example.com", port_redirect: 8443, response_code: 308, strip_query: true },
        policy: route("gone")?.policy,
      });
      expect(route("robots")?.response).toEqual({ status: 200, body: "User-agent: *\n${x} %{y}\n" });
      expect(route("gone")?.response).toEqual({ status: 410 });
    });
  });

  test("passes on values of other resources with any characters", async () => {
    const { app, stack, gateway } = program("tokens");
    const variable = (name: string): string => new TerraformVariable(stack, name, { type: "string" }).stringValue;
    const [host, text, who] = [variable("host"), variable("text"), variable("who")];
    new Route(gateway, "web", {
      from: "https://a.example.com",
      to: [`http://${host}:8080`],
      setRequestHeaders: { "X-Text": headerValue`} $${text} \${ ${gatewayToken.jwt} %{ ${text}` },
      setResponseHeaders: { "X-Host": `<$${host}>` },
      policy: [
        allow(authenticatedUser()),
        deny(email.is(who)),
        deny(domain.in([`x-${who}-"y"`])),
        deny(mcpTool.is("a")),
      ],
    });
    const given = { host: "a.internal", text: 'v$1 ${x} "q" \\', who: '"}]}}, {"allow": \\ ${z}' };
    const variables = Object.entries(given).map(([name, value]) => `-var=${name}=${value}`);
    const check = async () => {
      expect(() => bundleFile("tokens")).toThrow("ENOENT");
      const slice = JSON.parse(published("tokens")) as { routes: { web: Record<string, unknown> } };
      const doubled = given.text.replaceAll("$", "$$$$");
      expect(slice.routes.web).toMatchObject({
        to: ["http://a.internal:8080"],
        set_request_headers: { "X-Text": `} $$${doubled} $$\{ \${gateway.jwt} %{ ${doubled}` },
        set_response_headers: { "X-Host": "<$$a.internal>" },
        policy: [
          { allow: { and: [{ authenticated_user: true }] } },
          { deny: { and: [{ email: { is: given.who } }] } },
          { deny: { and: [{ domain: { in: [`x-${given.who}-"y"`] } }] } },
          { deny: { and: [{ mcp_tool: { is: "a" } }] } },
        ],
      });
    };
    await apply(app, "tokens", check, ...variables);
  });

  test("publishes routes that only Terraform knows in addition to those of constructs", async () => {
    const app = new App({ outdir: join(root, "more") });
    const stack = new TerraformStack(app, "more");
    new LocalBackend(stack, { path: "terraform.tfstate" });
    const given = ["a", "b"].map((name) => new TerraformVariable(stack, name, { type: "any" }));
    const gateway = new Gateway(stack, "gateway", {
      owner: "more",
      file: { directory: slices("more") },
      routes: Fn.merge(given.map(({ value }) => value)) as IResolvable,
    });
    new Route(gateway, "web", {
      from: "https://web.example.com",
      to: "http://a:1",
      policy: [allow(authenticatedUser())],
    });
    const variables = given.map(({ friendlyUniqueId: name }) => {
      const route = { from: `https://${name}.example.com`, to: [`http://${name}:1`], timeout: "1s", policy: "[]" };
      return `-var=${name}=${JSON.stringify({ [name]: route })}`;
    });
    const check = async () => {
      expect(() => bundleFile("more")).toThrow("ENOENT");
      const { routes } = JSON.parse(published("more")) as { routes: Record<string, { timeout?: string }> };
      expect(Object.entries(routes).map(([name, { timeout }]) => [name, timeout])).toEqual([
        ["a", "1s"],
        ["b", "1s"],
        ["web", undefined],
      ]);
    };
    await apply(app, "more", check, ...variables);
  });
});

const SUBSTITUTES: TemplateValues = {
  accessToken: "AT",
  idToken: "",
  clientCertFingerprint: "",
  jwt: () => "JWT",
  requestHeader: () => "FOO",
};

interface State {
  readonly values: {
    readonly root_module: { readonly resources: readonly { readonly values: { readonly sha256: string } }[] };
  };
}
