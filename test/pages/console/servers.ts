/** Servers and routes, as people see them in a browser. */
import { describe, expect, test } from "vitest";

import type { ConsoleWorld } from "./world.ts";

export function describeServers(world: () => ConsoleWorld): void {
  describe("servers and routes", () => {
    test("are listed and found without scripts, and a route's page says who may what", async () => {
      const visitor = await world().visit("alice", "/servers", { javaScript: false });
      const { page, context, consoleErrors } = visitor;
      const rows = page.getByRole("table").getByRole("rowheader");
      expect(await rows.count()).toBe(4);
      await page.getByLabel("Name, address or owner").fill("team-b");
      await page.getByLabel("Kind").selectOption("MCP server");
      await page.getByRole("button", { name: "Filter" }).click();
      expect(await rows.allInnerTexts()).toEqual([expect.stringContaining(`${world().gateway.origin}/team-b/mcp`)]);
      expect(new URL(page.url()).search).toBe("?q=team-b&kind=server");
      await rows.first().getByRole("link").click();
      await page.getByText('the email domain is "example.com"').first().waitFor();
      expect(
        await page.getByRole("region", { name: "Subjects named in rules" }).getByRole("rowheader").allInnerTexts(),
      ).toContain("any user at example.com");
      expect(await page.getByText("claude mcp add").count()).toBe(1);
      expect(consoleErrors).toEqual([]);
      await context.close();
    });
  });
}
