/** The frame of the console, with a screen of the test's own: who gets in, what is done, and what holds forms back. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";

import type { AdminAction } from "../../../runtime/audit/action-record.ts";
import { consoleEndpoints } from "../../../runtime/console/console.ts";
import type { Screen } from "../../../runtime/console/screen.ts";
import { createConsoleRequests } from "../../../runtime/console/console-requests.ts";
import { compileConsole } from "../../../runtime/features/access/console.ts";
import { respondText } from "../../../runtime/http/respond.ts";
import { html } from "../../../runtime/pages/html.ts";
import { confirmForm } from "../../../runtime/pages/console/pieces.ts";
import type { Browser, Page } from "../../support/scripted-browser.ts";
import { APP, AUTH, benchConfig, startSessionBench, type SessionBench } from "../../support/session-bench.ts";

const HOME = `${AUTH}/.gateway/console/things`;
const ALICE = "alice@example.com";
const BOB = "bob@example.com";
const CAROL = "carol@other.example";

const settings = compileConsole({
  name: "Test <b>",
  operator: { allow: { and: [{ groups: { has: "admins" } }] } },
  owners: { "team-a": { viewer: { allow: { and: [{ email: { is: BOB } }] } } } },
});

const done: string[] = [];
let records: AdminAction[] = [];
/** What the action says, in the place of doing it. */
let outcome: "done" | "refused" | "fails" = "done";

const things: Screen = {
  path: "things",
  group: "Monitor",
  icon: "decisions",
  name: "Things",
  show(visit) {
    const form = { action: visit.exchange.path, back: HOME, text: "Sure?", button: "Remove" };
    const fields = [["thing", "lamp"]] as const;
    return Promise.resolve({
      title: "Things",
      body: html`<p id="seen">${[...visit.path, ...visit.query].join(" ")}</p>
        ${confirmForm({ ...form, name: "remove", fields, csrfToken: visit.csrf("remove"), asksReason: true })}
        ${confirmForm({ ...form, button: "Rename", name: "rename", fields, csrfToken: visit.csrf("rename") })}`,
    });
  },
  isForScripts: ([name]) => name === "feed",
  respond({ exchange, path: [name] }) {
    if (name === "feed") respondText(exchange, 200, "fed");
    return Promise.resolve(name === "feed");
  },
  actions: {
    remove: {
      role: "operator",
      isSensitive: true,
      name: "Remove a thing",
      run(_, form) {
        if (outcome === "fails") return Promise.reject(new Error("the wall is down"));
        if (outcome === "refused") return Promise.resolve({ refused: "It is gone already." });
        done.push(`remove ${form.get("thing")} because ${form.get("reason")}`);
        return Promise.resolve({ told: `Removed ${form.get("thing")}.`, to: "/.gateway/console/things" });
      },
    },
    rename: {
      role: "operator",
      isSensitive: false,
      name: "Rename a thing",
      ownerOf: (_, form) => form.get("owner"),
      run(_, form) {
        done.push(`rename ${form.get("thing")}`);
        return Promise.resolve({ told: "Renamed.", to: "/.gateway/console/things" });
      },
    },
  },
};

let bench: SessionBench;
beforeAll(async () => {
  bench = await startSessionBench({
    endpoints: ({ session, keys, clock, log }) => {
      const recordAction = (action: AdminAction): void => void records.push(action);
      const deps = {
        ...session,
        settings,
        keys,
        clock,
        log,
        recordAction,
        deviceProofs: { addressOf: () => undefined },
      };
      return consoleEndpoints({ ...deps, visits: createConsoleRequests(deps), screens: [things] });
    },
  });
});
afterAll(() => bench?.close());
beforeEach(() => {
  done.length = 0;
  records = [];
  outcome = "done";
  // Nobody's rate carries over.
  bench.clock.advance(20_000);
});

async function signedIn(user: string): Promise<{ browser: Browser; page: Page }> {
  const browser = bench.browser();
  return { browser, page: await browser.signIn(HOME, user) };
}

/** The provider has no clock of the test's: what it says of the fresh sign-in must be now. */
async function signedInLongAgo(user: string): Promise<Browser> {
  const now = bench.clock.now();
  bench.clock.set(now - 16 * 60_000);
  const { browser } = await signedIn(user);
  bench.clock.set(now);
  return browser;
}

const seen = ({ text }: Page): string | undefined => /<p id="seen">(.*?)<\/p>/.exec(text)?.[1];
const tokenOf = ({ text }: Page, action: string): string =>
  new RegExp(`value="${action}"[^]*?name="csrf_token" value="([\\w-]+)"`).exec(text)?.[1] ?? "";

async function post(
  browser: Browser,
  form: Readonly<Record<string, string>>,
  { headers = {}, from = HOME }: { readonly headers?: Readonly<Record<string, string>>; readonly from?: string } = {},
): Promise<Page> {
  return browser.open(HOME, {
    method: "POST",
    body: new URLSearchParams(form).toString(),
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    from,
  });
}

describe("who gets in", () => {
  it("leads to the sign-in and back to the same filtered address", async () => {
    const page = await bench.browser().signIn(`${HOME}/a%20b?user=x&outcome=denied`, ALICE);
    expect([page.status, page.url]).toEqual([200, `${HOME}/a%20b?user=x&outcome=denied`]);
    expect(seen(page)).toBe("a b user,x outcome,denied");
    expect(page.text).toContain('<strong class="environment">Test &#60;b&#62;</strong>');
    expect(page.text).toContain('<strong>alice@example.com</strong><span class="roles">operator</span>');
  });

  it("says of an owner's viewer that this is what they are", async () => {
    const { page } = await signedIn(BOB);
    expect(page.status).toBe(200);
    expect(page.text).toContain('<strong>bob@example.com</strong><span class="roles">viewer of team-a</span>');
  });

  it("answers who has no role as any policy does, without a word of what is there", async () => {
    const { page } = await signedIn(CAROL);
    expect(page.status).toBe(403);
    expect(page.text).toContain("access.denied");
    expect(page.text).not.toMatch(/console|Things/i);
  });

  it("records what a user without a role asks for, and forms of theirs that come from elsewhere", async () => {
    const { browser } = await signedIn(CAROL);
    await browser.open(`${AUTH}/.gateway/console/people/alice?secret=1`);
    await post(browser, {});
    await post(browser, {}, { from: `${APP}/` });
    const denied = { action: "console", by: "u-carol", outcome: "refused" };
    expect(records).toEqual([
      // Of the sign-in.
      { ...denied, target: "console/things", reason: "no role" },
      { ...denied, target: "console/people/alice", reason: "no role" },
      { ...denied, target: "console/things", reason: "no role" },
      { ...denied, target: "console/things", reason: "the form came from elsewhere" },
    ]);
    // Who is not signed in leaves none: anyone can send any number of such requests.
    records = [];
    await bench.browser().open(HOME, { follow: false });
    expect(records).toEqual([]);
  });

  it("tells a user whose role has ended that it did, and leads back", async () => {
    const { browser } = await signedIn(CAROL);
    const headers = { referer: `${HOME}?user=x` };
    const page = await browser.open(`${HOME}/a`, { headers });
    expect([page.status, page.text.includes("no longer has access here")]).toEqual([403, true]);
    expect(page.text).toContain(`href="/.gateway/console/things?user=x"`);
    const form = await post(browser, {}, { headers });
    expect(form.text).toContain("No changes were made. Your account no longer has access here");
    const stranger = await browser.open(`${HOME}/a`, { headers: { referer: `${APP}/.gateway/console/things` } });
    expect(stranger.text).toContain("has no access here");
  });

  it("is on the host of sign-in pages alone, and on none without it", async () => {
    const { browser } = await signedIn(ALICE);
    expect((await browser.open(`${APP}/.gateway/console/things`)).status).toBe(404);
    bench.configure(benchConfig(bench.idp.issuer).replace(/authenticate_service_url.*\n/, ""));
    const page = await bench.browser().open(`${APP}/.gateway/console/things`);
    bench.configure(benchConfig(bench.idp.issuer));
    expect(page.status).toBe(404);
  });

  it("goes from the console's own address to the first screen, and has a page for what is nowhere", async () => {
    const { browser } = await signedIn(ALICE);
    expect((await browser.open(`${AUTH}/.gateway/console/`)).url).toBe(HOME);
    expect((await browser.open(`${AUTH}/.gateway/console`)).url).toBe(HOME);
    expect((await browser.open(`${AUTH}/.gateway/console/nowhere`)).status).toBe(404);
  });

  it("gives pages to windows alone, and feeds to scripts of this very host alone", async () => {
    const { browser } = await signedIn(ALICE);
    const script = { mode: "cors", from: HOME } as const;
    expect((await browser.open(HOME, script)).status).toBe(403);
    expect((await browser.open(`${HOME}/feed`, script)).text).toBe("fed");
    expect((await browser.open(`${HOME}/feed`, { mode: "cors", from: APP })).status).toBe(404);
    expect((await browser.open(`${HOME}/feed`)).status).toBe(404);
  });

  it("has exact headers, and a stylesheet and scripts that everyone may read", async () => {
    const { browser, page } = await signedIn(ALICE);
    const policy = page.headers["content-security-policy"] ?? "";
    expect(String(policy).replace(/style\.[\w-]{16}\.css/, "style.HASH.css")).toBe(
      "default-src 'none'; style-src https://auth.example.com/.gateway/console/style.HASH.css; script-src https://auth.example.com/.gateway/console/scripts/time.js; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    );
    expect(page.headers["cache-control"]).toBe("no-store");
    const script = await browser.open(`${AUTH}/.gateway/console/scripts/time.js`, { mode: "cors", from: HOME });
    expect([script.status, script.headers["content-type"]]).toEqual([200, "text/javascript; charset=utf-8"]);
    const [, address = ""] = /<link rel="stylesheet" href="([^"]+)"/.exec(page.text) ?? [];
    const style = await browser.open(AUTH + address, { mode: "cors", from: HOME });
    expect([style.status, style.headers["content-type"], style.headers["cache-control"]]).toEqual([
      200,
      "text/css; charset=utf-8",
      "public, max-age=31536000, immutable",
    ]);
  });

  it("slows down who asks for more than anybody reads", async () => {
    const { browser } = await signedIn(BOB);
    let status = 200;
    for (let asked = 0; asked < 70 && status === 200; asked += 1) status = (await browser.open(HOME)).status;
    expect(status).toBe(429);
    // Of one person, and not for long.
    expect((await signedIn(ALICE)).page.status).toBe(200);
    bench.clock.advance(1_000);
    expect((await browser.open(HOME)).status).toBe(200);
  });
});

describe("a session that ended", () => {
  const ended = "Your session has ended";
  /** Signed in days ago, with the cookie that a browser would not have dropped yet. */
  const longGone = async (user: string): Promise<Browser> => {
    const now = bench.clock.now();
    bench.clock.set(now - 30 * 86_400_000);
    const { browser } = await signedIn(user);
    bench.clock.set(now);
    return browser;
  };

  it("is reported, and the sign-in leads back to the same address", async () => {
    const browser = await longGone(ALICE);
    const page = await browser.open(`${HOME}/a?user=x&outcome=denied`, { headers: { referer: HOME } });
    expect([page.status, page.text.includes(ended)]).toEqual([401, true]);
    const back = await browser.click(page, "Sign in");
    // The provider still knows the user.
    expect([back.url, seen(back)]).toEqual([`${HOME}/a?user=x&outcome=denied`, "a user,x outcome,denied"]);
  });

  it("is reported for a form that changed nothing, with the way back to the page that had it", async () => {
    const browser = await longGone(ALICE);
    const form = { action: "rename", thing: "lamp", csrf_token: "of the page from before" };
    const answer = await post(browser, form, { headers: { referer: `${HOME}/a?b=c` } });
    expect([answer.status, done]).toEqual([401, []]);
    expect(answer.text).toContain("No changes were made. Sign in and send the form again.");
    expect((await browser.click(answer, "Sign in")).url).toBe(`${HOME}/a?b=c`);
    expect(done).toEqual([]);
  });

  it("is not reported to a browser that had none", async () => {
    const page = await bench.browser().open(HOME, { follow: false });
    expect([page.status, page.text.includes(ended)]).toEqual([302, false]);
  });

  it.each([
    "https://evil.example/",
    "//evil.example/.gateway/console/",
    "/.gateway/sign_out",
    "/.gateway/console/../user",
    "",
  ])("leads to no other page than those of the console: %j", async (to) => {
    const { browser } = await signedIn(ALICE);
    const page = await browser.open(`${AUTH}/.gateway/console/sign-in?${new URLSearchParams({ to }).toString()}`);
    expect([page.status, page.url]).toEqual([200, HOME]);
  });
});

describe("an address", () => {
  it("is refused where something stands in it twice, or is no text", async () => {
    const { browser } = await signedIn(ALICE);
    for (const query of ["?user=a&user=b", "?user=%ff"]) {
      const page = await browser.open(HOME + query);
      expect([page.status, seen(page)]).toEqual([400, undefined]);
    }
  });
});

describe("what is done", () => {
  it("is done after a fresh sign-in, told once on the next page", async () => {
    const { browser, page } = await signedIn(ALICE);
    const after = await browser.submit(page, { button: "Remove", values: { reason: "dark" } });
    expect(done).toEqual(["remove lamp because dark"]);
    expect(after.hops.map(({ status }) => status)).toEqual([303, 200]);
    expect(after.text).toContain('role="status">Removed lamp.</p>');
    expect((await browser.open(HOME)).text).not.toContain("Removed lamp.");
  });

  it("asks for a sign-in when the last one is 15 minutes ago, and keeps what was chosen", async () => {
    const browser = await signedInLongAgo(ALICE);
    const page = await browser.open(HOME);
    const asked = await browser.submit(page, { button: "Remove", values: { reason: "dark & <deep>" } });
    expect(asked.status).toBe(403);
    expect(done).toEqual([]);
    const provider = await browser.click(asked, "Sign in again");
    // It asks, though it knows who this is.
    expect(new URL(provider.hops.find(({ url }) => url.includes("/auth?"))?.url ?? "").searchParams.get("prompt")).toBe(
      "login",
    );
    const sessions = await bench.store.store.list("sessions");
    const back = await browser.click(provider, ALICE);
    expect(back.status).toBe(200);
    expect(back.text).toContain("Confirm the action:");
    expect(back.text).toContain("dark &#38; &#60;deep&#62;");
    expect(done).toEqual([]);
    const after = await browser.submit(back, { button: "Remove a thing" });
    expect([after.url, done]).toEqual([HOME, ["remove lamp because dark & <deep>"]]);
    // The session went on.
    expect((await bench.store.store.list("sessions")).length).toBe(sessions.length);
  });

  it("asks for one where nobody said when the person was last asked: the provider may have let them in by itself", async () => {
    const { browser, page } = await signedIn(ALICE);
    const { sid } = JSON.parse((await browser.open(`${APP}/`)).text) as { sid: string };
    const { store } = bench.store;
    const session = await store.get<{ authenticatedAt?: number }>(`session:${sid}`);
    const { authenticatedAt, ...rest } = session?.value ?? {};
    expect(authenticatedAt).toBeTypeOf("number");
    const { tags = [], expiresAt = 0, version = 0 } = session ?? {};
    await store.put(`session:${sid}`, rest, { ifVersion: version, expiresAt, tags });
    const asked = await browser.submit(page, { button: "Remove", values: { reason: "x" } });
    expect([asked.status, done]).toEqual([403, []]);
    const back = await browser.click(await browser.click(asked, "Sign in again"), ALICE);
    await browser.submit(back, { button: "Remove a thing" });
    expect(done).toEqual(["remove lamp because x"]);
  });

  it("does nothing for another person who comes back from that sign-in", async () => {
    const browser = await signedInLongAgo(ALICE);
    const asked = await browser.submit(await browser.open(HOME), { button: "Remove", values: { reason: "x" } });
    const leaving = await browser.click(await browser.click(asked, "Sign in again"), BOB);
    // The provider ends its own session first, by a form that sends itself.
    const back = await browser.submit(leaving);
    expect(back.text).toContain("expired or belongs to another user");
    expect(back.text).not.toContain("Remove a thing");
  });

  it("does nothing where the provider says that it did not ask", async () => {
    const { browser, page } = await signedIn(ALICE);
    // For the gateway, whose clock this is, what the provider says of now is long ago.
    const now = bench.clock.now();
    bench.clock.advance(60 * 60_000);
    const asked = await browser.submit(page, { button: "Remove", values: { reason: "x" } });
    const back = await browser.click(await browser.click(asked, "Sign in again"), ALICE);
    bench.clock.set(now);
    expect([back.status, back.text.includes("sign-in.refused"), done]).toEqual([403, true, []]);
  });

  it("needs no fresh sign-in for what is not grave, and the role where it is done", async () => {
    const browser = await signedInLongAgo(ALICE);
    const page = await browser.open(HOME);
    expect((await browser.submit(page, { button: "Rename" })).text).toContain("Renamed.");
    expect(done).toEqual(["rename lamp"]);
  });

  it("refuses and records what needs another role, of that owner too", async () => {
    const { browser, page } = await signedIn(BOB);
    const refused = await browser.submit(page, { button: "Rename", values: { owner: "team-a" } });
    expect(refused.status).toBe(403);
    expect(refused.text).toContain(
      'role="alert">No changes were made: this requires the role operator for owner team-a.',
    );
    expect((await browser.submit(page, { button: "Rename" })).status).toBe(403);
    const sent = { action: "console", by: "u-bob", target: "console/things rename", outcome: "refused" };
    expect(records).toEqual([
      { ...sent, reason: "needs the role operator" },
      { ...sent, reason: "needs the role operator" },
    ]);
    expect(done).toEqual([]);
  });

  it("tells and records what was not done, and what may have been", async () => {
    const { browser, page } = await signedIn(ALICE);
    outcome = "refused";
    const refused = await browser.submit(page, { button: "Remove", values: { reason: "x" } });
    expect([refused.status, refused.text.includes("It is gone already.")]).toEqual([409, true]);
    outcome = "fails";
    const failed = await browser.submit(page, { button: "Remove", values: { reason: "x" } });
    expect(failed.status).toBe(503);
    expect(failed.text).not.toContain("wall");
    expect(records.map(({ outcome: how, reason }) => [how, reason])).toEqual([
      ["refused", "It is gone already."],
      ["failed", "the wall is down"],
    ]);
  });
});

describe("forms that are not ours", () => {
  const FORM = { action: "remove", thing: "lamp", reason: "x" };

  it("are refused and recorded, whichever wall holds them back", async () => {
    const { browser, page } = await signedIn(ALICE);
    const token = tokenOf(page, "remove");
    expect(token).not.toBe("");
    const other = await signedIn(ALICE);
    const attempts: readonly (readonly [string, Promise<Page>])[] = [
      ["no token", post(browser, FORM)],
      ["another form's token", post(browser, { ...FORM, csrf_token: tokenOf(page, "rename") })],
      ["another session's token", post(browser, { ...FORM, csrf_token: tokenOf(other.page, "remove") })],
      ["no such action", post(browser, { ...FORM, action: "constructor", csrf_token: token })],
      ["a script", browser.open(HOME, { method: "POST", body: "", mode: "cors", from: HOME })],
      ["another host's page", post(browser, { ...FORM, csrf_token: token }, { from: `${APP}/` })],
    ];
    for (const [what, attempt] of attempts) expect([what, (await attempt).status]).toEqual([what, 403]);
    expect(done).toEqual([]);
    expect(new Set(records.map(({ by, outcome: how }) => `${by} ${how}`))).toEqual(new Set(["u-alice refused"]));
    expect(records.length).toBeGreaterThanOrEqual(5);
    expect((await post(browser, { ...FORM, csrf_token: token })).status).toBe(200);
    expect(done).toHaveLength(1);
  });

  it("bring nobody in who is signed out, and nothing that is too long", async () => {
    expect((await post(bench.browser(), FORM)).status).toBe(401);
    const { browser, page } = await signedIn(ALICE);
    const long = { ...FORM, reason: "x".repeat(20_000), csrf_token: tokenOf(page, "remove") };
    expect((await post(browser, long)).status).toBe(403);
    expect(done).toEqual([]);
  });
});
