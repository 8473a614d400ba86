/** Servers, people and clients: who reaches what, and how somebody is put out. */
import type { Scene } from "./scene.ts";
import { until } from "../demo/until.ts";

/** Reads as "Trusted agent" where nothing is done about it. */
const TURNED_CLIENT = "Trusted \u202Etnega";

export async function showPeople({ steps, stage, alice, bob }: Scene): Promise<void> {
  const { page } = alice;

  await steps.step("a server: its policy in words, who reaches it, what clients need", async () => {
    steps.match(await alice.open("/servers"), /payments/);
    await alice.look("servers");
    await page
      .getByRole("row", { name: /payments/ })
      .getByRole("link")
      .first()
      .click();
    await page.getByRole("navigation", { name: "Parts of this page" }).getByText("Users").click();
    await page.getByRole("heading", { name: "Access by user" }).waitFor();
    const text = await alice.text();
    steps.match(text, /bob@example\.com/);
    steps.match(text, /group "payments"/);
    await alice.look("server");
    return /.*group "payments".*/.exec(text)?.[0] ?? "";
  });
  await steps.step("Bob sees his server, and neither the other team's nor people", async () => {
    const text = await bob.open("/servers");
    steps.ok(text.includes("payments/mcp") && !text.includes("tickets"), text);
    steps.match(await bob.open("/people"), /not found/i);
  });
  await steps.step("Alice ends Bob's session: his browser is out at both replicas", async () => {
    await bob.open("/servers");
    const cookies = await bob.cookies();
    for (const replica of [0, 1] as const) steps.equal(await stage.statusAt(replica, "/servers", cookies), 200);
    await alice.open("/people");
    await alice.look("people");
    await alice.follow("Bob", "Sessions");
    await alice.look("person");
    const sessions = page.locator("#sessions").getByRole("link", { name: /^Sign out session/ });
    // His agents signed in with a browser of their own.
    const count = await sessions.count();
    const isOut = async (): Promise<boolean> => {
      const answers = [await stage.statusAt(0, "/servers", cookies), await stage.statusAt(1, "/servers", cookies)];
      return answers.every((status) => status !== 200);
    };
    let took = 0;
    for (let ended = 0; ended < count; ended += 1) {
      await sessions.first().click();
      if (ended === 0) await alice.look("confirm");
      steps.match(await alice.confirm("Sign out session", "seen from a café nobody knows"), /Done/);
    }
    took = await until(isOut, "both replicas have put him out");
    steps.match(await bob.open("/servers"), /Your session has ended/);
    // The provider knows him still, and lets him in again without a question.
    await bob.page.getByRole("link", { name: "Sign in" }).click();
    await bob.page.waitForURL(`${stage.home}/servers`);
    return `${count} ended, out after ${took} ms`;
  });
  await steps.step("clients, as they call themselves; a name that turns its letters round is none", async () => {
    const registered = await fetch(`${stage.origin}/.gateway/mcp/register`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ client_name: TURNED_CLIENT, redirect_uris: ["http://127.0.0.1:9/callback"] }),
    });
    steps.equal(registered.status, 201);
    const text = await alice.open("/clients");
    steps.match(text, /Demo client \(SDK v1\)/);
    steps.match(text, /Unnamed/);
    steps.ok(!text.includes("\u202E"), text);
    await alice.look("clients");
    for (const list of ["accounts", "tokens", "devices"]) await alice.open(`/clients/${list}`);
  });
}
