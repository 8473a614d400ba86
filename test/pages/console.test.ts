/** The console in a real browser: its frame, and each screen. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { missingChromium } from "../support/chromium.ts";
import { describeSafety } from "./console/safety.ts";
import { describeDecisions } from "./console/decisions.ts";
import { describeHealth } from "./console/health.ts";
import { describePeople } from "./console/people.ts";
import { describePolicy } from "./console/policy.ts";
import { describeServers } from "./console/servers.ts";
import { type ConsoleWorld, startConsoleWorld } from "./console/world.ts";

const missing = missingChromium();
if (missing !== undefined) console.log(`the console is not driven: ${missing}`);

let world: ConsoleWorld;
beforeAll(async () => {
  if (missing === undefined) world = await startConsoleWorld();
});
afterAll(() => world?.close());

describe.skipIf(missing !== undefined)("the console", () => {
  test("shows the user's role and local times, and works without scripts", async () => {
    const { page, context, consoleErrors } = await world.visit("bob", "/decisions", { timezoneId: "Asia/Kolkata" });
    expect(await page.locator(".who").innerText()).toMatch(/bob@example.com\s*viewer of team-a/);
    expect(await page.locator("#zone").innerText()).toContain("Asia/Calcutta");
    expect(await page.getByRole("link", { name: "Decisions" }).getAttribute("aria-current")).toBe("page");
    // People and clients belong to no owner.
    const entries = page.getByRole("navigation", { name: "Console" }).getByRole("link");
    const own = [
      "Overview",
      "Decisions",
      "Approvals",
      "Health",
      "Servers and apps",
      "Simulator",
      "Changes",
      "Tool lock",
      "Blocks",
    ];
    expect(await entries.allInnerTexts()).toEqual(own);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    expect(await page.evaluate("document.activeElement.id")).toBe("main");
    expect(consoleErrors).toEqual([]);
    await context.close();
    const plain = await world.visit("bob", "/decisions", { javaScript: false });
    expect(await plain.page.locator("#zone").innerText()).toBe("Times in UTC.");
    await plain.context.close();
  });

  test("has an ordinary denial for users without a role, and a not-found page", async () => {
    const { page, context } = await world.visit("carol", "/people?user=alice");
    expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe("Access denied");
    expect(await page.locator("body").innerText()).not.toMatch(/console|people/i);
    await context.close();
    const alice = await world.visit("alice", "/nowhere");
    expect(await alice.page.getByRole("heading", { level: 1 }).innerText()).toBe("Page not found");
    await alice.context.close();
  });

  describeDecisions(() => world);
  describeHealth(() => world);
  describeServers(() => world);
  describePeople(() => world);
  describePolicy(() => world);
  describeSafety(() => world);
});
