/** Two authorization servers of upstreams, one of which wants the codes of the other one (RFC 9700 §4.4); neither sends `iss`. */
import { afterAll, afterEach, beforeAll, expect, test } from "vitest";

import { startUpstreamGateway, type UpstreamGateway } from "../support/upstream-gateway.ts";
import { serverMetadata, startUpstreamService, type UpstreamService } from "../support/upstream-service.ts";

let honest: UpstreamService;
let attacker: UpstreamService;
let bench: UpstreamGateway;
let defaults: UpstreamService["switches"];

beforeAll(async () => {
  attacker = await startUpstreamService();
  honest = await startUpstreamService();
  defaults = { ...attacker.switches };
  // The route "auto" leads to the attacker, "good" to the honest server.
  bench = await startUpstreamGateway({
    service: attacker,
    change: (yaml) =>
      yaml.replace(
        "  - name: application\n",
        `  - name: good
    from: "{origin}"
    prefix: /good
    to: ${honest.origin}
    mcp: { server: { path: /mcp } }
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
  - name: application
`,
      ),
  });
});
afterEach(() => {
  Object.assign(attacker.switches, defaults);
  attacker.tokenRequests.length = 0;
});
afterAll(async () => {
  await bench?.close();
  await Promise.all([attacker?.close(), honest?.close()]);
});

/** Connects the honest server. @returns the gateway's client there */
async function clientOfGateway(): Promise<string> {
  expect(await bench.connect(await bench.person(), "good")).toMatchObject({ left: true, url: bench.application });
  return honest.authorizations.at(-1)?.get("client_id") ?? "";
}

test("metadata with another server's authorization endpoint cause no redirect there", async () => {
  const clientId = await clientOfGateway();
  const before = honest.authorizations.length;
  attacker.switches.serverMetadata = serverMetadata(attacker.origin, {
    authorization_endpoint: `${honest.origin}/authorize`,
  });
  attacker.switches.register = () => ({ client_id: clientId, token_endpoint_auth_method: "none" });

  const page = await bench.connect(await bench.person("bob@example.com"), "auto");

  expect(page.url).toBe(`${bench.application}?connect_error=not-set-up`);
  expect([honest.authorizations.length - before, attacker.tokenRequests]).toEqual([0, []]);
  expect(bench.gateway.log()).toContain("at another origin");
});

test("nor do metadata that promise iss and belong to a server that sends none get a code", async () => {
  const clientId = await clientOfGateway();
  attacker.switches.serverMetadata = serverMetadata(attacker.origin, {
    authorization_endpoint: `${honest.origin}/authorize`,
    authorization_response_iss_parameter_supported: true,
  });
  attacker.switches.register = () => ({ client_id: clientId, token_endpoint_auth_method: "none" });
  await bench.connect(await bench.person("bob@example.com"), "auto");
  expect(attacker.tokenRequests).toEqual([]);
});
