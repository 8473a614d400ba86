import { type AgentOptions, globalAgent } from "node:http";
import type { LookupFunction } from "node:net";
import { gzipSync } from "node:zlib";

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";

import {
  type BoundedRequest,
  openRequests,
  requestOnce,
  type RequestsOptions,
} from "../../../../runtime/shared/net/bounded-request.ts";
import { POLL_MS } from "../../../support/limits.ts";
import { startVictim, type Victim } from "../../../support/victim.ts";

const CODED = gzipSync("{}").toString("latin1");
const ANSWERS: Readonly<Record<string, string>> = {
  "/": "200 OK\r\nx-a: 1\r\nx-a: 2\r\ncontent-length: 2\r\n\r\nok",
  "/none": "204 No Content\r\n\r\n",
  "/elsewhere": "302 Found\r\nlocation: /none\r\ncontent-length: 0\r\n\r\n",
  "/long": `200 OK\r\ncontent-length: 101\r\n\r\n${"x".repeat(101)}`,
  "/coded": `200 OK\r\ncontent-encoding: gzip\r\ncontent-length: ${CODED.length}\r\n\r\n${CODED}`,
  "/odd": "999 Odd\r\ncontent-length: 2\r\n\r\nok",
  "/upgrade": "101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
  "http://gateway.example/status": "200 OK\r\ncontent-length: 2\r\n\r\nok",
  "/dripping": "200 OK\r\ncontent-length: 5\r\n\r\nok",
};

let victim: Victim;
beforeAll(async () => {
  victim = await startVictim(({ target }, socket) => {
    const answer = ANSWERS[target];
    if (answer !== undefined) socket.write(`HTTP/1.1 ${answer}`, "latin1");
    else if (target === "/cut" || target.includes(":443")) socket.destroy();
  });
});
afterAll(() => victim.close());

const request = (path = "/", timeoutMs = POLL_MS): BoundedRequest => ({
  url: new URL(path, victim.origin),
  method: "GET",
  headers: {},
  maxBytes: 100,
  signal: AbortSignal.timeout(timeoutMs),
});
const once = (asked: BoundedRequest, options: Partial<RequestsOptions> = {}) =>
  requestOnce({ timeoutMs: POLL_MS, ...options }, asked);

describe("requestOnce()", () => {
  test("gives status, joined headers and the whole body", async () => {
    expect(await once(request())).toMatchObject({
      ok: true,
      head: { status: 200, headers: { "x-a": "1, 2" } },
      body: Buffer.from("ok"),
    });
  });

  test("hands a redirect back", async () => {
    const before = victim.requests.length;
    expect(await once(request("/elsewhere"))).toMatchObject({ ok: true, head: { status: 302 } });
    expect(victim.requests.length).toBe(before + 1);
  });

  test.each([
    ["/long", "too-large", "answered with more than 100 bytes", 200],
    ["/coded", "content-coding", "answered with a content coding that was not asked for", 200],
    ["/odd", "status", "answered with the status 999", 999],
    ["/upgrade", "status", "answered with the status 101", 101],
    ["/cut", "unreachable", "cannot be reached (UND_ERR_SOCKET)", undefined],
    ["/silent", "timeout", "did not answer in time", undefined, 50],
    ["/dripping", "timeout", "did not answer in time", 200, 200],
  ])("refuses what %s does: %s", async (path, reason, problem, status, timeoutMs = POLL_MS) => {
    const answer = await once(request(path, timeoutMs));
    expect(answer).toMatchObject({ ok: false, reason, problem });
    expect(answer.head?.status).toBe(status);
  });

  test("waits no longer for a connection than for an answer", async () => {
    const asked = { ...request(), url: new URL("http://name.example"), signal: AbortSignal.timeout(20) };
    expect(await once(asked, { lookup: () => {} })).toMatchObject({ ok: false, reason: "timeout" });
  });
});

describe("proxies of the environment", () => {
  const { options } = globalAgent as unknown as { readonly options: AgentOptions };
  beforeEach(() => {
    for (const name of ["http_proxy", "https_proxy"]) vi.stubEnv(name, victim.origin);
    vi.stubEnv("no_proxy", "");
  });
  afterEach(() => {
    vi.unstubAllEnvs();
    options.proxyEnv = undefined;
  });
  const asked = () => ({ ...request(), url: new URL("http://gateway.example/status") });
  const lookup: LookupFunction = (_name, _options, callback) => callback(new Error("no such name"), "");

  test("are used if Node is configured to use them", async () => {
    options.proxyEnv = process.env;
    expect(await once(asked(), { lookup, mayUseProxies: true })).toMatchObject({ ok: true, head: { status: 200 } });
    expect(await once({ ...asked(), url: new URL("https://gateway.example/") }, { mayUseProxies: true })).toMatchObject(
      {
        ok: false,
      },
    );
    expect(victim.requests.at(-1)?.line).toBe("CONNECT gateway.example:443 HTTP/1.1");
  });

  test.each([
    [true, undefined],
    [undefined, process.env],
  ])("are not used otherwise: %j", async (mayUseProxies, proxyEnv) => {
    options.proxyEnv = proxyEnv;
    const before = victim.connections;
    expect(await once(asked(), { lookup, ...(mayUseProxies && { mayUseProxies }) })).toMatchObject({ ok: false });
    expect(victim.connections).toBe(before);
  });
});

describe("openRequests()", () => {
  test("keeps connections open if configured", async () => {
    const before = victim.connections;
    const kept = openRequests({ timeoutMs: POLL_MS, kept: 1 });
    for (let count = 0; count < 3; count++) expect(await kept(request())).toMatchObject({ ok: true });
    await kept.close();
    expect(victim.connections).toBe(before + 1);
  });

  test.each(["close", "retire"] as const)("sends nothing after %s(), even as the first request", async (end) => {
    const before = victim.requests.length;
    const used = openRequests({ timeoutMs: POLL_MS });
    expect(await used(request("/none"))).toMatchObject({ ok: true, head: { status: 204 } });
    await used[end]();
    const unused = openRequests({ timeoutMs: POLL_MS });
    await unused[end]();
    for (const requests of [used, unused]) expect(await requests(request())).toMatchObject({ ok: false });
    expect(victim.requests.length).toBe(before + 1);
  });
});
