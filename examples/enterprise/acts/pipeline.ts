/** The company's pipeline publishes a page and reports a build, with nothing but the token of its platform. */
import { terraformMissing } from "../../../test/support/terraform.ts";
import { publishBuild } from "../pipeline.ts";
import { until } from "../../demo/until.ts";
import { atEach, call, exchange, inTime, mcpServer, type Scene, send } from "../scene.ts";

const MAIN = { repository: "acme/builds", ref: "refs/heads/main" };

export async function runPipeline(scene: Scene): Promise<void> {
  const { steps, stage, alice } = scene;
  const { ci, builds, balancer, origin } = stage;
  const server = mcpServer(scene, "builds");
  const missing = terraformMissing();
  if (missing === undefined) await publish(scene);
  else console.log(`skipped: the pipeline publishes (${missing})`);
  await steps.step("a job of the pipeline reports a build with nothing but the token of its platform", async () => {
    balancer.prefer(undefined);
    const answer = await exchange(scene, { assertion: await ci.tokenFor(MAIN, origin), resource: server });
    const token = String(answer["access_token"]);
    scene.tokens.push(token);
    const { status } = await call(token, server, "report_build", { name: "build 7 passed" });
    steps.equal(status, 200, String(answer["error"]));
    steps.equal(builds.builds.join(), "build 7 passed");
    return "workload:ci/repo:acme/builds:ref:refs/heads/main";
  });
  await steps.step("a job of another branch or repository gets no token", async () => {
    for (const job of [
      { ...MAIN, ref: "refs/heads/feature" },
      { ...MAIN, repository: "mallory/builds" },
    ]) {
      const answer = await exchange(scene, { assertion: await ci.tokenFor(job, origin), resource: server });
      steps.equal(answer["error"], "invalid_grant");
    }
    return "invalid_grant";
  });
  await steps.step("the assistant heard of it on its stream", async () => {
    const heard = await inTime(alice.assistant?.heard);
    steps.equal(heard, "build 7 passed");
    return String(heard);
  });
}

/** The pipeline's job publishes a page, which Alice reads at both replicas. */
async function publish(scene: Scene): Promise<void> {
  const { steps, stage, alice } = scene;
  const { ci, origin, adminOrigin: adminUrl } = stage;
  const audience = `${origin}/publish`;
  await steps.step("a job of another branch gets no publish token", async () => {
    const jobToken = await ci.tokenFor({ ...MAIN, ref: "refs/heads/feature" }, audience);
    const headers = { authorization: `Bearer ${jobToken}`, "content-type": "application/json" };
    const body = JSON.stringify({ owner: "builds" });
    const answer = await send({ method: "POST", url: `${adminUrl}/publish-tokens`, headers, body });
    steps.equal(answer.status, 401);
    return String(answer.status);
  });
  await steps.step(
    "the job of the main branch publishes by Terraform, with no secret but its platform's token",
    async () => {
      const jobToken = await ci.tokenFor(MAIN, audience);
      const said = await publishBuild({ adminUrl, origin, build: "build 7", jobToken });
      steps.ok(!said.includes(jobToken.split(".").at(-1) ?? ""), "the token is in Terraform's output or state");
      return /^Apply complete.*$/m.exec(said)?.[0] ?? "";
    },
  );
  await steps.step("Alice reads what was published, at both replicas", async () => {
    const headers = { cookie: alice.browser.cookieHeader("localhost"), accept: "text/plain" };
    const read = async (): Promise<string> => (await send({ method: "GET", url: `${origin}/latest`, headers })).text;
    // The other replica hears of it from the database.
    await atEach(scene, () => until(async () => (await read()) === "build 7", "it is there"));
    return "build 7";
  });
}
