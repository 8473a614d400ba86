/** Approvals, tool lock and blocks: display with and without scripts, and their actions. */
import { writeFile } from "node:fs/promises";
import { join } from "node:path";

import { beforeAll, describe, expect, test } from "vitest";

import type { SignedInClient } from "../../support/oauth-client.ts";
import { signInClient } from "../../support/oauth-client.ts";
import { type ConsoleWorld, expectGoodLook } from "./world.ts";

const WIDE = { viewport: { width: 1280, height: 800 } } as const;
const NOBODYS = `sha256:${"0".repeat(64)}`;

export function describeSafety(world: () => ConsoleWorld): void {
  describe("approvals, tool lock and blocks", () => {
    let bob: SignedInClient;
    let resource = "";
    let id = 0;

    const send = async (method: string, params: object): Promise<string> => {
      const answer = await fetch(resource, {
        method: "POST",
        headers: {
          authorization: `Bearer ${bob.tokens.access_token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: (id += 1), method, params }),
      });
      return answer.text();
    };
    const call = (text: string): Promise<string> =>
      send("tools/call", { name: "add_note", arguments: { text, amount: 1.5 } });

    beforeAll(async () => {
      const { gateway, mcpServer } = world();
      resource = `${gateway.origin}/team-c/mcp`;
      const slice = `
version: 1
owner: team-c
routes:
  guarded:
    from: ${gateway.origin}
    prefix: /team-c
    to: ${mcpServer.origin}
    mcp: { server: { path: /mcp, tool_lock: { tools: { add_note: ["${NOBODYS}"] }, on_drift: warn } } }
    policy:
      - allow: { and: [{ domain: { is: example.com } }] }
      - approve: { and: [{ mcp_tool: { is: add_note } }] }
        approvers: [admins]
`;
      await gateway.change(() => writeFile(join(gateway.directory, "team-c.yaml"), slice));
      bob = await signInClient({ resource, user: "bob@example.com" });
    });

    test("a call that waits is read and approved, once, and then it is made", async () => {
      expect(await call("buy milk \u202e<b>now</b>")).toContain("approval");
      const visitor = await world().visit("alice", "/approvals", WIDE);
      const { page, context, consoleErrors } = visitor;
      await page.locator("li", { hasText: "add_note" }).locator(".row-link").focus();
      await page.keyboard.press("Enter");
      await page.waitForURL(/open=/);
      await expectGoodLook(visitor, "approvals");
      expect(await page.locator("pre").innerText()).toContain("buy milk \\u202e<b>now</b>");
      expect(await page.locator("pre").innerText()).toContain('"amount": 1.5');

      // Somebody else who has the page open, without scripts, comes too late.
      const late = await world().visit("alice", page.url().slice(world().home.length), {
        javaScript: false,
      });
      await page.getByLabel("Note (optional").fill("milk is fine");
      await page.getByRole("button", { name: "Approve once" }).click();
      expect(await page.getByRole("status").innerText()).toContain("can be made once");
      await late.page.getByRole("button", { name: "Refuse" }).click();
      expect(await late.page.getByRole("alert").innerText()).toContain("already decided by alice@example.com");
      await late.context.close();
      await expect
        .poll(async () => {
          await page.goto(`${world().home}/approvals?view=decided`);
          return page.locator("main").innerText();
        })
        .toMatch(/Approved[^]*add_note on team-c\/guarded\s+milk is fine/);
      expect(consoleErrors).toEqual([]);
      await context.close();
      expect(await call("buy milk \u202e<b>now</b>")).toContain("result");
    });

    test("what a server lists instead of what was reviewed stands there as a difference", async () => {
      expect(await send("tools/list", {})).toContain("add_note");
      const visitor = await world().visit("alice", "/tool-lock", WIDE);
      const { page, context, consoleErrors } = visitor;
      await expectGoodLook(visitor, "tool-locks");
      expect(await page.locator("main tbody tr", { hasText: "team-c/guarded" }).innerText()).toContain("Changed");
      const current = page.locator("[aria-current=page]");
      expect(await current.allInnerTexts()).toEqual([
        expect.stringMatching(/^Tool lock\s+\d+\s+differ from the lock$/),
      ]);
      await page.getByRole("link", { name: "team-c/guarded" }).click();
      expect(await page.locator(".item-change").first().innerText()).toMatch(/add_note\s+Changed/);
      await expectGoodLook(visitor, "tool-lock");
      await page.goto(`${world().home}/changes`);
      await expectGoodLook(visitor, "changes");
      expect(consoleErrors).toEqual([]);
      await context.close();
      const { page: other, context: otherContext } = await world().visit("bob", "/tool-lock/team-c/guarded");
      expect(await other.getByRole("heading", { level: 1 }).innerText()).toBe("Page not found");
      await otherContext.close();
    });

    test("something is blocked and the block lifted, by keyboard and without scripts", async () => {
      const { page, context, consoleErrors } = await world().visit("alice", "/blocks", { ...WIDE, javaScript: false });
      await page.getByRole("link", { name: "New block" }).focus();
      await page.keyboard.press("Enter");
      await page.getByLabel("Type").selectOption("tool");
      await page.getByLabel(/^Name/).fill("<img src=x>\u200bdrop");
      await page.getByLabel(/^Route/).fill("team-a/tools");
      await page.getByLabel(/^Expires/).fill("2h");
      await page.getByLabel(/^Reason/).fill("it drops tables");
      await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      expect(await page.getByRole("status").innerText()).toContain("Blocked: tool");
      const row = page.locator("main tbody tr");
      expect(await row.innerText()).toContain("<img src=x>\\u200bdrop");
      const bobs = await world().visit("bob", "/blocks");
      await expectGoodLook(bobs, "blocks");
      expect(await bobs.page.locator("main tbody tr").count()).toBe(1);
      expect(await bobs.page.getByRole("link", { name: /^(New block|Unblock)/ }).count()).toBe(0);
      await bobs.context.close();

      await row.getByRole("link", { name: /^Unblock/ }).click();
      await page.getByLabel(/^Reason/).fill("mended");
      await page.getByRole("button", { name: "Unblock" }).click();
      expect(await page.getByRole("status").innerText()).toContain("No longer blocked");
      expect(await page.locator("main").innerText()).toContain("No blocks");
      expect(consoleErrors).toEqual([]);
      await context.close();
    });

    test("a live page and a form report an ended session and lead back", async () => {
      // A session of its own: the others continue.
      const visitor = await world().visit("alice", "/decisions", {
        ...WIDE,
        storageState: { cookies: [], origins: [] },
      });
      const { page, context } = visitor;
      await page.getByText("Live.").waitFor();
      const other = await context.newPage();
      await other.goto(`${world().home}/blocks`);
      await other.getByRole("link", { name: "New block" }).click();
      await other.getByLabel(/^Name/).waitFor();
      const address = other.url();
      const leaving = await context.newPage();
      await leaving.goto(new URL("/.gateway/sign_out", world().home).href);
      await leaving.getByRole("button", { name: "Sign out", exact: true }).click();
      await leaving.getByRole("heading", { name: /identity provider too/ }).waitFor();
      await page.getByText("your session or your role has ended").waitFor();

      await other.getByLabel("Type").selectOption("tool");
      await other.getByLabel(/^Name/).fill("drop");
      await other.getByLabel(/^Reason/).fill("it drops tables");
      await other.getByRole("button", { name: "Block", exact: true }).click();
      await other.getByRole("heading", { name: "Your session has ended" }).waitFor();
      expect(await other.locator("main").innerText()).toContain("No changes were made.");
      // The provider still knows the user.
      await other.getByRole("link", { name: "Sign in" }).click();
      await other.waitForURL(address);
      await other.goto(`${world().home}/blocks`);
      expect(await other.locator("main").innerText()).toContain("No blocks");
      await context.close();
    });
  });
}
