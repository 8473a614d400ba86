/** Upstreams of a whole gateway that fail and recover: for users, the status page and metrics, also over a reload. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, expect, test } from "vitest";

import { startGateway, type TestGateway } from "../support/gateway.ts";
import { sendRaw } from "../support/raw-client.ts";

const open: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function upstream(name: string): Promise<{ readonly origin: string; isIll: boolean; checks: number }> {
  const it = { origin: "", isIll: false, checks: 0 };
  const server = createServer((request, response) => {
    if (request.url === "/up") it.checks += 1;
    response.writeHead(it.isIll ? 500 : 200, { "content-length": name.length }).end(name);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  open.push({ close: () => server.close() }, { close: () => server.closeAllConnections() });
  it.origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return it;
}

async function admin(gateway: TestGateway, path: string): Promise<string> {
  const answer = await fetch(`${gateway.adminOrigin}${path}`, {
    headers: { authorization: `Bearer ${gateway.adminToken}` },
  });
  return answer.text();
}

test("an unhealthy upstream gets no requests, /status and metrics report it, and checks end with the route", async () => {
  const [a, b] = [await upstream("aa"), await upstream("bb")];
  a.isIll = true;
  const yaml = (more: string): string => `
routes:
  - name: app
    from: "{origin}"
    to: ["${a.origin}", "${b.origin}"]
    policy: [{ allow: { and: [{ accept: true }] } }]
    ${more}`;
  const checks = `health_checks: [{ interval: "100ms", healthy_threshold: 1, http_health_check: { path: /up } }]`;
  const gateway = await startGateway({ yaml: yaml(checks) });
  open.push(gateway);
  const answers = async (): Promise<string> => {
    const bodies: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      const { body } = await sendRaw(
        gateway.port,
        `GET / HTTP/1.1\r\nHost: localhost:${gateway.port}\r\nConnection: close\r\n\r\n`,
      );
      bodies.push(body);
    }
    return bodies.join(" ");
  };
  const status = async (): Promise<unknown> =>
    (JSON.parse(await admin(gateway, "/status")) as { upstreams: unknown }).upstreams;

  await expect.poll(status).toMatchObject([{ healthy: false }, { healthy: true }]);
  expect(await answers()).toBe("bb bb bb bb");
  expect(await status()).toMatchObject([
    {
      route: "default/app",
      upstream: a.origin,
      checks: [{ kind: "http", healthy: false, last_error: "the answer has status 500" }],
      left_out_until: null,
      ejections: 0,
    },
    { upstream: b.origin, checks: [{ kind: "http", healthy: true, last_error: "" }] },
  ]);
  const metrics = await admin(gateway, "/metrics");
  expect(metrics).toContain(`gateway_upstream_healthy{route="default/app",upstream="${a.origin}"} 0`);
  expect(metrics).toContain(`gateway_upstream_healthy{route="default/app",upstream="${b.origin}"} 1`);
  expect(gateway.log()).toContain("upstream is unhealthy");

  await gateway.reconfigure(yaml(`${checks}\n    timeout: 7s`));
  expect(await answers()).toBe("bb bb bb bb");
  a.isIll = false;
  await expect.poll(status).toMatchObject([{ healthy: true }, { healthy: true }]);
  expect(await answers()).toContain("aa");

  await gateway.reconfigure(yaml("timeout: 8s"));
  const { checks: before } = a;
  // Several intervals: an upper bound for an event that must not happen.
  await new Promise((resolve) => setTimeout(resolve, 400));
  expect(a.checks - before).toBeLessThanOrEqual(1);
});

test("outlier_detection: an upstream that responds with errors is ejected, and counted", async () => {
  const [a, b] = [await upstream("aa"), await upstream("bb")];
  a.isIll = true;
  const gateway = await startGateway({
    yaml: `
routes:
  - name: app
    from: "{origin}"
    to: ["${a.origin}", "${b.origin}"]
    policy: [{ allow: { and: [{ accept: true }] } }]
    outlier_detection: { consecutive_5xx: 2 }`,
  });
  open.push(gateway);
  const ask = async (): Promise<number> =>
    (await sendRaw(gateway.port, `GET / HTTP/1.1\r\nHost: localhost:${gateway.port}\r\nConnection: close\r\n\r\n`))
      .status;
  const statuses: number[] = [];
  for (let count = 0; count < 10; count += 1) statuses.push(await ask());
  expect(statuses.filter((status) => status === 500)).toHaveLength(2);
  expect(statuses.slice(-6)).toEqual([200, 200, 200, 200, 200, 200]);
  expect(await admin(gateway, "/metrics")).toContain(
    `gateway_upstream_ejections_total{route="default/app",upstream="${a.origin}"} 1`,
  );
  expect(gateway.log()).toContain("upstream ejected");
});
