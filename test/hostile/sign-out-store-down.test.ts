/**
 * A sign-out, or another revocation, requested while the store is unavailable: the caller gets an error, and the
 * revocation takes effect later.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import { POLL_MS } from "../support/limits.ts";
import { within2s } from "../support/promised.ts";
import type { Browser, Page } from "../support/scripted-browser.ts";
import { APP, startSessionBench, WIKI, type Replica, type SessionBench } from "../support/session-bench.ts";

let bench: SessionBench;
let other: Replica;
let browser: Browser;
/** The sign-out form, opened before the outage. */
let form: Page;
beforeEach(async () => {
  bench = await startSessionBench();
  other = await bench.replica();
  browser = bench.browser({ [WIKI]: other });
  await browser.signIn(`${APP}/`, "alice@example.com");
  expect((await browser.open(`${WIKI}/`)).status).toBe(200);
  form = await browser.open(`${APP}/.gateway/sign_out`);
});
afterEach(() => bench.close());

const COOKIE = "__Host-gateway_session";

async function statusAtOther(): Promise<number> {
  return (await browser.open(`${WIKI}/.gateway/user`, { mode: "cors" })).status;
}

async function refusedAtOther(): Promise<void> {
  await vi.waitFor(
    within2s(async () => expect(await statusAtOther()).toBe(401)),
    { timeout: POLL_MS },
  );
}

const submit = (): Promise<Page> => browser.submit(form, { button: "Sign out", follow: false });
const entries = async (): Promise<readonly unknown[]> =>
  (await bench.store.store.changesSince("revocations", 0)).map(({ entry }) => entry);

describe("a sign-out while the store is unavailable", () => {
  test("fails and clears nothing, however often it is repeated", async () => {
    bench.store.broken = true;
    for (let count = 0; count < 3; count += 1) {
      const answer = await submit();
      expect([answer.status, answer.headers["set-cookie"]]).toEqual([503, undefined]);
      const page = await browser.open(`${APP}/.gateway/sign_out`);
      expect([page.status, page.headers["set-cookie"]]).toEqual([503, undefined]);
    }
    bench.store.broken = false;
  });

  test("is effective at its own replica immediately", async () => {
    bench.store.broken = true;
    await submit();
    expect((await browser.open(`${APP}/.gateway/user`, { mode: "cors" })).status).toBe(401);
    bench.store.broken = false;
  });

  test("and again afterwards: is done when reported, and the cookie is invalid at another replica", async () => {
    bench.store.broken = true;
    expect((await submit()).status).toBe(503);
    bench.store.broken = false;
    const done = await submit();
    expect([done.status, done.text.includes("Signed out")]).toEqual([200, true]);
    expect(await entries()).toContainEqual({ key: expect.stringMatching(/^session:/) });
    expect(await bench.store.store.list("sessions")).toEqual([]);
    await refusedAtOther();
  });

  test("and the page of it opened once it is back, by a link: is done when it says so", async () => {
    bench.store.broken = true;
    expect((await submit()).status).toBe(503);
    bench.store.broken = false;
    expect((await browser.open(`${APP}/.gateway/sign_out`)).text).toContain("Signed out");
    expect(await bench.store.store.list("sessions")).toEqual([]);
    await refusedAtOther();
  });

  test("that is not repeated takes effect anyway", async () => {
    bench.store.broken = true;
    expect((await submit()).status).toBe(503);
    bench.store.broken = false;
    await refusedAtOther();
    expect(await bench.store.store.list("sessions")).toEqual([]);
  });

  test("an ended session's cookie, sent again and again, writes nothing more", async () => {
    const kept = browser.jar.get("app.example.com", COOKIE);
    expect((await submit()).status).toBe(200);
    const before = await entries();
    for (let count = 0; count < 3; count += 1) {
      browser.jar.set(`${COOKIE}=${kept?.value}; Path=/; Secure`, new URL(APP));
      expect((await submit()).status).toBe(200);
    }
    expect(await entries()).toEqual(before);
  });

  test("a foreign page's form with an ended session's cookie writes nothing", async () => {
    expect((await submit()).status).toBe(200);
    const before = await entries();
    for (const from of ["https://evil.example/", `${WIKI}/x`]) {
      const url = `${APP}/.gateway/sign_out`;
      expect((await browser.open(url, { method: "POST", body: "csrf=x", from })).status).toBe(403);
    }
    expect(await entries()).toEqual(before);
  });
});

describe("a session ended from the account page while the store is unavailable", () => {
  test("is invalid everywhere once the store is back, though the form was not sent again", async () => {
    const id = (await bench.store.store.list("sessions"))[0]?.key ?? "";
    bench.store.broken = true;
    await expect(bench.session.revocations.revoke(id)).rejects.toMatchObject({ code: "store.unavailable" });
    expect(bench.session.revocations.isPending(id)).toBe(true);
    bench.store.broken = false;
    await refusedAtOther();
    await vi.waitFor(
      within2s(() => expect(bench.session.revocations.isPending(id)).toBe(false)),
      { timeout: POLL_MS },
    );
  });
});

describe("a provider's rejection of a user during a store outage", () => {
  test("revoked access does not come back when the user signs in again", async () => {
    // The rejection is written, and the next step fails.
    const [identity] = (await bench.store.store.list("user:u-alice")).filter(({ key }) => key.startsWith("identity:"));
    if (!identity) throw new Error("no identity");
    const { key, value, version, tags } = identity;
    const refused = { ...(value as object), refusedAt: Math.floor(bench.clock.now() / 1000) };
    await bench.store.store.put(key, refused, { ifVersion: version, expiresAt: identity.expiresAt ?? 0, tags });
    const again = bench.browser();
    await again.signIn(`${APP}/`, "alice@example.com");
    expect((await again.open(`${APP}/.gateway/user`, { mode: "cors" })).status).toBe(200);
    await refusedAtOther();
  });
});
