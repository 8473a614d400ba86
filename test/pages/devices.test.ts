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

describe.skipIf(missing !== undefined)("a device", () => {
  test("is registered, opens a route on another host, is removed, and closes it", async () => {
    await plugIn(page);
    await open("/enclave/page?x=1");
    expect(page.url()).toContain(`${pages()}/.gateway/webauthn?request=`);
    expect(await findAccessibilityProblems(page)).toEqual([]);
    await takePicture(page, "device-prove-light");
    await page.getByLabel("Name, for your list").fill("Work laptop");
    await page.getByRole("button", { name: "Register this device" }).click();
    await page.waitForURL(`${world.gateway.origin}/enclave/page?x=1`);
    expect(await page.textContent("body")).toContain("/enclave/page?x=1");
  });
});
