/** Health: what is wrong first, what each replica has in force, and what was counted. */
import type { Scene } from "./scene.ts";
import { until } from "../demo/until.ts";

/** An address that no route can have. */
const BROKEN = `
version: 1
owner: notes
routes:
  notes: { from: "not an address", to: "http://127.0.0.1:9", policy: { allow: { or: [{ accept: true }] } } }
`;

export async function showHealth({ steps, stage, alice, bob }: Scene): Promise<void> {
  await steps.step(
    "a slice that cannot be: health says where, and both replicas go on with what they had",
    async () => {
      stage.write("notes.yaml", BROKEN);
      const takes = await until(
        async () => /notes\.yaml/.test(await alice.open("/health")),
        "health tells of the slice",
      );
      steps.match(await alice.text(), /routes\.notes\.from/);
      return `${takes} ms`;
    },
  );
  await steps.step("each replica with what it has in force, and plots with their numbers", async () => {
    const processes = alice.page.getByRole("region", { name: "Replicas and workers" });
    await until(async () => {
      await alice.open("/health");
      // The script makes a chart a slider, whose values the arrow keys read out.
      const plots = await alice.page.getByRole("img").or(alice.page.getByRole("slider")).count();
      return (await processes.getByRole("row").count()) >= 3 && plots >= 4;
    }, "both replicas are there, and four plots of what they counted");
    await alice.look("health");
    return processes.getByRole("row").last().innerText();
  });
  await steps.step("Bob reads the health of his own routes", async () => {
    const text = await bob.open("/health");
    steps.ok(!text.includes("notes.yaml"), text);
    return /Of the routes of.*/.exec(text)?.[0] ?? "";
  });
}
