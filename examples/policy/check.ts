/** Unit tests of the policies, as one would write them in any test runner. One line per step. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { expectAllow, expectDeny, synthBundle } from "../../cdktf/testing.ts";
import { createSteps } from "../demo/steps.ts";
import { buildPolicies } from "./gateway.ts";

const steps = createSteps();
const outdir = await mkdtemp(join(tmpdir(), "gateway-policy-"));
const { stack, routes } = buildPolicies(outdir);

const alice = { email: "alice@example.com" };
const guest = { email: "guest@partner.example" };
const stranger = { email: "eve@example.org" };

await steps.step("denylist: colleagues use every tool but those that delete", async () => {
  expectAllow(routes.denylist, { ...alice, tool: "search" });
  expectAllow(routes.denylist, { ...alice, mcpMethod: "tools/list" });
  expectDeny(routes.denylist, { ...alice, tool: "delete_repo" });
  expectDeny(routes.denylist, { ...stranger, tool: "search" });
  expectDeny(routes.denylist, { tool: "search" });
});

await steps.step("allowlist: support uses two tools, and other messages pass", async () => {
  const support = { ...alice, groups: ["support"] };
  expectAllow(routes.allowlist, { ...support, tool: "search" });
  expectAllow(routes.allowlist, { ...support, mcpMethod: "initialize" });
  expectDeny(routes.allowlist, { ...support, tool: "write" });
  // Names are compared exactly.
  expectDeny(routes.allowlist, { ...support, tool: "Search" });
  expectDeny(routes.allowlist, { ...alice, tool: "search" });
});

await steps.step("tiered: only the release group deploys, nobody deletes", async () => {
  const releaser = { ...alice, groups: ["release"] };
  expectAllow(routes.tiered, { ...releaser, tool: "deploy" });
  expectDeny(routes.tiered, { ...alice, tool: "deploy" });
  expectAllow(routes.tiered, { ...guest, tool: "search" });
  expectDeny(routes.tiered, { ...releaser, tool: "delete_repo" });
});

await steps.step("trap: mcp_tool under allow leaves out everything that is no tool call", async () => {
  expectAllow(routes.trap, { ...alice, tool: "search" });
  expectDeny(routes.trap, { ...alice, mcpMethod: "tools/list" });
  expectDeny(routes.trap, { ...alice, mcpMethod: "initialize" });
});

await steps.step("report: managers from anywhere, readers from the office", async () => {
  const manager = { ...alice, claims: { role: "manager" } };
  expectAllow(routes.report, { ...manager, method: "POST", ip: "203.0.113.9" });
  expectAllow(routes.report, { ...alice, ip: "192.0.2.77" });
  expectDeny(routes.report, { ...alice, ip: "203.0.113.9" });
  expectDeny(routes.report, { ...alice, method: "POST", ip: "192.0.2.77" });
  expectDeny(routes.report, { email: "boss@partner.example", claims: { role: "manager" } });
  // A browser asks without credentials before it sends a request from another site.
  expectAllow(routes.report, { isCorsPreflight: true });
  expectDeny(routes.report, { method: "OPTIONS" });
});

await steps.step("a failed expectation says which rule decided", async () => {
  const text = await Promise.resolve()
    .then(() => expectAllow(routes.denylist, { ...alice, tool: "delete_repo" }))
    .then(
      () => "it passed",
      (error: unknown) => String(error),
    );
  steps.match(text, /denied \(mcp-tool-unauthorized\)/);
  steps.match(text, /deny, all of: true\s+true\s+mcp_tool/);
  return text;
});

await steps.step("the bundle carries the policies as a file would have them", async () => {
  const { policy } = synthBundle(stack).routes["allowlist"] ?? {};
  steps.equal(
    JSON.stringify(policy),
    '[{"allow":{"and":[{"groups":{"has":"support"}}]}},{"deny":{"and":[{"mcp_tool":{"not_in":["read","search"]}}]}}]',
  );
});

await rm(outdir, { recursive: true });
process.exitCode = steps.end();
