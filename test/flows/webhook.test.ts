/** A whole gateway sends events to a real receiver. */
import { createHmac } from "node:crypto";

import { afterAll, beforeAll, expect, test } from "vitest";

import { createAdminClient } from "../support/admin-client.ts";
import { type TestGateway, startGateway } from "../support/gateway.ts";
import { type HostileServer, type SeenRequest, startHostileServer } from "../support/hostile-server.ts";

const SECRET = Buffer.alloc(32, 3).toString("base64");
const ROUTES = "routes: [{ from: '{origin}', to: 'http://127.0.0.1:1', policy: [] }]\n";

let receiver: HostileServer;
let gateway: TestGateway;
let took: PromiseWithResolvers<SeenRequest>;

beforeAll(async () => {
  took = Promise.withResolvers();
  receiver = await startHostileServer((request, response) => {
    response.end();
    took.resolve(request);
  });
  const webhook = { url: `${receiver.origin}/hooks/abc?key=secret-of-the-address`, secret: `whsec_${SECRET}` };
  gateway = await startGateway({ yaml: ROUTES, boot: { webhook } });
});
afterAll(async () => {
  await gateway.close();
  await receiver.close();
});

test("a rejected configuration is reported, signed; /status and metrics show it, and no secret appears", async () => {
  // It never takes effect, so only the receiver shows when it was processed.
  void gateway.reconfigure("routes: [{ from: 'no address' }]\n");
  const { url, headers, body } = await took.promise;
  expect(url).toBe("/hooks/abc?key=secret-of-the-address");
  expect(JSON.parse(body)).toMatchObject({
    type: "configuration.refused",
    data: {
      partial: false,
      problems: expect.arrayContaining([expect.stringContaining('is "no address"')]),
      owners: [],
    },
  });
  const signed = `${String(headers["webhook-id"])}.${String(headers["webhook-timestamp"])}.${body}`;
  const mac = createHmac("sha256", Buffer.from(SECRET, "base64")).update(signed).digest("base64");
  expect(headers["webhook-signature"]).toBe(`v1,${mac}`);

  const admin = createAdminClient(gateway.adminOrigin, gateway.adminToken);
  await expect
    .poll(async () => (await admin.get("/status")).body["webhook"])
    .toMatchObject({ host: new URL(receiver.origin).host, waiting: 0, sent: 1, last_failure: null });
  const { text: metrics } = await admin.get("/metrics");
  expect(metrics).toContain('gateway_webhook_events_total{event="configuration.refused",result="sent"} 1');
  const { text: status } = await admin.get("/status");
  for (const text of [status, metrics, gateway.log()]) {
    expect(text).not.toContain(SECRET);
    expect(text).not.toContain("secret-of-the-address");
  }
});
