/** Upstreams over HTTP/2 and over TLS of their own, and the Host settings on every pair of protocols. */
import { connect as connectHttp2 } from "node:http2";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import {
  makeTestCertificate,
  type ListenerCertificates,
  openListenerCertificates,
  type TestCertificate,
} from "../../support/certificates.ts";
import { startHttp2Upstream, type Http2Upstream } from "../../support/http2-upstream.ts";
import { startPipeline, type Pipeline } from "../../support/pipeline.ts";
import { sendRaw } from "../../support/raw-client.ts";
import { startVictim, type Victim } from "../../support/victim.ts";

let tls: ListenerCertificates;
let authority: TestCertificate;
let client: TestCertificate;
let overTls: Http2Upstream;
let strict: Http2Upstream;
let inTheClear: Http2Upstream;
let plain: Victim;
let pipeline: Pipeline;

beforeAll(async () => {
  tls = await openListenerCertificates("app.example");
  authority = makeTestCertificate({ name: "test authority", isAuthority: true });
  client = makeTestCertificate({ name: "the gateway", by: authority });
  const certificate = makeTestCertificate({ name: "upstream", dns: ["localhost", "inner.example"], by: authority });
  overTls = await startHttp2Upstream({ certificate });
  strict = await startHttp2Upstream({ certificate, clientAuthority: authority });
  inTheClear = await startHttp2Upstream();
  plain = await startVictim();
});
afterEach(() => pipeline.close());
afterAll(async () => {
  await overTls.close();
  await strict.close();
  await inTheClear.close();
  await plain.close();
  await tls.close();
});

async function start(to: string, settings: Record<string, unknown>, secure = false): Promise<void> {
  const route = { from: "https://app.example", to, policy: [{ allow: { and: [{ accept: true }] } }], ...settings };
  // JSON is YAML, too.
  pipeline = await startPipeline(
    `routes: [${JSON.stringify(route)}]`,
    secure ? { certificates: tls.certificates } : {},
  );
}

/** One request over HTTP/2. @returns the status */
async function askHttp2(path: string, more: Record<string, string> = {}): Promise<number> {
  const session = connectHttp2(`https://127.0.0.1:${pipeline.port}`, { rejectUnauthorized: false });
  try {
    const stream = session.request({ ":path": path, ":authority": "app.example", ...more });
    stream.resume();
    return await new Promise((resolve, reject) => {
      stream.once("response", (headers) => resolve(Number(headers[":status"])));
      stream.once("error", reject);
    });
  } finally {
    session.destroy();
  }
}

async function askHttp1(path: string, more: Record<string, string> = {}): Promise<number> {
  const lines = Object.entries(more).map(([name, value]) => `${name}: ${value}`);
  const head = [`GET ${path} HTTP/1.1`, "Host: app.example", "Connection: close", ...lines, "", ""];
  return (await sendRaw(pipeline.port, head.join("\r\n"))).status;
}

describe("The Host settings affect Host and `:authority` identically", () => {
  const header = { "x-host": "named.example:8443" };
  const regex = {
    host_path_regex_rewrite_pattern: "^/(.+)/.+$",
    host_path_regex_rewrite_substitution: String.raw`\1`,
  };
  const cases: readonly (readonly [name: string, settings: Record<string, unknown>, expected: string])[] = [
    ["nothing set", {}, "to"],
    ["preserve_host_header", { preserve_host_header: true }, "app.example"],
    ["host_rewrite", { host_rewrite: "fixed.example:81" }, "fixed.example:81"],
    ["host_rewrite_header", { host_rewrite_header: "X-Wanted-Host" }, "named.example:8443"],
    ["host_rewrite_header that is missing", { host_rewrite_header: "X-Other" }, "to"],
    ["host_path_regex_rewrite", regex, "path.example"],
  ];
  const upstreams = [
    ["HTTP/1.1", () => plain.origin, {}],
    ["HTTP/2 in the clear", () => inTheClear.origin, { http2: true }],
    ["HTTP/2 over TLS", () => overTls.origin, { http2: true, tls_skip_verify: true }],
  ] as const;
  const matrix = cases.flatMap((each) =>
    upstreams.flatMap((upstream) =>
      (["HTTP/1.1", "HTTP/2"] as const).map((downstream) => ({ each, upstream, downstream })),
    ),
  );

  test.each(
    matrix.map(({ each, upstream, downstream }) => [each[0], downstream, upstream[0], each, upstream] as const),
  )("%s, from %s to %s", async (_name, downstream, protocol, [, settings, expected], [, origin, more]) => {
    await start(origin(), { ...settings, ...more }, downstream === "HTTP/2");
    const ask = downstream === "HTTP/2" ? askHttp2 : askHttp1;
    expect(await ask("/path.example/rest", { "x-wanted-host": header["x-host"] })).toBe(200);
    const host = expected === "to" ? new URL(origin()).host : expected;
    if (protocol === "HTTP/1.1") {
      expect(plain.requests.at(-1)?.header("host")).toBe(host);
      return;
    }
    const seen = (protocol === "HTTP/2 over TLS" ? overTls : inTheClear).seen.at(-1);
    expect(seen?.headers[":authority"]).toBe(host);
    // One authority: an additional Host would be a second one.
    expect(seen?.headers.host).toBeUndefined();
  });

  test("set_request_headers cannot touch pseudo-headers or Host on an HTTP/2 upstream", async () => {
    await start(inTheClear.origin, { http2: true, set_request_headers: { "X-Set": "1" } }, true);
    expect(await askHttp2("/p?q=r", { host: "app.example", "x-forwarded-host": "evil.example" })).toBe(200);
    const seen = inTheClear.seen.at(-1);
    expect(seen?.headers).toMatchObject({
      ":method": "GET",
      ":path": "/p?q=r",
      ":scheme": "http",
      ":authority": new URL(inTheClear.origin).host,
      "x-set": "1",
      "x-forwarded-host": "app.example",
    });
  });
});

describe("HTTP/2 upstreams", () => {
  test("bodies pass, and requests share a connection", async () => {
    await start(inTheClear.origin, { http2: true });
    const before = inTheClear.connections;
    const post = "POST /a HTTP/1.1\r\nHost: app.example\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody";
    const chunked =
      "POST /b HTTP/1.1\r\nHost: app.example\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n4\r\nmore\r\n0\r\n\r\n";
    const first = await sendRaw(pipeline.port, post);
    expect(first).toMatchObject({ status: 200 });
    expect(first.body).toContain("from h2");
    await Promise.all([sendRaw(pipeline.port, chunked), sendRaw(pipeline.port, post), sendRaw(pipeline.port, post)]);
    expect(
      inTheClear.seen
        .slice(-4)
        .map(({ body }) => body)
        .toSorted(),
    ).toEqual(["body", "body", "body", "more"]);
    expect(inTheClear.connections - before).toBe(1);
  });

  test("an https upstream that only speaks HTTP/1.1 gets that", async () => {
    const { cert, key } = makeTestCertificate({ name: "old", dns: ["localhost"], by: authority });
    const server = createServer({ cert, key }, (request, response) => response.end(request.httpVersion));
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as AddressInfo;
    await start(`https://localhost:${port}`, { http2: true, tls_custom_ca: authority.cert });
    const answer = await sendRaw(pipeline.port, "GET / HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n");
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    expect(answer.body).toContain("1.1");
  });
});

describe("TLS to the upstream", () => {
  test.each<[string, () => Record<string, unknown>, number]>([
    ["an unknown authority", () => ({}), 502],
    ["tls_skip_verify", () => ({ tls_skip_verify: true }), 200],
    ["tls_custom_ca", () => ({ tls_custom_ca: authority.cert }), 200],
    [
      "tls_custom_ca of somebody else",
      () => ({ tls_custom_ca: makeTestCertificate({ name: "x", isAuthority: true }).cert }),
      502,
    ],
    [
      "tls_server_name that the certificate has",
      () => ({ tls_custom_ca: authority.cert, tls_server_name: "inner.example" }),
      200,
    ],
    ["tls_server_name that it lacks", () => ({ tls_custom_ca: authority.cert, tls_server_name: "other.example" }), 502],
  ])("%s", async (_case, settings, status) => {
    await start(overTls.origin, { http2: true, ...settings() });
    expect(await askHttp1("/")).toBe(status);
    if (status === 200) expect(overTls.seen.at(-1)?.serverName).toBe(settings()["tls_server_name"] ?? "localhost");
  });

  test("tls_client_cert is shown to the upstream", async () => {
    await start(strict.origin, {
      http2: true,
      tls_custom_ca: authority.cert,
      tls_client_cert: client.cert,
      tls_client_key: client.key,
    });
    expect(await askHttp1("/")).toBe(200);
    expect(strict.seen.at(-1)?.clientName).toBe("the gateway");
    await pipeline.close();
    await start(strict.origin, { http2: true, tls_custom_ca: authority.cert });
    expect(await askHttp1("/")).toBe(502);
  });
});
