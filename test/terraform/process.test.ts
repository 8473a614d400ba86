/** The provider as the process that Terraform starts: handshake, TLS, its end, and whole files when it is killed. */
import { type ChildProcess, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import {
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { connect } from "node:tls";

import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";

import { makeCertificate } from "../../runtime/terraform/protocol/certificate.ts";
import { cliConfig, type DevMirror, writeDevMirror } from "../../runtime/terraform/dev-mirror.ts";
import { OPENTOFU_ADDRESS, PROVIDER_ADDRESS } from "../../runtime/terraform/schema/schema.ts";
import { handshakeLine, refuseStart } from "../../runtime/terraform/protocol/handshake.ts";
import { createWorkspace, terraformMissing, type Workspace } from "../support/terraform.ts";
import { LONG_MS } from "../support/limits.ts";

const sources = new URL("../../runtime/terraform", import.meta.url).pathname;
const COOKIE = "d602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2";
const client = makeCertificate(Date.now());
const pluginEnv = {
  PATH: process.env["PATH"],
  TF_PLUGIN_MAGIC_COOKIE: COOKIE,
  PLUGIN_PROTOCOL_VERSIONS: "5,6",
  PLUGIN_CLIENT_CERT: client.certificate,
};

/** The provider acts as on Windows; Node and files are those of this host. */
const AS_ON_WINDOWS = {
  NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent('Object.defineProperty(process, "platform", { value: "win32" })')}`,
};

let root: string;
let mirror: DevMirror;
const children: ChildProcess[] = [];
const workspaces: Workspace[] = [];

beforeAll(async () => {
  root = mkdtempSync(join(tmpdir(), "gw-mirror-"));
  mirror = await writeDevMirror(root);
});
afterAll(() => {
  rmSync(root, { recursive: true, force: true });
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const workspace of workspaces.splice(0)) workspace.close();
});

describe("refuseStart()", () => {
  const env = { TF_PLUGIN_MAGIC_COOKIE: COOKIE, PLUGIN_PROTOCOL_VERSIONS: "5,6", PLUGIN_CLIENT_CERT: "pem" };

  test.each([
    ["nothing when Terraform started it", {}, undefined],
    ["a start by hand", { TF_PLUGIN_MAGIC_COOKIE: undefined }, "by-hand"],
    ["another cookie", { TF_PLUGIN_MAGIC_COOKIE: "other" }, "by-hand"],
    ["a Terraform without protocol 6", { PLUGIN_PROTOCOL_VERSIONS: "4,5" }, "protocol"],
    ["a connection without certificates", { PLUGIN_CLIENT_CERT: undefined }, "no-certificate"],
  ] as const)("finds %s", (_name, change, refusal) => {
    expect(refuseStart({ ...env, ...change })).toBe(refusal);
  });
});

test("handshakeLine() has the certificate in base64 without padding", () => {
  expect(handshakeLine("unix|/tmp/x/s", Buffer.from([1]))).toBe("1|6|unix|/tmp/x/s|grpc|AQ\n");
});

describe("terraform-provider-gateway", () => {
  test("tells users who start it by hand its purpose", async () => {
    const child = start({ PATH: process.env["PATH"] });
    const { code, stdout, stderr } = await finished(child);
    expect(code).toBe(1);
    expect(stdout).toBe("");
    expect(stderr).toContain('resource "gateway_bundle"');
    expect(stderr).toContain("terraform-provider-gateway mirror DIRECTORY");
    expect(stderr).toContain("cannot do anything when started by hand");
  });

  test("prints one line, and listens in a directory that only its user can enter", async () => {
    const { line, child, socketPath } = await started();
    expect(line).toMatch(/^1\|6\|unix\|\/[^|]+\/s\|grpc\|[A-Za-z0-9+/]+\n$/);
    expect(statSync(dirname(socketPath)).mode & 0o777).toBe(0o700);
    child.kill("SIGTERM");
    await finished(child);
    expect(existsSync(dirname(socketPath))).toBe(false);
  });

  test("speaks only with the certificate of the Terraform that started it", async () => {
    const { socketPath } = await started();
    const foreign = makeCertificate(Date.now());
    expect(await handshake(socketPath, { key: client.privateKey, cert: client.certificate })).toBe("accepted");
    expect(await handshake(socketPath, { key: foreign.privateKey, cert: foreign.certificate })).toBe("refused");
    expect(await handshake(socketPath, {})).toBe("refused");
  });

  test("on Windows, where Terraform requires TCP: a port of the loopback address, and as strict", async () => {
    const line = await firstLine(start({ ...pluginEnv, ...AS_ON_WINDOWS }));
    const [, port = ""] = /^1\|6\|tcp\|127\.0\.0\.1:([1-9]\d+)\|grpc\|[A-Za-z0-9+/]+\n$/.exec(line) ?? [];
    const foreign = makeCertificate(Date.now());
    expect(await handshake(Number(port), { key: client.privateKey, cert: client.certificate })).toBe("accepted");
    expect(await handshake(Number(port), { key: foreign.privateKey, cert: foreign.certificate })).toBe("refused");
    expect(await handshake(Number(port), {})).toBe("refused");
  });

  test("leaves an interrupt to Terraform", async () => {
    const { child, socketPath } = await started();
    child.kill("SIGINT");
    // Its answer to a handshake afterwards shows that it lives.
    expect(await handshake(socketPath, { key: client.privateKey, cert: client.certificate })).toBe("accepted");
    expect(child.exitCode).toBeNull();
  });

  test("ends itself when Terraform is killed", async () => {
    // The shell plays Terraform: the provider is its child.
    const shell = spawn("/bin/sh", ["-c", `'${mirror.launcher}' & wait`], {
      env: { ...pluginEnv, TMPDIR: root },
      stdio: ["ignore", "pipe", "pipe"],
    });
    children.push(shell);
    const socketPath = (await firstLine(shell)).split("|")[3] ?? "";
    expect(existsSync(socketPath)).toBe(true);
    shell.kill("SIGKILL");
    await expect.poll(() => existsSync(socketPath)).toBe(false);
  });
});

/** Another machine, as far as one machine can play it: another directory, and another Node in it. */
let elsewhere = { directory: "", node: "" };
beforeAll(() => {
  const directory = mkdtempSync(join(tmpdir(), "gw elsewhere-"));
  elsewhere = { directory, node: join(directory, "other-node") };
  copyFileSync(process.execPath, elsewhere.node);
});
afterAll(() => rmSync(elsewhere.directory, { recursive: true, force: true }));

/** Input of Terraform's hash: names and contents of the launcher's directory. */
function hashed(launcher: string): Readonly<Record<string, string>> {
  const directory = dirname(launcher);
  const digest = (name: string): string =>
    createHash("sha256")
      .update(readFileSync(join(directory, name)))
      .digest("hex");
  return Object.fromEntries(readdirSync(directory).map((name) => [name, digest(name)]));
}

describe("writeDevMirror()", { timeout: LONG_MS }, () => {
  test("writes the same bytes in two directories by two Nodes, and none of their paths", async () => {
    const script = `import { writeDevMirror } from ${JSON.stringify(join(sources, "dev-mirror.ts"))};
      console.log((await writeDevMirror(${JSON.stringify(join(elsewhere.directory, "b"))})).launcher);`;
    const { stdout } = await finished(
      spawn(elsewhere.node, ["--input-type=module", "--eval", script], { stdio: ["ignore", "pipe", "pipe"] }),
    );
    const launcher = stdout.trim();
    expect(hashed(launcher)).toEqual(hashed(mirror.launcher));
    for (const name of readdirSync(dirname(launcher))) {
      const text = readFileSync(join(dirname(launcher), name), "utf8");
      for (const path of [elsewhere.directory, root, process.execPath]) expect(text).not.toContain(path);
    }
  });

  test("makes a mirror that starts where it was carried to: by GATEFORM_NODE, or by the Node of the path", async () => {
    const carried = join(elsewhere.directory, "carried");
    cpSync(join(root, "mirror"), join(carried, "mirror"), { recursive: true });
    const launcher = join(carried, mirror.launcher.slice(root.length));
    const startedBy = async (env: Record<string, string>): Promise<string> => {
      const child = spawn(launcher, [], { env: { PATH: "/usr/bin:/bin", ...env }, stdio: ["ignore", "pipe", "pipe"] });
      return (await finished(child)).stderr;
    };
    const path = join(elsewhere.directory, "bin");
    mkdirSync(path);
    symlinkSync(elsewhere.node, join(path, "node"));
    expect(await startedBy({ GATEFORM_NODE: elsewhere.node })).toContain("This program is a Terraform plugin");
    expect(await startedBy({ PATH: `${path}:/usr/bin:/bin` })).toContain("This program is a Terraform plugin");
    expect(await startedBy({ GATEFORM_NODE: "/nowhere/node" })).toContain("/nowhere/node");
  });

  test("stops immediately under a Node that is too old, and names it", async () => {
    const file = readFileSync(join(dirname(mirror.launcher), "provider.cjs"), "utf8");
    const old = `Object.defineProperty(process, "versions", { value: { node: "20.20.2" } });\n${file}`;
    const child = spawn(process.execPath, ["-"], { stdio: ["pipe", "pipe", "pipe"] });
    child.stdin.end(old);
    const { code, stderr } = await finished(child);
    expect(code).toBe(1);
    expect(stderr).toContain(`needs Node 24.12 or newer, ${process.execPath} is 20.20.2`);
  });

  test("has the same provider at OpenTofu's address, and one CLI configuration for both", () => {
    const { launcher, cliConfigFile } = mirror;
    expect(hashed(launcher.replace(PROVIDER_ADDRESS, OPENTOFU_ADDRESS))).toEqual(hashed(launcher));
    const sources = '["registry.terraform.io/gateform/*", "registry.opentofu.org/gateform/*"]';
    const text = readFileSync(cliConfigFile, "utf8");
    for (const rule of ["include", "exclude"]) expect(text).toContain(`${rule} = ${sources}`);
  });

  test("keeps Node and compiled code of this host next to the mirror", () => {
    expect(readFileSync(join(root, "node-path"), "utf8")).toBe(`${process.execPath}\n`);
    expect(readdirSync(dirname(mirror.launcher))).toEqual(["provider.cjs", basename(mirror.launcher)]);
  });
});

const missing = terraformMissing();
if (missing) console.log(`skipped: ${missing}`);

/** Content that `terraform init` wrote. */
const lockOf = (workspace: Workspace): string => workspace.read(".terraform.lock.hcl");

describe.skipIf(missing !== undefined)("terraform with the development mirror", { timeout: LONG_MS }, () => {
  function workspaceWith(routes: number, timeout: string): Workspace {
    const workspace = createWorkspace({ TF_CLI_CONFIG_FILE: mirror.cliConfigFile });
    workspaces.push(workspace);
    writeConfig(workspace, routes, timeout);
    return workspace;
  }

  test("installs, applies over TLS, plans empty, and keeps its lock when the provider is rebuilt", async () => {
    const workspace = workspaceWith(2, "1s");
    await workspace.succeed("init");
    await workspace.succeed("apply", "-auto-approve");
    expect(Object.keys(routesIn(workspace))).toEqual(["route-0", "route-1"]);
    await writeDevMirror(root);
    await workspace.succeed("init");
    expect((await workspace.run("plan", "-detailed-exitcode")).code).toBe(0);
  });

  test("a committed lock file holds for a mirror in another directory, and for one that was carried there", async () => {
    const mine = workspaceWith(1, "1s");
    await mine.succeed("init");
    expect(lockOf(mine).match(/"h1:/g)).toHaveLength(1);
    const made = await writeDevMirror(join(elsewhere.directory, "made"));
    const carried = join(elsewhere.directory, "carried by hand");
    cpSync(join(root, "mirror"), join(carried, "mirror"), { recursive: true });
    writeFileSync(join(carried, "terraform.rc"), cliConfig(join(carried, "mirror")));
    for (const cliConfigFile of [made.cliConfigFile, join(carried, "terraform.rc")]) {
      const theirs = createWorkspace({ TF_CLI_CONFIG_FILE: cliConfigFile, GATEFORM_NODE: elsewhere.node });
      workspaces.push(theirs);
      writeConfig(theirs, 1, "1s");
      theirs.write(".terraform.lock.hcl", lockOf(mine));
      await theirs.succeed("init", "-lockfile=readonly");
      await theirs.succeed("apply", "-auto-approve");
      expect(lockOf(theirs)).toBe(lockOf(mine));
    }
  });

  test("shows the provider's own log lines with their fields, over TCP as on Windows", async () => {
    const workspace = createWorkspace({
      ...AS_ON_WINDOWS,
      TF_CLI_CONFIG_FILE: mirror.cliConfigFile,
      TF_LOG_PROVIDER: "debug",
    });
    workspaces.push(workspace);
    writeConfig(workspace, 1, "1s");
    await workspace.succeed("init");
    const { code, stderr } = await workspace.run("plan");
    expect(code).toBe(0);
    expect(stderr).toMatch(
      /\[DEBUG\] provider\.terraform-provider-gateway_v\S+: answered: .*method=PlanResourceChange/,
    );
  });

  test("carries 200 routes, and shows one changed field of one of them", async () => {
    const workspace = workspaceWith(200, "1s");
    await workspace.succeed("init");
    await workspace.succeed("apply", "-auto-approve");
    expect(Object.keys(routesIn(workspace))).toHaveLength(200);
    const text = workspace
      .read("main.tf.json")
      .replace('"https://route-77.example.com"', '"https://renamed.example.com"');
    workspace.write("main.tf.json", text);
    const planned = await workspace.succeed("plan");
    expect(planned).toContain('~ from    = "https://route-77.example.com" -> "https://renamed.example.com"');
    expect(planned).toContain("200 unchanged blocks hidden");
    expect(planned).not.toContain("route-78");
  });

  test("interrupted in the middle of an apply, it finishes, and the state is correct", async () => {
    const workspace = workspaceWith(40, "1s");
    await workspace.succeed("init");
    await workspace.succeed("apply", "-auto-approve");
    writeConfig(workspace, 40, "2s");
    const timeouts = (): readonly unknown[] => Object.values(routesIn(workspace)).map(({ timeout }) => timeout);
    for (;;) {
      const apply = startApply(workspace);
      await seen(apply, "Modifying...");
      // As Ctrl-C does: to the whole process group, the provider included.
      process.kill(-(apply.pid ?? 0), "SIGINT");
      await finished(apply);
      if (timeouts().includes("2s")) break;
      // Terraform says "Modifying..." a moment before it asks the provider, and stopped in between: nothing was begun.
      expect(timeouts()).toEqual(Array(40).fill("1s"));
      expect((await workspace.run("plan", "-detailed-exitcode")).code).toBe(2);
    }
    expect(timeouts()).toEqual(Array(40).fill("2s"));
    expect((await workspace.run("plan", "-detailed-exitcode")).code).toBe(0);
  });

  test("killed at any moment of an apply, it leaves a complete slice, and the next apply continues", async () => {
    // Enough for an apply to last longer than it takes to kill it.
    const ROUTES = 600;
    const workspace = workspaceWith(ROUTES, "1s");
    await workspace.succeed("init");
    await workspace.succeed("apply", "-auto-approve");
    for (let attempt = 2; attempt < 5; attempt++) {
      writeConfig(workspace, ROUTES, `${attempt}s`);
      const apply = startApply(workspace);
      // From just before publishing on: Terraform says so, then publishing takes some milliseconds.
      await seen(apply, "Modifying...");
      await delay(attempt * 6);
      const ended = new Promise((resolve) => apply.once("exit", resolve));
      process.kill(-(apply.pid ?? 0), "SIGKILL");
      // Until then it holds the lock of the state.
      await ended;
      const timeouts = new Set(Object.values(routesIn(workspace)).map(({ timeout }) => timeout));
      expect(timeouts.size).toBe(1);
    }
    writeConfig(workspace, ROUTES, "100s");
    await workspace.succeed("apply", "-auto-approve");
    expect((await workspace.run("plan", "-detailed-exitcode")).code).toBe(0);
    expect(readdirSync(workspace.path("slices")).filter((name) => name.endsWith(".json"))).toEqual(["team.json"]);
  });
});

/** Leads a process group of its own, so that signals reach the provider with it. */
function startApply(workspace: Workspace): ChildProcess {
  const apply = spawn("terraform", ["apply", "-auto-approve", "-no-color"], {
    cwd: workspace.directory,
    env: {
      PATH: process.env["PATH"],
      HOME: workspace.directory,
      // Files that a killed provider leaves are removed with the workspace.
      TMPDIR: workspace.directory,
      TF_CLI_CONFIG_FILE: mirror.cliConfigFile,
      CHECKPOINT_DISABLE: "1",
    },
    stdio: ["ignore", "pipe", "ignore"],
    detached: true,
  });
  children.push(apply);
  return apply;
}

function writeConfig(workspace: Workspace, routes: number, timeout: string): void {
  const route = Object.fromEntries(
    Array.from({ length: routes }, (_, index) => [
      `route-${index}`,
      {
        from: `https://route-${index}.example.com`,
        to: [`http://10.0.${index >> 8}.${index & 255}:8080`],
        timeout,
        policy: JSON.stringify([{ allow: { and: [{ authenticated_user: true }] } }]),
      },
    ]),
  );
  const config = {
    terraform: { required_providers: { gateway: { source: "gateform/gateway" } } },
    resource: { gateway_bundle: { main: { owner: "team", file: { directory: "slices" }, route } } },
  };
  writeFileSync(workspace.path("main.tf.json"), JSON.stringify(config));
}

function routesIn(workspace: Workspace): Record<string, { timeout: string }> {
  return (
    JSON.parse(readFileSync(workspace.path("slices/team.json"), "utf8")) as {
      routes: Record<string, { timeout: string }>;
    }
  ).routes;
}

function start(env: Record<string, string | undefined>): ChildProcess {
  const child = spawn(mirror.launcher, [], { env: { ...env, TMPDIR: root }, stdio: ["ignore", "pipe", "pipe"] });
  children.push(child);
  return child;
}

async function started(): Promise<{ child: ChildProcess; line: string; socketPath: string }> {
  const child = start(pluginEnv);
  const line = await firstLine(child);
  return { child, line, socketPath: line.split("|")[3] ?? "" };
}

function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    child.stdout?.once("data", (chunk: Buffer) => {
      resolve(chunk.toString());
    });
    child.once("close", () => {
      reject(new Error("the provider ended without a line"));
    });
  });
}

function seen(child: ChildProcess, text: string): Promise<void> {
  return new Promise((resolve) => {
    let output = "";
    child.stdout?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes(text)) resolve();
    });
    child.once("close", () => {
      resolve();
    });
  });
}

async function finished(child: ChildProcess): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const output = { stdout: "", stderr: "" };
  child.stdout?.on("data", (chunk: Buffer) => (output.stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (output.stderr += chunk.toString()));
  const code = await new Promise<number | null>((resolve) => child.once("close", resolve));
  return { code, ...output };
}

/** TLS as far as the first frame of HTTP/2: with TLS 1.3 a refusal of our certificate comes after the handshake. */
function handshake(at: string | number, identity: { key?: string; cert?: string }): Promise<"accepted" | "refused"> {
  const address = typeof at === "string" ? { path: at } : { host: "127.0.0.1", port: at };
  return new Promise((resolve) => {
    const socket = connect({ ...address, ...identity, rejectUnauthorized: false, ALPNProtocols: ["h2"] }, () => {
      socket.write(
        Buffer.concat([Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), Buffer.from("000000040000000000", "hex")]),
      );
    });
    const end = (verdict: "accepted" | "refused"): void => {
      resolve(verdict);
      socket.destroy();
    };
    socket.once("data", () => {
      end("accepted");
    });
    socket.once("error", () => {
      end("refused");
    });
    socket.once("close", () => {
      end("refused");
    });
  });
}
