/** `tool_scopes` with the official SDK clients: a call without its scope leads to consent for it, and then passes. */
import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { type RunningMcpServer, startMcpServer } from "../../examples/demo/mcp-server.ts";
import { createBrowser, findForm, findLink } from "../support/browser.ts";
import { createSdkProvider, SDK_CALLBACK } from "../support/sdk-provider.ts";
import { signInClient } from "../support/oauth-client.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

let mcpServer: RunningMcpServer;
let world: SignInGateway;
let resource: string;

beforeAll(async () => {
  mcpServer = await startMcpServer();
  world = await startSignInGateway({
    yaml: `
authorize_log_fields: [request-id, mcp-tool]
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${mcpServer.origin}
    mcp:
      server:
        path: /mcp
        tool_scopes: { add_note: [notes:write], "delete_*": [admin, notes:write], create_issue: [issues] }
    policy:
      - allow: { and: [{ domain: { is: example.com } }] }
        deny: { and: [{ mcp_tool: { is: create_issue } }] }
`,
  });
  resource = `${world.gateway.origin}/tools/mcp`;
});
afterAll(async () => {
  await world.close();
  await mcpServer.close();
});

/** A host application's stored state for an SDK, and a user who consents. */
function createProvider(grantTypes?: readonly string[]) {
  /** Texts of the consent pages, and requested scopes. */
  const asked: { readonly scope: string | null; readonly page: string }[] = [];
  const browser = createBrowser();
  const authorize = async (url: URL): Promise<URL> => {
    let page = await browser.open(url.href, SDK_CALLBACK);
    const link = findLink(page, "alice@example.com");
    if (link !== undefined) page = await browser.open(link, SDK_CALLBACK);
    const form = findForm(page, "/.gateway/mcp/consent");
    asked.push({ scope: url.searchParams.get("scope"), page: page.text });
    if (form) page = await browser.submit(page, form, { decision: "approve" }, SDK_CALLBACK);
    if (!page.left) throw new Error(`Cannot sign in: ${page.status} ${page.text}`);
    return new URL(page.url);
  };
  const { provider, kept, callback: answer } = createSdkProvider(authorize, grantTypes && { grantTypes });
  const scope = (): unknown => (kept.get("tokens") as { readonly scope?: unknown }).scope;
  return { provider, asked, scope, answer };
}

/** Does it; where a person has to agree first, again. */
async function withConsent(finish: () => Promise<void>, act: () => Promise<unknown>): Promise<unknown> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof Error) || !/unauthorized/i.test(`${error.name} ${error.message} ${error.constructor.name}`))
      throw error;
    await finish();
    return act();
  }
}

const CALL = { name: "add_note", arguments: { text: "hello" } };

describe("step-up", () => {
  test.each([
    // With a refresh token, the first SDK only refreshes, which widens nothing.
    ["SDK v1", ["authorization_code"], ClientV1, TransportV1, (of: URLSearchParams) => of.get("code") ?? ""],
    ["SDK v2", ["authorization_code", "refresh_token"], ClientV2, TransportV2, (of: URLSearchParams) => of],
  ] as const)("%s asks for what a tool needs, and calls it", async (_name, grantTypes, Client, Transport, read) => {
    const { provider, asked, scope, answer } = createProvider([...grantTypes]);
    const first = new Transport(new URL(resource), { authProvider: provider });
    await expect(new Client({ name: "c", version: "1" }).connect(first)).rejects.toThrow();
    await first.finishAuth(read(answer()) as never);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.page).not.toContain("notes:write");
    expect(scope()).toBe("mcp");

    const transport = new Transport(new URL(resource), { authProvider: provider });
    const client = new Client({ name: "c", version: "1" });
    await client.connect(transport);
    // It is listed: scopes hide nothing.
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain("add_note");
    const before = mcpServer.calls.length;
    const result = await withConsent(
      () => transport.finishAuth(read(answer()) as never),
      () => client.callTool(CALL),
    );
    expect(JSON.stringify(result)).toContain("notes");
    expect(mcpServer.calls.slice(before)).toEqual([{ tool: "add_note", arguments: { text: "hello" } }]);
    expect(scope()).toBe("mcp notes:write");
    expect(asked).toHaveLength(2);
    expect(asked[1]?.scope?.split(" ")).toEqual(expect.arrayContaining(["mcp", "notes:write"]));
    expect(asked[1]?.page).toMatch(
      /Use the tools[^<]*<code>add_note<\/code>, <code>delete_\*<\/code>\s+\(notes:write\)/,
    );
    await client.close();
  });
});

describe("the scope of a call", () => {
  const call = (token: string, name: string) =>
    fetch(resource, {
      method: "POST",
      headers: {
        authorization: `Bearer ${token}`,
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: { text: "x" } } }),
    });
  const signIn = (scope?: string) =>
    signInClient({ resource, user: "alice@example.com", ...(scope !== undefined && { parameters: { scope } }) });

  test("is named completely, only for allowed tools, and not endlessly", async () => {
    const { tokens } = await signIn("mcp notes:write unknown");
    expect(tokens).toMatchObject({ scope: "mcp notes:write" });
    const token = tokens.access_token;
    expect((await call(token, "add_note")).status).toBe(200);
    expect((await call(token, "list_notes")).status).toBe(200);
    const metadata = `${world.gateway.origin}/.well-known/oauth-protected-resource/tools/mcp`;
    for (let times = 0; times < 3; times++) {
      const refused = await call(token, "delete_repo");
      expect(refused.status).toBe(403);
      expect(refused.headers.get("www-authenticate")).toBe(
        `Bearer error="insufficient_scope", error_description="The access token lacks a scope that this tool needs", resource_metadata="${metadata}", scope="mcp admin notes:write"`,
      );
      expect(await refused.json()).toMatchObject({
        error: { code: -31403, data: { reason: "insufficient-scope", scopes: ["admin", "notes:write"] } },
      });
    }
    // A client that does not widen its scope would ask its user again and again.
    const fourth = await call(token, "delete_repo");
    expect([fourth.status, fourth.headers.get("www-authenticate")]).toEqual([403, null]);
    // If policy denies the user, no scope helps.
    const denied = await call(token, "create_issue");
    expect([denied.status, denied.headers.get("www-authenticate")]).toEqual([200, null]);
    expect(await denied.json()).toMatchObject({ error: { data: { reason: "mcp-tool-unauthorized" } } });
    const records = await world.gateway.records();
    const scoped = records.filter((each) => String(each["allow-why-false"]).includes("insufficient-scope"));
    expect(scoped.map((each) => each["mcp-tool"])).toContain("delete_repo");
  });

  test("stays with a refresh, which widens nothing", async () => {
    const client = await signIn("notes:write");
    expect(client.tokens).toMatchObject({ scope: "mcp notes:write" });
    const refreshed = await client.refresh();
    expect(refreshed).toMatchObject({ scope: "mcp notes:write" });
    expect((await call(refreshed.access_token, "add_note")).status).toBe(200);
    expect((await call(refreshed.access_token, "delete_repo")).status).toBe(403);
  });

  test("is shown where clients look for it", async () => {
    const read = async (path: string): Promise<unknown> =>
      ((await (await fetch(world.gateway.origin + path)).json()) as { scopes_supported: unknown }).scopes_supported;
    const all = ["mcp", "admin", "issues", "notes:write"];
    expect(await read("/.well-known/oauth-protected-resource/tools/mcp")).toEqual(all);
    expect(await read("/.well-known/oauth-authorization-server")).toEqual(all);
    // And clients begin with the least.
    const { headers } = await fetch(resource, { method: "POST" });
    expect(headers.get("www-authenticate")).toMatch(/scope="mcp"$/);
  });

  test("names that a server could read as a tool's are refused", async () => {
    const { tokens } = await signIn();
    expect((await call(tokens.access_token, "add_note ")).status).toBe(400);
  });
});
