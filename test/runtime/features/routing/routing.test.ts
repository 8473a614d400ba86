/** Routes by pattern and wildcard host, rewritten paths, redirects and fixed responses: on the wire, with a real upstream. */
import { connect as connectHttp2 } from "node:http2";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { type ListenerCertificates, openListenerCertificates } from "../../../support/certificates.ts";
import { startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { sendRaw, type RawAnswer } from "../../../support/raw-client.ts";
import { startVictim, type Victim } from "../../../support/victim.ts";
import { startWebSocketUpstream } from "../../../support/websocket-upstream.ts";

let victim: Victim;
let other: Victim;
let pipeline: Pipeline;
let heardBefore = 0;

const OPEN = "policy: [{ allow: { and: [{ accept: true }] } }]";
const ROOT = "policy: [{ allow: { and: [{ email: { is: alice@example.com } }] } }]";

const routesTo = (first: string, second: string): string => `
    authorize_log_fields: [route, path, host]
    routes:
      - { name: root, from: "https://app.example", to: "${first}", ${OPEN} }
      - { name: versions, from: "https://app.example", to: "${second}", regex: "/api/v[0-9]+/.*", ${OPEN} }
      - { name: secret, from: "https://app.example", to: "${second}", regex: "/api/v[0-9]+/secret", regex_priority_order: 1, ${ROOT} }
      - { name: swapped, from: "https://app.example", to: "${first}", prefix: /old, prefix_rewrite: /new, ${OPEN} }
      - { name: cut, from: "https://app.example", to: "${first}", prefix: /cut, prefix_rewrite: /, ${OPEN} }
      - { name: exact, from: "https://app.example", to: "${first}", path: /exact, prefix_rewrite: /other/place, ${OPEN} }
      - { name: whole, from: "https://app.example", to: "${first}", regex: "/n/w[0-9]+", prefix_rewrite: /w, ${OPEN} }
      - { name: turned, from: "https://app.example", to: "${first}", prefix: /service, regex_rewrite_pattern: '^/service/([^/]+)(/.*)$', regex_rewrite_substitution: '\\2/instance/\\1', ${OPEN} }
      - { name: all, from: "https://app.example", to: "${first}", prefix: /all, regex_rewrite_pattern: one, regex_rewrite_substitution: two, ${OPEN} }
      - { name: base, from: "https://app.example", to: "${first}/base", prefix: /based, ${OPEN} }
      - { name: moved, from: "https://app.example", prefix: /moved, redirect: { prefix_rewrite: /there }, set_response_headers: { X-Moved: "yes" }, ${OPEN} }
      - { name: away, from: "https://app.example", prefix: /away, redirect: { host_redirect: other.example, response_code: 308, strip_query: true }, ${OPEN} }
      - { name: port, from: "https://app.example", prefix: /port, redirect: { port_redirect: 8443, response_code: 307 }, ${OPEN} }
      - { name: plain, from: "https://app.example", prefix: /plain, redirect: { scheme_redirect: http, response_code: 302 }, ${OPEN} }
      - { name: fixed, from: "https://app.example", prefix: /fixed, redirect: { path_redirect: "/start?from=fixed", response_code: 303 }, ${OPEN} }
      - { name: closed, from: "https://app.example", prefix: /closed, redirect: { host_redirect: other.example }, ${ROOT} }
      - { name: robots, from: "https://app.example", path: /robots.txt, response: { status: 200, body: "User-agent: *\\nDisallow: /\\n" }, set_response_headers: { Cache-Control: "max-age=60" }, ${OPEN} }
      - { name: gone, from: "https://app.example", prefix: /gone, response: { status: 410 }, ${OPEN} }
      - { name: empty, from: "https://app.example", path: /empty, response: { status: 204 }, ${OPEN} }
      - { name: hidden, from: "https://app.example", path: /hidden, response: { status: 200, body: hidden }, ${ROOT} }
      - { name: wild, from: "https://*.wild.example", to: "${first}", preserve_host_header: true, ${ROOT} }
      - { name: wild-moved, from: "https://*.wild.example", prefix: /moved, redirect: { path_redirect: /there }, ${OPEN} }
      - { name: tame, from: "https://tame.wild.example", to: "${second}", ${OPEN} }
      - { name: up, from: "http://plain.example:8080", redirect: { https_redirect: true }, ${OPEN} }
`;

beforeAll(async () => {
  victim = await startVictim();
  other = await startVictim();
  pipeline = await startPipeline(routesTo(victim.origin, other.origin));
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
  await other.close();
});
beforeEach(() => {
  heardBefore = victim.requests.length + other.requests.length;
});

const heard = (): number => victim.requests.length + other.requests.length - heardBefore;

function get(target: string, options: { host?: string; user?: string; method?: string } = {}): Promise<RawAnswer> {
  const { host = "app.example", user, method = "GET" } = options;
  const cookie = user === undefined ? "" : `Cookie: gateway_session=${user}\r\n`;
  return sendRaw(
    pipeline.port,
    `${method} ${target} HTTP/1.1\r\nHost: ${host}\r\n${cookie}Content-Length: 0\r\nConnection: close\r\n\r\n`,
  );
}

const header = (answer: RawAnswer, name: string): string | undefined => answer.headers.get(name)?.join(" | ");

describe("patterns", () => {
  test("choose the route by the whole path, before prefixes, by priority", async () => {
    expect((await get("/api/v2/items?x=1")).status).toBe(200);
    expect(other.requests.at(-1)?.target).toBe("/api/v2/items?x=1");
    await get("/api/v/items");
    expect(victim.requests.at(-1)?.target).toBe("/api/v/items");
    expect((await get("/api/v2/secret")).status).toBe(302);
    expect(pipeline.records.at(-1)).toMatchObject({ route: "default/secret", allow: false });
  });

  test("have a policy that no other form of the path bypasses", async () => {
    for (const target of [
      "/api/v2%2Fsecret",
      "/api/v2%2fsecret",
      "/api/v2/secret%2F",
      "/api/v2//secret",
      "/api/v2/./secret",
      "/api/v2/x/../secret",
      "/api/v2/secret;x",
      "/api/v2/secret%3Bx",
      "/api/v2;x/secret",
      "/api/v2/secret%00",
      "/api/v2/%2e%2e/v2/secret",
    ]) {
      expect((await get(target)).status, target).toBe(400);
    }
    // One spelling of the same path, so the same route.
    expect((await get("/api/v2/%73ecret")).status).toBe(302);
    expect(heard()).toBe(0);
  });

  test("reject paths so long that matching them would cost much", async () => {
    expect((await get(`/api/${"v".repeat(2100)}`)).status).toBe(414);
    expect((await get(`/bpi/${"v".repeat(2100)}`)).status).toBe(200);
  });
});

describe("rewritten paths", () => {
  test.each([
    ["/old", "/new"],
    ["/old/", "/new/"],
    ["/old/a/b?c=/old", "/new/a/b?c=/old"],
    ["/older", "/older"],
    ["/cut", "/"],
    ["/cut/", "/"],
    ["/cut/a", "/a"],
    ["/exact?x", "/other/place?x"],
    ["/n/w12", "/w"],
    ["/service/foo/v1/api?q=1", "/v1/api/instance/foo?q=1"],
    ["/service", "/service"],
    ["/all/one/x/one?one", "/all/two/x/two?one"],
    ["/based/x", "/base/based/x"],
    ["/old/%E2%82%AC%20x", "/new/%E2%82%AC%20x"],
    ["/old/a;v=1/b", "/new/a;v=1/b"],
  ])("%s is sent as %s", async (target, sent) => {
    expect((await get(target)).status).toBe(200);
    expect(victim.requests.at(-1)?.target).toBe(sent);
    // The record says what was decided on: the path that came.
    expect(pipeline.records.at(-1)?.["path"]).toBe(target.split("?")[0]);
  });

  test("also apply to WebSocket handshakes", async () => {
    const upstream = await startWebSocketUpstream();
    const own = await startPipeline(`
      routes:
        - from: http://localhost
          to: ${upstream.origin}
          prefix: /old
          prefix_rewrite: /new
          allow_websockets: true
          ${OPEN}
    `);
    const answer = await sendRaw(
      own.port,
      [
        "GET /old/chat HTTP/1.1",
        "Host: localhost",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        "",
        "",
      ].join("\r\n"),
    );
    expect(answer.status).toBe(101);
    expect(upstream.handshakes.map(({ url }) => url)).toEqual(["/new/chat"]);
    await own.close();
    await upstream.close();
  });
});

describe("redirects", () => {
  test.each([
    ["/moved", 301, "https://app.example/there"],
    ["/moved/a?b=c", 301, "https://app.example/there/a?b=c"],
    ["/away/a?b=c", 308, "https://other.example/away/a"],
    ["/port/a?b", 307, "https://app.example:8443/port/a?b"],
    ["/plain/a", 302, "http://app.example/plain/a"],
    ["/fixed/a?b=c", 303, "https://app.example/start?from=fixed"],
  ])("%s: %i %s", async (target, status, location) => {
    const answer = await get(target);
    expect([answer.status, header(answer, "location")]).toEqual([status, location]);
    expect(heard()).toBe(0);
  });

  test("go from http to https without the port that was http's", async () => {
    const answer = await get("/a?b", { host: "plain.example:8080" });
    expect(header(answer, "location")).toBe("https://plain.example/a?b");
  });

  test("carry the headers that the route sets, and the request id", async () => {
    const answer = await get("/moved");
    expect(header(answer, "x-moved")).toBe("yes");
    expect(header(answer, "x-request-id")).toMatch(/./);
  });

  test("follow the policy, with a record", async () => {
    expect((await get("/closed/x")).headers.get("location")?.[0]).toContain("/.gateway/sign_in");
    expect((await get("/closed/x", { user: "bob" })).status).toBe(403);
    expect(header(await get("/closed/x", { user: "alice" }), "location")).toBe("https://other.example/closed/x");
    expect(pipeline.records.slice(-3).map(({ allow, route }) => [allow, route])).toEqual([
      [false, "default/closed"],
      [false, "default/closed"],
      [true, "default/closed"],
    ]);
  });

  test("never lead to a host from the request, and never end a header", async () => {
    for (const target of ["/moved//evil.example", "/moved/\\evil.example", "/moved/%0d%0aX:y", "/moved/a?x\r\nX: y"]) {
      const answer = await get(target);
      expect(header(answer, "location") ?? "", target).toMatch(/^(https:\/\/app\.example\/there\/|$)/);
      expect(answer.headers.has("x")).toBe(false);
    }
    for (const target of [
      "/moved/@evil.example",
      "/moved/.evil.example",
      "/moved/a?next=//evil.example",
      "/moved?@evil",
    ]) {
      const location = header(await get(target), "location") ?? "";
      expect(new URL(location).origin, target).toBe("https://app.example");
    }
    const absolute = await get("https://app.example/moved/a");
    expect(header(absolute, "location")).toBe("https://app.example/there/a");
  });
});

describe("fixed responses", () => {
  test("have status, body and headers of the route", async () => {
    const answer = await get("/robots.txt");
    expect([answer.status, answer.body]).toEqual([200, "User-agent: *\nDisallow: /\n"]);
    expect(header(answer, "content-type")).toBe("text/plain; charset=utf-8");
    expect(header(answer, "cache-control")).toBe("max-age=60");
    expect(heard()).toBe(0);
  });

  test("take any method; HEAD and 204 have no body", async () => {
    expect((await get("/gone/x", { method: "DELETE" })).status).toBe(410);
    const head = await get("/robots.txt", { method: "HEAD" });
    expect([head.status, head.body]).toEqual([200, ""]);
    const empty = await get("/empty");
    expect([empty.status, empty.body, empty.headers.has("content-length")]).toEqual([204, "", false]);
  });

  test("leave the connection usable when a body came with the request", async () => {
    const one = "POST /gone HTTP/1.1\r\nHost: app.example\r\nContent-Length: 5\r\n\r\nhello";
    const answer = await sendRaw(pipeline.port, `${one}${one.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n")}`);
    expect(answer.text.match(/HTTP\/1\.1 410/g)?.length).toBeGreaterThanOrEqual(1);
    expect(answer.text).not.toMatch(/HTTP\/1\.1 (400|500)/);
  });

  test("follow the policy", async () => {
    expect((await get("/hidden")).status).toBe(302);
    expect((await get("/hidden", { user: "bob" })).text).not.toContain("hidden\r\n");
    expect((await get("/hidden", { user: "alice" })).body).toBe("hidden");
  });
});

describe("wildcard hosts", () => {
  test("match every host below, each as a separate host", async () => {
    expect((await get("/x", { host: "a.wild.example", user: "alice" })).status).toBe(200);
    const request = victim.requests.at(-1);
    expect(request?.header("host")).toBe("a.wild.example");
    expect(request?.header("x-forwarded-host")).toBe("a.wild.example");
    expect(request?.header("x-gateway-assertion")).toBe("assertion.alice.a.wild.example");
    expect((await get("/x", { host: "b.c.wild.example", user: "alice" })).status).toBe(200);
    expect(pipeline.records.at(-1)).toMatchObject({ host: "b.c.wild.example", route: "default/wild" });
    expect((await get("/x", { host: "a.wild.example", user: "bob" })).status).toBe(403);
  });

  test("leave hosts to routes that name them", async () => {
    expect((await get("/x", { host: "tame.wild.example" })).status).toBe(200);
    expect(other.requests.at(-1)?.target).toBe("/x");
  });

  test.each([
    "wild.example",
    "xwild.example",
    "a.wild.example.",
    "a.wild.example.evil.test",
    "a.wild.example:8443",
    "*.wild.example",
  ])("do not take %s", async (host) => {
    expect([400, 404]).toContain((await get("/x", { host, user: "alice" })).status);
    expect(heard()).toBe(0);
  });

  test("redirect to the requested host", async () => {
    const answer = await get("/moved", { host: "A.wild.example" });
    expect(header(answer, "location")).toBe("https://a.wild.example/there");
  });
});

describe("over HTTP/2", () => {
  let tls: ListenerCertificates;
  let secure: Pipeline;

  beforeAll(async () => {
    tls = await openListenerCertificates("app.example", "*.wild.example");
    secure = await startPipeline(routesTo(victim.origin, other.origin), { certificates: tls.certificates });
  });
  afterAll(async () => {
    await secure.close();
    await tls.close();
  });

  function ask(
    host: string,
    path: string,
  ): Promise<{ readonly status: number; readonly location: unknown; readonly name: string }> {
    return new Promise((resolve, reject) => {
      const session = connectHttp2(`https://127.0.0.1:${secure.port}`, { servername: host, rejectUnauthorized: false });
      session.on("error", reject);
      const stream = session.request({ ":authority": host, ":path": path, cookie: "gateway_session=alice" });
      stream.on("error", reject);
      stream.on("response", (headers) => {
        const socket = session.socket as unknown as { getPeerCertificate(): { subject: { CN: string } } };
        const name = socket.getPeerCertificate().subject.CN;
        stream.resume();
        stream.on("end", () => {
          session.close();
          resolve({ status: Number(headers[":status"]), location: headers["location"], name });
        });
      });
    });
  }

  test("rewrites, redirects, patterns and wildcards work the same; the certificate is the wildcard's", async () => {
    expect(await ask("app.example", "/old/a?b")).toMatchObject({ status: 200, name: "app.example" });
    expect(victim.requests.at(-1)?.target).toBe("/new/a?b");
    expect(await ask("app.example", "/api/v3/x")).toMatchObject({ status: 200 });
    expect(other.requests.at(-1)?.target).toBe("/api/v3/x");
    expect(await ask("app.example", "/moved/a?b")).toMatchObject({
      status: 301,
      location: "https://app.example/there/a?b",
    });
    expect(await ask("app.example", "/gone")).toMatchObject({ status: 410 });
    expect(await ask("a.wild.example", "/x")).toMatchObject({ status: 200, name: "*.wild.example" });
    expect(victim.requests.at(-1)?.header("host")).toBe("a.wild.example");
  });
});
