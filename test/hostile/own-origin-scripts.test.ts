/**
 * A script of an application that shares its host with an MCP server, where sign-in has no host of its own: it runs on the
 * origin of our pages, and must not answer them for its visitor. In a real browser, since browsers hold these walls up.
 */
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import type { Browser, Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { checkFiles } from "../../runtime/tools/check.ts";
import { launchChromium, missingChromium, newVisitor, type Visitor } from "../support/chromium.ts";
import { createOAuthClient, createPkce, REDIRECT_URI } from "../support/oauth-client.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";
import { mayStall } from "../support/stall-limit.ts";

// Starts a browser.
mayStall(600);

const missing = missingChromium();
if (missing !== undefined) console.log(`scripts of applications are not driven: ${missing}`);

let application: Server;
let world: SignInGateway;
let browser: Browser;
let visitor: Visitor;
/** Our pages with a form and token, by purpose. */
const pages = new Map<string, string>();

beforeAll(async () => {
  if (missing !== undefined) return;
  // An application that can send any headers: /app?opener-policy=…
  application = createServer((request, response) => {
    const policy = new URL(request.url ?? "/", "http://app.example").searchParams.get("opener-policy");
    if (policy !== null) response.setHeader("cross-origin-opener-policy", policy);
    response.setHeader("content-type", "text/html");
    response.end("<!doctype html><html lang=en><title>Application</title><p>application</p></html>");
  });
  await new Promise<void>((resolve) => void application.listen(0, "127.0.0.1", resolve));
  const to = `http://127.0.0.1:${(application.address() as AddressInfo).port}`;
  world = await startSignInGateway({
    yaml: `
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${to}
    mcp: { server: { path: /mcp } }
    policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  - name: application
    from: "{origin}"
    prefix: /app
    to: ${to}
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`,
  });
  const { origin } = world.gateway;
  const oauth = createOAuthClient({ resource: `${origin}/tools/mcp` });
  const { client_id } = await oauth.register({ client_name: "A client of the attacker" });
  const query = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: REDIRECT_URI,
    code_challenge: createPkce().challenge,
    code_challenge_method: "S256",
    state: "state",
    resource: `${origin}/tools/mcp`,
  });
  const login = await fetch(`${origin}/.gateway/api/v1/login?gateway_redirect_uri=http://127.0.0.1:1/`);
  pages.set("consent", `${origin}/.gateway/mcp/authorize?${query.toString()}`);
  pages.set("access of programs", await login.text());
  pages.set("the user page", `${origin}/.gateway/`);
  pages.set("sign-out", `${origin}/.gateway/sign_out`);
  pages.set("devices", `${origin}/.gateway/webauthn`);
  browser = await launchChromium();
  visitor = await newVisitor(browser);
  await visitor.page.goto(`${origin}/app`);
  await visitor.page.getByRole("link", { name: "alice@example.com" }).click();
  await visitor.page.getByText("application").waitFor();
});

afterAll(async () => {
  await browser?.close();
  await world?.close();
  application?.closeAllConnections();
  application?.close();
});

const NAMES = ["consent", "access of programs", "the user page", "sign-out", "devices"];
const OPENER_POLICIES = [undefined, "same-origin", "same-origin-allow-popups", "noopener-allow-popups"];

/** The application's page, with the headers that it chose. */
async function openApplication(policy?: string): Promise<Page> {
  const page = await visitor.context.newPage();
  const query = policy === undefined ? "" : `?opener-policy=${policy}`;
  await page.goto(`${world.gateway.origin}/app${query}`);
  return page;
}

/** Reads a window through a handle that another page of its origin has. */
const READ_WINDOW = `(() => {
  try { return window.kept.closed ? "closed" : window.kept.document.documentElement.outerHTML; }
  catch (error) { return error.name; }
})()`;

/** As text: scripts in the page do not share this file's scope or types. */
function inPage<T = unknown>(page: Page, script: string): Promise<T> {
  return page.evaluate<T>(script);
}

/** The address of one of our pages, as written in a script. */
function addressOf(name: string): string {
  return JSON.stringify(pages.get(name));
}

async function popupOf(page: Page, script: string): Promise<Page> {
  const opened = visitor.context.waitForEvent("page");
  await inPage(page, `void (${script})`);
  return opened;
}

/**
 * Navigates the window of `page`'s handle to the user page (without a redirect, which would drop the handle); afterwards the
 * handle is useless.
 */
async function expectNoHandle(page: Page, led: Page): Promise<void> {
  const isLed = await inPage<boolean>(
    page,
    `Boolean(window.kept) && !window.kept.closed && Boolean(window.kept.location.href = ${addressOf("the user page")})`,
  );
  // Its own policy prevented the handle in the first place.
  if (!isLed) return;
  await led.locator("form").first().waitFor();
  expect(await inPage(page, READ_WINDOW)).toBe("closed");
}

describe.skipIf(missing !== undefined)("an application on the host of our pages", () => {
  test.each(NAMES)("the page is there for its visitor: %s", async (name) => {
    const { page } = visitor;
    const answer = await page.goto(pages.get(name) ?? "");
    expect(answer?.status()).toBe(200);
    expect(await page.content()).toMatch(/name="csrf(_token)?"/);
    expect(answer?.headers()["cross-origin-opener-policy"]).toBe("noopener-allow-popups");
    expect(answer?.headers()["x-frame-options"]).toBe("DENY");
    expect(answer?.headers()["content-security-policy"]).toContain("frame-ancestors 'none'");
  });

  test.each(NAMES)("reads no page of ours with fetch: %s", async (name) => {
    const page = await openApplication();
    const answers = await page.evaluate(
      async (url) => {
        const each = [{}, { mode: "same-origin" }, { mode: "no-cors" }, { headers: { accept: "text/html" } }] as const;
        return Promise.all(
          each.map(async (options) => {
            const answer = await fetch(url, options);
            return { status: answer.status, text: await answer.text() };
          }),
        );
      },
      pages.get(name) ?? "",
    );
    for (const { status, text } of answers) {
      expect(status).toBe(403);
      expect(text).not.toContain("csrf");
    }
    await page.close();
  });

  test.each(NAMES)("reads no page of ours in a frame: %s", async (name) => {
    const page = await openApplication();
    const texts = await inPage<readonly string[]>(
      page,
      `Promise.all(["iframe", "object"].map((kind) => new Promise((resolve) => {
        const element = document.createElement(kind);
        const done = () => {
          try { resolve(element.contentDocument?.documentElement.outerHTML ?? "not readable"); }
          catch { resolve("not readable"); }
        };
        element.addEventListener("load", done);
        element.addEventListener("error", done);
        element[kind === "iframe" ? "src" : "data"] = ${addressOf(name)};
        document.body.append(element);
      })))`,
    );
    expect(texts).toHaveLength(2);
    for (const text of texts) expect(text).not.toContain("csrf");
    await page.close();
  });

  test.each([
    ...NAMES.map((name) => [name, "same-origin"] as const),
    ...OPENER_POLICIES.filter((policy) => policy !== "same-origin").map((policy) => ["the user page", policy] as const),
  ])("keeps no handle on a window of ours: %s, its own opener policy %s", async (name, policy) => {
    const page = await openApplication(policy);
    const popup = await popupOf(page, `window.kept = open(${addressOf(name)})`);
    await popup.locator("form").first().waitFor();
    expect(await inPage(popup, "window.opener")).toBeNull();
    expect(await inPage(page, READ_WINDOW)).toBe("closed");
    await Promise.all([popup.close(), page.close()]);
  });

  test.each(OPENER_POLICIES)(
    "keeps no handle on a window that it leads from its own page to ours, opener policy %s",
    async (policy) => {
      const page = await openApplication(policy);
      const popup = await popupOf(page, "window.kept = open(location.href)");
      await popup.getByText("application").waitFor();
      await expectNoHandle(page, popup);
      await Promise.all([popup.close(), page.close()]);
    },
  );

  // Not among them: "about:blank" with our own policy. Chromium takes it for a page of ours that leads on, and keeps the
  // handle; that is one of the reasons for a sign-in host of its own.
  test.each([
    ...OPENER_POLICIES.map((policy) => ["blob", policy] as const),
    ...OPENER_POLICIES.slice(0, 3).map((policy) => ["about:blank", policy] as const),
  ])(
    "keeps no handle on a window that it wrote itself and leads to ours: %s, opener policy %s",
    async (first, policy) => {
      const page = await openApplication(policy);
      const written = JSON.stringify("<!doctype html><p>written");
      const popup = await popupOf(
        page,
        first === "blob"
          ? `window.kept = open(URL.createObjectURL(new Blob([${written}], { type: "text/html" })))`
          : `(window.kept = open("about:blank")).document.write(${written})`,
      );
      await popup.getByText("written").waitFor();
      await expectNoHandle(page, popup);
      await Promise.all([popup.close(), page.close()]);
    },
  );

  test.each(OPENER_POLICIES)(
    "keeps no handle on the window that opened it and is led to ours, opener policy %s",
    async (policy) => {
      const page = await openApplication(policy);
      const popup = await popupOf(page, "open(location.href)");
      await popup.getByText("application").waitFor();
      await inPage(popup, "void (window.kept = window.opener)");
      await expectNoHandle(popup, page);
      await Promise.all([popup.close(), page.close()]);
    },
  );

  test("sends no form of ours with fetch, not even with a token that it has", async () => {
    const page = await openApplication();
    await visitor.page.goto(pages.get("consent") ?? "");
    // Values learned in some other way.
    const form = await inPage<{ readonly action: string; readonly data: string }>(
      visitor.page,
      `((form) => ({ action: form.action, data: new URLSearchParams(new FormData(form)).toString() }))(
        document.querySelector("form"))`,
    );
    const sent = await page.evaluate(async ({ action, data }) => {
      const body = new URLSearchParams(`${data}&decision=approve`);
      const answer = await fetch(action, { method: "POST", body, redirect: "manual" });
      return { status: answer.status, type: answer.type };
    }, form);
    expect(sent).toEqual({ status: 403, type: "basic" });
    await page.close();
    // The person still can.
    const asked = visitor.page.waitForRequest((request) => request.url().startsWith(REDIRECT_URI));
    await visitor.page.getByRole("button", { name: /allow|approve/i }).click({ noWaitAfter: true });
    expect(new URL((await asked).url()).searchParams.get("code")).toMatch(/./);
  });
});

describe("gateway check", () => {
  const warningsOf = (settings: string, web = true): string =>
    checkFiles([
      {
        file: "gateway.yaml",
        boot: true,
        text: `
development: true
shared_secret: ${"A".repeat(43)}=
runtime_flags: { mcp: true }
idp_provider_url: https://idp.example.com
idp_client_id: gateway
idp_client_secret: secret
${settings}
routes:
  - from: https://one.example.com
    prefix: /mcp
    to: http://mcp.internal
    mcp: { server: {} }
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
  - from: https://${web ? "one" : "other"}.example.com
    prefix: /app
    to: http://app.internal
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`,
      },
    ]).text;

  test("warns if an application shares the host of an MCP server without a separate sign-in host", () => {
    const wanted = /"one\.example\.com" serves a web application and an MCP server/;
    expect(warningsOf("")).toMatch(wanted);
    expect(warningsOf("authenticate_service_url: https://login.example.com")).not.toMatch(wanted);
    expect(warningsOf("", false)).not.toMatch(wanted);
  });
});
