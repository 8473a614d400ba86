/**
 * A call that spans the end of its access token is executed once, and its result arrives: with the official SDK clients, which
 * refresh and send a request again when they are answered 401.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

import { Client as ClientV2, StreamableHTTPClientTransport as TransportV2 } from "@modelcontextprotocol/client";
import { Client as ClientV1 } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as TransportV1 } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { createTestClock, type TestClock } from "../support/clock.ts";
import { signInClient, type SignedInClient } from "../support/oauth-client.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

const LIFETIME_MS = 60_000;

let clock: TestClock;
let world: SignInGateway;
let upstream: Awaited<ReturnType<typeof startSlowServer>>;
let signedIn: SignedInClient;
const closing: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  clock = createTestClock(Date.now());
  upstream = await startSlowServer();
  world = await startSignInGateway({
    clock,
    yaml: `
access_token_lifetime: 1m
routes:
  - { name: slow, from: "{origin}", prefix: /slow, to: "${upstream.origin}", mcp: { server: { path: /mcp } }, policy: [{ allow: { and: [{ domain: { is: example.com } }] } }] }
`,
  });
});
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
afterAll(async () => {
  await world?.close();
  await upstream?.close();
});

const resource = (): string => `${world.gateway.origin}/slow/mcp`;

/** An MCP server without sessions and with slow tools: "json" and "sse" are its response formats. */
async function startSlowServer() {
  const calls: string[] = [];
  const waiting: (() => void)[] = [];
  const answer = (request: IncomingMessage, response: ServerResponse, bytes: Buffer): void => {
    if (request.method === "GET") {
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": open\n\n");
      return;
    }
    const { id, method, params } = JSON.parse(bytes.toString()) as {
      id?: number;
      method: string;
      params?: { name?: string; protocolVersion?: string };
    };
    const say = (part: object): void => {
      const body = JSON.stringify({ jsonrpc: "2.0", id, ...part });
      response.writeHead(200, { "content-type": "application/json" }).end(body);
    };
    if (id === undefined) return void response.writeHead(202).end();
    if (method === "initialize")
      return say({
        result: {
          protocolVersion: params?.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "slow", version: "1" },
        },
      });
    if (method !== "tools/call") return say({ error: { code: -32601, message: "Method not found" } });
    const tool = params?.name ?? "";
    calls.push(tool);
    const result = { content: [{ type: "text", text: `paid by ${tool}` }] };
    if (tool === "sse") response.writeHead(200, { "content-type": "text/event-stream" }).write(": working\n\n");
    waiting.push(() => {
      if (tool === "sse") response.end(`event: message\ndata: ${JSON.stringify({ jsonrpc: "2.0", id, result })}\n\n`);
      else say({ result });
    });
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => answer(request, response, Buffer.concat(chunks)));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    waiting,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

/** A host application's stored state for an SDK, signed in. */
function signedInProvider() {
  const kept = new Map<string, unknown>();
  return {
    redirectUrl: signedIn.registration.redirect_uris[0] ?? "",
    clientMetadata: { redirect_uris: [...signedIn.registration.redirect_uris] },
    clientInformation: () => ({ ...signedIn.registration, issuer: world.gateway.origin }) as never,
    tokens: () => (kept.get("tokens") ?? { ...signedIn.tokens, issuer: world.gateway.origin }) as never,
    saveTokens: (value: unknown) => void kept.set("tokens", value),
    saveCodeVerifier: () => {},
    codeVerifier: () => "",
    discoveryState: () => kept.get("discovery") as never,
    saveDiscoveryState: (value: unknown) => void kept.set("discovery", value),
    redirectToAuthorization: () => expect.fail("the user had to sign in again"),
    refreshed: () => kept.has("tokens"),
  };
}

interface CallingClient {
  callTool(call: { name: string; arguments: Record<string, unknown> }): Promise<unknown>;
  close(): Promise<unknown>;
}

type Provider = ReturnType<typeof signedInProvider>;
const SDKS: readonly (readonly [name: string, connect: (provider: Provider) => Promise<CallingClient>])[] = [
  [
    "v1",
    async (authProvider) => {
      const client = new ClientV1({ name: "v1", version: "1" });
      await client.connect(new TransportV1(new URL(resource()), { authProvider }));
      return client;
    },
  ],
  [
    "v2",
    async (authProvider) => {
      const client = new ClientV2({ name: "v2", version: "1" });
      await client.connect(new TransportV2(new URL(resource()), { authProvider }));
      return client;
    },
  ],
];

describe.each(SDKS)("SDK %s", (_name, connect) => {
  test.each(["json", "sse"])("a call answered by %s spans the end of its token", async (tool) => {
    signedIn = await signInClient({ resource: resource(), user: "alice@example.com" });
    const provider = signedInProvider();
    const client = await connect(provider);
    closing.push(() => client.close());
    const before = upstream.calls.length;
    // Its end shows that the gateway has checked for expired streams.
    const stream = await fetch(resource(), {
      headers: { accept: "text/event-stream", authorization: `Bearer ${signedIn.tokens.access_token}` },
    });
    expect(stream.status).toBe(200);
    const result = client.callTool({ name: tool, arguments: {} });
    await expect.poll(() => upstream.waiting.length).toBe(1);
    clock.advance(LIFETIME_MS + 6_000);
    await stream.text();
    upstream.waiting.splice(0)[0]?.();

    expect(await result).toMatchObject({ content: [{ text: `paid by ${tool}` }] });
    expect(upstream.calls.slice(before)).toEqual([tool]);
    expect(provider.refreshed()).toBe(false);

    // The next call is accepted only with a new token, which the SDK gets without its user.
    const next = client.callTool({ name: tool, arguments: {} });
    await expect.poll(() => upstream.waiting.length).toBe(1);
    upstream.waiting.splice(0)[0]?.();
    await next;
    expect(provider.refreshed()).toBe(true);
    expect(upstream.calls.slice(before)).toEqual([tool, tool]);
  });

  test.each(["json", "sse"])(
    "a call with the response %s is not repeated after its access was revoked",
    async (tool) => {
      signedIn = await signInClient({ resource: resource(), user: "alice@example.com" });
      const provider = signedInProvider();
      const client = await connect(provider);
      closing.push(() => client.close());
      const before = upstream.calls.length;
      const result = client.callTool({ name: tool, arguments: {} });
      const outcome = expect(result).rejects.toMatchObject({ code: -31403, data: { may_have_run: true } });
      await expect.poll(() => upstream.waiting.length).toBe(1);
      const { registration, tokens } = signedIn;
      const revoked = await signedIn.oauth.sendRevocation({
        token: tokens.refresh_token ?? "",
        client_id: registration.client_id,
      });
      expect(revoked.status).toBe(200);
      upstream.waiting.splice(0)[0]?.();
      await outcome;
      expect(upstream.calls.slice(before)).toEqual([tool]);
      expect(provider.refreshed()).toBe(false);
    },
  );
});
