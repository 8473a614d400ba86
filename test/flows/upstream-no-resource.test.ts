/** `send_resource: false`: authorization servers that refuse `resource` (RFC 8707). */
import { afterAll, beforeAll, expect, test } from "vitest";

import { createTestClock } from "../support/clock.ts";
import { startUpstreamGateway, STATIC_SECRET, type UpstreamGateway } from "../support/upstream-gateway.ts";

const CLIENT = `client_id: static-client, client_secret: ${STATIC_SECRET}`;
const found = (more: string): string => `upstream_oauth2: { ${CLIENT}${more} }`;

const clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
let bench: UpstreamGateway;
beforeAll(async () => {
  bench = await startUpstreamGateway({
    clock,
    change: (yaml) => yaml.replace(found(""), found(", send_resource: false")),
  });
  bench.service.switches.refusesResource = true;
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
