/** `send_resource: false`: authorization servers that refuse `resource` (RFC 8707). */
import { afterAll, beforeAll, expect, test } from "vitest";

import { createTestClock } from "../support/clock.ts";
import { startUpstreamGateway, STATIC_SECRET, type UpstreamGateway } from "../support/upstream-gateway.ts";
import { serverMetadata } from "../support/upstream-service.ts";

const CLIENT = `client_id: static-client, client_secret: ${STATIC_SECRET}`;
const found = (more: string): string => `upstream_oauth2: { ${CLIENT}${more} }`;

const clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
let bench: UpstreamGateway;
beforeAll(async () => {
  bench = await startUpstreamGateway({
    clock,
    change: (yaml) => yaml.replace(found(""), found(", send_resource: false")),
  });
  const { origin, switches } = bench.service;
  switches.refusesResource = true;
  switches.serverMetadata = serverMetadata(origin, {
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
  });
});
afterAll(() => bench?.close());

test("neither the authorization request nor code and refresh have it", async () => {
  const { service } = bench;
  service.switches.accessTokenSeconds = 120;
  const person = await bench.person();
  expect(await bench.connect(person, "found")).toMatchObject({ left: true });
  expect(await bench.list(person)).toMatchObject({ found: true });
  expect(service.authorizations.at(-1)?.get("client_id")).toBe("static-client");
  expect(service.authorizations.at(-1)?.has("resource")).toBe(false);

  const client = await bench.signIn("found", { browser: person });
  clock.advance(121_000);
  expect((await bench.call("found", client.tokens.access_token)).status).toBe(200);
  const grants = service.tokenRequests.map((form) => [form.get("grant_type"), form.has("resource")]);
  expect(grants).toContainEqual(["authorization_code", false]);
  expect(grants).toContainEqual(["refresh_token", false]);
  expect(grants.filter(([, hasResource]) => hasResource)).toEqual([]);
});

test("nor does a request of the gateway's own client", async () => {
  const { service } = bench;
  service.switches.token = (form, response) => {
    service.accessTokens.set("of-the-client", { clientId: "static-client", scope: "", resource: "" });
    const status = form.has("resource") ? 400 : 200;
    const body = { access_token: "of-the-client", token_type: "Bearer", expires_in: 600 };
    return Boolean(response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body)));
  };
  const direct = found(", send_resource: false, client_credentials: true");
  await bench.gateway.reconfigure(bench.yaml((yaml) => yaml.replace(found(", send_resource: false"), direct)));
  const before = service.tokenRequests.length;
  const client = await bench.signIn("found", { user: "alice@example.com" });
  expect((await bench.call("found", client.tokens.access_token)).status).toBe(200);
  expect(service.tokenRequests.slice(before).map((form) => form.get("grant_type"))).toEqual(["client_credentials"]);
  expect(service.tokenRequests.at(-1)?.has("resource")).toBe(false);
});
