/** The client address of a request, in a whole gateway: in policy, record and X-Forwarded-For, with and without proxies. */
import { afterEach, describe, expect, test } from "vitest";

import { startEchoUpstream, type EchoUpstream } from "../support/echo-upstream.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { sendRaw } from "../support/raw-client.ts";

const open: { close(): Promise<void> }[] = [];
afterEach(async () => {
  for (const each of open.splice(0).reverse()) await each.close();
});

async function start(boot: Record<string, unknown>): Promise<{ gateway: TestGateway; upstream: EchoUpstream }> {
  const upstream = await startEchoUpstream();
  open.push(upstream);
  const gateway = await startGateway({
    boot,
    yaml: `
authorize_log_fields: [ip]
routes:
  - { from: "{origin}", prefix: /office, to: "${upstream.origin}", policy: [{ allow: { and: [{ accept: true }, { source_ip: 192.0.2.0/24 }] } }] }
  - { from: "{origin}", prefix: /local, to: "${upstream.origin}", policy: [{ allow: { and: [{ accept: true }, { source_ip: 127.0.0.0/8 }] } }] }
`,
  });
  open.push(gateway);
  return { gateway, upstream };
}

const get = (gateway: TestGateway, path: string, ...headers: readonly string[]): string =>
  [`GET ${path} HTTP/1.1`, `Host: localhost:${gateway.port}`, "Connection: close", ...headers, "", ""].join("\r\n");

async function ask(gateway: TestGateway, bytes: string): Promise<number> {
  return (await sendRaw(gateway.port, bytes)).status;
}

describe("the client's address", () => {
  test("xff_num_trusted_hops: policy, record and upstream use the address from the trusted proxies", async () => {
    const { gateway, upstream } = await start({ xff_num_trusted_hops: 2 });
    const forged = "X-Forwarded-For: 127.0.0.1, 198.51.100.1";
    expect(await ask(gateway, get(gateway, "/office", forged, "X-Forwarded-For: 192.0.2.7, 10.0.0.2"))).toBe(200);
    expect(upstream.seen.at(-1)?.headers["x-forwarded-for"]).toBe("192.0.2.7, 10.0.0.2, 127.0.0.1");
    expect((await gateway.records()).at(-1)).toMatchObject({ ip: "192.0.2.7", allow: true });

    // An address invented by the client is left of the proxies' values.
    const claims = "X-Forwarded-For: 192.0.2.7, 198.51.100.1, 10.0.0.2";
    expect(await ask(gateway, get(gateway, "/office", claims))).not.toBe(200);
    expect((await gateway.records()).at(-1)).toMatchObject({ ip: "198.51.100.1", allow: false });
    expect(upstream.seen).toHaveLength(1);
  });

  test.each(["X-Forwarded-For: 192.0.2.7", "X-Forwarded-For: 192.0.2.7, ", "X-Forwarded-For: 192.0.2.7, unknown"])(
    "xff_num_trusted_hops: %j was not written by two proxies, and only the connection is believed",
    async (header) => {
      const { gateway, upstream } = await start({ xff_num_trusted_hops: 2 });
      expect(await ask(gateway, get(gateway, "/office", header))).not.toBe(200);
      expect(await ask(gateway, get(gateway, "/local", header))).toBe(200);
      expect(upstream.seen.at(-1)?.headers["x-forwarded-for"]).toBe("127.0.0.1");
    },
  );

  test("without the setting X-Forwarded-For is neither used nor forwarded; with skip_xff_append nothing is added", async () => {
    const plain = await start({});
    const header = "X-Forwarded-For: 192.0.2.7";
    expect(await ask(plain.gateway, get(plain.gateway, "/office", header))).not.toBe(200);
    expect(await ask(plain.gateway, get(plain.gateway, "/local", header))).toBe(200);
    expect(plain.upstream.seen.at(-1)?.headers["x-forwarded-for"]).toBe("127.0.0.1");
    const skipping = await start({ xff_num_trusted_hops: 1, skip_xff_append: true });
    expect(await ask(skipping.gateway, get(skipping.gateway, "/office", header))).toBe(200);
    expect(skipping.upstream.seen.at(-1)?.headers["x-forwarded-for"]).toBe("192.0.2.7");
  });

  test("use_proxy_protocol: policy, record and upstream go by the head", async () => {
    const { gateway, upstream } = await start({ use_proxy_protocol: true });
    const head = "PROXY TCP4 192.0.2.7 10.0.0.1 50000 443\r\n";
    expect(await ask(gateway, head + get(gateway, "/office", "X-Forwarded-For: 198.51.100.1"))).toBe(200);
    expect(upstream.seen.at(-1)?.headers["x-forwarded-for"]).toBe("192.0.2.7");
    expect((await gateway.records()).at(-1)).toMatchObject({ ip: "192.0.2.7" });
    expect(await ask(gateway, get(gateway, "/local"))).toBe(0);
    expect(upstream.seen).toHaveLength(1);
  });

  test("use_proxy_protocol with xff_num_trusted_hops: the head names the last proxy", async () => {
    const { gateway, upstream } = await start({ use_proxy_protocol: true, xff_num_trusted_hops: 1 });
    const head = "PROXY TCP4 10.0.0.9 10.0.0.1 50000 443\r\n";
    expect(await ask(gateway, head + get(gateway, "/office", "X-Forwarded-For: 192.0.2.7"))).toBe(200);
    expect(upstream.seen.at(-1)?.headers["x-forwarded-for"]).toBe("192.0.2.7, 10.0.0.9");
  });
});
