/**
 * `npm run docs:pictures`: pictures of the console's screens, with the traffic of `npm start -- --demo-traffic`, as small WebP files.
 *
 * `npm run docs:pictures -- DIRECTORY` writes them there; default: `.pictures` of the working directory.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { findPort, startStage } from "../../examples/demo/stage.ts";
import { launchChromium, newVisitor } from "./chromium.ts";

const SCREENS = [
  "overview",
  "decisions",
  "approvals",
  "health",
  "servers",
  "people",
  "clients",
  "simulator",
  "changes",
];
/** All screens wide and light; the first ones also dark, and on a phone. */
const LOOKS = [
  { name: "light", width: 1440, colorScheme: "light", screens: SCREENS },
  { name: "dark", width: 1440, colorScheme: "dark", screens: SCREENS.slice(0, 2) },
  { name: "phone", width: 390, colorScheme: "light", screens: SCREENS.slice(0, 2) },
] as const;
const HEIGHT = 900;
const QUALITY = 60;

const directory = process.argv[2] ?? ".pictures";
await mkdir(directory, { recursive: true });
const stage = await startStage({
  port: await findPort(8480),
  program: new URL("../../examples/demo/gateway.ts", import.meta.url).pathname,
  authorizeLog: "authorize.log",
  withTraffic: true,
});
const browser = await launchChromium();
try {
  const { page, context } = await newVisitor(browser, { timezoneId: "Europe/Berlin" });
  const home = `${stage.pagesOrigin}/.gateway/console`;
  await page.goto(`${home}/overview`);
  await page.getByRole("link", { name: "alice@example.com" }).click();
  await page.waitForURL(`${home}/**`);
  const devtools = await context.newCDPSession(page);
  for (const { name, width, colorScheme, screens } of LOOKS) {
    await page.setViewportSize({ width, height: HEIGHT });
    await page.emulateMedia({ colorScheme });
    for (const screen of screens) {
      await page.goto(`${home}/${screen}`);
      // Playwright writes no WebP.
      const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
      const file = join(directory, `${screen}-${name}.webp`);
      await writeFile(file, Buffer.from(data, "base64"));
      console.log(file);
    }
  }
} finally {
  await browser.close();
  await stage.close();
}
