/** The module with the real terraform, a real gateway and live traffic. One line per step. */
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { stringify } from "yaml";

import { writeDevMirror } from "../../runtime/terraform/dev-mirror.ts";
import { startLiveGateway } from "../../test/support/live-gateway.ts";
import { createWorkspace, terraformMissing } from "../../test/support/terraform.ts";
import { createSteps } from "../demo/steps.ts";

const steps = createSteps();
const missing = terraformMissing();
if (missing === undefined) await play();
else console.log(`skipped: all steps, ${missing}`);
process.exitCode = steps.end();

async function play(): Promise<void> {
  const mirror = await mkdtemp(join(tmpdir(), "gateway-mirror-"));
  const gateway = await startLiveGateway();
  const { cliConfigFile } = await writeDevMirror(mirror);
  const terraform = createWorkspace({ TF_CLI_CONFIG_FILE: cliConfigFile, TF_VAR_directory: gateway.directory });
  const published = join(gateway.directory, "platform.json");
  /** The teams of teams.yaml, with addresses of this machine. */
  const writeTeams = (tier: string): void => {
    const [from, to] = [gateway.origin, [gateway.upstream]];
    const teams = {
      payments: { from, prefix: "/payments", to, group: "payments" },
      status: { from, prefix: "/status", to, headers: { "X-Tier": tier, "X-Price": "$5" } },
      issues: { from, prefix: "/issues", to, group: "engineering", mcp: true, denied_tools: ["delete_issue"] },
    };
    terraform.write("teams.yaml", stringify(teams));
  };
  try {
    await cp(import.meta.dirname, terraform.directory, {
      recursive: true,
      filter: (path) => !/[\\/](\.terraform|check\.ts|README\.md)|tfstate/.test(path.slice(import.meta.dirname.length)),
    });

    await steps.step("terraform init installs the provider from the mirror", async () => {
      await terraform.succeed("init");
    });
    await steps.step("terraform test: policies and headers of the module", async () => {
      const output = await terraform.succeed("test", "-no-color");
      return /^Success!.*$/m.exec(output)?.[0] ?? output;
    });
    await steps.step("the plan of the file as it stands shows a reviewer three routes", async () => {
      const plan = await terraform.succeed("plan");
      for (const name of ["issues", "payments", "status"]) steps.match(plan, new RegExp(`\\+ route "${name}"`));
      steps.match(plan, /1 to add/);
    });

    writeTeams("silver");
    await steps.step("apply publishes, and live traffic follows", async () => {
      steps.ok((await gateway.get("/status/page")).status >= 400, "is served before the apply");
      await gateway.change(() => terraform.succeed("apply", "-auto-approve"));
      const { status, seen } = await gateway.get("/status/page");
      steps.equal(status, 200);
      steps.equal(seen["x-tier"], "silver");
      steps.equal(seen["x-price"], "$5");
      steps.equal(seen["x-browser"], "node");
      steps.equal((await gateway.get("/payments/")).status, 401, "nobody is signed in");
      return `the upstream saw X-Team: ${seen["x-team"]}, X-Tier: ${seen["x-tier"]}, X-Price: ${seen["x-price"]}`;
    });
    await steps.step("a second plan has no changes", async () => {
      steps.match(await terraform.succeed("plan", "-detailed-exitcode"), /No changes\./);
    });

    writeTeams("gold");
    await steps.step("the plan of an edit names the route and the field", async () => {
      const plan = await terraform.succeed("plan");
      steps.match(plan, /~ route "status"/);
      steps.match(plan, /"X-Tier"\s+= "silver" -> "gold"/);
      steps.ok(!/~ route "(payments|issues)"/.test(plan), "other routes are not in the plan");
      return /^\s*~ "X-Tier".*$/m.exec(plan)?.[0] ?? "";
    });
    await steps.step("apply makes it live", async () => {
      await gateway.change(() => terraform.succeed("apply", "-auto-approve"));
      steps.equal((await gateway.get("/status/")).seen["x-tier"], "gold");
    });

    await steps.step("drift: a hand-edited bundle is live, shown by the plan, and repaired by apply", async () => {
      const text = await readFile(published, "utf8");
      await gateway.change(() => writeFile(published, text.replace('"gold"', '"by hand"')));
      steps.equal((await gateway.get("/status/")).seen["x-tier"], "by hand");
      steps.match(await terraform.succeed("plan"), /"X-Tier"\s+= "by hand" -> "gold"/);
      await gateway.change(() => terraform.succeed("apply", "-auto-approve"));
      steps.equal((await gateway.get("/status/")).seen["x-tier"], "gold");
    });

    await steps.step("a mistake is refused at plan, and the live routes stay", async () => {
      const teams = terraform.read("teams.yaml");
      terraform.write("teams.yaml", teams.replace("from: http", "from: htp"));
      const { code, stderr } = await terraform.run("plan");
      steps.equal(code, 1);
      steps.match(stderr, /htp/);
      terraform.write("teams.yaml", teams);
      steps.equal((await gateway.get("/status/")).status, 200);
      return /^.*htp.*$/m.exec(stderr)?.[0] ?? "";
    });

    await steps.step("the module refuses what its teams cannot mean", async () => {
      const teams = terraform.read("teams.yaml");
      terraform.write("teams.yaml", teams.replace("mcp: true", "mcp: false"));
      const { code, stderr } = await terraform.run("plan");
      steps.equal(code, 1);
      steps.match(stderr, /Only an MCP server has tools to deny/);
      terraform.write("teams.yaml", teams);
    });

    await steps.step("state lost: import of the published bundle, then no changes", async () => {
      await rm(terraform.path("terraform.tfstate"));
      await terraform.succeed("import", "module.routes.gateway_bundle.this", published);
      steps.match(await terraform.succeed("plan", "-detailed-exitcode"), /No changes\./);
    });

    await steps.step("destroy removes the routes", async () => {
      await gateway.change(() => terraform.succeed("destroy", "-auto-approve"));
      steps.ok((await gateway.get("/status/")).status >= 400, "is still served");
    });
  } finally {
    terraform.close();
    await gateway.close();
    await rm(mirror, { recursive: true });
  }
}
