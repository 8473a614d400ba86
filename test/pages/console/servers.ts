/** Servers and routes, as people see them in a browser. */
import { describe, expect, test } from "vitest";

import { findLookProblems } from "../../support/chromium.ts";
import type { ConsoleWorld } from "./world.ts";

export function describeServers(world: () => ConsoleWorld): void {
  describe("servers and routes", () => {
    test("are listed and found without scripts, and a route's page says who may what", async () => {
      const visitor = await world().visit("alice", "/servers", { javaScript: false });
      const { page, context, consoleErrors } = visitor;
      const rows = page.getByRole("table").getByRole("rowheader");
      expect(await rows.count()).toBe(4);
      await page.getByLabel("Name, address or owner").fill("team-b");
      await page.getByLabel("Type").selectOption("MCP server");
      await page.getByRole("button", { name: "Filter" }).click();
      expect(await rows.allInnerTexts()).toEqual([expect.stringContaining(`${world().gateway.origin}/team-b/mcp`)]);
      expect(new URL(page.url()).search).toBe("?q=team-b&kind=server");
      await rows.first().getByRole("link").click();
      await page.getByText('the email domain is "example.com"').first().waitFor();
      await page.getByRole("navigation", { name: "Parts of this page" }).getByText("Users").click();
      expect(
        await page.getByRole("region", { name: "Subjects named in rules" }).getByRole("rowheader").allInnerTexts(),
      ).toContain("any user at example.com");
      await page.getByRole("link", { name: "Connect a client" }).click();
      expect(await page.getByText("claude mcp add").count()).toBe(1);
      expect(consoleErrors).toEqual([]);
      await context.close();
    });

    test("look good in light, dark, forced colors and on narrow screens; a cell of the matrix leads to its rule", async () => {
      const client = await world().client("alice", "team-b");
      await fetch(world().resource("team-b"), {
        method: "POST",
        headers: {
          authorization: `Bearer ${client.tokens.access_token}`,
          "content-type": "application/json",
          accept: "application/json, text/event-stream",
        },
        body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} }),
      }).then((answer) => answer.text());
      const visitor = await world().visit("alice", "/servers");
      const { page, context } = visitor;
      expect(await findLookProblems(visitor, "console-servers")).toEqual([]);
      await page.goto(`${world().home}/servers?q=team-b`);
      await page.getByRole("table").getByRole("link").first().click();
      const cell = page.locator(".matrix td a").first();
      await cell.waitFor();
      expect(await findLookProblems(visitor, "console-server")).toEqual([]);
      await cell.click();
      expect(await page.locator(":target").innerText()).toMatch(/^\d+\. (Allowed|Denied|A tool call)/);
      await context.close();
    });
  });
}
