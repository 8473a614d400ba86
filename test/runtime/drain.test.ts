/** Stopping for rolling updates: /readyz first, then no new requests, then the end. With one process and with several. */
import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, beforeEach, expect, test } from "vitest";

import { askReadiness } from "../../runtime/tools/commands/ready.ts";
import { createSend } from "../support/browser.ts";
import { runGateway, type RunningGateway } from "../support/run-gateway.ts";

let upstream: Server;
let waiting: ServerResponse[];
let gateway: RunningGateway | undefined;

beforeEach(async () => {
  waiting = [];
  upstream = createServer((request, response) => {
    if (request.url === "/slow") waiting.push(response);
    else response.end("quick");
  });
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
});
afterEach(async () => {
  await gateway?.close();
  upstream.closeAllConnections();
  await new Promise((resolve) => upstream.close(resolve));
});

test.each([1, 2])(
  "SIGTERM with %i processes: /readyz turns 503 first, then requests in flight finish",
  async (workers) => {
    const to = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
    gateway = await runGateway({
      workers,
      boot: { drain_delay: "3s", drain_timeout: "10s" },
      yaml: `routes: [{ name: app, from: "http://localhost", to: "${to}", policy: [{ allow: { and: [{ accept: true }] } }] }]`,
    });
    const { origin, adminOrigin } = gateway;
    const admin = new URL(adminOrigin).host;
    // A new connection each time, as others' would be.
    const send = createSend({ via: Number(new URL(origin).port) });
    const ask = async (path: string): Promise<string> => {
      const { status, text } = await send({ method: "GET", url: `http://localhost${path}` });
      return `${status} ${text}`;
    };
    expect(await askReadiness(admin)).toMatchObject({ ok: true });
    expect(await askReadiness(`http://${admin}`)).toMatchObject({ ok: true });
    const slow = ask("/slow");
    await expect.poll(() => waiting.length).toBe(1);

    gateway.process.kill("SIGTERM");

    await expect.poll(async () => (await askReadiness(admin)).ok).toBe(false);
    expect((await askReadiness(admin)).text).toContain('"draining":true');
    // Who was told nothing yet is still served.
    expect(await ask("/")).toBe("200 quick");
    await expect.poll(() => ask("/").catch(() => "refused")).toBe("refused");
    for (const response of waiting) response.end("slow");
    expect(await slow).toBe("200 slow");
    expect(await gateway.ended).toBe(0);
  },
);

test("askReadiness() reports why there is no response", async () => {
  expect(await askReadiness("127.0.0.1:1")).toEqual({
    ok: false,
    text: 'Cannot ask "127.0.0.1:1": connect ECONNREFUSED 127.0.0.1:1',
  });
  expect(await askReadiness("nonsense")).toEqual({
    ok: false,
    text: 'Cannot ask "nonsense": it must be "host:port" or ":port"',
  });
});
