/** The company's provider tells who there is and in which groups; policies go by that. */
import { runCommand } from "../../../test/support/run-command.ts";
import { BOB } from "../company.ts";
import { createPerson, open, type Scene } from "../scene.ts";

export async function followDirectory(scene: Scene): Promise<void> {
  const { steps, stage, alice, carol } = scene;
  const { directory, balancer } = stage;
  await steps.step(
    "before the directory says something nobody's groups are known, and a rule on them refuses",
    async () => {
      balancer.prefer(0);
      steps.equal((await open(scene, createPerson(BOB), "/roadmap")).status, 403);
      return "403";
    },
  );
  await steps.step("the company's provider pushes its people and a group, with the requests of Okta", async () => {
    for (const user of [alice.user, BOB, carol.user]) await directory.push(user);
    await directory.pushGroup("Developers", [alice.user]);
    const { code, out, err } = await runCommand("directory", "status", "--config", stage.configFile, "--json");
    steps.equal(code, 0, err);
    const [status] = JSON.parse(out) as readonly Readonly<Record<string, unknown>>[];
    steps.equal(`${String(status?.["users"])} users, ${String(status?.["groups"])} group`, "3 users, 1 group");
    return "gateway directory status: 3 users, 1 group";
  });
  await steps.step("who signs in at the other replica has its groups: Alice reads on, Carol does not", async () => {
    balancer.prefer(1);
    steps.equal((await open(scene, createPerson(alice.user), "/roadmap")).text, "What comes next");
    steps.equal((await open(scene, carol, "/roadmap")).status, 403);
    return "200, 403";
  });
}
