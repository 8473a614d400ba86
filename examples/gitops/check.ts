/**
 * Two owners and one gateway: every step of workflow.yaml with the real binaries, and what must not be possible. The provider
 * is in this process: Terraform would start it two or three times for each of thirty commands.
 */
import { randomUUID } from "node:crypto";
import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { parse } from "yaml";

import { type LiveGateway, startLiveGateway } from "../../test/support/live-gateway.ts";
import { startPlatform, type Platform } from "../../test/support/platform.ts";
import { serveInProcess, terraformMissing } from "../../test/support/terraform.ts";
import { createSteps } from "../demo/steps.ts";
import { startComments } from "./comments.ts";
import { type Environment, run } from "./run.ts";

const steps = createSteps();
const root = new URL("../../", import.meta.url).pathname;
const GATEWAY = `${root}runtime/bin/gateway.js`;
const owners = ["platform", "payments"] as const;
type Owner = (typeof owners)[number];
const publishTokens: Record<Owner, string> = { platform: "", payments: "" };
const AUDIENCE = "https://gateway.example.com/publish";
const REQUEST_TOKEN = randomUUID();

const workspace = await mkdtemp(join(tmpdir(), "gateway-gitops-"));
try {
  await copyRepository();
  await steps.step("workflow.yaml runs what this check runs", async () => {
    const workflow = parse(await readFile(join(workspace, "workflow.yaml"), "utf8")) as { jobs: object };
    steps.equal(Object.keys(workflow.jobs).join(), "check,plan,apply");
    const text = JSON.stringify(workflow);
    for (const command of [
      "node --test",
      "gateway check",
      "plan -input=false",
      "node ../slices-of-plan.ts",
      "npx gateway diff before.json after.json",
      "comment-plan.ts",
      "apply -input=false",
      "node publish-token.ts",
    ]) {
      steps.ok(text.includes(command), `"${command}" is missing`);
    }
  });
  await steps.step("policy tests of both owners", async () => {
    const files = owners.map((owner) => `${owner}/policies.test.ts`);
    const output = await run(process.execPath, ["--test", ...files], workspace, {});
    return /^. pass \d+$/m.exec(output)?.[0].slice(2) ?? "";
  });
  await steps.step("all slices together, under the operator's rules", async () => {
    for (const owner of owners) await run(process.execPath, ["main.ts"], join(workspace, owner), {});
    return check();
  });
  await steps.step("plans of two owners are two comments, each written anew", comments);
  await steps.step("a host of somebody else is refused by the same check", async () => {
    await run(process.execPath, ["main.ts"], join(workspace, "payments"), {
      PAYMENTS_ORIGIN: "https://status.platform.example.com",
    });
    const refusal = await check().then(() => "", String);
    steps.match(refusal, /payments.*error.*"https:\/\/status\.platform\.example\.com"/);
    return /^.*error.*$/m.exec(refusal)?.[0].replace(workspace, "") ?? "";
  });

  const missing = terraformMissing();
  if (missing === undefined) await play();
  else console.log(`skipped: plan, apply and live traffic, ${missing}`);
} finally {
  await rm(workspace, { recursive: true });
}
process.exitCode = steps.end();

/** More comments than one page has, and one by somebody who would like his edited. */
async function comments(): Promise<string> {
  const imitation = "<!-- gateway plan: platform -->";
  const pullRequest = await startComments(120, imitation);
  const comment = async (owner: Owner, plan: string, diff?: string): Promise<void> => {
    await writeFile(join(workspace, owner, "plan.txt"), plan);
    if (diff !== undefined) await writeFile(join(workspace, owner, "diff.txt"), diff);
    const files = [`${owner}/plan.txt`, `${owner}/diff.txt`];
    await run(process.execPath, ["comment-plan.ts", owner, ...files], workspace, pullRequest.environment);
  };
  try {
    await comment("platform", "first");
    await comment("payments", "with ``` in it");
    await comment("platform", "second", "group a gains ``` everything");
    await comment("payments", `long ${"x".repeat(70_000)}`, "y".repeat(70_000));
    const [one, other, ...more] = pullRequest.comments.slice(120).map(({ body }) => body);
    steps.equal(more.length, 0);
    steps.match(one ?? "", /Gateway: platform\n\n````\ngroup a gains ``` everything\n````\n\n```\nsecond\n```/);
    steps.match(other ?? "", /Gateway: payments\n\n```\ny+\n… the rest.*\n\n```\n\n```\nlong x+\n… the rest/);
    steps.equal(pullRequest.comments[0]?.body, imitation);
    return `${pullRequest.comments.length - 120} comments`;
  } finally {
    pullRequest.close();
  }
}

async function play(): Promise<void> {
  const provider = await serveInProcess();
  // In the place of GitHub Actions: it gives jobs their tokens.
  const platform = await startPlatform((self) => (request, response) => {
    if (request.headers.authorization !== `Bearer ${REQUEST_TOKEN}`) return response.writeHead(401).end();
    const audience = new URL(request.url ?? "", self.issuer).searchParams.get("audience") ?? "";
    return void self.token(audience).then((value) => response.end(JSON.stringify({ value })));
  });
  const claims = { repository_id: ["42"] };
  const publish_workloads = { pipeline: { issuer: platform.issuer, audience: AUDIENCE, claims } };
  // As in gateway.yaml, with the two names that this machine has, where the upstream is, too.
  const rights = {
    platform: {
      allowed_from: ["127.0.0.1"],
      allowed_settings: ["*"],
      allowed_refs: ["env:IDP_*"],
      allow_local_upstreams: true,
      publish_workloads,
    },
    payments: { allowed_from: ["localhost"], allow_local_upstreams: true, publish_workloads },
  };
  // Of the gateway's environment: here that is this process.
  process.env["IDP_CLIENT_SECRET"] = "secret-of-the-check";
  const gateway = await startLiveGateway({ owners: rights });
  const environment = (owner: Owner): Environment => ({
    ...provider.env,
    GATEWAY_ADMIN_URL: gateway.adminOrigin,
    GATEWAY_ADMIN_TOKEN: publishTokens[owner],
    PLATFORM_ORIGIN: gateway.origin.replace("localhost", "127.0.0.1"),
    PAYMENTS_ORIGIN: gateway.origin,
    UPSTREAM: gateway.upstream,
    STATE_FILE: join(workspace, `${owner}.tfstate`),
  });
  try {
    await steps.step("no stored secret: jobs get publish tokens for the tokens of their platform", async () => {
      for (const owner of owners) publishTokens[owner] = await publishToken(owner, gateway, platform);
      const refusal = await publishToken("platform", gateway, platform, "another-audience").then(() => "", String);
      steps.match(refusal, /answered 401/);
    });
    await live(gateway, environment);
  } finally {
    await platform.close();
    await gateway.close();
    provider.close();
  }
}

/** As the workflow's step: what it writes for later steps. */
async function publishToken(
  owner: Owner,
  gateway: Pick<LiveGateway, "adminOrigin">,
  { issuer }: Platform,
  audience = AUDIENCE,
): Promise<string> {
  const file = join(workspace, `${owner}.env`);
  await writeFile(file, "");
  await run(process.execPath, ["publish-token.ts", owner], workspace, {
    GATEWAY_ADMIN_URL: gateway.adminOrigin,
    GATEWAY_PUBLISH_AUDIENCE: audience,
    ACTIONS_ID_TOKEN_REQUEST_URL: `${issuer}/request?api-version=2.0`,
    ACTIONS_ID_TOKEN_REQUEST_TOKEN: REQUEST_TOKEN,
    GITHUB_ENV: file,
  });
  return /^GATEWAY_ADMIN_TOKEN=(.*)$/m.exec(await readFile(file, "utf8"))?.[1] ?? "";
}

async function live(gateway: LiveGateway, environment: (owner: Owner) => Environment): Promise<void> {
  const initialised = new Set<Owner>();
  const synthesized = new Map<Owner, string>();
  const terraform = async (owner: Owner, args: readonly string[], more: Environment = {}): Promise<string> => {
    const env = { ...environment(owner), ...more };
    const folder = `-chdir=cdktf.out/stacks/${owner}`;
    const inputs = JSON.stringify([await readFile(join(workspace, owner, "main.ts"), "utf8"), env]);
    if (synthesized.get(owner) !== inputs) await run(process.execPath, ["main.ts"], join(workspace, owner), env);
    synthesized.set(owner, inputs);
    // The provider, in this process, reads it.
    process.env["GATEWAY_ADMIN_TOKEN"] = env["GATEWAY_ADMIN_TOKEN"];
    if (!initialised.has(owner)) await run("terraform", [folder, "init", "-input=false"], join(workspace, owner), env);
    initialised.add(owner);
    return run("terraform", [folder, ...args, "-input=false", "-no-color"], join(workspace, owner), env);
  };
  const plan = (owner: Owner): Promise<string> => terraform(owner, ["plan"]);
  const apply = (owner: Owner, more?: Environment): Promise<string> =>
    terraform(owner, ["apply", "-auto-approve"], more);
  const edit = async (owner: Owner, from: string, to: string): Promise<void> => {
    const file = join(workspace, owner, "main.ts");
    await writeFile(file, (await readFile(file, "utf8")).replace(from, to));
  };

  await steps.step("pull request: the plan as a comment", async () => {
    const comment = await plan("payments");
    steps.match(comment, /\+ route "shop"/);
    steps.match(comment, /1 to add/);
    steps.ok(!comment.includes(publishTokens.payments), "the token is in the plan");
  });
  await steps.step("merge: both owners apply, and live traffic follows at once", async () => {
    await apply("platform");
    await apply("payments");
    // No waiting: the gateway answers the publisher when every process serves the bundle.
    steps.equal((await gateway.get("/shop/")).seen["x-owner"], "payments");
    steps.equal((await gateway.get("/shop/")).headers.get("x-frame-options"), "SAMEORIGIN", "the platform's setting");
    return "X-Owner: payments, with the platform's X-Frame-Options";
  });
  await steps.step("second plans have no changes", async () => {
    for (const owner of owners) steps.match(await plan(owner), /No changes\./);
  });
  await steps.step("an edit of one owner: its plan names the field, the other's has no changes", async () => {
    await edit("payments", '"X-Version": "1"', '"X-Version": "2"');
    const comment = await plan("payments");
    steps.match(comment, /"X-Version"\s+= "1" -> "2"/);
    steps.ok(!comment.includes("Access changes"), "nobody gains or loses anything");
    steps.match(await plan("platform"), /No changes\./);
    await apply("payments");
    steps.equal((await gateway.get("/shop/")).seen["x-version"], "2");
    return /^.*"X-Version".*$/m.exec(comment)?.[0] ?? "";
  });
  await steps.step("an edit of a rule: the plan and the comment say who gains which tool", async () => {
    await edit("payments", '"list_entries"]', '"list_entries", "export"]');
    const planned = await terraform("payments", ["plan", "-out=plan.bin"]);
    steps.match(planned, /Access changes[^]*\+ ledger: .*"payments" gains the tool export/);
    const folder = join(workspace, "payments");
    const shown = await run(
      "terraform",
      ["-chdir=cdktf.out/stacks/payments", "show", "-json", "plan.bin"],
      folder,
      environment("payments"),
    );
    await run(process.execPath, ["../slices-of-plan.ts"], folder, {}, shown);
    const diff = await run(process.execPath, [GATEWAY, "diff", "before.json", "after.json"], folder, {}).then(
      () => "",
      String,
    );
    steps.match(diff, /group "payments" gains the tool export/);
    await edit("payments", ', "export"]', "]");
    return /^ +(.* gains the tool export.*)$/m.exec(diff)?.[1] ?? "";
  });
  await steps.step("a host of somebody else is refused at apply, and what is live stays", async () => {
    const refusal = await apply("payments", { PAYMENTS_ORIGIN: environment("platform")["PLATFORM_ORIGIN"] ?? "" }).then(
      () => "",
      String,
    );
    steps.match(refusal, /may not serve/);
    steps.equal((await gateway.get("/shop/")).seen["x-version"], "2");
    return /^.*may not serve.*$/m.exec(refusal)?.[0] ?? "";
  });
  await steps.step("a slice changed under us is drift: shown by the plan, repaired by apply", async () => {
    const address = `${gateway.adminOrigin}/config/slices/payments`;
    const headers = { authorization: `Bearer ${gateway.adminToken}` };
    const text = await (await fetch(address, { headers })).text();
    const changed = await fetch(address, {
      method: "PUT",
      headers: { ...headers, "if-match": "*", "content-type": "application/json" },
      body: sliceOf(text).replace('"X-Version":"2"', '"X-Version":"by hand"'),
    });
    steps.equal(changed.status, 200, await changed.text());
    steps.equal((await gateway.get("/shop/")).seen["x-version"], "by hand");
    steps.match(await plan("payments"), /"X-Version"\s+= "by hand" -> "2"/);
    await apply("payments");
    steps.equal((await gateway.get("/shop/")).seen["x-version"], "2");
  });
  await steps.step("rollback: revert the commit and apply", async () => {
    await edit("payments", '"X-Version": "2"', '"X-Version": "1"');
    await apply("payments");
    steps.equal((await gateway.get("/shop/")).seen["x-version"], "1");
  });
  await steps.step("without the token nothing is published", async () => {
    const refusal = await apply("payments", { GATEWAY_ADMIN_TOKEN: "wrong" }).then(() => "", String);
    steps.match(refusal, /it\s+does\s+not\s+accept\s+the\s+token/);
  });
  await steps.step("with the other owner's token nothing is published either", async () => {
    const refusal = await apply("payments", { GATEWAY_ADMIN_TOKEN: publishTokens.platform }).then(() => "", String);
    steps.match(refusal, /this\s+token\s+is\s+only\s+valid\s+for\s+the\s+slice\s+of\s+owner\s+"platform"/);
  });
  await steps.step("destroy removes one owner's routes and leaves the other's", async () => {
    await terraform("payments", ["destroy", "-auto-approve"]);
    steps.ok((await gateway.get("/shop/")).status >= 400, "is still served");
    const status = await fetch(environment("platform")["PLATFORM_ORIGIN"] ?? "");
    steps.equal(status.status, 200);
    await terraform("platform", ["destroy", "-auto-approve"]);
  });
}

/** The slice in the admin listener's answer, as compact JSON. */
function sliceOf(text: string): string {
  const body = JSON.parse(text) as { slice?: unknown };
  return JSON.stringify(body.slice ?? body);
}

/** The folder as a repository of its own, with the constructs of this checkout. */
async function copyRepository(): Promise<void> {
  await cp(import.meta.dirname, workspace, { recursive: true, filter: (path) => !path.includes("cdktf.out") });
  for (const owner of owners) {
    for (const name of ["main.ts", "policies.test.ts"]) {
      const file = join(workspace, owner, name);
      await writeFile(file, (await readFile(file, "utf8")).replaceAll("../../../cdktf/", `${root}cdktf/`));
    }
  }
  await symlink(join(root, "node_modules"), join(workspace, "node_modules"));
  await writeFile(join(workspace, "package.json"), JSON.stringify({ type: "module", private: true }));
}

/** `gateway check` of the boot file and both bundles. @throws Error with its output when it finds an error */
function check(): Promise<string> {
  const bundles = owners.map((owner) => `${owner}/cdktf.out/stacks/${owner}/gateway.bundle.json`);
  return run(process.execPath, [GATEWAY, "check", "--elsewhere", "gateway.yaml", ...bundles], workspace, {});
}
