/* oxlint-disable no-new -- a construct registers itself with its scope */
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { App, TerraformStack, TerraformVariable, Token } from "cdktf";
import { Construct } from "constructs";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import {
  allow,
  authenticatedUser,
  deny,
  domain,
  Domain,
  Gateway,
  type GatewayProps,
  gatewayToken,
  headerValue,
  McpClientRoute,
  McpServerRoute,
  mcpTool,
  requestHeader,
  Route,
  Secret,
  UpstreamOauth2,
} from "../../cdktf/index.ts";
import { GatewayProvider } from "../../cdktf/generated/provider.ts";
import { propName } from "../../cdktf/synth/document.ts";
import { formatProblem, loadSlices } from "../../runtime/config/load.ts";
import { routeFields } from "../../runtime/config/route.ts";
import { bundleSchema } from "../../runtime/terraform/schema/schema.ts";

let outdir = "";
beforeEach(() => {
  outdir = mkdtempSync(join(tmpdir(), "gateform-cdktf-"));
});
afterEach(() => rmSync(outdir, { recursive: true }));

const FROM = "https://a.example.com";
const TO = "http://a.internal:8080";

interface Program {
  readonly app: App;
  readonly stack: TerraformStack;
  readonly gateway: Gateway;
}

function program(props: GatewayProps = {}): Program {
  const app = new App({ outdir });
  const stack = new TerraformStack(app, "stack");
  return { app, stack, gateway: new Gateway(stack, "gateway", props) };
}

const bundleFile = (name = "gateway.bundle.json"): string => join(outdir, "stacks", "stack", name);

/** Synthesizes and returns the one gateway_bundle as Terraform reads it. */
function resourceOf(app: App): Record<string, unknown> {
  app.synth();
  const json = JSON.parse(readFileSync(join(outdir, "stacks", "stack", "cdk.tf.json"), "utf8")) as {
    resource: { gateway_bundle: Record<string, Record<string, unknown>> };
  };
  const [resource] = Object.values(json.resource.gateway_bundle);
  if (!resource) throw new Error("Cannot find the bundle in cdk.tf.json");
  const { "//": _, ...rest } = resource;
  return rest;
}

describe("Gateway", () => {
  test("synthesizes every kind of setting to the resource", () => {
    // GIVEN
    const { app, gateway } = program({
      owner: "team-a",
      file: { directory: "/etc/gateway", mode: "0640" },
      runtimeFlags: { mcp: true },
      mcpAllowedClientIdDomains: [Domain.exactly("Vscode.dev"), "*.example.com"],
      mcpAllowedAsMetadataDomains: [Domain.subdomainsOf("example.com"), "a.internal"],
      idpProviderUrl: "https://idp.example.com",
      idpClientId: "gateway",
      idpClientSecret: Secret.fromEnvironment("IDP_SECRET"),
      idpGroupsResolver: {
        entra: {
          tenant: "72f988bf-86f1-41af-91ab-2d7cd011db47",
          clientId: "535fb089-9ff3-47b6-9bfb-4f1264799865",
          clientSecret: Secret.fromEnvironment("GRAPH_SECRET"),
        },
      },
      setResponseHeaders: { "X-Price": "$5" },
    });
    new Route(gateway, "wiki", {
      from: FROM,
      to: [TO, "http://b.internal:8080,2"],
      preserveHostHeader: true,
      policy: [allow(authenticatedUser())],
      setRequestHeaders: { "X-Token": headerValue`t=${gatewayToken.jwt} $`, "X-From": requestHeader("X-Real") },
      removeRequestHeaders: ["X-Debug"],
      setResponseHeaders: { "X-A": "a$b" },
      rewriteResponseHeaders: [{ header: "Location", prefix: "http://", value: "https://$/" }],
      timeout: "5s",
    });
    new McpServerRoute(gateway, "github", {
      from: "https://github.example.com",
      to: TO,
      mcpPath: "/mcp",
      maxRequestBytes: 8192,
      authorizationServerUrl: "https://as.example.com",
      upstreamOauth2: UpstreamOauth2.endpoints({
        clientId: "c",
        clientSecret: Secret.fromFile("/run/secrets/github"),
        endpoint: { authUrl: "https://as.example.com/a", tokenUrl: "https://as.example.com/t", authStyle: "params" },
        scopes: ["repo"],
        authorizationUrlParams: { access_type: "offline" },
      }),
      policy: [allow(domain.is("example.com")), deny(mcpTool.startsWith("delete_"))],
    });
    new McpServerRoute(gateway, "bare", {
      from: "https://bare.example.com",
      to: TO,
      policy: [allow(authenticatedUser())],
    });
    new McpClientRoute(gateway, "assistant", {
      name: "my assistant",
      from: "https://assistant.example.com",
      to: TO,
      policy: [allow(authenticatedUser())],
    });

    // WHEN
    const resource = resourceOf(app);

    // THEN
    expect(resource).toEqual({
      owner: "team-a",
      file: { directory: "/etc/gateway", mode: "0640" },
      runtime_flags: { mcp: true },
      mcp_allowed_client_id_domains: ["vscode.dev", "*.example.com"],
      mcp_allowed_as_metadata_domains: ["*.example.com", "a.internal"],
      idp_provider_url: "https://idp.example.com",
      idp_client_id: "gateway",
      idp_client_secret_ref: "env:IDP_SECRET",
      idp_groups_resolver: {
        entra: {
          tenant: "72f988bf-86f1-41af-91ab-2d7cd011db47",
          client_id: "535fb089-9ff3-47b6-9bfb-4f1264799865",
          client_secret_ref: "env:GRAPH_SECRET",
        },
      },
      set_response_headers: { "X-Price": "$$5" },
      route: {
        wiki: {
          from: FROM,
          to: [TO, "http://b.internal:8080,2"],
          preserve_host_header: true,
          policy: '[{"allow":{"and":[{"authenticated_user":true}]}}]',
          set_request_headers: {
            "X-Token": "t=$${gateway.jwt} $$",
            "X-From": '$${gateway.request.headers["X-Real"]}',
          },
          remove_request_headers: ["X-Debug"],
          set_response_headers: { "X-A": "a$$b" },
          headers: { rewrite_response_headers: [{ header: "Location", prefix: "http://", value: "https://$$/" }] },
          timeout: "5s",
        },
        github: {
          from: "https://github.example.com",
          to: [TO],
          policy:
            '[{"allow":{"and":[{"domain":{"is":"example.com"}}]}},{"deny":{"and":[{"mcp_tool":{"starts_with":"delete_"}}]}}]',
          mcp: {
            server: {
              path: "/mcp",
              max_request_bytes: 8192,
              authorization_server_url: "https://as.example.com",
              upstream_oauth2: {
                client_id: "c",
                client_secret_ref: "file:/run/secrets/github",
                endpoint: {
                  auth_url: "https://as.example.com/a",
                  token_url: "https://as.example.com/t",
                  auth_style: "params",
                },
                scopes: ["repo"],
                authorization_url_params: { access_type: "offline" },
              },
            },
          },
        },
        // Empty blocks are significant and must survive.
        bare: {
          from: "https://bare.example.com",
          to: [TO],
          mcp: { server: {} },
          policy: '[{"allow":{"and":[{"authenticated_user":true}]}}]',
        },
        "my assistant": {
          from: "https://assistant.example.com",
          to: [TO],
          mcp: { client: {} },
          policy: '[{"allow":{"and":[{"authenticated_user":true}]}}]',
        },
      },
    });
  });

  test("gives its stack one provider, whether the program made one or not", () => {
    const { app, stack } = program();
    new Gateway(stack, "second", { owner: "second" });
    app.synth();
    const made = stack.node.findAll().filter((child) => child instanceof GatewayProvider);
    expect(made).toHaveLength(1);

    const other = program();
    new GatewayProvider(other.stack, "mine");
    other.app.synth();
    expect(other.stack.node.findAll().filter((child) => child instanceof GatewayProvider)).toHaveLength(1);
  });

  test("takes routes from constructs below it, and refuses two of one name where the second is made", () => {
    const { gateway } = program();
    const team = new Construct(gateway, "team");
    new Route(team, "wiki", { from: FROM, to: TO });
    expect(Object.keys(gateway.slice.routes)).toEqual(["wiki"]);
    expect(() => new Route(gateway, "wiki", { from: FROM, to: TO })).toThrow(
      'Cannot add route "wiki" at "stack/gateway/wiki": the gateway has a route of that name at "stack/gateway/team/wiki"',
    );
  });

  test("a route needs a gateway above it", () => {
    const { stack } = program();
    expect(() => new Route(stack, "wiki", { from: FROM, to: TO })).toThrow("it must be made below a Gateway");
  });

  test("rejects an unknown prop and suggests the intended one", () => {
    const { gateway } = program();
    const props = { from: FROM, to: TO, hostRewritten: "x" };
    expect(() => new Route(gateway, "wiki", props)).toThrow(
      'Cannot make route "wiki": "hostRewritten" is not a known setting, did you mean "hostRewrite"?',
    );
  });
});

describe("secrets of a route's own settings", () => {
  const { block } = bundleSchema.blocks.find(({ name }) => name === "route")!;
  // Flat, or in a block of Terraform's alone.
  const attributes = [block, ...block.blocks.map((nested) => nested.block)].flatMap((each) =>
    each.attributes.map(({ name }) => name),
  );
  const secrets = routeFields.filter(({ kind }) => kind === "secret").map(({ name }) => name);

  test.each(secrets)("%s is refused in plain text, which the resource has no attribute for", (name) => {
    const { gateway } = program();
    const prop = propName(name);
    const make = (secret: Secret) => new Route(gateway, "wiki", { from: FROM, to: TO, [prop]: secret });
    expect(() => make(Secret.plainText("hush"))).toThrow(
      `Cannot make route "wiki": "${prop}" is given in plain text, must be Secret.fromFile(…), Secret.fromEnvironment(…), Secret.fromVault(…) or Secret.sealed(…)`,
    );
    expect(attributes).not.toContain(name);
    expect(attributes).toEqual(expect.arrayContaining([`${name}_ref`, `${name}_sealed`]));
  });

  test("reach the resource by reference, next to plain ones of blocks", () => {
    const { app, gateway } = program({ runtimeFlags: { mcp: true } });
    new McpServerRoute(gateway, "wiki", {
      from: FROM,
      to: "https://a.internal:8443",
      tlsCustomCa: Secret.fromFile("/etc/ca.pem"),
      upstreamOauth2: UpstreamOauth2.credentials({ clientId: "id", clientSecret: Secret.plainText("hush") }),
    });
    const { route } = resourceOf(app) as { route: Record<string, Record<string, unknown>> };
    expect(route["wiki"]).toMatchObject({
      upstream: { tls_custom_ca_ref: "file:/etc/ca.pem" },
      mcp: { server: { upstream_oauth2: { client_secret: "hush" } } },
    });
  });
});

describe("validation at synthesis", () => {
  test("names the construct and the setting", () => {
    const { app, gateway } = program();
    new Route(new Construct(gateway, "team"), "wiki", { from: FROM, to: TO, timeout: "soon", hostRewrite: "a b" });
    new Route(gateway, "fine", { from: "https://b.example.com", to: TO });
    expect(() => app.synth()).toThrow(
      /\[stack\/gateway\/team\/wiki\] "routes\.wiki\.host_rewrite" is "a b", .*\n.*\[stack\/gateway\/team\/wiki\] "routes\.wiki\.timeout" is "soon"/,
    );
    expect(existsSync(bundleFile())).toBe(false);
  });

  test("validates routes together: two for the same requests", () => {
    const { app, gateway } = program();
    new Route(gateway, "one", { from: FROM, to: TO, prefix: "/a" });
    new Route(gateway, "two", { from: FROM, to: TO, prefix: "/a/" });
    expect(() => app.synth()).toThrow(/\[stack\/gateway\/two\] "routes\.two/);
  });

  test("reports settings at the gateway", () => {
    const { app } = program({ idpProviderUrl: "https://idp.example.com" });
    expect(() => app.synth()).toThrow(/\[stack\/gateway\] "settings\.idp_provider_url" requires "idp_client_id"/);
  });

  test("reports doubtful values as warnings", () => {
    const { app, gateway } = program();
    new McpServerRoute(gateway, "github", { from: FROM, to: TO });
    app.synth();
    const manifest = JSON.parse(readFileSync(join(outdir, "manifest.json"), "utf8")) as {
      stacks: { stack: { annotations: { level: string; message: string }[] } };
    };
    const texts = manifest.stacks.stack.annotations.map(({ level, message }) => `${level} ${message}`);
    expect(texts).toContainEqual(
      expect.stringMatching(/warn "routes\.github" has no "policy", so everything is denied/),
    );
  });

  test("skips values that only Terraform knows, and validates the others", () => {
    const { app, stack, gateway } = program();
    const value = new TerraformVariable(stack, "value", {}).stringValue;
    new Route(gateway, "wiki", { from: value, to: `http://${value}:8080`, timeout: value, hostRewrite: value });
    expect(() => app.synth()).not.toThrow();
    new Route(gateway, "bad", { from: "https://b.example.com", to: `http://${value}:8080`, timeout: "soon" });
    expect(() => app.synth()).toThrow(/\[stack\/gateway\/bad\] "routes\.bad\.timeout"/);
  });
});

describe("values of other resources", () => {
  test("can replace whole lists, maps, numbers and flags", () => {
    const { app, stack, gateway } = program({ runtimeFlags: { mcp: true } });
    const list = (name: string): string[] => new TerraformVariable(stack, name, { type: "list(string)" }).listValue;
    const value = (name: string): TerraformVariable => new TerraformVariable(stack, name, {});
    new McpServerRoute(gateway, "server", {
      from: "https://a.example.com",
      to: list("to"),
      preserveHostHeader: value("preserve").booleanValue,
      setRequestHeaders: Token.asStringMap(value("headers").value),
      removeRequestHeaders: list("remove"),
      maxRequestBytes: value("bytes").numberValue,
      policy: [allow(authenticatedUser()), deny(mcpTool.in(list("tools")))],
    });
    const { route } = resourceOf(app) as { route: Record<string, unknown> };
    expect(route["server"]).toEqual({
      from: "https://a.example.com",
      to: "${var.to}",
      preserve_host_header: "${var.preserve}",
      set_request_headers: "${var.headers}",
      remove_request_headers: "${var.remove}",
      mcp: { server: { max_request_bytes: "${var.bytes}" } },
      policy:
        '[{"allow":{"and":[{"authenticated_user":true}]}},{"deny":{"and":[{"mcp_tool":{"in":${jsonencode(var.tools)}}}]}}]',
    });
    expect(existsSync(bundleFile())).toBe(false);
  });

  test("are also known to settings of the gateway", () => {
    const app = new App({ outdir });
    const stack = new TerraformStack(app, "stack");
    const domains = new TerraformVariable(stack, "domains", { type: "list(string)" }).listValue;
    const directory = new TerraformVariable(stack, "directory", {}).stringValue;
    new Gateway(stack, "gateway", {
      mcpAllowedClientIdDomains: domains,
      runtimeFlags: { mcp: new TerraformVariable(stack, "mcp", {}).booleanValue },
      file: { directory: `${directory}/\${x}` },
    });
    expect(resourceOf(app)).toMatchObject({
      mcp_allowed_client_id_domains: "${var.domains}",
      runtime_flags: { mcp: "${var.mcp}" },
      file: { directory: '${var.directory}/${"$"}{x}' },
    });
  });
});

describe("gateway.bundle.json", () => {
  test("is a slice that the gateway loads", () => {
    const { app, gateway } = program({ owner: "team-a", runtimeFlags: { mcp: true } });
    new McpServerRoute(gateway, "github", {
      from: FROM,
      to: TO,
      setRequestHeaders: { "X-Token": headerValue`${gatewayToken.jwt} costs $5` },
      policy: [allow(domain.is("example.com"))],
    });
    app.synth();
    const text = readFileSync(bundleFile(), "utf8");
    const { problems, config } = loadSlices([{ file: "gateway.bundle.json", text, boot: false }]);
    expect(problems.filter(({ severity }) => severity === "error").map(formatProblem)).toEqual([]);
    expect(config?.routes[0]).toMatchObject({
      key: "team-a/github",
      doc: { set_request_headers: { "X-Token": "${gateway.jwt} costs $$5" }, mcp: { server: {} } },
    });
    expect(JSON.parse(text)).toEqual(gateway.slice);
  });

  test("is not written, and an older one is removed, when a value is only known to Terraform", () => {
    const first = program();
    new Route(first.gateway, "wiki", { from: FROM, to: TO });
    first.app.synth();
    expect(existsSync(bundleFile())).toBe(true);

    const { app, stack, gateway } = program();
    const host = new TerraformVariable(stack, "host", {}).stringValue;
    new Route(gateway, "wiki", { from: FROM, to: `http://${host}:80` });
    app.synth();
    expect(existsSync(bundleFile())).toBe(false);
    const manifest = readFileSync(join(outdir, "manifest.json"), "utf8");
    expect(manifest).toContain("gateway.bundle.json is not written: the bundle has values that only Terraform knows");
  });

  test("messages of the synthesis go to stderr, or to the command line if that runs the program", () => {
    const said = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    const synthesize = (): void => {
      const { app, stack, gateway } = program();
      new Route(gateway, "wiki", {
        from: FROM,
        to: `http://${new TerraformVariable(stack, "host", {}).stringValue}:80`,
      });
      app.synth();
    };
    try {
      synthesize();
      const lines = said.mock.calls.map(([text]) => String(text));
      expect(lines).toEqual([
        expect.stringMatching(/^\[stack\/gateway\] warning: .*"policy".*\n$/),
        expect.stringMatching(/^\[stack\/gateway\] info: gateway\.bundle\.json is not written: .*\n$/),
      ]);
      said.mockClear();
      vi.stubEnv("CDKTF_CONTINUE_SYNTH_ON_ERROR_ANNOTATIONS", "true");
      synthesize();
      expect(said).not.toHaveBeenCalled();
    } finally {
      vi.unstubAllEnvs();
      said.mockRestore();
    }
  });

  test("carries the owner in its name where a stack has several gateways", () => {
    const { app, stack } = program({ owner: "a" });
    new Gateway(stack, "other", { owner: "b" });
    app.synth();
    expect(existsSync(bundleFile())).toBe(false);
    expect(JSON.parse(readFileSync(bundleFile("gateway.b.bundle.json"), "utf8"))).toMatchObject({ owner: "b" });
  });
});
