/** Users of a second identity provider: how they are distinguished, and which provider gets which request. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import type { IdentityRecord } from "../../runtime/identity/identity-records.ts";
import { openPostgresStore } from "../../runtime/store/postgres/postgres.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { findPostgres, type Postgres, startPostgres } from "../support/postgres.ts";
import type { Browser, Page } from "../support/scripted-browser.ts";
import { APP, AUTH, benchConfig, type SessionBench, startSessionBench } from "../support/session-bench.ts";
import { startSecondProvider, type SecondProvider } from "../support/two-providers.ts";

/** The same subject and the same address at both. */
const ONE = { id: "1", email: "one@example.com" };
const HERE = [{ ...ONE, name: "Here", groups: ["staff"] }];
const THERE = [{ ...ONE, name: "There", groups: ["visitors"], claims: { tid: "tenant-1" } }];

let corp: SecondProvider;
let bench: SessionBench;
beforeAll(async () => {
  corp = await startSecondProvider("corp", AUTH, { users: THERE });
  bench = await startSessionBench({ idp: { users: HERE }, settings: corp.settings() });
});
afterAll(async () => {
  await bench.close();
  await corp.idp.close();
});
beforeEach(() => configure());

const configure = (settings = corp.settings()): void => bench.configure(benchConfig(bench.idp.issuer, settings));

/** The upstream's response. */
const seen = (page: Page): Record<string, unknown> => {
  expect([page.status, page.text]).toEqual([200, expect.stringContaining('"user"')]);
  return (JSON.parse(page.text) as { user: Record<string, unknown> }).user;
};
const CHOICE = "Where do you sign in?";
const host = (issuer: string): string => new URL(issuer).host;

/** On the page of choices first, then at the provider. */
async function signInAt(browser: Browser, label: string): Promise<Page> {
  const choice = await browser.open(`${APP}/`);
  expect(choice.text).toContain(CHOICE);
  return browser.click(await browser.click(choice, label), ONE.email);
}

/** Up to where the provider would send the browser back. */
async function upToCallback(browser: Browser, label: string): Promise<URL> {
  const at = await browser.click(await browser.open(`${APP}/`), label);
  const page = await browser.click(at, ONE.email, { follow: `${AUTH}/.gateway/callback` });
  return new URL(page.hops.at(-1)?.location ?? "");
}

/** Case 21 of the research. */
describe("two providers with the same subject and address", () => {
  test("have two users, each with the claims of their own provider", async () => {
    const [here, there] = [bench.browser(), bench.browser()];
    const local = seen(await signInAt(here, host(bench.idp.issuer)));
    expect(local).toMatchObject({ id: "1", name: "Here", groups: ["staff"], email: ONE.email });
    const other = seen(await signInAt(there, "CORP"));
    expect(other).toMatchObject({ id: "issuer:corp/1", name: "There", groups: ["visitors"] });
    expect(other["claims"]).toMatchObject({ sub: "issuer:corp/1", tid: "tenant-1" });
  });

  test("are refreshed at their own provider, and revoked separately", async () => {
    const [here, there] = [bench.browser(), bench.browser()];
    await signInAt(here, host(bench.idp.issuer));
    await signInAt(there, "CORP");
    const before = [bench.idp.calls.refresh, corp.idp.calls.refresh];
    expect(await bench.session.identities.refresh("issuer:corp/1")).toMatchObject({ ok: true });
    expect([bench.idp.calls.refresh, corp.idp.calls.refresh]).toEqual([before[0], (before[1] ?? 0) + 1]);
    await bench.session.revocations.revoke("user:issuer:corp/1");
    expect((await there.open(`${APP}/`, { follow: false })).status).toBe(302);
    expect(seen(await here.open(`${APP}/`))).toMatchObject({ id: "1" });
  });

  test("end a session at the one that began it", async () => {
    const browser = bench.browser();
    await signInAt(browser, "CORP");
    const before = [bench.idp.calls.endSession, corp.idp.calls.endSession];
    await browser.submit(await browser.open(`${AUTH}/.gateway/sign_out`), { button: "Sign out" });
    expect([bench.idp.calls.endSession, corp.idp.calls.endSession]).toEqual([before[0], (before[1] ?? 0) + 1]);
  });
});

describe("an address of the second provider", () => {
  test.each([
    ["counts for nothing without email_domains", "", ""],
    ["counts in its domains", "email_domains: [corp.example, example.com]", ONE.email],
    ["counts for nothing in others", "email_domains: [corp.example]", ""],
  ])("%s", async (_, entry, email) => {
    configure(corp.settings("", entry));
    const user = seen(await signInAt(bench.browser(), "CORP"));
    expect([user["email"], (user["claims"] as Record<string, unknown>)["email"] ?? ""]).toEqual([email, email]);
  });

  test("no longer counts after its domain was removed", async () => {
    configure(corp.settings("", "email_domains: [example.com]"));
    const browser = bench.browser();
    expect(seen(await signInAt(browser, "CORP"))["email"]).toBe(ONE.email);
    configure();
    bench.clock.advance(30_000);
    expect(seen(await browser.open(`${APP}/`))["email"]).toBe("");
  });
});

describe("required_claims", () => {
  test.each([
    ["let in who has them", "tenant-1", 200],
    ["keep out who has another value", "tenant-2", 403],
  ])("%s", async (_, tid, status) => {
    configure(corp.settings(`, required_claims: { tid: ${tid} }`));
    expect((await signInAt(bench.browser(), "CORP")).status).toBe(status);
  });

  test("reject a user without the claim, or with a value that is not a text", async () => {
    for (const name of ["hd", "groups", "constructor", "email_verified"]) {
      configure(corp.settings(`, required_claims: { ${name}: "true" }`));
      expect((await signInAt(bench.browser(), "CORP")).status).toBe(403);
    }
    expect(bench.logged()).toContain("is not the required one");
    expect(bench.logged()).not.toContain("tenant-1");
  });

  test("revoke a user whose refreshed ID token has another value", async () => {
    configure(corp.settings(`, required_claims: { tid: tenant-1 }`));
    const browser = bench.browser();
    await signInAt(browser, "CORP");
    corp.idp.update("1", { claims: { tid: "tenant-2" } });
    try {
      expect(await bench.session.identities.refresh("issuer:corp/1")).toEqual({ ok: false, reason: "refused" });
      expect((await browser.open(`${APP}/`, { follow: false })).status).toBe(302);
    } finally {
      corp.idp.update("1", { claims: { tid: "tenant-1" } });
    }
  });
});

/** Case 22 of the research, and RFC 9207. */
describe("an answer at the wrong address", () => {
  const asked = () => ({ here: bench.idp.calls.code, there: corp.idp.calls.code });

  test.each([
    ["the second's at the first's", "CORP", "/.gateway/callback"],
    ["the first's at the second's", "127.0.0.1", "/.gateway/callback/corp"],
    ["the second's at nobody's", "CORP", "/.gateway/callback/other"],
    ["the second's below its own", "CORP", "/.gateway/callback/corp/x"],
    ["the second's at an empty name", "CORP", "/.gateway/callback/"],
    ["the second's at the name of the first", "CORP", "/.gateway/callback/default"],
  ])("%s is refused, and no code is sent", async (_, label, path) => {
    const before = asked();
    const browser = bench.browser();
    const address = await upToCallback(browser, label);
    address.pathname = path;
    const page = await browser.open(address.href);
    expect([page.status, page.hops.length]).toEqual([400, 1]);
    expect(asked()).toEqual(before);
    expect(browser.jar.get("app.example.com", "__Host-gateway_session")).toBeUndefined();
  });

  test("may be tried no second time at the right one", async () => {
    const browser = bench.browser();
    const address = await upToCallback(browser, "CORP");
    await browser.open(address.href.replace("/callback/corp", "/callback"));
    const before = asked();
    const page = await browser.open(address.href);
    // It begins again, and nothing of that answer counts.
    expect(page.text).toContain("CORP");
    expect(asked()).toEqual(before);
    expect(browser.jar.get("app.example.com", "__Host-gateway_session")).toBeUndefined();
  });

  test.each([
    ["of the other provider", () => bench.idp.issuer],
    ["of nobody", () => "https://evil.example"],
    ["that is missing though promised", () => undefined],
  ])("with an iss %s is refused, and no code is sent", async (_, iss) => {
    const before = asked();
    const browser = bench.browser();
    const address = await upToCallback(browser, "CORP");
    expect(address.searchParams.get("iss")).toBe(corp.idp.issuer);
    const wrong = iss();
    if (wrong === undefined) address.searchParams.delete("iss");
    else address.searchParams.set("iss", wrong);
    expect((await browser.open(address.href)).status).toBe(403);
    expect(asked()).toEqual(before);
  });

  test("of the first that the second's metadata lead to (mix-up): its redirect URI is refused there, else its iss here", async () => {
    let codes = 0;
    const evil = createServer((request, response) => {
      const issuer = `http://${request.headers.host}`;
      if (request.url !== "/.well-known/openid-configuration") codes += 1;
      const metadata = {
        issuer,
        authorization_endpoint: `${bench.idp.issuer}/auth`,
        token_endpoint: `${issuer}/token`,
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify({ ...metadata, jwks_uri: issuer }));
    });
    await new Promise<void>((done) => void evil.listen(0, "127.0.0.1", done));
    try {
      const issuer = `http://127.0.0.1:${(evil.address() as AddressInfo).port}`;
      configure(corp.settings().replace(corp.idp.issuer, issuer).replace("gateway-at-corp", "gateway"));
      const before = asked();
      const browser = bench.browser();
      const refused = await browser.click(await browser.open(`${APP}/`), "CORP");
      expect([new URL(refused.url).origin, refused.status]).toEqual([bench.idp.issuer, 400]);
      // As where an address with a wildcard is registered.
      await bench.idp.allowRedirects("gateway", [`${AUTH}/.gateway/callback/corp`]);
      const address = await upToCallback(bench.browser(), "CORP");
      expect(address.searchParams.get("iss")).toBe(bench.idp.issuer);
      const victim = bench.browser();
      const page = await victim.open((await upToCallback(victim, "CORP")).href);
      expect(page.status).toBe(403);
      expect([codes, asked()]).toEqual([0, before]);
    } finally {
      evil.close();
    }
  });

  test("that began under other settings of the name is refused, and no code is sent", async () => {
    const browser = bench.browser();
    const address = await upToCallback(browser, "CORP");
    configure(corp.settings().replace(corp.idp.issuer, "http://127.0.0.1:9"));
    expect((await browser.open(address.href)).status).toBe(400);
    configure("");
    expect((await browser.open(address.href)).status).toBe(400);
  });

  test("with the other provider's code goes to its own provider, which does not know it", async () => {
    const browser = bench.browser();
    const [first, second] = [await upToCallback(browser, "127.0.0.1"), await upToCallback(browser, "CORP")];
    const before = asked();
    second.searchParams.set("code", first.searchParams.get("code") ?? "");
    expect((await browser.open(second.href)).status).toBe(403);
    expect(asked()).toEqual({ here: before.here, there: before.there + 1 });
  });
});

describe("the choice", () => {
  test("is not shown with a single provider", async () => {
    configure("");
    expect((await bench.browser().open(`${APP}/`)).text).toContain("Who are you?");
  });

  test("is remembered by the browser, without leading anywhere else", async () => {
    const browser = bench.browser();
    await signInAt(browser, "CORP");
    const session = (name: string) => ({ name, url: new URL(`https://${name}.example.com`) });
    for (const { url } of [session("app"), session("auth")])
      browser.jar.set("__Host-gateway_session=x; Max-Age=0; Path=/; Secure", url);
    const before = corp.idp.calls.authorization;
    // Immediately, and back with the session that the provider still has.
    expect(seen(await browser.open(`${APP}/`))).toMatchObject({ id: "issuer:corp/1" });
    expect(corp.idp.calls.authorization).toBeGreaterThan(before);
  });

  test.each(["other", "", "corp/../..", "https://evil.example", "%0d%0a"])("%j is ignored", async (name) => {
    const browser = bench.browser();
    browser.jar.set(`__Host-gateway_session_idp=${name}; Path=/; Secure`, new URL(AUTH));
    const page = await browser.open(`${APP}/`);
    expect([page.status, page.text]).toEqual([200, expect.stringContaining(CHOICE)]);
    const again = await browser.open(`${page.url}&idp=${encodeURIComponent(name)}`);
    expect([again.status, again.hops.length, again.text]).toEqual([200, 1, expect.stringContaining(CHOICE)]);
  });

  test("is shown again after signing out, and after a rejection", async () => {
    const browser = bench.browser();
    await signInAt(browser, "CORP");
    const remembered = () => browser.jar.get("auth.example.com", "__Host-gateway_session_idp")?.value;
    expect(remembered()).toBe("corp");
    await browser.submit(await browser.open(`${AUTH}/.gateway/sign_out`), { button: "Sign out" });
    expect(remembered()).toBeUndefined();
    browser.jar.set("__Host-gateway_session_idp=corp; Path=/; Secure", new URL(AUTH));
    configure(corp.settings(`, required_claims: { tid: tenant-2 }`));
    const page = await browser.open(`${APP}/`);
    const refused = page.text.includes("Who are you?") ? await browser.click(page, ONE.email) : page;
    expect(refused.status).toBe(403);
    expect(remembered()).toBeUndefined();
  });
});

describe("the choice by a typed e-mail address", () => {
  const DOMAINS = "email_domains: [corp.example, example.com]";
  const type = async (browser: Browser, email: string): Promise<Page> =>
    browser.submit(await browser.open(`${APP}/`), { button: "Continue", values: { login_hint: email } });

  test.each(["one@corp.example", " One@CORP.example "])("of %j leads to the provider of its domain", async (email) => {
    configure(corp.settings("", DOMAINS));
    const browser = bench.browser();
    const page = await type(browser, email);
    const target = new URL(page.hops[0]?.location ?? "");
    expect(target.href.startsWith(corp.idp.issuer)).toBe(true);
    expect(target.searchParams.get("login_hint")).toBe(email.trim());
    expect(seen(await browser.click(page, ONE.email))).toMatchObject({ id: "issuer:corp/1" });
  });

  test.each([
    "one@sub.corp.example",
    "one@corp.example@other.example",
    "one@other.example@corp.example",
    "@corp.example",
    "corp.example",
    "one",
    "öne@corp.example",
    "one@corp.example\r\nx: y",
    `${"x".repeat(400)}@corp.example`,
  ])("%j leads nowhere, and is requested again", async (email) => {
    configure(corp.settings("", DOMAINS));
    const page = await type(bench.browser(), email);
    expect([page.status, page.hops.length]).toEqual([200, 1]);
    expect(page.text).toContain(CHOICE);
    expect(page.text).toContain("No organization matches this address.");
  });

  test("is not offered where no domain leads anywhere", async () => {
    expect((await bench.browser().open(`${APP}/`)).text).not.toContain("login_hint");
  });
});

describe("a provider that leaves the configuration", () => {
  test("ends its users' sessions at the next request, and no others", async () => {
    const [here, there] = [bench.browser(), bench.browser()];
    await signInAt(here, host(bench.idp.issuer));
    await signInAt(there, "CORP");
    expect(seen(await there.open(`${APP}/`))).toMatchObject({ id: "issuer:corp/1" });
    configure("");
    expect((await there.open(`${APP}/`, { follow: false })).status).toBe(302);
    expect(seen(await here.open(`${APP}/`))).toMatchObject({ id: "1" });
    expect(await bench.session.identities.refresh("issuer:corp/1")).toEqual({ ok: false, reason: "refused" });
    expect((await there.open(`${AUTH}/.gateway/user`, { mode: "cors" })).status).toBe(401);
  });

  test("also ends them if its name refers to another issuer, whose subject 1 is another user", async () => {
    const there = bench.browser();
    await signInAt(there, "CORP");
    const cookie = there.jar.get("app.example.com", "__Host-gateway_session")?.value ?? "";
    const openAgain = async (): Promise<number> => {
      // It may have been deleted meanwhile.
      there.jar.set(`__Host-gateway_session=${cookie}; Path=/; Secure`, new URL(APP));
      return (await there.open(`${APP}/`, { follow: false })).status;
    };
    expect(await openAgain()).toBe(200);
    const other = await startSecondProvider("corp", AUTH, { users: [{ ...ONE, name: "Stranger", groups: [] }] });
    try {
      configure(other.settings());
      expect(await openAgain()).toBe(302);
      expect(seen(await signInAt(bench.browser(), "CORP"))).toMatchObject({ id: "issuer:corp/1", name: "Stranger" });
      // A user has this id again, but the session is not theirs.
      expect(await openAgain()).toBe(302);
      configure();
      expect(await openAgain()).toBe(302);
    } finally {
      await other.idp.close();
    }
  });
});

describe("without a first provider", () => {
  test("users sign in at the other one, without a choice", async () => {
    bench.configure(benchConfig(bench.idp.issuer, corp.settings()).replace(/^idp_.*\n/gm, ""));
    const browser = bench.browser();
    expect(seen(await browser.signIn(`${APP}/`, ONE.email))).toMatchObject({ id: "issuer:corp/1" });
    expect(browser.jar.get("auth.example.com", "__Host-gateway_session_idp")).toBeUndefined();
  });
});

const found = findPostgres();
if ("missing" in found) console.warn(`a second provider on PostgreSQL: skipped, ${found.missing}`);
describe.skipIf("missing" in found)("on PostgreSQL", () => {
  let server: Postgres;
  let stored: SessionBench;
  beforeAll(async () => {
    if ("missing" in found) return;
    server = await startPostgres(found.bin);
    const store = await openPostgresStore({ url: server.url, log: silentLog() });
    stored = await startSessionBench({ idp: { users: HERE }, settings: corp.settings(), store });
  });
  afterAll(async () => {
    await stored?.close();
    await server?.close();
  });

  test("both users are kept under their own ids, at two replicas", async () => {
    const replica = await stored.replica();
    const [here, there] = [stored.browser(), stored.browser({ [APP]: replica })];
    await signInAt(here, host(stored.idp.issuer));
    await signInAt(there, "CORP");
    const records = await Promise.all(
      ["1", "issuer:corp/1"].map(async (id) => (await stored.store.store.get<IdentityRecord>(`identity:${id}`))?.value),
    );
    expect(records).toMatchObject([
      { userId: "1", providerUrl: stored.idp.issuer, providerClientId: "gateway" },
      { userId: "issuer:corp/1", issuer: "corp", providerUrl: corp.idp.issuer, providerClientId: "gateway-at-corp" },
    ]);
    await stored.session.revocations.revoke("user:issuer:corp/1");
    expect(await stored.store.store.get("identity:1")).toBeDefined();
    expect(seen(await here.open(`${APP}/`))).toMatchObject({ id: "1" });
    stored.configure(benchConfig(stored.idp.issuer));
    expect((await there.open(`${APP}/`, { follow: false })).status).toBe(302);
  });
});
