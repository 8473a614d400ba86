/** Users, clients and service accounts, and revocation of what acts in their name, in a browser. */
import type { Page } from "playwright-core";
import { describe, expect, test } from "vitest";

import { POLL_MS } from "../../support/limits.ts";
import { type ConsoleWorld, expectGoodLook } from "./world.ts";

/** Registration rejects anything worse. Records of older versions may contain it, see people.test.ts. */
const HOSTILE = "Evil<img src=x onerror=alert(1)>";

/** Until this is focused. @returns how often the key was pressed */
async function tabTo(page: Page, isThere: string): Promise<number> {
  for (let presses = 1; presses <= 40; presses += 1) {
    await page.keyboard.press("Tab");
    if (await page.evaluate(`document.activeElement.matches(${JSON.stringify(isThere)})`)) return presses;
  }
  throw new Error(`Cannot reach ${isThere} by keyboard`);
}

export function describePeople(world: () => ConsoleWorld): void {
  describe("people, clients and machines", () => {
    test("an operator ends a session by keyboard, and that browser is signed out", async () => {
      const bob = await world().visit("bob", "/servers");
      // Another browser of his: a session of its own.
      const other = await world().visit("bob", "/servers");
      await other.context.clearCookies();
      await other.page.goto(`${world().home}/servers`);
      await other.page.getByRole("link", { name: "bob@example.com" }).click();
      await other.page.getByRole("heading", { name: "Servers and apps" }).waitFor();
      const alice = await world().visit("alice", "/servers", { javaScript: false });
      const { page } = alice;
      await page.goto(`${world().home}/people?q=bob@example.com`);
      await page.getByRole("link", { name: "Bob Example" }).click();
      const sessions = page.locator("#sessions");
      const [mine = "", ...rest] = await sessions.getByRole("link", { name: /^Sign out session / }).allInnerTexts();
      expect([mine === "", rest.length > 0]).toEqual([false, true]);

      // From the top of the page to the first session, to the reason, and the button behind it.
      let presses = await tabTo(page, "#sessions a");
      const ended = await page.evaluate("document.activeElement.id");
      const next = await page.evaluate('document.querySelectorAll("#sessions a")[1].id');
      await page.keyboard.press("Enter");
      await page.getByRole("heading", { name: "Sign out session", level: 1 }).waitFor();
      expect(await page.evaluate("document.activeElement.id")).toBe("reason");
      await page.keyboard.type("Seen from a café nobody knows");
      presses += 1 + (await tabTo(page, "button")) + 1;
      await page.keyboard.press("Enter");
      await page.getByRole("status").getByText("Done: sign out session.").waitFor();
      expect(presses).toBeLessThanOrEqual(25);
      // The focus moves to the next control.
      expect(await page.evaluate("document.activeElement.id")).toBe(next);
      expect(await page.locator(`#${String(ended)}`).count()).toBe(0);

      // One of the two browsers gets a page about its ended session; the other one stays signed in.
      const isSignedOut = async (each: Page): Promise<boolean> => {
        const answer = await each.goto(`${world().home}/servers`);
        return answer?.status() === 401;
      };
      const isOut = [false, false];
      await expect
        .poll(
          async () => {
            for (const [index, each] of [bob, other].entries()) isOut[index] ||= await isSignedOut(each.page);
            return isOut.filter(Boolean).length;
          },
          { timeout: POLL_MS },
        )
        .toBe(1);
      for (const { context } of [alice, bob, other]) await context.close();
    });

    test("nobody blocks themselves", async () => {
      const bob = await world().visit("bob", "/servers");
      await bob.context.close();
      const alice = await world().visit("alice", "/servers");
      await alice.page.goto(`${world().home}/people`);
      await expectGoodLook(alice, "users");
      await alice.page.getByRole("link", { name: "Alice Example" }).click();
      await alice.page.getByRole("heading", { name: "Sessions" }).waitFor();
      await expectGoodLook(alice, "user");
      await alice.page.getByRole("link", { name: "Block", exact: true }).click();
      await alice.page.getByLabel("Reason (recorded)").fill("a try");
      await alice.page.getByRole("button", { name: "Block user" }).click();
      await alice.page.getByRole("alert").getByText("you cannot block yourself").waitFor();
      await alice.context.close();
    });

    test("a client's own words are inert, visible and cut, and it is ended", async () => {
      const registered = await fetch(`${world().gateway.origin}/.gateway/mcp/register`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          client_name: HOSTILE,
          redirect_uris: ["http://127.0.0.1:9/callback"],
          token_endpoint_auth_method: "none",
        }),
      });
      const { client_id: id = "" } = (await registered.json()) as { readonly client_id?: string };
      const alice = await world().visit("alice", `/clients?q=${id}`);
      const { page } = alice;
      const row = page.getByRole("row", { name: /unverified/ });
      expect(await row.innerText()).toContain(HOSTILE);
      await row.getByRole("link").click();
      await page.getByRole("link", { name: "Delete client" }).click();
      await page.getByLabel("Reason (recorded)").fill("not ours");
      await page.getByRole("button", { name: "Delete client" }).click();
      await page.getByRole("status").getByText("Done: delete client.").waitFor();
      expect((await page.goto(`${world().home}/clients/client/${id}`))?.status()).toBe(404);
      for (const list of ["accounts", "tokens", "devices"])
        expect((await page.goto(`${world().home}/clients/${list}`))?.status()).toBe(200);
      expect(alice.consoleErrors).toEqual([]);
      await alice.context.close();
    });
  });
}
