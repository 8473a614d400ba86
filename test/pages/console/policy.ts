/** Drafts in a browser: cases that examples/console does not cover. */
import { describe, expect, test } from "vitest";

import { type ConsoleWorld, expectGoodLook, sliceOf } from "./world.ts";

export function describePolicy(world: () => ConsoleWorld): void {
  describe("drafts", () => {
    test("a file is read into the field; without scripts everything but that is there, by keyboard", async () => {
      const visitor = await world().visit("alice", "/simulator/draft?owner=team-a");
      const { page, context, consoleErrors } = visitor;
      const { gateway, mcpServer } = world();
      const text = sliceOf("team-a", gateway.origin, mcpServer.origin).replace("delete_", "drop_");
      const file = { name: "team-a.yaml", mimeType: "text/yaml", buffer: Buffer.from(text) };
      await page.getByLabel("Or a file").setInputFiles(file);
      await expect.poll(() => page.getByLabel(/^Slice/).inputValue()).toBe(text);
      await page.getByRole("button", { name: "Preview draft" }).press("Enter");
      await page.getByText("Valid", { exact: true }).waitFor();
      // The simulator shows the fields of what is chosen alone.
      await page.goto(`${world().home}/simulator?route=team-a%2Ftools&message=tool&name=delete_x`);
      expect(await page.getByLabel("Arguments, JSON", { exact: true }).isVisible()).toBe(true);
      expect(await page.getByLabel("Path of an HTTP request").isVisible()).toBe(false);
      await page.getByText("Existing user", { exact: true }).click();
      expect(await page.getByLabel("User: email or ID").isVisible()).toBe(true);
      expect(await page.getByLabel("Groups, comma-separated").isVisible()).toBe(false);
      await expectGoodLook(visitor, "simulator");
      expect(consoleErrors).toEqual([]);
      await context.close();

      const plain = await world().visit("alice", "/simulator/draft?route=team-a%2Ftools", { javaScript: false });
      expect(await plain.page.getByLabel("Or a file").isVisible()).toBe(false);
      await plain.page.getByLabel(/^Policy of/).fill("[]");
      await plain.page.getByRole("button", { name: "Preview draft" }).press("Enter");
      await plain.page
        .getByText(/loses everything|lose everything|loses connecting/)
        .first()
        .waitFor();
      await plain.context.close();
    });
  });
}
