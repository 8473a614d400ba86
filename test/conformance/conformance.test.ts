/**
 * The official conformance suite, straight to the fixture and through the authenticated gateway: every check must say
 * the same. The tasks extension, which the fixture does not have, fails alike on both ways and is not scored.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type IdentityProvider, startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { type TestGateway, startGateway } from "../support/gateway.ts";
import { signInClient } from "../support/oauth-client.ts";
import { freePort } from "../support/ports.ts";
import { type FixtureServer, startFixtureServer } from "./fixture-server.ts";
import { type Forwarder, startForwarder } from "./forwarder.ts";
import { runServerSuite, type SuiteResult } from "./suite.ts";

let fixture: FixtureServer;
let identityProvider: IdentityProvider;
let gateway: TestGateway;
let forwarder: Forwarder;

beforeAll(async () => {
  const port = await freePort();
  fixture = await startFixtureServer();
  identityProvider = await startIdentityProvider({
    clients: [
      {
        client_id: "gateway",
        client_secret: "conformance",
        redirect_uris: [`http://localhost:${port}/.gateway/callback`],
      },
    ],
  });
  gateway = await startGateway({
    port,
    yaml: `
runtime_flags: { mcp: true }
idp_provider_url: ${identityProvider.issuer}
idp_client_id: gateway
idp_client_secret: conformance
routes:
  - name: fixture
    from: "{origin}"
    prefix: /fixture
    to: ${new URL(fixture.url).origin}
    mcp: { server: { path: /mcp } }
    policy: { allow: { and: [{ domain: { is: example.com } }] } }
`,
  });
  const client = await signInClient({ resource: `${gateway.origin}/fixture/mcp`, user: "alice@example.com" });
  forwarder = await startForwarder(gateway.origin, client.tokens.access_token);
});

afterAll(async () => {
  await forwarder?.close();
  await gateway?.close();
  await identityProvider?.close();
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
    expect(Object.fromEntries(through.checks)).toEqual(Object.fromEntries(direct.checks));
    expect(through.checks.size).toBeGreaterThan(60);
  });
});

test("a policy that denies one tool changes the scenario of this tool and no other", async () => {
  const before = await runServerSuite(`${forwarder.origin}/fixture/mcp`, "2025-11-25");
  await gateway.reconfigure(`
runtime_flags: { mcp: true }
idp_provider_url: ${identityProvider.issuer}
idp_client_id: gateway
idp_client_secret: conformance
routes:
  - name: fixture
    from: "{origin}"
    prefix: /fixture
    to: ${new URL(fixture.url).origin}
    mcp: { server: { path: /mcp } }
    policy:
      - allow: { and: [{ domain: { is: example.com } }] }
      - deny: { or: [{ mcp_tool: test_image_content }] }
`);
  const after = await runServerSuite(`${forwarder.origin}/fixture/mcp`, "2025-11-25");
  const changed = [...before.checks].filter(([name, statuses]) => String(after.checks.get(name)) !== String(statuses));
  expect(changed.length).toBeGreaterThan(0);
  expect(new Set(changed.map(([name]) => name.split(" ")[0]))).toEqual(new Set(["tools-call-image"]));
});
