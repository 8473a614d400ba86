/** Servers and routes, as people see them in a browser. */
import { describe, expect, test } from "vitest";

import { expectGoodLook, type ConsoleWorld } from "./world.ts";

export function describeServers(world: () => ConsoleWorld): void {
  describe("servers and routes", () => {
    test("are listed and found without scripts, and a route's page says who may what", async () => {
      const visitor = await world().visit("alice", "/servers", { javaScript: false });
      const { page, context } = visitor;
      const rows = page.getByRole("table").getByRole("rowheader");
      expect(await rows.count()).toBe(4);
      await page.getByLabel("Name, address or owner").fill("team-b");
      await page.getByLabel("Kind").selectOption("MCP server");
      await page.getByRole("button", { name: "Filter" }).click();
      expect(await rows.allInnerTexts()).toEqual([expect.stringContaining(`${world().gateway.origin}/team-b/mcp`)]);
      expect(new URL(page.url()).search).toBe("?q=team-b&kind=server");
      await rows.first().getByRole("link").click();
      await page.getByText('the domain of the e-mail address is "example.com"').first().waitFor();
      expect(
        await page.getByRole("region", { name: "Those whom the rules name" }).getByRole("rowheader").allInnerTexts(),
      ).toContain("anybody at example.com");
      expect(await page.getByText("claude mcp add").count()).toBe(1);
      await context.close();
    });

    test("look good, and have somebody who may see one owner's see no other one's", async () => {
      const alice = await world().visit("alice", "/servers");
      await expectGoodLook(alice, "servers");
      const client = await world().client("alice", "team-a");
      await world().call(client, "team-a", "delete_everything");
      await expect
        .poll(async () => {
          await alice.page.goto(`${world().home}/servers/team-a/tools`);
          return alice.page.getByRole("row", { name: /denied alice@example.com tool delete_everything/ }).count();
        })
        .toBe(1);
      await expectGoodLook(alice, "route");
      await alice.context.close();

      const { page, context } = await world().visit("bob", "/servers");
      const shown = await page.getByRole("table").getByRole("rowheader").allInnerTexts();
      expect(shown).toHaveLength(2);
      expect(shown.every((text) => text.includes("/team-a"))).toBe(true);
      expect((await page.goto(`${world().home}/servers/team-b/tools`))?.status()).toBe(404);
      expect((await page.goto(`${world().home}/servers/team-a/tools`))?.status()).toBe(200);
      const text = await page.getByRole("main").innerText();
      expect(text).toContain("Allowed when");
      expect(text).not.toContain(world().mcpServer.origin);
      expect(text).not.toContain("People who have signed in");
      await context.close();
    });
  });
}
