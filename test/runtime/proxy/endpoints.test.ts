/** Our own addresses on the wire: answered by us or by 404, never by an upstream. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { Endpoint } from "../../../runtime/http/endpoint.ts";
import { respondText } from "../../../runtime/http/respond.ts";
import { startPipeline, type Pipeline } from "../../support/pipeline.ts";
import { sendRaw, type RawAnswer } from "../../support/raw-client.ts";
import { startVictim, type Victim } from "../../support/victim.ts";

const says =
  (text: string): Endpoint["handle"] =>
  (exchange) =>
    respondText(exchange, 200, text);
const endpoints: readonly Endpoint[] = [
  { methods: ["GET"], path: "/.gateway/", handle: says("user page") },
  { methods: ["GET"], path: "/.gateway/form", handle: says("form") },
  { methods: ["POST"], path: "/.gateway/form", handle: says("posted") },
  { methods: ["POST"], path: "/.gateway/mcp/token", cors: true, mcp: true, handle: says("token") },
  {
    methods: ["GET"],
    path: "/.well-known/oauth-protected-resource/*",
    cors: true,
    mcp: true,
    handle: says("metadata"),
  },
  { methods: ["GET"], path: "*/.well-known/openid-configuration", cors: true, mcp: true, handle: says("below") },
  {
    methods: ["GET"],
    path: "/.gateway/throws",
    handle: () => {
      throw new Error("secret detail");
    },
  },
  { methods: ["GET"], path: "/.gateway/rejects", handle: () => Promise.reject(new Error("secret detail")) },
];

let victim: Victim;
let on: Pipeline;
let off: Pipeline;

beforeAll(async () => {
  victim = await startVictim();
  const routes = `
    routes:
      - from: https://app.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ accept: true }] } }]
      - from: https://mcp.example
        prefix: /tools
        to: ${victim.origin}
        mcp: { server: {} }
        policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  `;
  on = await startPipeline(`    runtime_flags: { mcp: true }${routes}`, { endpoints });
  off = await startPipeline(routes, { endpoints });
});
afterAll(async () => {
  await on.close();
  await off.close();
  await victim.close();
});
let heardBefore = 0;
beforeEach(() => {
  heardBefore = victim.requests.length;
});

function send(
  pipeline: Pipeline,
  line: string,
  headers: readonly string[] = [],
  host = "app.example",
): Promise<RawAnswer> {
  return sendRaw(
    pipeline.port,
    [`${line} HTTP/1.1`, `Host: ${host}`, "Content-Length: 0", "Connection: close", ...headers, "", ""].join("\r\n"),
  );
}

describe("own endpoints", () => {
  test.each([
    ["GET /.gateway/", 200, "user page"],
    ["GET /.gateway/form", 200, "form"],
    ["HEAD /.gateway/form", 200, ""],
    ["POST /.gateway/form", 200, "posted"],
    ["GET /.well-known/oauth-protected-resource", 200, "metadata"],
    ["GET /.well-known/oauth-protected-resource/a/b", 200, "metadata"],
  ])("%s is answered", async (line, status, body) => {
    const answer = await send(on, line);
    expect([answer.status, answer.body]).toEqual([status, body]);
    expect(victim.requests.length).toBe(heardBefore);
  });

  test.each([
    "GET /.gateway",
    "GET /.gateway/unknown",
    "GET /.gateway/form/",
    "GET /.gateway/form/x",
    "GET /.well-known/gateway/unknown",
    "GET /.well-known/oauth-authorization-server",
    "GET /.well-known/openid-configuration/x",
  ])("%s is 404 and never reaches the upstream", async (line) => {
    const answer = await send(on, line);
    expect(answer.status).toBe(404);
    expect(victim.requests.length).toBe(heardBefore);
  });

  test("a path that only looks like ours belongs to the upstream", async () => {
    for (const path of [
      "/.gatewayish",
      "/a/.gateway/form",
      "/.well-known/security.txt",
      "/.well-known/openid-configurations",
    ]) {
      expect((await send(on, `GET ${path}`)).body).toBe("ok");
    }
  });

  test("another method is 405 with Allow", async () => {
    const answer = await send(on, "DELETE /.gateway/form");
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, ["GET, HEAD, POST"]]);
    expect((await send(on, "OPTIONS /.gateway/form")).status).toBe(405);
  });

  test("cors endpoints answer preflights and every origin, without credentials", async () => {
    const preflight = await send(on, "OPTIONS /.gateway/mcp/token", [
      "Origin: https://any.example",
      "Access-Control-Request-Method: POST",
    ]);
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-methods")).toEqual(["OPTIONS, POST"]);
    const answer = await send(on, "POST /.gateway/mcp/token", ["Origin: https://any.example"]);
    expect(answer.headers.get("access-control-allow-origin")).toEqual(["*"]);
    expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
    expect((await send(on, "GET /.gateway/form")).headers.has("access-control-allow-origin")).toBe(false);
  });

  test("mcp endpoints are 404 while the flag is off", async () => {
    for (const line of [
      "POST /.gateway/mcp/token",
      "GET /.well-known/oauth-protected-resource",
      "OPTIONS /.gateway/mcp/token",
    ]) {
      expect((await send(off, line)).status).toBe(404);
    }
    expect((await send(off, "GET /.gateway/form")).status).toBe(200);
  });

  test("endpoints at the end of a path belong to MCP server routes only", async () => {
    expect((await send(on, "GET /tools/.well-known/openid-configuration", [], "mcp.example")).body).toBe("below");
    expect((await send(on, "GET /realm/.well-known/openid-configuration")).body).toBe("ok");
    expect((await send(off, "GET /tools/.well-known/openid-configuration", [], "mcp.example")).status).toBe(503);
  });

  test.each(["/.gateway/throws", "/.gateway/rejects"])(
    "%s is 500 with the request id and without the reason",
    async (path) => {
      const answer = await send(on, `GET ${path}`);
      expect(answer.status).toBe(500);
      expect(answer.body).toContain(answer.headers.get("x-request-id")?.[0] ?? "no id");
      expect(answer.body).not.toContain("secret");
    },
  );
});
