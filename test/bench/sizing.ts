/**
 * `node test/bench/sizing.ts`: what routes, sessions and requests cost one process, as the table of runtime/OPERATIONS.md.
 * The gateway is a process of its own; memory is what lives after a collection.
 */
import { fork, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer } from "node:http";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Pool } from "undici";

import { startIdentityProvider } from "../../examples/demo/identity-provider.ts";
import { visit } from "../../examples/demo/person.ts";
import { createBrowser } from "../support/browser.ts";
import { freePort } from "../support/ports.ts";
import type { Usage } from "./parts/sizing-child.ts";

const ROUTES = 10_000;
const SESSIONS = 400;
const REQUESTS = 40_000;

const upstream = createServer((_, response) => response.end("ok"));
await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve));
const to = `http://127.0.0.1:${(upstream.address() as AddressInfo).port}`;
const port = await freePort();
const origin = `http://localhost:${port}`;
const clients = [{ client_id: "gateway", client_secret: "secret", redirect_uris: [`${origin}/.gateway/callback`] }];
const identityProvider = await startIdentityProvider({ clients });
const directory = await mkdtemp(join(tmpdir(), "gateway-sizing-"));

/** Routes with a policy and header settings, each on a host of its own; the last one is asked. */
function routes(count: number): readonly object[] {
  const policy = [{ allow: { and: [{ domain: { is: "example.com" } }] }, deny: { or: [{ user: "nobody" }] } }];
  const more = { to, policy, set_request_headers: { "X-Team": "platform" }, remove_request_headers: ["X-Debug"] };
  const others = Array.from({ length: count }, (_, index) => ({ from: `http://app-${index}.localhost`, ...more }));
  return [...others, { from: origin, ...more }];
}

async function start(count: number): Promise<ChildProcess> {
  const boot = {
    address: `127.0.0.1:${port}`,
    admin_address: "127.0.0.1:0",
    insecure_server: true,
    development: true,
    shared_secret: randomBytes(32).toString("base64"),
    storage_url: `sqlite:${join(directory, `${count}.db`)}`,
    authorize_log: join(directory, "authorize.log"),
    idp_provider_url: identityProvider.issuer,
    idp_client_id: "gateway",
    idp_client_secret: "secret",
    routes: routes(count),
  };
  const file = join(directory, `${count}.yaml`);
  // JSON is YAML.
  await writeFile(file, JSON.stringify(boot));
  const child = fork(new URL("parts/sizing-child.ts", import.meta.url).pathname, [file], { execArgv: ["--expose-gc"] });
  await once(child, "message");
  return child;
}

async function usage(child: ChildProcess): Promise<Usage> {
  child.send("measure");
  const [usage] = (await once(child, "message")) as [Usage];
  return usage;
}

async function stop(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

async function signIn(): Promise<string> {
  const browser = createBrowser();
  await visit(browser, `${origin}/`, { user: "alice@example.com" });
  return browser.cookieHeader("localhost");
}

async function load(cookies: readonly string[], count: number): Promise<void> {
  const pool = new Pool(`http://127.0.0.1:${port}`, { connections: 32 });
  let left = count;
  const one = async (): Promise<void> => {
    while (left > 0) {
      left -= 1;
      const cookie = cookies[left % cookies.length] ?? "";
      const headers = { host: `localhost:${port}`, cookie };
      const { statusCode, body } = await pool.request({ method: "GET", path: "/", headers });
      await body.dump();
      if (statusCode !== 200) throw new Error(`answered ${statusCode}`);
    }
  };
  await Promise.all(Array.from({ length: 32 }, one));
  await pool.close();
}

const mebi = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
const kibi = (bytes: number): string => `${(bytes / 1024).toFixed(1)} KiB`;

try {
  const many = await start(ROUTES);
  const full = await usage(many);
  await stop(many);
  const child = await start(0);
  const empty = await usage(child);
  const cookies: string[] = [];
  // Some first, so that what is loaded and compiled on the way is not counted as theirs.
  for (let count = 0; count < 50; count += 1) cookies.push(await signIn());
  await load(cookies, REQUESTS);
  const before = await usage(child);
  for (let count = 0; count < SESSIONS; count += 1) cookies.push(await signIn());
  await load(cookies, cookies.length * 4);
  const after = await usage(child);
  await load(cookies, REQUESTS);
  const loaded = await usage(child);
  await stop(child);

  console.log("| What | Measured |\n|---|---|");
  console.log(`| a process without routes | ${mebi(empty.resident)} resident, ${mebi(empty.heap)} of it live |`);
  console.log(`| the same after ${REQUESTS} requests | ${mebi(loaded.resident)} resident |`);
  const perRoutes = 1000 / ROUTES;
  console.log(
    `| 1,000 routes | ${mebi((full.heap - empty.heap) * perRoutes)} live, ${mebi((full.resident - empty.resident) * perRoutes)} resident |`,
  );
  console.log(`| a session in use | ${kibi((after.heap - before.heap) / SESSIONS)} live |`);
  console.log(`| a request with a session | ${((loaded.cpu - after.cpu) / REQUESTS).toFixed(0)} µs of CPU |`);
} finally {
  await identityProvider.close();
  upstream.closeAllConnections();
  upstream.close();
  await rm(directory, { recursive: true, force: true });
}
