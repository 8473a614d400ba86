/**
 * The official conformance suite, straight to the fixture and through the authenticated gateway: every check must say
 * the same. The tasks extension, which the fixture does not have, fails alike on both ways and is not scored; but for ids of
 * tasks that are nobody's, which the gateway refuses by itself, and as the standard has it.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { signInClient } from "../support/oauth-client.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";
import { type FixtureServer, startFixtureServer } from "./fixture-server.ts";
import { type Forwarder, startForwarder } from "./forwarder.ts";
import { runServerScenario, runServerSuite, type SuiteResult } from "./suite.ts";

let fixture: FixtureServer;
let world: SignInGateway;
let forwarder: Forwarder;

const routes = (policy: string): string => `
routes:
  - name: fixture
    from: "{origin}"
    prefix: /fixture
    to: ${new URL(fixture.url).origin}
    mcp: { server: { path: /mcp } }
    policy: ${policy}
`;
/** What the gateway rejects itself as the specification says, and the fixture does not. */
const REJECTED_HERE = [
  "tasks-dispatch-and-envelope sep-2663-tasks-get-invalid-task-id-32602",
  "tasks-capability-negotiation sep-2663-tasks-methods-non-declaring",
];
const ALLOW = "{ allow: { and: [{ domain: { is: example.com } }] } }";

beforeAll(async () => {
  fixture = await startFixtureServer();
  world = await startSignInGateway({ yaml: routes(`[${ALLOW}]`) });
  const { origin } = world.gateway;
  const client = await signInClient({ resource: `${origin}/fixture/mcp`, user: "alice@example.com" });
  forwarder = await startForwarder(origin, client.tokens.access_token);
});

afterAll(async () => {
  await forwarder?.close();
  await world?.close();
  await fixture?.close();
});

describe.each(["2025-11-25", "2026-07-28"])("conformance suite, revision %s", (revision) => {
  let direct: SuiteResult;

  test("the fixture itself passes all required scenarios", async () => {
    direct = await runServerSuite(fixture.url, revision);
    expect(direct.exitCode, direct.output).toBe(0);
  });

  test("every check says the same through the authenticated gateway", async () => {
    const through = await runServerSuite(`${forwarder.origin}/fixture/mcp`, revision);
    expect(through.exitCode, through.output).toBe(0);
    const expected = new Map(direct.checks);
    for (const check of REJECTED_HERE) if (expected.has(check)) expected.set(check, ["SUCCESS"]);
    expect(Object.fromEntries(through.checks)).toEqual(Object.fromEntries(expected));
    expect(through.checks.size).toBeGreaterThan(60);
  });
});

test.each(["enumeration", "manifest", "directory"])("skills, %s: every check passes", async (name) => {
  const { checks, exitCode, output } = await runServerScenario(
    `${forwarder.origin}/fixture/mcp`,
    `sep-2640-skills-${name}`,
  );
  expect(exitCode, output).toBe(0);
  expect(checks.size).toBeGreaterThan(5);
  expect([...checks].filter(([, statuses]) => statuses.some((status) => status !== "SUCCESS"))).toEqual([]);
});

test("a policy that denies one tool changes the scenario of this tool and no other", async () => {
  const before = await runServerSuite(`${forwarder.origin}/fixture/mcp`, "2025-11-25");
  await world.reconfigure(routes(`[${ALLOW}, { deny: { or: [{ mcp_tool: test_image_content }] } }]`));
  const after = await runServerSuite(`${forwarder.origin}/fixture/mcp`, "2025-11-25");
  const changed = [...before.checks].filter(([name, statuses]) => String(after.checks.get(name)) !== String(statuses));
  expect(changed.length).toBeGreaterThan(0);
  expect(new Set(changed.map(([name]) => name.split(" ")[0]))).toEqual(new Set(["tools-call-image"]));
});
