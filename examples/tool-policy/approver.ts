/** A person in front of a real browser, who reads what is asked and presses a button. Without Chromium a scripted one. */
import type { Browser as Chromium } from "playwright-core";

import { createBrowser, findForm } from "../../test/support/browser.ts";
import { launchChromium, missingChromium, newVisitor } from "../../test/support/chromium.ts";
import type { DemoUser } from "../demo/identity-provider.ts";
import { visit } from "../demo/person.ts";

export interface Approver {
  /** Opens the page, signing in on the way. @returns what it says */
  read(url: string): Promise<string>;
  /** Presses "Approve once" on the page that is open. @returns what it says then */
  approve(): Promise<string>;
  close(): Promise<void>;
}

export async function createApprover(user: DemoUser): Promise<Approver> {
  if (missingChromium() !== undefined) return createScripted(user);
  const chromium: Chromium = await launchChromium();
  const { page } = await newVisitor(chromium);
  const says = (): Promise<string> => page.locator("main").innerText();
  return {
    async read(url) {
      await page.goto(url);
      // The provider's page asks who it is, once.
      const choice = page.getByText(user.email).first();
      if (new URL(page.url()).origin !== new URL(url).origin) await choice.click();
      return says();
    },
    async approve() {
      await page.getByRole("button", { name: "Approve once" }).click();
      await page.getByRole("heading", { name: "Approved" }).waitFor();
      return says();
    },
    close: () => chromium.close(),
  };
}

function createScripted(user: DemoUser): Approver {
  const browser = createBrowser();
  let open = "";
  return {
    async read(url) {
      open = url;
      return (await visit(browser, url, { user: user.email })).text;
    },
    async approve() {
      const page = await browser.open(open);
      const form = findForm(page, "/.gateway/approval");
      if (!form) throw new Error(page.text);
      return (await browser.submit(page, form, { decision: "approve" })).text;
    },
    close: async () => {},
  };
}
