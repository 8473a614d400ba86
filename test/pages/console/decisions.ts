/** The screen of decisions: rows with and without scripts, one decision, and new ones as they come. */
import type { Page } from "playwright-core";
import { beforeAll, describe, expect, test } from "vitest";

import type { SignedInClient } from "../../support/oauth-client.ts";
import { type ConsoleWorld, expectGoodLook } from "./world.ts";

export function describeDecisions(world: () => ConsoleWorld): void {
  describe("decisions", () => {
    let alice: SignedInClient;
    /** Outcome and request of the page's rows, top down. */
    const rowsOf = async (page: Page): Promise<readonly string[]> => {
      const rows = await page.locator("main tr[data-id]").all();
      return Promise.all(
        rows.map(
          async (row) => `${await row.locator(".out").innerText()} ${await row.locator("code").first().innerText()}`,
        ),
      );
    };
    /** Reloads until the records are there: they are stored shortly after the response. */
    const openWith = async (page: Page, path: string, text: string): Promise<void> => {
      await expect
        .poll(async () => {
          await page.goto(world().home + path);
          return page.locator("main").innerText();
        })
        .toContain(text);
    };

    beforeAll(async () => {
      alice = await world().client("alice", "team-a");
      const other = await world().client("alice", "team-b");
      await world().call(other, "team-b", "secret_of_b");
      await world().call(alice, "team-a", "delete_repo", { repo: "acme/site" });
      await world().call(alice, "team-a", "list_issues", { repo: "acme/site" });
    });

    test("stand there with their reasons, the same without scripts, for each person what is theirs", async () => {
      const { page, context, consoleErrors } = await world().visit("alice", "/decisions", {
        viewport: { width: 1280, height: 800 },
      });
      await openWith(page, "/decisions?outcome=denied", "delete_repo");
      const row = page.locator("main tr[data-id]", { hasText: "delete_repo" }).first();
      expect(await row.innerText()).toMatch(
        /Denied.*delete_repo team-a\/tools.*alice@example\.com.*Deny rule 1: the tool starts with "delete_"\s/s,
      );
      await page.goto(`${world().home}/decisions`);
      await page.locator("main tr[data-id]", { hasText: "list_issues" }).first().waitFor();
      expect(consoleErrors).toEqual([]);
      await context.close();

      const bob = await world().visit("bob", "/decisions", { javaScript: false });
      expect(await bob.page.locator("main").innerText()).not.toContain("team-b");
      await bob.page.locator("summary", { hasText: "Add filter" }).click();
      await bob.page.getByLabel("Field").selectOption("tool");
      await bob.page.getByLabel("Value").fill("delete_repo");
      await bob.page.getByRole("button", { name: "Add filter" }).click();
      expect(new URL(bob.page.url()).searchParams.get("tool")).toBe("delete_repo");
      expect(new Set(await rowsOf(bob.page))).toEqual(new Set(["Denied delete_repo"]));
      await bob.page.getByRole("link", { name: "Remove filter: Tool" }).click();
      expect((await rowsOf(bob.page)).length).toBeGreaterThan(1);
      await bob.context.close();
    });

    test("each has a page that can be shared, with the rules that decided", async () => {
      const visitor = await world().visit("alice", "/decisions");
      const { page, context, consoleErrors } = visitor;
      const hrefOf = (link: unknown): string => (link as { href: string }).href;
      await openWith(page, "/decisions?view=denied-first", "delete_repo");
      await expectGoodLook(visitor, "decisions");
      expect((await rowsOf(page))[0]).toMatch(/^(?:Denied|Failed)/);
      await page.locator("main tr[data-id]", { hasText: "delete_repo" }).locator(".row-link").first().click();
      // The focus is in the panel; Escape closes it and leads back to the row.
      await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("panel-title");
      const text = await page.locator(".panel").innerText();
      expect(text).toContain("Evaluated with the original configuration.");
      expect(text).toContain('Denied by rule 1 of team-a/tools: the tool starts with "delete_".');
      expect(text).toMatch(/1\. Deny if the tool starts with "delete_"\s+Decides/);
      const address = await page.getByRole("link", { name: "Open on its own page" }).evaluate(hrefOf);
      await expectGoodLook(visitor, "decision");
      await page.keyboard.press("Escape");
      await expect.poll(() => page.evaluate("document.activeElement.className")).toBe("row-link");
      await page.keyboard.press("j");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.evaluate("document.activeElement.id")).toBe("panel-title");
      expect(consoleErrors).toEqual([]);
      await context.close();

      const bob = await world().visit("bob", new URL(address).pathname.replace("/.gateway/console", ""));
      expect(await bob.page.locator("h1").innerText()).toBe("alice@example.com: tools/call delete_repo");
      expect(await bob.page.locator("main").innerText()).not.toContain("acme/site");
      await bob.context.close();
    });

    test("new ones appear by themselves, wait while somebody is at work there, and lose nothing", async () => {
      const { page, context, consoleErrors } = await world().visit("alice", "/decisions?tool=list_issues");
      await page.getByText("Live.").waitFor();
      const before = (await rowsOf(page)).length;
      await world().call(alice, "team-a", "list_issues");
      await expect.poll(async () => (await rowsOf(page)).length).toBe(before + 1);

      // While the focus is in the table, new rows wait behind a button.
      await page.locator("main tr[data-id] a").first().focus();
      await world().call(alice, "team-a", "list_issues");
      await world().call(alice, "team-a", "list_issues");
      const button = page.getByRole("button", { name: "2 new" });
      await button.waitFor();
      expect((await rowsOf(page)).length).toBe(before + 1);
      expect(await page.evaluate("document.activeElement.tagName")).toBe("A");
      await button.click();
      await expect.poll(async () => (await rowsOf(page)).length).toBe(before + 3);
      expect(await page.evaluate("document.activeElement.id")).toBe("live-pause");

      await page.getByRole("button", { name: "Pause" }).click();
      await world().call(alice, "team-a", "list_issues");
      await page.getByRole("button", { name: "1 new" }).waitFor();
      expect((await rowsOf(page)).length).toBe(before + 3);
      await page.getByRole("button", { name: "Pause" }).click();
      await expect.poll(async () => (await rowsOf(page)).length).toBe(before + 4);
      const ids = await page
        .locator("main tr[data-id]")
        .evaluateAll((rows) => rows.map((row) => row.getAttribute("data-id")));
      expect(new Set(ids).size).toBe(ids.length);
      expect(consoleErrors).toEqual([]);
      await context.close();
    });

    // Over HTTP/1.1, of which a browser opens six connections to a host.
    test("appear in all of seven windows, which share one connection", async () => {
      const { page: first, context, consoleErrors } = await world().visit("alice", "/decisions?tool=list_issues");
      const windows = [first];
      for (let count = 1; count < 7; count += 1) {
        const page = await context.newPage();
        await page.goto(`${world().home}/decisions?tool=list_issues`);
        windows.push(page);
      }
      for (const page of windows) await page.getByText("Live.").waitFor();
      const before = (await rowsOf(first)).length;
      await world().call(alice, "team-a", "list_issues");
      for (const page of windows) await expect.poll(async () => (await rowsOf(page)).length).toBe(before + 1);
      const other = await context.newPage();
      // Not the health page, which caches its records: its own tests add records there later.
      await other.goto(`${world().home}/people`);
      expect(consoleErrors).toEqual([]);
      await context.close();
    });

    test("come as a file of what is looked for", async () => {
      const { page, context } = await world().visit("alice", "/decisions?tool=delete_repo");
      const [file] = await Promise.all([
        page.waitForEvent("download"),
        (async () => {
          await page.locator("summary", { hasText: "Export" }).click();
          await page.getByRole("link", { name: "Download CSV" }).click();
        })(),
      ]);
      expect(file.suggestedFilename()).toBe("decisions.csv");
      const stream = await file.createReadStream();
      const text = Buffer.concat(await stream.toArray()).toString();
      expect(text.split("\r\n")[1]).toMatch(
        /,denied,u-alice,alice@example\.com,.*,team-a\/tools,tools\/call delete_repo,/,
      );
      await context.close();
    });
  });
}
