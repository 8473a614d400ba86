/**
 * The program with the real terraform, a real gateway and live traffic. With `CDKTF` in the environment (the command of
 * cdktf-cli 0.21) its `synth`, `diff`, `deploy`, `output` and `destroy` do what terraform does without it, as far as the
 * files that they leave: what follows from those is the same whoever made them.
 */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { promisify, stripVTControlCharacters } from "node:util";

import { LONG_MS } from "../../test/support/limits.ts";
import { digestOf } from "../../runtime/shared/canonical-json.ts";
import { type LiveGateway, startLiveGateway } from "../../test/support/live-gateway.ts";
import { QUICK_START } from "../../test/support/quick-start.ts";
import { createWorkspace, serveInProcess, terraformMissing, type Workspace } from "../../test/support/terraform.ts";
import { createSteps } from "../demo/steps.ts";

const steps = createSteps();
const root = new URL("../../", import.meta.url).pathname;
const stackFolder = join("cdktf.out", "stacks", "team");

const command = process.env["CDKTF"];
if (command === undefined) {
  await steps.step("the policy tests pass", async () => {
    const policies = join(import.meta.dirname, "policies.test.ts");
    // An application without an output directory makes one where it is built.
    const outdir = await mkdtemp(join(tmpdir(), "gateway-policies-"));
    const options = { env: { ...process.env, CDKTF_OUTDIR: outdir } };
    const { stdout } = await promisify(execFile)(process.execPath, ["--test", policies], options);
    await rm(outdir, { recursive: true });
    return /^. pass \d+$/m.exec(stdout)?.[0].slice(2) ?? "";
  });
}
const missing = terraformMissing();
if (missing === undefined) await play();
else console.log(`skipped: all further steps, ${missing}`);
process.exitCode = steps.end();

/** The commands of a pipeline. Each returns what it printed. */
interface Tool {
  readonly name: string;
  synth(): Promise<string>;
  diff(): Promise<string>;
  deploy(): Promise<string>;
  output(): Promise<string>;
  destroy(): Promise<string>;
}

async function play(): Promise<void> {
  const provider = await serveInProcess();
  const gateway = command === undefined ? await startGateway() : undefined;
  const directory = gateway?.directory ?? (await mkdtemp(join(tmpdir(), "gateway-slices-")));
  const environment = {
    ...provider.env,
    GATEWAY_ORIGIN: gateway?.origin ?? "http://localhost:8080",
    GATEWAY_UPSTREAM: gateway?.upstream ?? "http://127.0.0.1:8081",
    GATEWAY_DIRECTORY: directory,
    CDKTF_DISABLE_PLUGIN_CACHE_ENV: "true",
  };
  // Of the gateway's environment: here that is this process.
  process.env["ISSUES_CLIENT_SECRET"] = "secret-of-the-check";
  const workspace = createWorkspace(environment);
  const tool = command === undefined ? byTerraform(workspace, environment) : byCli(command, workspace, environment);
  try {
    await copyProgram(workspace.directory);
    await steps.step("the program becomes what terraform reads, without asking anybody", async () => {
      await tool.synth();
      const { resource } = JSON.parse(workspace.read(join(stackFolder, "cdk.tf.json"))) as { resource: object };
      steps.equal(Object.keys(resource).toSorted().join(), "gateway_bundle,terraform_data");
      return join(stackFolder, "cdk.tf.json");
    });
    await steps.step(`the plan shows a reviewer every route (${tool.name})`, async () => {
      const plan = await tool.diff();
      for (const name of ["issues", "status", "wiki"]) steps.match(plan, new RegExp(`\\+ route "${name}"`));
      steps.ok(!plan.includes("secret-of-the-check"), "the secret is in the plan");
      steps.match(plan, /2 to add/);
    });
    await steps.step(gateway ? "apply publishes, and live traffic follows" : "deploy publishes", async () => {
      if (!gateway) return tool.deploy().then(() => join(directory, "team.json"));
      await gateway.change(() => tool.deploy());
      const { status, seen, headers } = await gateway.get("/status/page");
      steps.equal(status, 200);
      steps.equal(seen["x-tier"], "silver");
      steps.equal(seen["x-price"], "$5");
      steps.equal(seen["x-release"], "release 2026.11", "a value that only Terraform knew");
      steps.equal(seen["x-browser"], "node");
      steps.equal(headers.get("x-frame-options"), "DENY");
      steps.equal((await gateway.get("/wiki/")).status, 401, "nobody is signed in");
      return `X-Tier: ${seen["x-tier"]}, X-Release: ${seen["x-release"]}`;
    });
    await steps.step("the outputs tell the digest that is in force", async () => {
      const sha256 = /sha256 = "?([0-9a-f]{64})/.exec(await tool.output())?.[1] ?? "none";
      const slice: unknown = JSON.parse(await readFile(join(directory, "team.json"), "utf8"));
      steps.equal(digestOf(slice), sha256);
      return sha256;
    });
    await steps.step("the secret is in no plan, state or bundle", async () => {
      const files = [join(stackFolder, "terraform.tfstate"), join(stackFolder, "cdk.tf.json")];
      const texts = [
        ...files.map((file) => workspace.read(file)),
        await readFile(join(directory, "team.json"), "utf8"),
      ];
      for (const text of texts) steps.ok(!text.includes("secret-of-the-check"), "found it");
      steps.match(texts.join(), /env:ISSUES_CLIENT_SECRET/);
    });
    if (gateway) await changes(workspace, gateway, tool);
    await steps.step("destroy removes the routes", async () => {
      await (gateway ? gateway.change(() => tool.destroy()) : tool.destroy());
      if (gateway) steps.ok((await gateway.get("/status/")).status >= 400, "is still served");
      steps.ok(!(await readdir(directory)).includes("team.json"), "the slice is still there");
    });
  } finally {
    workspace.close();
    await gateway?.close();
    provider.close();
    await rm(directory, { recursive: true, force: true });
  }
}

function startGateway(): Promise<LiveGateway> {
  const team = {
    allowed_refs: ["env:ISSUES_*"],
    allowed_settings: ["*"],
    allowed_tokens: ["provider"],
    allow_local_upstreams: true,
  };
  return startLiveGateway({ owners: { team } });
}

/** Edits, drift and mistakes of what is live. */
async function changes(workspace: Workspace, gateway: LiveGateway, tool: Tool): Promise<void> {
  await steps.step("a second plan has no changes", async () => {
    steps.match(await tool.diff(), /No changes\./);
  });

  await steps.step("the plan of an edit names the route and the field", async () => {
    workspace.write("main.ts", workspace.read("main.ts").replace('"silver"', '"gold"'));
    const plan = await tool.diff();
    steps.match(plan, /~ route "status"/);
    steps.match(plan, /"X-Tier"\s+= "silver" -> "gold"/);
    steps.ok(!/~ route "(wiki|issues)"/.test(plan), "other routes are not in the plan");
    return /^.*~ "X-Tier".*$/m.exec(plan)?.[0] ?? "";
  });
  await steps.step("apply makes it live", async () => {
    await gateway.change(() => tool.deploy());
    steps.equal((await gateway.get("/status/")).seen["x-tier"], "gold");
  });
  await steps.step("drift is shown and repaired", async () => {
    const file = join(gateway.directory, "team.json");
    const text = await readFile(file, "utf8");
    await gateway.change(() => writeFile(file, text.replace('"gold"', '"by hand"')));
    steps.match(await tool.diff(), /"X-Tier"\s+= "by hand" -> "gold"/);
    await gateway.change(() => tool.deploy());
    steps.equal((await gateway.get("/status/")).seen["x-tier"], "gold");
  });
  await steps.step("a mistake is refused at synthesis, before any plan", async () => {
    const text = workspace.read("main.ts");
    workspace.write("main.ts", text.replace('prefix: "/wiki"', 'prefix: "/status"'));
    const refusal = await tool.diff().then(() => "", String);
    workspace.write("main.ts", text);
    steps.match(refusal, /wiki/);
    return /^.*\[team\/gateway.*$/m.exec(refusal)?.[0] ?? refusal;
  });
}

type Environment = Readonly<Record<string, string>>;

/** The program with its `cdktf.json` in a directory of its own. */
async function copyProgram(directory: string): Promise<void> {
  for (const name of ["cdktf.json", "main.ts", "policies.ts"]) {
    await cp(join(import.meta.dirname, name), join(directory, name));
    const text = await readFile(join(directory, name), "utf8");
    await writeFile(join(directory, name), text.replaceAll("../../cdktf/", `${root}cdktf/`));
  }
  await symlink(join(root, "node_modules"), join(directory, "node_modules"));
  await writeFile(join(directory, "package.json"), JSON.stringify({ type: "module", private: true }));
}

function byTerraform(workspace: Workspace, environment: Environment): Tool {
  const synth = (): Promise<string> => run(process.execPath, ["main.ts"], workspace.directory, environment);
  let synthesized = "";
  const terraform = async (...args: string[]): Promise<string> => {
    const program = workspace.read("main.ts");
    if (synthesized !== program) {
      await synth();
      await workspace.succeed(`-chdir=${stackFolder}`, "init", "-no-color");
      synthesized = program;
    }
    return workspace.succeed(`-chdir=${stackFolder}`, ...args, "-no-color");
  };
  return {
    name: "node and terraform",
    synth,
    diff: () => terraform("plan"),
    deploy: () => terraform("apply", "-auto-approve"),
    output: () => workspace.succeed(`-chdir=${stackFolder}`, "output", "-no-color"),
    destroy: () => terraform("destroy", "-auto-approve"),
  };
}

function byCli(command: string, workspace: Workspace, environment: Environment): Tool {
  const cdktf = (...args: string[]): Promise<string> => run(command, args, workspace.directory, environment);
  // The CLI locks hashes of a registry's providers, and this one comes from a mirror.
  const noLock = "--skip-provider-lock";
  // What has just been made is made again by none but the deployment.
  const synthesized = "--skip-synth";
  return {
    name: "cdktf-cli",
    synth: () => cdktf("synth"),
    diff: () => cdktf("diff", "team", synthesized, noLock),
    deploy: () => cdktf("deploy", "team", "--auto-approve", noLock),
    output: () => cdktf("output", "team", synthesized, noLock),
    destroy: () => cdktf("destroy", "team", "--auto-approve", synthesized, noLock),
  };
}

/** @returns what it printed, without colours. @throws Error with the same when it fails */
async function run(command: string, args: readonly string[], cwd: string, environment: Environment): Promise<string> {
  // The program needs this Node, whichever the CLI runs under.
  const path = `${dirname(process.execPath)}${delimiter}${process.env["PATH"] ?? ""}`;
  const env = { PATH: path, HOME: cwd, CHECKPOINT_DISABLE: "1", CI: "1", ...QUICK_START, ...environment };
  const plain = (text: unknown): string => stripVTControlCharacters(String(text));
  try {
    const { stdout, stderr } = await promisify(execFile)(command, args, { cwd, env, timeout: LONG_MS });
    return plain(stdout + stderr);
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(plain(`Cannot run "${command} ${args.join(" ")}":\n${stdout}\n${stderr}`), { cause: error });
  }
}
