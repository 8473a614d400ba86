/* oxlint-disable no-new -- a construct registers itself with its scope */
import { TerraformStack, TerraformVariable, Testing } from "cdktf";
import { describe, expect, test } from "vitest";

import {
  allow,
  and,
  approve,
  claim,
  deny,
  device,
  domain,
  Gateway,
  McpServerRoute,
  mcpTool,
  Route,
} from "../../cdktf/index.ts";
import { expectAllow, expectApproval, expectDeny, synthBundle } from "../../cdktf/testing.ts";

function stackWithGateway(): { stack: TerraformStack; gateway: Gateway } {
  const stack = new TerraformStack(Testing.app(), "stack");
  return { stack, gateway: new Gateway(stack, "gateway", { runtimeFlags: { mcp: true } }) };
}

const policy = [allow(domain.is("example.com")), deny(mcpTool.startsWith("delete_"))];

describe("expectAllow and expectDeny", () => {
  test("ask the real engine about a policy or a route", () => {
    const { gateway } = stackWithGateway();
    const route = new McpServerRoute(gateway, "github", { from: "https://a.example.com", to: "http://a:1", policy });
    for (const target of [route, policy]) {
      expectAllow(target, { email: "a@example.com", tool: "list_repos" });
      expectAllow(target, { email: "a@example.com", mcpMethod: "tools/list" });
      expectDeny(target, { email: "a@example.com", tool: "delete_repo" });
      expectDeny(target, { email: "a@example.org", tool: "list_repos" });
      expectDeny(target, { tool: "list_repos" });
    }
    expectAllow([allow(claim("department").has("sales"))], { user: "u1", claims: { department: "sales" } });
  });

  test("tell a call that waits for an approval from both, as expectApproval does", () => {
    const held = [...policy, approve(mcpTool.is("send_mail"))];
    const call = { email: "a@example.com", tool: "send_mail" };
    expectApproval(held, call);
    expect(() => expectAllow(held, call)).toThrow(/^Expected to be allowed: .*: allowed once the user confirms/);
    expect(() => expectDeny(held, call)).toThrow(/^Expected to be denied: /);
    expect(() => expectApproval(policy, call)).toThrow(/^Expected to be pending approval: /);
  });

  test("accept a device that the session has verified, which only sessions can", () => {
    const guarded = [allow(and(domain.is("example.com"), device({ approved: true })))];
    const email = "a@example.com";
    expectAllow(guarded, { email, device: { approved: true } });
    expectDeny(guarded, { email, device: { is: "dev_1" } });
    expectDeny(guarded, { email });
    expectDeny(guarded, { email, mcpMethod: "tools/list", device: { approved: true } });
    expectAllow([allow(device({ is: "dev_1", type: "enclave_only" }))], {
      email,
      device: { is: "dev_1", type: "enclave_only" },
    });
    expectDeny([allow(device({ type: "any" }))], { device: {} });
  });

  test("say which rule decided", () => {
    expect(() => expectAllow(policy, { email: "a@example.com", tool: "delete_repo" })).toThrow(
      /^Expected to be allowed: a@example\.com calls delete_repo: denied \(mcp-tool-unauthorized\)\n\ndeny, all of: true\n +true +mcp_tool \{"starts_with":"delete_"\}/,
    );
    expect(() => expectDeny(policy, { email: "a@example.com" })).toThrow(
      /^Expected to be denied: a@example\.com asks for GET \/: allowed/,
    );
  });

  test("a route without a policy denies", () => {
    const { gateway } = stackWithGateway();
    const route = new Route(gateway, "wiki", { from: "https://a.example.com", to: "http://a:1" });
    expectDeny(route, { email: "a@example.com" });
    expect(() => expectAllow(route, { email: "a@example.com" })).toThrow(/on route "wiki": denied.*\n\nno allow rule/);
  });
});

describe("synthBundle", () => {
  test("gives the slice that would be published", () => {
    const { stack, gateway } = stackWithGateway();
    new Route(gateway, "wiki", { from: "https://A.example.com/", to: "http://a:1", prefix: "/x/" });
    expect(synthBundle(stack)).toEqual({
      version: 1,
      owner: "main",
      settings: { runtime_flags: { mcp: true } },
      routes: { wiki: { from: "https://a.example.com", to: ["http://a:1"], prefix: "/x" } },
    });
  });

  test("refuses an invalid program, unknown values, and a stack without a gateway", () => {
    const { stack, gateway } = stackWithGateway();
    new Route(gateway, "wiki", { from: "nowhere", to: "http://a:1" });
    expect(() => synthBundle(stack)).toThrow(/\n {2}\[stack\/gateway\/wiki\] "routes\.wiki\.from" is "nowhere"/);

    const other = stackWithGateway();
    const to = new TerraformVariable(other.stack, "to", {}).stringValue;
    new Route(other.gateway, "wiki", { from: "https://a.example.com", to });
    expect(() => synthBundle(other.stack)).toThrow("it has values that only Terraform knows");
    expect(() => synthBundle(new TerraformStack(Testing.app(), "empty"))).toThrow("it has 0 gateways, must have one");
  });
});
