/** The whole gateway's way out: what is open ends, nothing is waited for that never ends by itself. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";

import { startGateway } from "../support/gateway.ts";
import { openRaw } from "../support/raw-client.ts";

const upstream = createServer((_request, response) => {
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write("data: first\n\n");
});

beforeAll(() => new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve)));
afterAll(() => {
  upstream.closeAllConnections();
  upstream.close();
});

test("close() ends an event stream immediately instead of waiting drain_timeout for it", async () => {
  const gateway = await startGateway({
    boot: { drain_timeout: "20s" },
    yaml: `
routes:
  - { from: "{origin}", to: "http://127.0.0.1:${(upstream.address() as AddressInfo).port}", policy: [{ allow: { and: [{ accept: true }] } }] }
`,
  });
  const client = openRaw(
    gateway.port,
    `GET /events HTTP/1.1\r\nHost: localhost:${gateway.port}\r\nAccept: text/event-stream\r\n\r\n`,
  );
  await client.contains("data: first");

  const started = performance.now();
  await gateway.close();
  await client.closed;

  expect(performance.now() - started).toBeLessThan(10_000);
  // Ended, not broken off: the client may open it anew elsewhere.
  expect(client.text).toMatch(/\r\n0\r\n\r\n$/);
});
