/** The page for choosing a provider, in a real browser: appearance, axe results, and keyboard use. */
import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  findAccessibilityProblems,
  launchChromium,
  missingChromium,
  newVisitor,
  takePicture,
  type Visitor,
  type VisitorOptions,
} from "../support/chromium.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";
import { startSecondProvider, type SecondProvider } from "../support/two-providers.ts";

const missing = missingChromium();
if (missing !== undefined) console.log(`the page of providers is not driven: ${missing}`);

/** As long as an operator may call one. */
const LABEL = "Subsidiary for International Collaboration and <b>Procurement</b>";

let corp: SecondProvider;
let upstream: EchoUpstream;
let world: SignInGateway;
let browser: Browser;

beforeAll(async () => {
  if (missing !== undefined) return;
  upstream = await startEchoUpstream();
  corp = await startSecondProvider("corp", "http://localhost", {
    users: [{ id: "u-vera", email: "vera@corp.example", name: "Vera", groups: [] }],
  });
  world = await startSignInGateway({
    yaml: `${corp.settings("", "email_domains: [corp.example]").replace("label: CORP", `label: ${JSON.stringify(LABEL)}`)}
idp_label: Example staff
routes:
  - { name: app, from: "{origin}", prefix: /app, to: "${upstream.origin}", policy: { allow: { and: [authenticated_user: true] } } }
  - { name: corp, from: "{origin}", prefix: /corp, to: "${upstream.origin}", policy: { allow: { and: [{ idp: corp }] } } }
`,
  });
  await corp.idp.allowRedirects("gateway-at-corp", [`${world.gateway.origin}/.gateway/callback/corp`]);
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await world?.close();
  await Promise.all([upstream?.close(), corp?.idp.close()]);
});

async function withVisitor(options: VisitorOptions, visit: (visitor: Visitor) => Promise<void>): Promise<void> {
  const visitor = await newVisitor(browser, options);
  try {
    await visit(visitor);
  } finally {
    await visitor.context.close();
  }
}

const HEADING = "Where do you sign in?";
const heading = (page: Page) => page.getByRole("heading", { level: 1 }).innerText();
const choose = (page: Page) => page.goto(`${world.gateway.origin}/app/`);

/** A user of the first provider opens a route for users of the other one. */
async function other(page: Page): Promise<void> {
  await choose(page);
  await page.getByRole("link", { name: "Example staff" }).click();
  await page.getByRole("link", { name: "alice@example.com" }).click();
  await page.goto(`${world.gateway.origin}/corp/`);
}

describe.skipIf(missing !== undefined)("the choice of a provider in Chromium", () => {
  test.each([
    ["choose-provider", choose],
    ["choose-other-provider", other],
  ] as const)(
    "%s is accessible in light and dark, respects its own policy and fits a narrow screen",
    async (name, go) => {
      await withVisitor({}, async ({ page, consoleErrors }) => {
        await go(page);
        expect(await heading(page)).toBe(HEADING);
        for (const colorScheme of ["light", "dark"] as const) {
          await page.emulateMedia({ colorScheme });
          await takePicture(page, `${name}-${colorScheme}`);
          expect(await findAccessibilityProblems(page)).toEqual([]);
        }
        for (const width of [390, 320]) {
          await page.setViewportSize({ width, height: 640 });
          await takePicture(page, `${name}-${width}`);
          const root = "document.documentElement";
          expect(await page.evaluate<number>(`${root}.scrollWidth - ${root}.clientWidth`)).toBe(0);
        }
        expect(consoleErrors).toEqual([]);
      });
    },
  );

  test("is operable with the keyboard, without JavaScript, and shows names as they are written", async () => {
    await withVisitor({ javaScript: false }, async ({ page }) => {
      await choose(page);
      const links = page.getByRole("navigation").getByRole("link");
      expect(await links.allInnerTexts()).toEqual(["Example staff", LABEL]);
      // Field and button of the e-mail address come first.
      for (let stop = 0; stop < 4; stop++) await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await page.getByRole("link", { name: "vera@corp.example" }).click();
      await page.waitForURL(`${world.gateway.origin}/app/`);
    });
  });

  test("is made by a typed address, by keyboard and without JavaScript", async () => {
    await withVisitor({ javaScript: false }, async ({ page, consoleErrors }) => {
      await choose(page);
      const field = page.getByRole("textbox", { name: "Work email address" });
      await field.fill("vera@elsewhere.example");
      await page.keyboard.press("Enter");
      await expect.poll(() => page.getByRole("status").innerText()).toContain("No organization matches");
      await takePicture(page, "choose-provider-unknown");
      expect(await field.inputValue()).toBe("vera@elsewhere.example");
      await field.fill("vera@corp.example");
      await page.keyboard.press("Enter");
      // The development provider accepts the email from the login hint.
      await page.waitForURL(`${world.gateway.origin}/app/`);
      expect(consoleErrors).toEqual([]);
    });
  });

  test("by a user signed in elsewhere switches the user after a confirmation", async () => {
    await withVisitor({}, async ({ page }) => {
      await other(page);
      expect(await page.getByRole("link").allInnerTexts()).toEqual([LABEL]);
      expect(await page.getByRole("main").innerText()).toContain("You are signed in as alice@example.com.");
      await page.getByRole("link", { name: LABEL }).click();
      await page.getByRole("link", { name: "vera@corp.example" }).click();
      await page.waitForURL(`${world.gateway.origin}/corp/`);
      await page.goto(`${world.gateway.origin}/.gateway/`);
      expect(await heading(page)).toBe("Hello Vera");
    });
  });
});
