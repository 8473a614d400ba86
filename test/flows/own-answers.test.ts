/** `set_response_headers` also applies to the gateway's own responses, but never replaces their security headers. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, expect, test } from "vitest";

import { startGateway, type TestGateway } from "../support/gateway.ts";
import { sendRaw } from "../support/raw-client.ts";

const HSTS = "strict-transport-security";
let gateway: TestGateway;
const upstream = createServer((_request, response) => {
  response.writeHead(200, { "strict-transport-security": "max-age=2", "x-from": "upstream" }).end("hello");
});

beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
  const to = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
  gateway = await startGateway({
    yaml: `
idp_provider_url: http://127.0.0.1:9
idp_client_id: gateway
support_url: https://help.example.com/?from=gateway&kind=page
runtime_flags: { mcp: true }
set_response_headers:
  Strict-Transport-Security: max-age=1
  X-Everywhere: global
  X-Both: global
  X-Frame-Options: SAMEORIGIN
  Location: https://elsewhere.example
  Cache-Control: public
  Content-Security-Policy: default-src *
  Set-Cookie: planted=1
  WWW-Authenticate: Basic
routes:
  - name: closed
    from: "{origin}"
    prefix: /closed
    to: ${to}
    set_response_headers: { X-Both: route, X-Route: closed }
    allow_any_authenticated_user: true
  - { name: open, from: "{origin}", prefix: /open, to: "${to}", allow_public_unauthenticated_access: true }
  - { name: dead, from: "{origin}", prefix: /dead, to: "http://127.0.0.1:9", allow_public_unauthenticated_access: true }
  - { name: tls, from: "https://tls.localhost", to: "${to}", allow_public_unauthenticated_access: true }
  - { name: tls-dead, from: "https://tls.localhost", prefix: /dead, to: "http://127.0.0.1:9", allow_public_unauthenticated_access: true }
  - { name: tools, from: "{origin}", prefix: /tools, to: "${to}", mcp: { server: {} }, allow_any_authenticated_user: true }
`,
  });
});

afterAll(async () => {
  await gateway.close();
  upstream.close();
});

async function ask(path: string, host = `localhost:${gateway.port}`, headers: Record<string, string> = {}) {
  const lines = Object.entries({ host, ...headers, connection: "close" }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  const answer = await sendRaw(gateway.port, `GET ${path} HTTP/1.1\r\n${lines.join("")}\r\n`);
  const found = [...answer.headers].map(([name, values]) => [name, values.join(", ")] as const);
  return { status: answer.status, headers: Object.fromEntries<string | undefined>(found), text: answer.body };
}

test.each([
  ["unknown host", "/", "unknown.example", 404, undefined],
  ["nothing there", "/none", undefined, 404, undefined],
  ["an own page", "/.gateway/signed_out", undefined, 200, undefined],
  ["an own endpoint that is not there", "/.gateway/none", undefined, 404, undefined],
  ["keys", "/.well-known/gateway/jwks.json", undefined, 200, undefined],
  ["no credential", "/closed", undefined, 401, "closed"],
  ["an MCP client without a token", "/tools", undefined, 401, undefined],
  ["an upstream that is away", "/dead", undefined, 502, undefined],
])("%s: has the configured headers", async (_name, path, host, status, route) => {
  const answer = await ask(path, host);
  expect(answer.status).toBe(status);
  expect(answer.headers["x-everywhere"]).toBe("global");
  expect(answer.headers["x-route"]).toBe(route);
  expect(answer.headers["x-both"]).toBe(route === undefined ? "global" : "route");
  expect(answer.headers[HSTS]).toBeUndefined();
  expect(answer.headers["set-cookie"] ?? "").not.toContain("planted");
  expect(answer.headers["location"] ?? "").not.toContain("elsewhere");
  expect(answer.headers["www-authenticate"] ?? "").not.toContain("Basic");
  if (path !== "/.well-known/gateway/jwks.json") expect(answer.headers["cache-control"]).toBe("no-store");
});

test("pages keep their security headers", async () => {
  const page = await ask("/.gateway/signed_out", undefined, { accept: "text/html" });
  expect(page.headers["content-security-policy"]).toContain("default-src 'none'");
  expect(page.headers["x-frame-options"]).toBe("DENY");
  expect(page.headers["cross-origin-opener-policy"]).toBeDefined();
});

test("Strict-Transport-Security is sent to hosts that users reach by https, and to no others, whoever says it", async () => {
  expect((await ask("/open")).headers).toMatchObject({ "x-from": "upstream" });
  expect((await ask("/open")).headers[HSTS]).toBeUndefined();
  expect((await ask("/", "tls.localhost")).headers[HSTS]).toBe("max-age=1");
  expect((await ask("/dead", "tls.localhost")).headers[HSTS]).toBe("max-age=1");
  expect((await ask("/.gateway/none", "tls.localhost")).headers[HSTS]).toBe("max-age=1");
});

test.each([
  ["an unknown host", "/", "unknown.example", 404, "host.unknown", ["Get help"]],
  ["nothing there", "/none", undefined, 404, "route.not-found", ["Get help"]],
  ["an own endpoint that is not there", "/.gateway/none", undefined, 404, "endpoint.not-found", ["Get help"]],
  ["an upstream that is away", "/dead", undefined, 502, "upstream.unreachable", ["Try again", "Get help"]],
])("%s: the page shows code and request id, and leads to help", async (_name, path, host, status, code, actions) => {
  const { headers, text, ...page } = await ask(path, host, { accept: "text/html" });
  expect(page.status).toBe(status);
  expect(text).toContain(`<code>${code}</code>`);
  expect(text).toContain(`<code>${headers["x-request-id"]}</code>`);
  expect([...text.matchAll(/<a class="button[^>]*>([^<]*)</g)].map(([, action]) => action)).toEqual(actions);
  expect(text).toContain('href="https://help.example.com/?from=gateway&#38;kind=page"');

  const forPrograms = await ask(path, host);
  expect(JSON.parse(forPrograms.text)).toMatchObject({ error: code, request_id: forPrograms.headers["x-request-id"] });
  expect(forPrograms.text).not.toContain("help.example.com");
});
