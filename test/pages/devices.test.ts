/** Registered devices in a real browser with virtual authenticators, in front of a whole gateway whose pages have a host of their own. */
import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";

import {
  findAccessibilityProblems,
  launchChromium,
  missingChromium,
  newVisitor,
  takePicture,
  type Visitor,
} from "../support/chromium.ts";
import { startEchoUpstream, type EchoUpstream } from "../support/echo-upstream.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";
import { plugIn } from "../support/virtual-device.ts";

const missing = missingChromium();
if (missing !== undefined) console.log(`devices are not driven: ${missing}`);

const ALICE = "alice@example.com";

let upstream: EchoUpstream;
let world: SignInGateway;
let browser: Browser;
let visitor: Visitor;
let page: Page;

beforeAll(async () => {
  if (missing !== undefined) return;
  upstream = await startEchoUpstream();
  world = await startSignInGateway({
    pagesHost: "auth.localhost",
    yaml: `
routes:
  - name: any
    from: "{origin}"
    prefix: /any
    to: ${upstream.origin}
    policy: [{ allow: { and: [{ domain: example.com }, { device: { type: any } }] } }]
  - name: enclave
    from: "{origin}"
    prefix: /enclave
    to: ${upstream.origin}
    policy: [{ allow: { and: [{ domain: example.com }, { device: { type: enclave_only } }] } }]
  - name: approved
    from: "{origin}"
    prefix: /approved
    to: ${upstream.origin}
    policy: [{ allow: { and: [{ domain: example.com }, { device: { approved: true } }] } }]
`,
  });
  browser = await launchChromium();
});
afterAll(async () => {
  await browser?.close();
  await world?.close();
  await upstream?.close();
});
beforeEach(async () => {
  if (missing !== undefined) return;
  visitor = await newVisitor(browser);
  ({ page } = visitor);
});
afterEach(() => visitor?.context.close());

const pages = (): string => world.gateway.origin.replace("localhost", "auth.localhost");

async function open(path: string, user = ALICE): Promise<number | undefined> {
  let answer = await page.goto(path.startsWith("http") ? path : world.gateway.origin + path);
  if (await page.getByText("Who are you?").isVisible()) {
    [answer] = await Promise.all([page.waitForNavigation(), page.getByRole("link", { name: user }).click()]);
  }
  return answer?.status();
}

/** Every page is accessible, and does nothing that its policy forbids. */
async function expectGood(name: string): Promise<void> {
  for (const colorScheme of ["dark", "light"] as const) {
    await page.emulateMedia({ colorScheme });
    await takePicture(page, `${name}-${colorScheme}`);
    expect(await findAccessibilityProblems(page)).toEqual([]);
  }
}

async function register(button: string, name: string): Promise<void> {
  const form = page.locator("form", { has: page.getByRole("button", { name: button }) });
  await form.getByLabel("Name in your list").fill(name);
  await form.getByRole("button", { name: button }).click();
}

describe.skipIf(missing !== undefined)("a device", () => {
  test("is registered, opens the requested route on another host, is removed, and closes it", async () => {
    await plugIn(page);
    await open("/enclave/page?x=1");
    expect(page.url()).toContain(`${pages()}/.gateway/webauthn?request=`);
    await expectGood("device-prove");
    // Only useful actions are offered.
    expect(await page.getByRole("button").allTextContents()).toEqual(["Register this device"]);
    await register("Register this device", "Work laptop");
    await page.waitForURL(`${world.gateway.origin}/enclave/page?x=1`);
    expect(await page.textContent("body")).toContain("/enclave/page?x=1");

    await open(`${pages()}/.gateway/`);
    await expectGood("device-user-page");
    expect(await page.getByRole("listitem").filter({ hasText: "Work laptop" }).textContent()).toMatch(
      /dev_\S+,\s+built in,\s+not approved, verified in this session/,
    );
    await page.getByRole("button", { name: "Remove Work laptop" }).click();
    await page.getByText("You have registered no device.").waitFor();
    await open("/enclave/page");
    expect(page.url()).toContain("/.gateway/webauthn?request=");
    expect(visitor.consoleErrors).toEqual([]);
  });

  test("is proven by another session of its user, and shown when it is registered", async () => {
    const device = await plugIn(page);
    await open(`${pages()}/.gateway/webauthn`);
    await register("Register this device", "Desk");
    await page.getByRole("heading", { name: "Device registered" }).waitFor();
    await expectGood("device-enrolled");
    const [credential] = await device.credentials();
    expect(visitor.consoleErrors).toEqual([]);
    await visitor.context.close();

    // The same computer, another day: the device has kept its key and its counter.
    visitor = await newVisitor(browser);
    ({ page } = visitor);
    const same = await plugIn(page);
    if (credential) await same.addCredential(credential);
    await open("/any/page");
    await expectGood("device-choose");
    await page.getByRole("button", { name: "Use a registered device" }).click();
    await page.waitForURL(`${world.gateway.origin}/any/page`);
    expect(visitor.consoleErrors).toEqual([]);
  });

  test("that is a security key opens routes for any device, not those for built-in ones", async () => {
    await plugIn(page, { transport: "usb", verifiesUser: false });
    await open("/any/");
    await register("Register another device", "Key");
    await page.waitForURL(`${world.gateway.origin}/any/`);
    expect(await open("/enclave/")).toBe(450);
    await expectGood("device-refused");
    await page.getByRole("link", { name: "Use another device" }).click();
    await plugIn(page);
    await register("Register this device", "Laptop after all");
    await page.waitForURL(`${world.gateway.origin}/enclave/`);
  });

  test("that keeps its key in an account does not count as built-in", async () => {
    await plugIn(page, { isSynced: true });
    await open("/enclave/");
    await register("Register this device", "Phone");
    await page.getByText("This computer keeps the key in an account").waitFor();
    await expectGood("device-synced");
    await page.getByRole("link", { name: "Try again" }).click();
    await page.getByRole("heading", { name: "Verify your device" }).waitFor();
  });

  test("that does not recognise its user, or is registered already, is reported on the page", async () => {
    const device = await plugIn(page);
    await open(`${pages()}/.gateway/webauthn`, "bob@example.com");
    await register("Register this device", "Twice");
    await page.getByRole("heading", { name: "Device registered" }).waitFor();
    await open(`${pages()}/.gateway/webauthn`);
    await register("Register this device", "Twice");
    await page.getByRole("status").getByText("already registered").waitFor();
    await device.refusePerson();
    await page.getByRole("button", { name: "Use a registered device" }).click();
    await page.getByRole("status").getByText("Nothing was done").waitFor();
    expect(visitor.consoleErrors).toEqual([]);
  });

  test("cannot be used without JavaScript, and the page says so", async () => {
    await visitor.context.close();
    visitor = await newVisitor(browser, { javaScript: false });
    ({ page } = visitor);
    await open("/any/");
    await page.locator("noscript p").waitFor();
    await page.getByRole("button", { name: "Register another device" }).click();
    await page.getByText("requires JavaScript, and a device").waitFor();
  });

  test("is proven for the final session on the route's host, when the sign-in pages lost theirs", async () => {
    await plugIn(page);
    await open("/any/first");
    await visitor.context.clearCookies({ domain: "auth.localhost" });
    await page.reload();
    if (await page.getByText("Who are you?").isVisible()) await page.getByRole("link", { name: ALICE }).click();
    await register("Register another device", "After");
    await page.waitForURL(`${world.gateway.origin}/any/first`);
    expect(await page.textContent("body")).toContain("/any/first");
  });
});
