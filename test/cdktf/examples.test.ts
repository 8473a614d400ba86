/** The examples that need no running gateway, and the parts of the demo behind a gateway. */
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer, request as httpRequest } from "node:http";
import type { AddressInfo } from "node:net";
import { promisify } from "node:util";

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { exportJWK, generateKeyPair, SignJWT, UnsecuredJWT } from "jose";
import { describe, expect, test } from "vitest";

import { type RunningMcpServer, startMcpServer } from "../../examples/demo/mcp-server.ts";
import { startWebApp } from "../../examples/demo/web-app.ts";
import { exampleNames, runExample } from "../support/run-example.ts";
import { terraformMissing } from "../support/terraform.ts";
import { LONG_MS } from "../support/limits.ts";

const root = new URL("../../", import.meta.url).pathname;

async function withMcpServer(use: (server: RunningMcpServer) => Promise<void>): Promise<void> {
  const server = await startMcpServer();
  try {
    await use(server);
  } finally {
    await server.close();
  }
}

describe("npm run example", () => {
  // Each mostly waits for processes of its own.
  test.concurrent.each(["header-settings", "policy", "upstream-oauth", "mcp-client-app", "demo"])(
    "%s prints a line per step and only passes",
    { timeout: LONG_MS },
    async (name) => {
      const run = promisify(execFile)(process.execPath, ["test/support/run-example.ts", name], { cwd: root });
      const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
      const lines = stdout.trim().split("\n");
      expect(lines.filter((line) => line.startsWith("FAIL"))).toEqual([]);
      expect(lines.at(-1)).toMatch(/^\d+ passed, 0 failed$/);
      expect(lines.slice(0, -1).every((line) => line.startsWith("pass  "))).toBe(true);
      expect(lines.at(-1)).toBe(`${lines.length - 1} passed, 0 failed`);
    },
  );

  // Without terraform they run what they can, and report the skipped part.
  test.concurrent.each(["cdktf", "terraform", "gitops"])(
    "%s plays plan, apply, live traffic, drift and destroy",
    { timeout: LONG_MS },
    async (name) => {
      const run = promisify(execFile)(process.execPath, ["test/support/run-example.ts", name], { cwd: root });
      const { stdout } = await run.catch((error: unknown) => error as { stdout: string });
      expect(stdout.split("\n").filter((line) => line.startsWith("FAIL"))).toEqual([]);
      expect(stdout).toMatch(/^\d+ passed, 0 failed\n$/m);
      if (terraformMissing() === undefined) expect(stdout).not.toContain("skipped");
    },
  );

  test("knows every folder with a check, and refuses other names with exit code 2", async () => {
    expect(exampleNames()).toEqual(expect.arrayContaining(["demo", "header-settings", "policy"]));
    expect(await runExample("../test", [])).toBe(2);
    expect(await runExample(undefined, [])).toBe(2);
  });
});

test("every example has a README with a command to run", () => {
  for (const name of exampleNames()) {
    const readme = readFileSync(`${root}examples/${name}/README.md`, "utf8");
    expect(readme, name).toMatch(new RegExp(`npm run example ${name}\\b|npm start -- --check`));
  }
});

describe("startMcpServer", () => {
  test.each([
    ["2026-07-28", { versionNegotiation: { mode: "auto" } } as const],
    ["2025-11-25", {}],
  ])("serves protocol %s", async (version, options) => {
    await withMcpServer(async (server) => {
      const client = new Client({ name: "test", version: "1.0.0" }, options);
      const claims = { email: "alice@example.com" };
      const assertion = new UnsecuredJWT(claims).encode();
      const headers = { "x-gateway-assertion": assertion, "x-demo-route": "github", "x-other": "1" };
      await client.connect(new StreamableHTTPClientTransport(new URL(server.url), { requestInit: { headers } }));
      expect(client.getNegotiatedProtocolVersion()).toBe(version);
      const { tools } = await client.listTools();
      const names = ["list_repos", "create_issue", "delete_repo", "add_note", "list_notes", "whoami"];
      expect(tools.map(({ name }) => name)).toEqual(names);

      await client.callTool({ name: "add_note", arguments: { text: "milk" } });
      expect(await client.callTool({ name: "list_notes", arguments: {} })).toMatchObject({
        content: [{ type: "text", text: '["milk"]' }],
      });
      const shown = { claims, headers: { "x-demo-route": "github", "x-gateway-assertion": assertion } };
      expect(await client.callTool({ name: "whoami", arguments: {} })).toMatchObject({
        content: [{ type: "text", text: JSON.stringify(shown) }],
      });
      expect(server.calls).toEqual([
        { tool: "add_note", arguments: { text: "milk" } },
        { tool: "list_notes", arguments: {} },
        { tool: "whoami", arguments: {} },
      ]);
      await client.close();
    });
  });

  test("answers neither foreign hosts nor other paths", async () => {
    await withMcpServer(async ({ origin, calls }) => {
      expect((await fetch(`${origin}/other`)).status).toBe(404);
      const status = new Promise((resolve, reject) => {
        const request = httpRequest(
          `${origin}/mcp`,
          { method: "POST", headers: { host: "evil.example" } },
          (response) => {
            response.resume();
            resolve(response.statusCode);
          },
        );
        request.once("error", reject);
        request.end("{}");
      });
      expect(await status).toBe(403);
      expect(calls).toEqual([]);
    });
  });
});

describe("startWebApp", () => {
  /** A gateway as far as the application sees one: it publishes keys and signs. */
  async function withWebApp(
    use: (app: string, sign: (audience: string) => Promise<string>) => Promise<void>,
  ): Promise<void> {
    const { publicKey, privateKey } = await generateKeyPair("ES256");
    const keys = JSON.stringify({ keys: [{ ...(await exportJWK(publicKey)), kid: "k", alg: "ES256", use: "sig" }] });
    const gateway = createServer((_, response) => response.end(keys));
    await new Promise<void>((resolve) => gateway.listen(0, "127.0.0.1", resolve));
    const app = await startWebApp({ gateway: `http://localhost:${(gateway.address() as AddressInfo).port}` });
    const sign = (audience: string): Promise<string> =>
      new SignJWT({ email: "alice@example.com", groups: ["<b>"], user: "u", sid: "s", name: "Alice" })
        .setProtectedHeader({ alg: "ES256", kid: "k" })
        .setSubject("u")
        .setIssuer(audience)
        .setAudience(audience)
        .setIssuedAt()
        .setExpirationTime("1m")
        .sign(privateKey);
    try {
      await use(app.origin, sign);
    } finally {
      await app.close();
      gateway.closeAllConnections();
      await new Promise((resolve) => gateway.close(resolve));
    }
  }

  test("greets callers that the gateway verifies, and no others", async () => {
    await withWebApp(async (app, sign) => {
      const asked = async (assertion?: string) =>
        fetch(`${app}/app`, { headers: assertion === undefined ? {} : { "x-gateway-assertion": assertion } });
      const greeted = await asked(await sign("localhost"));
      expect(greeted.status).toBe(200);
      expect(await greeted.text()).toContain("<h1>Hello alice@example.com</h1><p>Your groups: &lt;b></p>");
      expect((await asked()).status).toBe(401);
      expect((await asked("forged")).status).toBe(401);
      expect((await asked(await sign("other.example"))).status).toBe(401);
    });
  });

  test("redirects to its own address, which the route corrects", async () => {
    await withWebApp(async (app, sign) => {
      const headers = { "x-gateway-assertion": await sign("localhost") };
      const answer = await fetch(`${app}/app/old`, { headers, redirect: "manual" });
      expect([answer.status, answer.headers.get("location")]).toEqual([302, `${app}/app`]);
      // Without an External Token the application can ask for nothing.
      expect((await fetch(`${app}/assistant`, { headers })).status).toBe(502);
    });
  });
});
