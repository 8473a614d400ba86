/** The simulator with a draft, and what was published: who gains, who loses, and the way back. */
import { text as readText } from "node:stream/consumers";

import { refusalOf, type Scene } from "./scene.ts";
import { until } from "../demo/until.ts";

export async function showChanges({ steps, stage, alice, bob, agents }: Scene): Promise<void> {
  const { page } = bob;

  await steps.step(
    "what would become of a call is asked, of somebody imagined, with the gateway's own words",
    async () => {
      const question = { route: "payments/desk", groups: "payments", message: "tool", name: "refund" };
      const ask = (amount: string): Promise<string> =>
        bob.open(`/simulator?${new URLSearchParams({ ...question, arguments: `{"amount":${amount}}` }).toString()}`);
      steps.match(await ask("100"), /Allowed/);
      steps.match(await ask("500"), /Requires approval/);
      steps.match(await ask('1,"amount":1'), /twice/);
      const denied = await ask("501");
      steps.match(denied, /Denied[^]*amount 501 is above 500/);
      await bob.look("simulator");
      return /Denied.*/.exec(denied)?.[0] ?? "";
    },
  );
  await steps.step(
    "a draft says who loses what, and is exported for a pull request; nothing is in force by it",
    async () => {
      const before = await stage.digests();
      await bob.follow("Edit this policy", /draft/i);
      const field = page.getByLabel(/^Policy of/);
      await field.fill((await field.inputValue()).replace("gt: 500", "gt: 200"));
      await bob.look("draft-form");
      await page.getByRole("button", { name: "Preview draft" }).click();
      await page.getByRole("heading", { name: "Access changes" }).waitFor();
      const text = await bob.text();
      steps.match(text, /Lost access[^]*refund/);
      await bob.look("draft");
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        page.getByRole("link", { name: "Export as HCL" }).click(),
      ]);
      const exported = await readText(await file.createReadStream());
      steps.match(exported, /gateway_bundle[^]*200/);
      await bob.follow("Try", /./);
      steps.match(await bob.text(), /With the draft/);
      steps.equal((await stage.digests()).join(), before.join());
      return /.*refund.*/.exec(text)?.[0] ?? "";
    },
  );
  await steps.step("a job publishes a slip: Bob is shut out of the other server, and the change says so", async () => {
    await stage.publishAsJob(
      stage.slices.tickets.replace("{ domain: { is: example.com } }", "{ groups: { has: platform } }"),
    );
    steps.match(await refusalOf(agents.tickets.call("list_tickets")), /denied|not allowed|no access/i);
    steps.match(await alice.open("/changes"), /release-job[^]*gateform-terraform/);
    await alice.look("changes");
    await alice.page.getByRole("table").first().getByRole("link").first().click();
    await alice.page.getByRole("heading", { name: "Access changes" }).waitFor();
    await alice.look("change");
    return /.*loses?.*|.*lose .*/i.exec(await alice.text())?.[0] ?? "";
  });
  await steps.step("what a job published Alice takes back with a button, at both replicas", async () => {
    const before = await stage.digests();
    await alice.follow("Roll back to generation", /Roll back/);
    await alice.look("go-back");
    const told = await alice.confirm("Roll back", "Bob's team is shut out");
    await until(async () => (await stage.digests()).every((digest) => digest !== before[0]), "it is back");
    await agents.tickets.call("list_tickets");
    steps.match(await alice.open("/changes"), /rollback[^]*Bob's team is shut out/);
    return told;
  });
  await steps.step("what Terraform owns has the command in place of the button", async () => {
    await stage.publishAsTerraform(stage.slices.payments.replace("X-Team: payments", "X-Team: billing"));
    await bob.open("/changes");
    await bob.page.getByRole("table").first().getByRole("link").first().click();
    await bob.page.getByText("gateway rollback").waitFor();
    const text = await bob.text();
    steps.match(text, /set_request_headers|X-Team/);
    return /gateway rollback.*/.exec(text)?.[0] ?? "";
  });
}
