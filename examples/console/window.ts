/** Somebody in front of a real browser, with the console open. */
import type { Browser, Page } from "playwright-core";

import { findLookProblems, newVisitor, type Visitor } from "../../test/support/chromium.ts";
import type { DemoUser } from "../demo/identity-provider.ts";

export interface Window {
  readonly page: Page;
  /** Opens a page of the console, signing in on the way. @returns what it says */
  open(path: string): Promise<string>;
  /** What the open page says. */
  text(): Promise<string>;
  /** Follows a link, then waits for the heading of the page behind it. */
  follow(link: string | RegExp, heading: string | RegExp): Promise<string>;
  /** Fills in why, and presses. @returns what the console tells */
  confirm(button: string, reason: string): Promise<string>;
  /** Takes pictures. @throws Error with what axe and the browser's console say of the page */
  look(name: string): Promise<void>;
  /** What the browser's console says like this is meant, whenever it comes to say so: a process was killed. */
  excuse(meant: RegExp): void;
  /** Of the console, as the browser would send them. */
  cookies(): Promise<string>;
  close(): Promise<void>;
}

const WIDE = { width: 1280, height: 800 };

export async function openWindow(chromium: Browser, home: string, user: DemoUser): Promise<Window> {
  const visitor: Visitor = await newVisitor(chromium, { viewport: WIDE, timezoneId: "Europe/Berlin" });
  const { page, context } = visitor;
  let excused: RegExp | undefined;
  const { origin } = new URL(home);
  const text = (): Promise<string> => page.locator("main").innerText();
  return {
    page,
    text,
    async open(path) {
      await page.goto(home + path);
      if (new URL(page.url()).origin !== origin) {
        await page.getByRole("link", { name: user.email }).click();
        await page.waitForURL(`${origin}/**`);
      }
      return text();
    },
    async follow(link, heading) {
      await page.getByRole("link", { name: link }).first().click();
      await page.getByRole("heading", { name: heading }).first().waitFor();
      return text();
    },
    async confirm(button, reason) {
      await page.getByLabel(/^Reason/).fill(reason);
      await page.getByRole("button", { name: button }).click();
      return page.getByRole("status").first().innerText();
    },
    excuse: (meant) => void (excused = meant),
    async look(name) {
      const consoleErrors = visitor.consoleErrors.filter((said) => excused?.test(said) !== true);
      const problems = await findLookProblems({ ...visitor, consoleErrors }, `show-${name}`);
      if (problems.length > 0) throw new Error(problems.join("; "));
    },
    async cookies() {
      return (await context.cookies(origin)).map(({ name, value }) => `${name}=${value}`).join("; ");
    },
    close: () => context.close(),
  };
}
