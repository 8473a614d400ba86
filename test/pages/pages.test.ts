/**
 * Our pages in a real browser, with a whole gateway: appearance, axe results, browser warnings, and use by keyboard and
 * without JavaScript.
 */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Browser, Page, Response } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import {
  findAccessibilityProblems,
  findLookProblems,
  launchChromium,
  missingChromium,
  newVisitor,
  takePicture,
  type Visitor,
  type VisitorOptions,
} from "../support/chromium.ts";
import { startEchoUpstream, type EchoUpstream } from "../support/echo-upstream.ts";
import { startMcpGateway } from "../support/mcp-gateway.ts";
import { createSend } from "../support/browser.ts";
import { createOAuthClient, createPkce, signInClient } from "../support/oauth-client.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";

const missing = missingChromium();
if (missing !== undefined) console.log(`pages are not driven: ${missing}`);

let upstream: EchoUpstream;
let world: SignInGateway;
/** Where calls of tools need approvals, on a host of their own; with the branding of a company. */
let asking: SignInGateway;
let files: string;
let client: Server;
let clientOrigin: string;
let browser: Browser;

beforeAll(async () => {
  if (missing !== undefined) return;
  upstream = await startEchoUpstream();
  world = await startSignInGateway({
    yaml: `
mcp_allowed_client_id_domains: [clients.example]
support_url: https://help.example.com/
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${upstream.origin}
    mcp: { server: { path: /mcp } }
    policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  - name: notes
    from: "{origin}"
    prefix: /notes
    to: ${upstream.origin}
    mcp: { server: { path: /mcp } }
    policy: [{ allow: { and: [{ groups: { has: engineering } }] } }]
  - name: wiki
    from: "{origin}"
    prefix: /wiki
    to: ${upstream.origin}
    policy: [{ allow: { and: [{ groups: { has: engineering } }] } }]
  - name: gone
    from: "{origin}"
    prefix: /gone
    to: http://127.0.0.1:9
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`,
  });
  files = await mkdtemp(join(tmpdir(), "pages-"));
  await writeFile(join(files, "logo.svg"), LOGO);
  asking = await startSignInGateway({
    pagesHost: "127.0.0.1",
    boot: {
      console: { viewer: { allow: { and: [{ email: { is: "bob@example.com" } }] } } },
      branding: { name: "Acme Access", logo_file: join(files, "logo.svg"), color: "#00695c" },
    },
    yaml: `
routes:
  - name: repositories
    from: "{origin}"
    prefix: /tools
    to: ${upstream.origin}
    mcp: { server: { path: /mcp } }
    policy:
      - allow: { and: [{ domain: { is: example.com } }] }
      - approve: { and: [{ mcp_tool: { starts_with: delete_ } }] }
      - approve: { and: [{ mcp_tool: { is: delete_everything } }] }
        approvers: [admins, release-managers]
`,
  });
  // The application that the answer goes to.
  client = createServer((request, response) => {
    response.writeHead(200, { "content-type": "text/html" });
    response.end(
      `<!doctype html><html lang="en"><title>Client</title><p id="query">${new URL(request.url ?? "/", "http://client").search.replaceAll("&", "&amp;")}</p></html>`,
    );
  });
  await new Promise<void>((resolve) => void client.listen(0, "127.0.0.1", resolve));
  clientOrigin = `http://127.0.0.1:${(client.address() as AddressInfo).port}`;
  browser = await launchChromium();
});

afterAll(async () => {
  await browser?.close();
  client?.closeAllConnections();
  client?.close();
  await world?.close();
  await asking?.close();
  if (files !== undefined) await rm(files, { recursive: true });
  await upstream?.close();
});

/** A logo that would change the page if it could run. */
const LOGO = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 80 40"><rect width="80" height="40" rx="8" fill="#00695c"/>
<script>document.documentElement.setAttribute("data-ran", "yes")</script></svg>`;

/** Registers an MCP client and makes the address that it sends its user to. */
async function authorizeUrl(
  options: {
    readonly route?: string;
    /** Address of the MCP server; that of `route` by default. */
    readonly resource?: string;
    readonly redirectUri?: string;
    readonly query?: Readonly<Record<string, string>>;
  } = {},
): Promise<string> {
  const resource = options.resource ?? `${world.gateway.origin}/${options.route ?? "tools"}/mcp`;
  const redirectUri = options.redirectUri ?? `${clientOrigin}/callback`;
  const { client_id } = await createOAuthClient({ resource }).register({
    client_name: "Notebook for Researchers",
    redirect_uris: [redirectUri],
  });
  const query = new URLSearchParams({
    response_type: "code",
    client_id,
    redirect_uri: redirectUri,
    code_challenge: createPkce().challenge,
    code_challenge_method: "S256",
    state: "state-of-the-client",
    resource,
    ...options.query,
  });
  return `${new URL(resource).origin}/.gateway/mcp/authorize?${query.toString()}`;
}

const ACCENT = "getComputedStyle(document.body).getPropertyValue('--accent')";
const LOGO_SIZE =
  "(({ naturalWidth, width, height }) => [naturalWidth > 0, width, height])(document.querySelector('.brand img'))";

async function chooseUser(page: Page, user: string): Promise<void> {
  await page.getByRole("link", { name: user }).click();
}

async function open(page: Page, path: string, user = "alice@example.com"): Promise<void> {
  await page.goto(path.startsWith("http") ? path : world.gateway.origin + path);
  if (await page.getByText("Who are you?").isVisible()) await chooseUser(page, user);
}

/** Here and, as its page offers, at the provider. */
async function signOut(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("heading", { name: /identity provider too/ }).waitFor();
  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await page.getByRole("heading", { name: "Signed out" }).waitFor();
}

/** Every page, and how a person comes to it. The heading proves that it is the page meant. */
const pages: readonly (readonly [name: string, heading: RegExp, go: (page: Page) => Promise<void>])[] = [
  ["not-found", /page not found/i, (page) => open(page, "/nothing-here")],
  ["below-gateway", /page not found/i, (page) => open(page, "/.gateway/nothing-here")],
  ["access-denied", /don’t have access to localhost/, (page) => open(page, "/wiki/page", "bob@example.com")],
  [
    "mcp-address",
    /for MCP clients/,
    async (page) => {
      await page.goto(`${world.gateway.origin}/tools/mcp`);
      await page.getByText("VS Code").click();
    },
  ],
  ["upstream-gone", /not available/i, (page) => open(page, "/gone/")],
  [
    "sign-in-refused",
    /sign-in failed/i,
    async (page) => {
      await page.goto(`${world.gateway.origin}/wiki/`);
      await page.goto(`${page.url()}/nobody`);
    },
  ],
  ["sign-in-lost", /sign-in failed/i, (page) => open(page, "/.gateway/callback?code=x&state=y")],
  ["consent-loopback", /Notebook for Researchers/, async (page) => open(page, await authorizeUrl())],
  [
    "consent-web",
    /Notebook for Researchers/,
    async (page) => open(page, await authorizeUrl({ redirectUri: "https://notebook.example.com/callback" })),
  ],
  [
    "consent-no-access",
    /no access/i,
    async (page) => open(page, await authorizeUrl({ route: "notes" }), "bob@example.com"),
  ],
  ["consent-gone", /./, (page) => open(page, "/.gateway/mcp/consent?request=gone")],
  [
    "client-unknown",
    /unknown application/i,
    async (page) => open(page, await authorizeUrl({ query: { client_id: "gwc_gone" } })),
  ],
  [
    "client-not-permitted",
    /not permitted/i,
    async (page) => open(page, await authorizeUrl({ query: { client_id: "https://other.example/client.json" } })),
  ],
  [
    "client-request-refused",
    /refused/i,
    async (page) =>
      open(
        page,
        await authorizeUrl({ redirectUri: "https://notebook.example.com/callback", query: { response_type: "token" } }),
      ),
  ],
  [
    "approval",
    /Approve one call of delete_repo\?/,
    async (page) => open(page, await askForApproval("delete_repo"), "bob@example.com"),
  ],
  [
    "approval-by-others",
    /delete_everything is pending approval/,
    async (page) => open(page, await askForApproval("delete_everything"), "bob@example.com"),
  ],
  ["user", /Alice Example/, (page) => open(page, "/.gateway/")],
  [
    "sign-out",
    /sign out\?/i,
    async (page) => {
      await open(page, "/.gateway/");
      await page.goto(`${world.gateway.origin}/.gateway/sign_out`);
    },
  ],
  [
    "signed-out",
    /signed out/i,
    async (page) => {
      await open(page, "/.gateway/");
      await page.goto(`${world.gateway.origin}/.gateway/sign_out`);
      await signOut(page);
    },
  ],
];

/** Bob's application calls a tool. @returns the URL in the response */
async function askForApproval(tool: string): Promise<string> {
  const resource = `${asking.gateway.origin}/tools/mcp`;
  const metadata = { client_name: "Notebook for Researchers" };
  const { tokens } = await signInClient({ resource, user: "bob@example.com", metadata });
  const given = {
    repo: "gateway-with-a-rather-long-name-that-fits-no-narrow-screen-in-one-line",
    reason: "<b>bold</b> \u202etxt.exe\u200b",
    options: { force: true, after: ["2026-11-23", 12345678901234567890n.toString()], limits: {} },
  };
  const params = { name: tool, arguments: given, task: { ttl: 60_000 } };
  const answer = await createSend()({
    method: "POST",
    url: resource,
    headers: {
      authorization: `Bearer ${tokens.access_token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  });
  const { error } = answer.json() as { readonly error: { readonly data: { readonly approval_url: string } } };
  return error.data.approval_url;
}

async function withVisitor(options: VisitorOptions, visit: (visitor: Visitor) => Promise<void>): Promise<void> {
  const visitor = await newVisitor(browser, options);
  try {
    await visit(visitor);
  } finally {
    await visitor.context.close();
  }
}

describe.skipIf(missing !== undefined)("pages in Chromium", () => {
  test.each(pages)(
    "%s is accessible in light and dark, respects its own policy and fits a narrow screen",
    async (name, heading, go) => {
      await withVisitor({}, async ({ page, consoleErrors }) => {
        await go(page);
        expect(await page.getByRole("heading", { level: 1 }).innerText()).toMatch(heading);
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

  describe("consent", () => {
    test.each([
      ["approve", "Allow", /^\?code=[^&]+&state=state-of-the-client&iss=/],
      ["deny", "Cancel", /^\?error=access_denied&.*state=state-of-the-client&iss=/],
    ])("%s goes back to the application, without JavaScript", async (_, button, query) => {
      await withVisitor({ javaScript: false }, async ({ page, consoleErrors }) => {
        await open(page, await authorizeUrl());
        await page.getByRole("button", { name: button }).click();
        await page.waitForURL(`${clientOrigin}/callback?**`);
        expect(new URL(page.url()).search).toMatch(query);
        expect(consoleErrors).toEqual([]);
      });
    });

    test("warns of loopback addresses, and only of them", async () => {
      await withVisitor({}, async ({ page }) => {
        await open(page, await authorizeUrl());
        expect(await page.getByRole("note").innerText()).toMatch(/on this computer/);
        await open(page, await authorizeUrl({ redirectUri: "https://notebook.example.com/callback" }));
        expect(await page.getByRole("note").count()).toBe(0);
      });
    });

    test("is operable with the keyboard: the safe order, a visible focus, Enter sends", async () => {
      await withVisitor({}, async ({ page }) => {
        await open(page, await authorizeUrl());
        const order: string[] = [];
        const focused = "document.activeElement";
        for (let step = 0; step < 3; step += 1) {
          await page.evaluate(`window.before = ${focused}`);
          await page.keyboard.press("Tab");
          // A busy browser moves the focus after it has taken the key.
          await page.waitForFunction(`window.before !== ${focused}`);
          order.push(
            await page.evaluate<string>(`${focused}.innerText + " " + getComputedStyle(${focused}).outlineStyle`),
          );
        }
        expect(order).toEqual(["Not you? solid", "Cancel solid", "Allow solid"]);
        await page.keyboard.press("Enter");
        await page.waitForURL(`${clientOrigin}/callback?code=**`);
      });
    });

    test("goes from the server's host over the pages' host back to the application", async () => {
      const apart = await startMcpGateway({ authenticateHost: true });
      try {
        await withVisitor({}, async ({ page, consoleErrors }) => {
          await page.goto(await authorizeUrl({ resource: apart.resource }));
          await chooseUser(page, "alice@example.com");
          expect(new URL(page.url()).hostname).toBe("127.0.0.1");
          await page.getByRole("button", { name: "Allow" }).click();
          await page.waitForURL(`${clientOrigin}/callback?code=**`);
          expect(new URL(page.url()).searchParams.get("iss")).toBe(apart.gateway.origin);
          expect(consoleErrors).toEqual([]);
        });
      } finally {
        await apart.close();
      }
    });

    test("a page of another site cannot frame it", async () => {
      await withVisitor({}, async ({ page, consoleErrors }) => {
        const url = await authorizeUrl();
        await open(page, url);
        await page.goto(clientOrigin);
        await page.setContent(`<iframe src="${url.replaceAll("&", "&amp;")}"></iframe>`);
        await expect
          .poll(() => consoleErrors.join("\n"))
          .toMatch(/frame-ancestors|X-Frame-Options|refused to connect|Refused to (display|frame)|Framing/i);
      });
    });
  });

  test("the account page shows an application's access, and revokes it", async () => {
    const resource = `${world.gateway.origin}/tools/mcp`;
    const oauth = createOAuthClient({ resource });
    const redirectUri = `${clientOrigin}/callback`;
    const { client_id } = await oauth.register({ client_name: "Lab Book", redirect_uris: [redirectUri] });
    const { verifier, challenge } = createPkce();
    const query = { client_id, code_challenge: challenge };
    await withVisitor({}, async ({ page, consoleErrors }) => {
      await open(page, await authorizeUrl({ query }));
      await page.getByRole("button", { name: "Allow" }).click();
      await page.waitForURL(`${redirectUri}?**`);
      const code = new URL(page.url()).searchParams.get("code") ?? "";
      const form = { grant_type: "authorization_code", code, redirect_uri: redirectUri, code_verifier: verifier };
      const refresh_token = String((await oauth.sendToken({ ...form, client_id })).json()["refresh_token"]);

      await open(page, "/.gateway/");
      await takePicture(page, "user-applications-light");
      expect(await findAccessibilityProblems(page)).toEqual([]);
      await page.getByRole("button", { name: "End access of Lab Book" }).click();
      await page.getByRole("button", { name: "End access of Lab Book" }).waitFor({ state: "detached" });
      const refused = await oauth.sendToken({ grant_type: "refresh_token", refresh_token, client_id });
      expect([refused.status, refused.json()["error"]]).toEqual([400, "invalid_grant"]);
      // Its consent is also deleted: the application has to ask again.
      expect(await page.getByText("Lab Book").count()).toBe(0);
      expect(consoleErrors).toEqual([]);
    });
  });

  test("a user who opens an MCP address finds the account page from there, without JavaScript", async () => {
    await withVisitor({ javaScript: false }, async ({ page, consoleErrors }) => {
      const answer = await page.goto(`${world.gateway.origin}/tools/mcp`);
      expect(answer?.status()).toBe(401);
      expect(await page.locator("pre").first().innerText()).toBe(`${world.gateway.origin}/tools/mcp`);
      const recipe = page.locator("details", { hasText: "VS Code" });
      expect(await recipe.locator("pre").isVisible()).toBe(false);
      await recipe.locator("summary").click();
      expect(await recipe.locator("pre").innerText()).toContain(`"url": "${world.gateway.origin}/tools/mcp"`);
      await page.getByRole("link", { name: "Open your page" }).click();
      await chooseUser(page, "alice@example.com");
      await page.getByRole("heading", { name: "Hello Alice Example" }).waitFor();
      expect(consoleErrors).toEqual([]);
    });
  });

  test("branding is on users' pages, error pages and the console, in light and dark", async () => {
    const pagesOrigin = asking.gateway.origin.replace("localhost", "127.0.0.1");
    await withVisitor({}, async (visitor) => {
      const { page, context, consoleErrors } = visitor;
      const loaded: Response[] = [];
      page.on("response", (response) => {
        if (response.url().includes("/logo.")) loaded.push(response);
      });
      for (const [name, path, heading] of [
        ["portal", "/.gateway/", "Hello Bob Example"],
        ["error", "/.gateway/approvals/nothing-here", "Page not found"],
        ["console", "/.gateway/console/servers", "Servers and apps"],
      ] as const) {
        await open(page, pagesOrigin + path, "bob@example.com");
        expect(await page.getByRole("heading", { level: 1 }).innerText()).toBe(heading);
        expect(await page.locator(".brand").innerText()).toContain("Acme Access");
        expect(await page.evaluate(LOGO_SIZE)).toEqual([true, 48, 24]);
        expect(await findLookProblems(visitor, `branded-${name}`)).toEqual([]);
        expect(await page.evaluate(ACCENT)).toBe("#00695c");
        await page.emulateMedia({ colorScheme: "dark" });
        expect(await page.evaluate(ACCENT)).toMatch(/^#(?!00695c)[0-9a-f]{6}$/);
        await page.emulateMedia({ colorScheme: "light" });
      }
      expect(await page.title()).toBe("Servers and apps · Acme Access console");
      // One file for all pages, asked once.
      const [first] = loaded;
      expect(new Set(loaded.map((response) => response.url())).size).toBe(1);
      expect(first?.headers()).toMatchObject({
        "content-type": "image/svg+xml",
        "cache-control": "public, max-age=31536000, immutable",
        "x-content-type-options": "nosniff",
      });
      // Opened as a window, it runs as little as in a page.
      const logo = await context.newPage();
      await logo.goto(first?.url() ?? "");
      expect(await logo.locator("rect").count()).toBe(1);
      expect(await logo.locator("svg").getAttribute("data-ran")).toBeNull();
      expect(consoleErrors).toEqual([]);
    });
  });

  test("sign-out works without JavaScript, and the next page requires sign-in", async () => {
    await withVisitor({ javaScript: false }, async ({ page }) => {
      await open(page, "/.gateway/");
      await signOut(page);
      await page.goto(`${world.gateway.origin}/.gateway/`);
      expect(page.url()).toContain(world.identityProvider.issuer);
    });
  });
});
