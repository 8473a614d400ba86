/**
 * `node test/bench/upstream-oauth.ts`: what a connected upstream costs. Two routes of one gateway to one upstream, with and
 * without upstream OAuth, loaded in turns; CPU per request of the gateway's process is the figure. At most 1.2 is allowed.
 *
 *   --rounds N (5)  --seconds S (2)  --connections C (32)
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { stringify } from "yaml";

import { startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { createBrowser } from "../support/browser.ts";
import { TEST_SHARED_SECRET } from "../support/config.ts";
import { signInClient } from "../support/oauth-client.ts";
import { freePort } from "../support/ports.ts";
import { startUpstreamService } from "../support/upstream-service.ts";
import { cpuNanoseconds } from "./common/cpu.ts";
import { load } from "./common/load.ts";
import { formatTable, median } from "./common/table.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "2" },
    connections: { type: "string", default: "32" },
  },
});

const port = await freePort();
const origin = `http://localhost:${port}`;
const service = await startUpstreamService();
service.switches.open = true;
service.clients.set("bench", { secret: "bench", redirectUris: [`${origin}/.gateway/mcp/client/oauth/callback`] });
const identityProvider = await startIdentityProvider({
  clients: [{ client_id: "gateway", client_secret: "secret", redirect_uris: [`${origin}/.gateway/callback`] }],
});
const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
const route = { from: origin, to: service.origin, policy: [{ allow: { and: [{ domain: { is: "example.com" } }] } }] };
const endpoint = { auth_url: `${service.origin}/authorize`, token_url: `${service.origin}/token` };
const config = {
  address: `127.0.0.1:${port}`,
  admin_address: "127.0.0.1:0",
  insecure_server: true,
  development: true,
  shared_secret: TEST_SHARED_SECRET,
  storage_url: `sqlite:${join(directory, "gateway.db")}`,
  authorize_log: join(directory, "authorize.log"),
  log_level: "warn",
  runtime_flags: { mcp: true },
  idp_provider_url: identityProvider.issuer,
  idp_client_id: "gateway",
  idp_client_secret: "secret",
  routes: [
    { ...route, name: "without", prefix: "/without", mcp: { server: { path: "/mcp" } } },
    {
      ...route,
      name: "with",
      prefix: "/with",
      mcp: { server: { path: "/mcp", upstream_oauth2: { client_id: "bench", client_secret: "bench", endpoint } } },
    },
  ],
};
await writeFile(join(directory, "gateway.yaml"), stringify(config), { mode: 0o600 });
const main = new URL("../../runtime/main.ts", import.meta.url).pathname;
const gateway = spawn(process.execPath, [main, "run", "--config", join(directory, "gateway.yaml")], {
  stdio: ["ignore", "ignore", "inherit"],
});
try {
  await untilServing();
  const browser = createBrowser();
  const requests = new Map<string, Buffer>();
  for (const name of ["without", "with"]) {
    const client = await signInClient({ resource: `${origin}/${name}/mcp`, user: "alice@example.com", browser });
    requests.set(name, requestTo(`/${name}/mcp`, client.tokens.access_token));
  }
  const micros = new Map<string, number[]>([...requests.keys()].map((name) => [name, []]));
  const options = { port, connections: Number(values.connections) };
  for (const request of requests.values()) await load({ ...options, request, durationMs: 1_000 });
  for (let round = 0; round < Number(values.rounds); round += 1) {
    for (const [name, request] of requests) {
      const before = cpuNanoseconds(gateway.pid ?? 0);
      const result = await load({ ...options, request, durationMs: Number(values.seconds) * 1000 });
      if (result.errors > 0) throw new Error(`${result.errors} requests to "${name}" failed`);
      micros.get(name)?.push((cpuNanoseconds(gateway.pid ?? 0) - before) / 1000 / result.requests);
    }
  }
  const [without = 0, withOAuth = 0] = [...micros.values()].map(median);
  const rows = [
    ["without upstream OAuth", `${without.toFixed(1)} µs`, "1.00"],
    ["with, connected", `${withOAuth.toFixed(1)} µs`, (withOAuth / without).toFixed(2)],
  ];
  console.log(formatTable(["route", "CPU per request", "ratio (at most 1.2)"], rows));
  if (withOAuth / without > 1.2) process.exitCode = 1;
} finally {
  gateway.kill();
  await once(gateway, "exit");
  await identityProvider.close();
  await service.close();
  await rm(directory, { recursive: true, force: true });
}

function requestTo(path: string, token: string): Buffer {
  const body = '{"jsonrpc":"2.0","id":1,"method":"tools/list"}';
  const head = [
    `POST ${path} HTTP/1.1`,
    `Host: localhost:${port}`,
    `Authorization: Bearer ${token}`,
    "Content-Type: application/json",
    "Accept: application/json, text/event-stream",
    `Content-Length: ${body.length}`,
  ];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n${body}`);
}

async function untilServing(): Promise<void> {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const answer = await fetch(`${origin}/.well-known/gateway/jwks.json`).catch(() => undefined);
    if (answer?.ok === true) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("the gateway does not serve");
}
