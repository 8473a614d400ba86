/** A browser that opens the address of an MCP server gets a page; no MCP client ever does, and both get the same challenge. */
import { StreamableHTTPClientTransport as TransportV2, Client as ClientV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { createSend } from "../support/browser.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";

const CHROME =
  "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,image/apng,*/*;q=0.8,application/signed-exchange;v=b3;q=0.7";
const FIREFOX = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";
const WINDOW = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document", "sec-fetch-site": "none" };

let gateway: TestGateway;
const send = createSend();

beforeAll(async () => {
  gateway = await startGateway({
    yaml: `
idp_provider_url: http://127.0.0.1:9
idp_client_id: gateway
runtime_flags: { mcp: true }
support_url: mailto:help@example.com
mcp_allowed_client_id_domains: [vscode.dev, chatgpt.com]
routes:
  - name: team tools
    from: "{origin}"
    prefix: "/it's/$(id)"
    to: http://secret-upstream.internal:8080/base
    mcp: { server: { path: /mcp, max_request_bytes: 77777 } }
    policy: [{ allow: { and: [{ email: { is: boss@secret.example } }] } }]
  - name: off
    from: "{origin}"
    prefix: /ordinary
    to: http://secret-upstream.internal:8080
    allow_any_authenticated_user: true
`,
  });
});

afterAll(() => gateway?.close());

async function ask(headers: Record<string, string>, { method = "GET", path = "/it's/$(id)/mcp" } = {}) {
  const answer = await send({ method, url: gateway.origin + path, headers });
  const type = String(answer.headers["content-type"]).split(";")[0];
  return { ...answer, type, challenge: answer.headers["www-authenticate"] };
}

describe("a browser", () => {
  test.each([
    ["Chromium", { accept: CHROME, ...WINDOW, "sec-fetch-user": "?1", "upgrade-insecure-requests": "1" }],
    ["Firefox", { accept: FIREFOX, ...WINDOW }],
    ["one without Fetch Metadata", { accept: FIREFOX }],
    [
      "a link on another site",
      { accept: CHROME, ...WINDOW, "sec-fetch-site": "cross-site", referer: "https://a.example" },
    ],
    ["a cookie", { accept: CHROME, ...WINDOW, cookie: "gateway_session=x" }],
    ["capital letters", { accept: "Text/HTML" }],
  ])("gets the page: %s", async (_, headers) => {
    const page = await ask(headers);
    expect([page.status, page.type]).toEqual([401, "text/html"]);
    expect(page.text).toContain("<h1>This address is for MCP clients</h1>");
  });

  test("gets it at every path of the route, with the one address to copy", async () => {
    for (const path of ["/it's/$(id)", "/it's/$(id)/", "/it's/$(id)/sse", "/it's/$(id)/x?y=<script>"]) {
      const page = await ask({ accept: CHROME }, { path });
      expect([page.status, page.type]).toEqual([401, "text/html"]);
      expect(page.text).toContain(`<pre tabindex="0">${gateway.origin}/it&#39;s/$(id)/mcp</pre>`);
      expect(page.text).not.toContain("<script");
    }
  });

  test("sees only public metadata, and the page is neither cached nor has scripts", async () => {
    const page = await ask({ accept: CHROME, ...WINDOW });
    const metadataUrl = /resource_metadata="([^"]+)"/.exec(String(page.challenge))?.[1] ?? "";
    const metadata = (await send({ method: "GET", url: metadataUrl })).json();
    expect(metadata).toMatchObject({ resource: `${gateway.origin}/it's/$(id)/mcp`, resource_name: "team tools" });
    expect(page.text).toContain("team tools");
    for (const secret of ["secret", "77777", "boss", "127.0.0.1:9", "vscode.dev", "/base", "ordinary"])
      expect(page.text).not.toContain(secret);
    expect(page.headers["cache-control"]).toBe("no-store");
    expect(page.headers["content-security-policy"]).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; form-action/,
    );
    expect(page.headers["x-frame-options"]).toBe("DENY");
    expect(page.headers["x-content-type-options"]).toBe("nosniff");
    expect(page.headers["set-cookie"]).toBeUndefined();
    expect(page.text).not.toMatch(/<script|<img|<iframe| src=| on[a-z]+=/);
    expect(page.text).toContain('href="mailto:help@example.com"');
    expect(page.text).toContain("<code>unauthorized</code>");
    expect(page.text).toContain(`<code>${page.headers["x-request-id"]}</code>`);
  });

  test("gets shell-safe commands for the clients that can connect here", async () => {
    const { text } = await ask({ accept: CHROME });
    expect(text).toContain(`codex mcp add team-tools --url &#39;${gateway.origin}/it&#39;\\&#39;&#39;s/$(id)/mcp&#39;`);
    const clients = [...text.matchAll(/<summary>([^<]*)</g)].map(([, client]) => client);
    // claude.ai is not among the domains, and Claude does not register itself where documents are taken.
    expect(clients).toEqual([
      "Codex",
      "ChatGPT",
      "VS Code",
      "Copilot CLI",
      "opencode",
      "Cursor",
      "Clients without support for remote servers (stdio)",
    ]);
  });

  test("leaves the same record as a program", async () => {
    const before = (await gateway.records()).length;
    await ask({ accept: CHROME, ...WINDOW });
    await ask({ accept: "application/json" });
    const [page, json] = (await gateway.records()).slice(before);
    expect(page).toMatchObject({ allow: false, "allow-why-false": ["credential-missing"] });
    expect(json).toMatchObject({ allow: false, "allow-why-false": ["credential-missing"] });
  });
});

describe("an MCP client never gets it", () => {
  const EVENTS = "text/event-stream";
  test.each<[string, Record<string, string>, string?]>([
    ["a stream", { accept: EVENTS }],
    ["what the transport asks for", { accept: `application/json, ${EVENTS}` }],
    ["the same and HTML", { accept: `application/json, ${EVENTS}, text/html` }],
    ["HTML and a stream", { accept: `text/html, ${EVENTS};q=0.1` }],
    ["HTML and JSON", { accept: `text/html, application/json;q=0.5` }],
    ["anything", { accept: "*/*" }],
    ["any text", { accept: "text/*" }],
    ["no Accept", {}],
    ["HTML refused", { accept: "text/html;q=0, */*" }],
    ["HTML refused with decimals", { accept: "text/html; q=0.000, */*" }],
    ["what only looks like HTML", { accept: "text/htmlx, application/text/html" }],
    ["a token", { accept: CHROME, authorization: "Bearer gwt_x" }],
    ["a token of another kind", { accept: CHROME, authorization: "Basic eDp5" }],
    ["a revision", { accept: CHROME, "mcp-protocol-version": "2025-06-18" }],
    ["a session", { accept: CHROME, "mcp-session-id": "x" }],
    ["a stream that goes on", { accept: CHROME, "last-event-id": "1" }],
    ["a method of 2026-07-28", { accept: CHROME, "mcp-method": "initialize" }],
    ["a page's script", { accept: CHROME, "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }],
    ["a page's script, same origin", { accept: CHROME, "sec-fetch-mode": "same-origin", "sec-fetch-dest": "empty" }],
    ["a script of old browsers", { accept: CHROME, "x-requested-with": "XMLHttpRequest" }],
    ["a script that says its origin", { accept: CHROME, origin: "http://localhost:1" }],
    ["a frame", { accept: CHROME, "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" }],
    ["a picture", { accept: CHROME, "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" }],
    ["a message", { accept: CHROME, "content-type": "application/json" }, "POST"],
    ["the end of a session", { accept: CHROME }, "DELETE"],
  ])("%s", async (_, headers, method = "GET") => {
    const answer = await ask(headers, { method });
    expect([answer.status, answer.type]).toEqual([401, "application/json"]);
    expect(answer.json()).toMatchObject({ error: "unauthorized" });
    expect(answer.challenge).toMatch(/^Bearer .*resource_metadata="/);
  });

  test("the challenge is byte for byte the page's", async () => {
    const [program, browser] = [await ask({ accept: EVENTS }), await ask({ accept: CHROME, ...WINDOW })];
    expect([program.type, browser.type]).toEqual(["application/json", "text/html"]);
    expect(program.challenge).toBe(browser.challenge);
    expect(program.challenge).not.toContain("error=");
  });

  test("HEAD is answered like for a program", async () => {
    const head = await ask({ accept: CHROME, ...WINDOW }, { method: "HEAD" });
    expect([head.status, head.type, head.text]).toEqual([401, "application/json", ""]);
  });

  test.each([
    [
      "SDK v1",
      (url: URL, fetch: typeof globalThis.fetch) =>
        new ClientV1({ name: "v1", version: "1" }).connect(new TransportV1(url, { fetch }) as never),
    ],
    [
      "SDK v1, events",
      (url: URL, fetch: typeof globalThis.fetch) =>
        new ClientV1({ name: "v1", version: "1" }).connect(new SSEClientTransport(url, { fetch }) as never),
    ],
    [
      "SDK v2",
      (url: URL, fetch: typeof globalThis.fetch) =>
        new ClientV2({ name: "v2", version: "1" }).connect(new TransportV2(url, { fetch }) as never),
    ],
  ])("%s", async (_, connect) => {
    const types: (string | null)[] = [];
    const watched: typeof globalThis.fetch = async (input, init) => {
      const answer = await fetch(input, init);
      types.push(answer.headers.get("content-type"));
      expect(answer.status).toBe(401);
      return answer;
    };
    await expect(connect(new URL(`${gateway.origin}/it's/$(id)/mcp`), watched)).rejects.toThrow();
    expect(types.length).toBeGreaterThan(0);
    expect(types.filter((type) => !type?.startsWith("application/json"))).toEqual([]);
  });
});
