/** Debian's Chromium, driven by a test: bounded, without a network of its own, with a profile that is gone afterwards. */
import { existsSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";

import { POLL_MS } from "./limits.ts";

/** The shell draws the same pages without a browser's own windows: half of the CPU. */
const EXECUTABLES = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"] as const;
const EXECUTABLE = EXECUTABLES.find((path) => existsSync(path));
const FLAGS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  // Requests of a page to other hosts fail.
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE *.localhost, EXCLUDE 127.0.0.1",
];
/** Screenshots of the pages, for review. Not in the work tree, which a run leaves unchanged. */
const PICTURES = join(tmpdir(), "gateway-test-pictures");

/** The reason why Chromium is missing, or an error if it is required. */
export function missingChromium(): string | undefined {
  if (EXECUTABLE !== undefined) return undefined;
  const missing = `no ${EXECUTABLES.join(" or ")}`;
  if (process.env["GATEWAY_REQUIRE_ALL"] === "1") throw new Error(`${missing}, and GATEWAY_REQUIRE_ALL is set`);
  return missing;
}

export async function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath: EXECUTABLE ?? EXECUTABLES[0],
    args: FLAGS,
    headless: true,
    timeout: POLL_MS,
  });
}

export interface Visitor {
  readonly page: Page;
  readonly context: BrowserContext;
  /** Messages of the console so far: violations of the page's policy, failed loads, script errors. */
  readonly consoleErrors: readonly string[];
}

export interface VisitorOptions {
  readonly javaScript?: boolean;
  /** Cookies of an earlier visit. */
  readonly storageState?: Awaited<ReturnType<BrowserContext["storageState"]>>;
  /** Default 900 × 640. */
  readonly viewport?: { readonly width: number; readonly height: number };
  /** "Europe/Berlin"; default: the host's. */
  readonly timezoneId?: string;
}

/** A user with a fresh profile. */
export async function newVisitor(browser: Browser, options: VisitorOptions = {}): Promise<Visitor> {
  const context = await browser.newContext({
    javaScriptEnabled: options.javaScript ?? true,
    viewport: options.viewport ?? { width: 900, height: 640 },
    locale: "en",
    ...(options.storageState && { storageState: options.storageState }),
    ...(options.timezoneId !== undefined && { timezoneId: options.timezoneId }),
  });
  context.setDefaultTimeout(POLL_MS);
  const page = await context.newPage();
  const consoleErrors: string[] = [];
  page.on("console", (message) => {
    const { url } = message.location();
    // Chromium reports the page's own status as a failed load, and requests an icon automatically; neither is an error.
    const isStatus = message.text().includes("the server responded with a status of");
    if (message.type() !== "error" || (isStatus && (url === page.url() || url.endsWith("/favicon.ico")))) return;
    consoleErrors.push(`${message.text()} (${url})`);
  });
  page.on("pageerror", (error) => void consoleErrors.push(error.message));
  return { page, context, consoleErrors };
}

export async function takePicture(page: Page, name: string): Promise<void> {
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

const axeSource = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

/** axe-core's findings on the page: rule, message, and location. */
export async function findAccessibilityProblems(page: Page): Promise<readonly string[]> {
  // Evaluated by the debugger, so the page's policy stays as it is.
  await page.evaluate(axeSource);
  return page.evaluate(async () => {
    interface UnplacedProblem {
      readonly id: string;
      readonly help: string;
      readonly nodes: readonly { readonly target: readonly string[]; readonly failureSummary?: string }[];
    }
    const { axe } = globalThis as unknown as {
      axe: { run(options: object): Promise<{ violations: UnplacedProblem[] }> };
    };
    const { violations } = await axe.run({
      runOnly: { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] },
    });
    return violations.map(
      ({ id, help, nodes }) =>
        `${id}: ${help} (${nodes.map(({ target, failureSummary }) => `${target.join(" ")} ${failureSummary ?? ""}`).join("; ")})`,
    );
  });
}

/**
 * Light and dark, forced colors, a narrow screen, twice the size: axe's findings, horizontal scrolling outside of tables, and
 * console messages. Takes screenshots.
 */
export async function findLookProblems(visitor: Visitor, name: string): Promise<readonly string[]> {
  const { page, consoleErrors } = visitor;
  const usual = page.viewportSize() ?? { width: 900, height: 640 };
  const problems: string[] = [];
  const examine = async (how: string): Promise<void> => {
    for (const problem of await findAccessibilityProblems(page)) problems.push(`${name}, ${how}: ${problem}`);
  };
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    await takePicture(page, `${name}-${colorScheme}`);
    await examine(colorScheme);
  }
  await page.emulateMedia({ colorScheme: "light", forcedColors: "active" });
  await examine("forced colours");
  await page.emulateMedia({ colorScheme: "light", forcedColors: "none" });
  // 450: what 900 are at 200 %.
  for (const width of [450, 320]) {
    await page.setViewportSize({ width, height: 640 });
    const needed = await page.evaluate("document.documentElement.scrollWidth");
    if (needed !== width) problems.push(`${name}: ${width} pixels wide, it needs ${String(needed)}`);
  }
  await takePicture(page, `${name}-narrow`);
  await examine("narrow");
  await page.setViewportSize(usual);
  return [...problems, ...consoleErrors.map((each) => `${name}: ${each}`)];
}
