/**
 * `npm run docs:pictures`: pictures of the console and the portal, with the traffic of `npm start -- --demo-traffic`, as small WebP files.
 *
 * `npm run docs:pictures -- DIRECTORY` writes them there; default: `runtime/operations/pictures`, which `console-tour.md` shows.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { findPort, startStage } from "../../examples/demo/stage.ts";
import { launchChromium, newVisitor } from "./chromium.ts";

/** Address below the origin of the sign-in host; `open` selects a link on that page to follow. */
interface Shot {
  readonly name: string;
  readonly path: string;
  readonly open?: string;
}
const CONSOLE = "/.gateway/console";
const SHOTS: readonly Shot[] = [
  { name: "overview", path: `${CONSOLE}/overview` },
  { name: "decisions", path: `${CONSOLE}/decisions?outcome=denied` },
  {
    name: "decision",
    path: `${CONSOLE}/decisions?outcome=denied&tool=refund`,
    open: "main tbody a[href*='open=']:visible",
  },
  { name: "approvals", path: `${CONSOLE}/approvals` },
  { name: "health", path: `${CONSOLE}/health` },
  { name: "servers", path: `${CONSOLE}/servers` },
  { name: "server", path: `${CONSOLE}/servers`, open: "main tbody a:has-text('github')" },
  { name: "users", path: `${CONSOLE}/people` },
  { name: "user", path: `${CONSOLE}/people`, open: "main tbody a:has-text('Bob Okafor')" },
  { name: "clients", path: `${CONSOLE}/clients` },
  {
    name: "simulator",
    path: `${CONSOLE}/simulator?${new URLSearchParams({
      route: "payments/desk",
      who: "imagined",
      groups: "support",
      message: "tool",
      name: "refund",
      arguments: '{"amount":620}',
    }).toString()}`,
  },
  { name: "changes", path: `${CONSOLE}/changes` },
  { name: "blocks", path: `${CONSOLE}/blocks` },
  { name: "portal", path: "/.gateway/" },
];
const few = (...names: readonly string[]): readonly Shot[] => SHOTS.filter(({ name }) => names.includes(name));
/** All screens wide and light, the first one also dark, and some on a phone. */
const LOOKS = [
  { name: "light", width: 1280, colorScheme: "light", shots: SHOTS },
  { name: "dark", width: 1280, colorScheme: "dark", shots: few("overview") },
  { name: "phone", width: 390, colorScheme: "light", shots: few("overview", "decisions", "portal") },
] as const;
const HEIGHT = 900;
const QUALITY = 50;

const directory = process.argv[2] ?? new URL("../../runtime/operations/pictures", import.meta.url).pathname;
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
  const home = stage.pagesOrigin;
  await page.goto(home + CONSOLE);
  await page.getByRole("link", { name: "alice@example.com" }).click();
  await page.waitForURL(`${home}${CONSOLE}/**`);
  const devtools = await context.newCDPSession(page);
  for (const { name: look, width, colorScheme, shots } of LOOKS) {
    await page.setViewportSize({ width, height: HEIGHT });
    await page.emulateMedia({ colorScheme });
    for (const { name, path, open } of shots) {
      const answer = await page.goto(home + path);
      if (answer?.ok() !== true) throw new Error(`${path}: ${answer?.status() ?? "no response"}`);
      if (open) await page.locator(open).first().click();
      await page.waitForLoadState();
      // Playwright writes no WebP.
      const { data } = await devtools.send("Page.captureScreenshot", { format: "webp", quality: QUALITY });
      const file = join(directory, `${name}-${look}.webp`);
      await writeFile(file, Buffer.from(data, "base64"));
      console.log(file);
    }
  }
} finally {
  await browser.close();
  await stage.close();
}
