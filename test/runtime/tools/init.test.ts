/** `gateway init`: what it writes passes the check, replaces nothing, and serves a signed-in user and an MCP client. */
import { execFile, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";

import { connectClient, createLogin } from "../../../examples/demo/mcp-client.ts";
import { visit } from "../../../examples/demo/person.ts";
import { CLIENT, startServices } from "../../../examples/demo/services.ts";
import { findPort } from "../../../examples/demo/stage.ts";
import { formatProblem, loadSlices } from "../../../runtime/config/load.ts";
import { initGateway, type InitOptions } from "../../../runtime/tools/init/init.ts";
import { createBrowser } from "../../support/browser.ts";
import { builtProgram } from "../../support/built-program.ts";
import { LONG_MS } from "../../support/limits.ts";
import { createWorkspace, serveInProcess, terraformMissing } from "../../support/terraform.ts";

const root = mkdtempSync(join(tmpdir(), "gateway-init-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;
const newDirectory = (): string => join(root, String((count += 1)));

const GIVEN = { to: "http://127.0.0.1:9001/mcp", issuer: "https://accounts.google.com", domain: "example.com" };
const init = (given: InitOptions["given"], directory = newDirectory(), ask?: InitOptions["ask"]) =>
  initGateway({ directory, given: { ...GIVEN, ...given }, ask, clientSecret: "", version: "0.1.0" }).then((result) => ({
    ...result,
    directory,
    read: (name: string) => readFileSync(join(directory, name), "utf8"),
  }));

/** What `gateway check --elsewhere` reports: secrets and files are elsewhere. */
function problemsOf(text: string): readonly string[] {
  const { problems } = loadSlices([{ file: "gateway.yaml", text, boot: true }]);
  return problems.map(formatProblem);
}

const HTTPS = { url: "https://mcp.example.com" };
const COMBINATIONS = [
  {},
  { kind: "web", to: "http://127.0.0.1:9002", operator: "alice@example.com", storage: "memory" },
  { ...HTTPS, certificates: "none", storage: "postgres" },
  { ...HTTPS, target: "systemd" },
  { ...HTTPS, target: "compose", certificates: "acme", program: "terraform" },
  { ...HTTPS, target: "kubernetes", program: "cdktf" },
  { url: "https://gateway.example.com:8443", target: "compose", storage: "postgres", domain: "" },
  { issuer: "http://127.0.0.1:9000", kind: "web", to: "http://127.0.0.1:9002/app" },
] as const;

test.each(COMBINATIONS.map((given) => [JSON.stringify(given), given] as const))("%s loads", async (_, given) => {
  const { read, directory, steps } = await init(given);
  expect(problemsOf(read("gateway.yaml"))).toEqual([]);
  // Only the user reads the secrets.
  expect(statSync(join(directory, "gateway.env")).mode & 0o777).toBe(0o600);
  expect(read("gateway.env")).toMatch(/^SHARED_SECRET=[A-Za-z0-9+/]{43}=\nADMIN_TOKEN=[\w-]{43}\nIDP_CLIENT_SECRET=\n/);
  expect(JSON.stringify(steps)).not.toContain(/SHARED_SECRET=(.*)/.exec(read("gateway.env"))?.[1]);
  const texts = readdirSync(directory).filter((name) => name !== "gateway.env");
  for (const name of texts) expect(read(name)).not.toMatch(/undefined|\[object/);
});

test("the unit has no credentials of its own, compose and Kustomize files are YAML", async () => {
  const unit = (await init({ ...HTTPS, target: "systemd" })).read("gateway.service");
  expect(unit).toContain("EnvironmentFile=/etc/gateway-secrets/gateway.env");
  expect(unit).not.toContain("LoadCredential");
  const compose = parse((await init({ ...HTTPS, target: "compose" })).read("compose.yaml")) as object;
  expect(compose).toMatchObject({ services: { gateway: { ports: ["443:443"], env_file: "gateway.env" } } });
  const { read, directory } = await init({ ...HTTPS, target: "kubernetes" });
  const { resources } = parse(read("kustomization.yaml")) as { resources: string[] };
  expect(readdirSync(join(directory, resources[0] ?? ""))).toContain("deployment.yaml");
});

test("existing files stay, and nothing is written next to them", async () => {
  const { directory, read } = await init({});
  const before = read("gateway.env");
  rmSync(join(directory, "gateway.yaml"));
  await expect(init({}, directory)).rejects.toThrow(/gateway\.env: it exists\. No file was written/);
  expect([readdirSync(directory), read("gateway.env")]).toEqual([["gateway.env"], before]);
});

test.each([
  [{ url: "http://mcp.example.com" }, '--url is "http://mcp.example.com", must be https://, except for localhost'],
  [{ url: "https://a.example.com/path" }, "must have no path"],
  [{ ...HTTPS, signIn: "https://mcp.example.com:8443" }, "must have another host than the route"],
  [{ ...HTTPS, target: "kubernetes", storage: "sqlite" }, "must be postgres for kubernetes"],
  [{ certificates: "files" }, "must be none, because the address is http://"],
  [{ target: "compose" }, "must be local, because the address is http://"],
  [{ ...HTTPS, issuer: "http://127.0.0.1:9000" }, "must be https://, except for a gateway on localhost"],
  [{ storage: "redis" }, "must be one of sqlite, postgres, memory"],
  [{ domain: 'a" }' }, "must be a domain such as example.com"],
  [{ to: "localhost:9001" }, "must be an http:// or https:// address"],
])("%j is refused", async (given, words) => {
  await expect(init(given)).rejects.toThrow(words);
});

test("asks for what is missing, and again for what cannot be used", async () => {
  const asked: string[] = [];
  const { read } = await init({ clientId: "gateway" }, undefined, (question, fallback) => {
    asked.push(question);
    const isFirst = asked.length === 1;
    return Promise.resolve(isFirst ? "https://a.example.com/path" : (fallback ?? ""));
  });
  expect(asked.slice(0, 2)).toEqual([
    "Address that users open, without a path",
    expect.stringContaining("must have no path"),
  ]);
  expect(asked.join()).not.toContain("Client ID");
  expect(problemsOf(read("gateway.yaml"))).toEqual([]);
});

describe("programs", () => {
  test.skipIf(terraformMissing())("Terraform accepts main.tf", { timeout: LONG_MS }, async () => {
    const { read } = await init({ ...HTTPS, program: "terraform" });
    const provider = await serveInProcess();
    const workspace = createWorkspace(provider.env);
    onTestFinished(() => {
      workspace.close();
      provider.close();
    });
    workspace.write("main.tf", read("main.tf"));
    await workspace.succeed("init");
    expect(await workspace.succeed("validate")).toContain("The configuration is valid");
  });

  test("main.ts makes the route", { timeout: LONG_MS }, async () => {
    const { read, directory } = await init({ ...HTTPS, program: "cdktf" });
    const repository = new URL("../../../", import.meta.url).pathname;
    symlinkSync(join(repository, "node_modules"), join(directory, "node_modules"));
    const program = join(directory, "main.ts");
    writeFileSync(program, read("main.ts").replace("gateform/cdktf", join(repository, "cdktf/index.ts")));
    await promisify(execFile)(process.execPath, [program], { cwd: directory });
    const made = readFileSync(join(directory, "cdktf.out/stacks/gateway/cdk.tf.json"), "utf8");
    expect(made).toContain('"from": "https://mcp.example.com"');
  });
});

test("a browser signs in and an MCP client connects, with what init wrote", { timeout: LONG_MS }, async () => {
  const port = await findPort(20_000 + Math.floor(Math.random() * 20_000));
  const pages = `http://127.0.0.1:${port}`;
  const services = await startServices({ gateway: pages, identityPort: 0, mcpPort: 0 });
  onTestFinished(() => services.close());
  const directory = newDirectory();
  const url = `http://localhost:${port}`;
  const args = ["init", directory, "--json", "--url", url, "--domain", "example.com", "--client-id", CLIENT.client_id];
  args.push("--issuer", services.issuer, "--to", `${services.mcpServer}/mcp`, "--operator", "alice@example.com");
  const main = new URL("../../../runtime/main.ts", import.meta.url).pathname;
  const env = { ...process.env, IDP_CLIENT_SECRET: CLIENT.client_secret };
  const { stdout } = await promisify(execFile)(process.execPath, [main, ...args], { env });
  expect((JSON.parse(stdout) as { files: string[] }).files).toHaveLength(2);
  expect(stdout).not.toContain(CLIENT.client_secret);

  const file = join(directory, "gateway.yaml");
  writeFileSync(file, readFileSync(file, "utf8").replace("127.0.0.1:9901", "127.0.0.1:0"));
  const secrets = readFileSync(join(directory, "gateway.env"), "utf8").trim().split("\n");
  const own = Object.fromEntries(
    secrets.map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
  );
  const gateway = spawn(process.execPath, [await builtProgram(), "run", "--config", "gateway.yaml"], {
    cwd: directory,
    env: { ...process.env, ...own },
    stdio: "ignore",
  });
  const ended = new Promise((resolve) => gateway.once("exit", resolve));
  onTestFinished(async () => {
    gateway.kill("SIGTERM");
    await ended;
  });
  await expect
    .poll(
      () =>
        fetch(`${pages}/.gateway/jwks.json`).then(
          ({ status }) => status,
          () => 0,
        ),
      { timeout: 30_000 },
    )
    .toBeGreaterThan(0);

  const browser = createBrowser();
  const portal = await visit(browser, `${pages}/.gateway/`, { user: "alice@example.com" });
  expect([portal.status, portal.text.includes("Open the console")]).toEqual([200, true]);
  const login = createLogin("first");
  const client = await connectClient(
    "v2",
    `${url}/mcp`,
    async (address) =>
      new URL(
        (await visit(browser, address.href, { user: "alice@example.com", stopAt: "http://127.0.0.1:33418/" })).url,
      ),
    login,
  );
  expect(await client.tools()).toContain("list_repos");
  await client.close();
});
