/** Decisions: as they come, by themselves, after the process that made them is gone; with names made to do harm. */
import { refusalOf, type Scene } from "./scene.ts";
import { until } from "../demo/until.ts";
import { MARKUP_TOOL, TURNED_TOOL } from "./stage.ts";

export async function showDecisions({ steps, stage, alice, bob, agents }: Scene): Promise<void> {
  const { page } = alice;
  const rows = page.locator("main tr[data-id]");
  const rowOf = (text: string) => rows.filter({ hasText: text });
  const isLive = async (): Promise<void> => {
    const state = page.locator("#live-state");
    const isSaid = async (): Promise<boolean> => (await state.innerText()).includes("Live.");
    await until(isSaid, "the page is live").catch(async (error: unknown) => {
      throw new Error(`${String(error)}: ${await state.innerText()}`);
    });
  };
  let permalink = "";
  let told = "";

  await steps.step("Alice has every role and Bob sees what is of payments; each page says so", async () => {
    steps.match(await alice.open("/decisions?view=denied-first"), /Denied/);
    const who = await page.locator(".who").innerText();
    steps.match(who, /alice@example\.com\s+operator, approver and auditor/i);
    await bob.open("/decisions");
    const other = await bob.page.locator(".who").innerText();
    steps.match(other, /bob@example\.com\s+viewer of payments/i);
    return other;
  });
  await steps.step("a call is denied: its row appears on the open page, above those that were allowed", async () => {
    await isLive();
    await agents.payments.call("list_tickets");
    await refusalOf(agents.payments.call("delete_ticket", { ticket: "7" }));
    const took = await until(async () => (await rowOf("delete_ticket").count()) === 1, "the row appears");
    await rowOf("list_tickets").first().waitFor();
    steps.match(await rows.first().innerText(), /Denied.*delete_ticket.*payments\/desk.*bob@example\.com/s);
    await alice.look("decisions");
    return `${took} ms`;
  });
  await steps.step("names that were made to do harm are shown as they are written", async () => {
    for (const tool of [MARKUP_TOOL, TURNED_TOOL]) await agents.tickets.call(tool).catch(() => undefined);
    await rowOf(MARKUP_TOOL).first().waitFor();
    await rowOf("list_\\u202eeteled").first().waitFor();
    steps.equal(await page.locator("main img").count(), 0);
    return rowOf(MARKUP_TOOL).first().innerText();
  });
  await steps.step("Bob's list has nothing of the other team", async () => {
    const text = await bob.open("/decisions");
    steps.match(text, /payments\/desk/);
    steps.ok(!text.includes("tickets/server"), text);
  });
  await steps.step("one decision has an address of its own, with the rules that decided", async () => {
    await rowOf("delete_ticket").locator(".row-link").first().click();
    await page.getByRole("heading", { name: "Decision", exact: true }).waitFor();
    await alice.look("decision");
    await page.getByRole("link", { name: "Open on its own page" }).click();
    await page.getByText("Copy link").waitFor();
    told = await alice.text();
    steps.match(told, /Denied by rule 1[^]*Deny if/);
    permalink = new URL(page.url()).pathname.slice("/.gateway/console".length);
    return permalink;
  });
  await steps.step("the replica that streams is killed: the page goes on with the other, no row twice", async () => {
    await alice.open("/decisions");
    await isLive();
    // Both have it open.
    for (const each of [alice, bob]) each.excuse(/net::ERR_.*\/decisions\/stream/);
    await stage.kill(0);
    stage.balancer.prefer(1);
    await page.getByText("Reconnecting").waitFor();
    await agents.payments.call("read_ticket", { ticket: "8" });
    await rowOf("read_ticket").first().waitFor();
    await isLive();
    await agents.payments.call("read_ticket", { ticket: "9" });
    await until(async () => (await rowOf("read_ticket").count()) > 1, "the stream goes on");
    const ids = await rows.evaluateAll((all) => all.map((row) => row.getAttribute("data-id")));
    steps.equal(new Set(ids).size, ids.length);
    return `${ids.length} rows`;
  });
  await steps.step(
    "another process in its place tells the same; Bob reads it without whose groups are whose",
    async () => {
      await stage.restart(0);
      stage.balancer.prefer(0);
      const text = await alice.open(permalink);
      const why = (all: string): string => /Why[^]*?(?=Record, )/.exec(all)?.[0] ?? all;
      steps.equal(why(text), why(told));
      const others = why(await bob.open(permalink));
      steps.match(others, /Deny if/);
      steps.ok(!others.includes('["payments"]'), others);
      return why(text);
    },
  );
}
