/** The official conformance suite's authorization server scenarios, played against our issuer with a scripted sign-in. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startMcpGateway, type McpGateway } from "../support/mcp-gateway.ts";
import { createOAuthClient } from "../support/oauth-client.ts";
import { freePort } from "../support/ports.ts";
import { clientEnvironment, signInWhenAsked } from "../support/terminal-client.ts";

const CLI = new URL("../../node_modules/@modelcontextprotocol/conformance/dist/index.js", import.meta.url).pathname;
const TIMEOUT_MS = 60_000;

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

async function runAuthorizationSuite(world: McpGateway): Promise<readonly Check[]> {
  const port = await freePort();
  const callback = `http://127.0.0.1:${port}/callback`;
  const client = await createOAuthClient({ resource: world.resource }).register({ redirect_uris: [callback] });
  const directory = await mkdtemp(join(tmpdir(), "conformance-authorization-"));
  try {
    const child = spawn(
      process.execPath,
      [
        CLI,
        "authorization",
        `--url=${world.gateway.origin}`,
        `--client-id=${client.client_id}`,
        `--resource=${world.resource}`,
        `--port=${port}`,
        `--output-dir=${directory}`,
      ],
      { stdio: ["ignore", "pipe", "pipe"], timeout: TIMEOUT_MS, env: clientEnvironment(directory) },
    );
    child.stderr.resume();
    const watch = signInWhenAsked(child.stdout, "alice@example.com");
    const [exitCode] = (await once(child, "close")) as [number | null];
    await watch.settled();
    const files = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith("checks.json"));
    const texts = await Promise.all(files.map((name) => readFile(join(directory, name), "utf8")));
    const checks = texts.flatMap((text) => JSON.parse(text) as Check[]);
    expect(exitCode, `${JSON.stringify(checks, null, 2)}\n${watch.text()}`).toBe(0);
    expect(watch.asked).toHaveLength(1);
    return checks;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

// The suite sends no secret to a server that takes clients without one, so there is nothing to vary in the client.
describe.each([
  ["pages on the host of the routes", false],
  ["pages on a host of their own", true],
])("conformance suite, authorization server, %s", (_, authenticateHost) => {
  let world: McpGateway;

  beforeAll(async () => {
    // With a list of client id domains the metadata says that client id documents are supported, which the suite wants.
    world = await startMcpGateway({ authenticateHost, settings: "mcp_allowed_client_id_domains: [clients.example]" });
  });

  afterAll(async () => {
    await world?.close();
  });

  test("authorization-server-metadata-endpoint and authorization-code-grant pass without a warning", async () => {
    const checks = await runAuthorizationSuite(world);
    expect(checks.map(({ id, status }) => `${id} ${status}`).sort()).toEqual([
      "authorization-code-grant SUCCESS",
      "authorization-server-metadata SUCCESS",
      "authorization-server-metadata-cimd SUCCESS",
    ]);
  });
});
