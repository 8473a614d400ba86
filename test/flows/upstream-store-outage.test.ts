/**
 * The store fails at each step of an upstream connection, in a whole gateway: no user is denied or signed out for it
 * (503, never 401 or 500), no token is lost, and everything works again afterwards.
 */
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";

import type { openRecords } from "../../runtime/record-kinds.ts";
import { createSend, findForm, type Browser } from "../support/browser.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { clientProof, createPkce, REDIRECT_URI, type SignedInClient } from "../support/oauth-client.ts";
import { createBreakableStore, type BreakableStore } from "../support/store.ts";
import { startUpstreamGateway, type UpstreamGateway } from "../support/upstream-gateway.ts";

/** The store of the gateway under test. */
const held = vi.hoisted((): { store: BreakableStore | undefined } => ({ store: undefined }));
vi.mock(import("../../runtime/record-kinds.ts"), async (original) => {
  const real = await original();
  const open: typeof openRecords = async (url, deps) => {
    held.store = createBreakableStore(deps.clock, await real.openRecords(url, deps));
    return held.store.store;
  };
  return { ...real, openRecords: open };
});

let clock: TestClock;
let bench: UpstreamGateway;
let client: SignedInClient;
let person: Browser;
const send = createSend();

beforeEach(async () => {
  clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  bench = await startUpstreamGateway({ clock });
  bench.service.switches.accessTokenSeconds = 120;
  client = await bench.signIn("static");
  person = client.oauth.browser;
  expect((await call()).status).toBe(200);
});
afterEach(async () => {
  storeIsBroken(false);
  await bench?.close();
});

const call = (route = "static", { tokens } = client) => bench.call(route, tokens.access_token);
const refreshes = () => bench.service.tokenRequests.filter((form) => form.get("grant_type") === "refresh_token");
function storeIsBroken(broken: boolean): void {
  if (held.store) held.store.broken = broken;
}
const expectTryAgain = (answer: { status: number; headers: Readonly<Record<string, string>> }): void => {
  expect([answer.status, answer.headers["retry-after"]]).toEqual([503, "5"]);
  expect(answer.headers["www-authenticate"]).toBeUndefined();
};
const connectUrl = (route: string): string =>
  `${bench.gateway.origin}/.gateway/mcp/connect?redirect_url=${encodeURIComponent(bench.application)}&resource=${encodeURIComponent(bench.resource(route))}`;

describe("a request while the store is unavailable", () => {
  test("of a connected user passes while the token is valid", async () => {
    storeIsBroken(true);
    clock.advance(25_000);
    for (let count = 0; count < 3; count += 1) expect((await call()).status).toBe(200);
    expect(refreshes()).toHaveLength(0);
  });

  test("with an expired token: 503, no token request, and one refresh after the outage", async () => {
    storeIsBroken(true);
    clock.advance(121_000);
    for (let count = 0; count < 3; count += 1) expectTryAgain(await call());
    expect(refreshes()).toHaveLength(0);
    storeIsBroken(false);
    clock.advance(3_000);
    const answers = await Promise.all(Array.from({ length: 8 }, () => call()));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
    expect(refreshes()).toHaveLength(1);
  });

  test("with a credential unknown to this process: 503", async () => {
    const fresh = await client.refresh();
    storeIsBroken(true);
    expectTryAgain(await bench.call("static", fresh.access_token));
    storeIsBroken(false);
    expect((await bench.call("static", fresh.access_token)).status).toBe(200);
  });

  test("with a token that the upstream rejects: 503, and the connection stays", async () => {
    bench.service.accessTokens.clear();
    storeIsBroken(true);
    expectTryAgain(await call());
    storeIsBroken(false);
    clock.advance(3_000);
    expect((await call()).status).toBe(200);
    expect(await bench.list(person)).toMatchObject({ static: true });
  });
});

describe("the store fails between the upstream's response and its storage", () => {
  test("of a refresh: 503, the process keeps the rotated token and stores it after the outage, without another request", async () => {
    clock.advance(121_000);
    bench.service.switches.token = () => {
      storeIsBroken(true);
      return false;
    };
    expectTryAgain(await call());
    expect(refreshes()).toHaveLength(1);
    bench.service.switches.token = undefined;
    storeIsBroken(false);
    // After the lease that could not be released.
    clock.advance(31_000);
    expect((await call()).status).toBe(200);
    expect(refreshes()).toHaveLength(1);
    expect(await bench.list(person)).toMatchObject({ static: true });
    // It was stored: the next refresh begins with the rotated token.
    clock.advance(121_000);
    expect((await call()).status).toBe(200);
    expect(refreshes()).toHaveLength(2);
  });

  test("of a code: a page that says to try again, the code is invalid, and another flow connects", async () => {
    bench.service.switches.token = () => {
      storeIsBroken(true);
      return false;
    };
    const page = await bench.connect(person, "found");
    expect([page.status, page.left]).toEqual([503, false]);
    bench.service.switches.token = undefined;
    storeIsBroken(false);
    expect(await bench.list(person)).toMatchObject({ found: false });
    // The same address again: its state was used.
    expect((await person.open(page.url)).status).toBe(400);
    expect(await bench.connect(person, "found")).toMatchObject({ left: true });
    expect(await bench.list(person)).toMatchObject({ found: true });
  });
});

describe("a flow while the store is unavailable", () => {
  test("cannot be begun, and can once it is back", async () => {
    storeIsBroken(true);
    expect((await person.open(connectUrl("found"))).status).toBe(503);
    storeIsBroken(false);
    expect(await bench.connect(person, "found")).toMatchObject({ left: true });
  });

  test("is not lost by a callback that could not be read: the same address works once it is back", async () => {
    const callback = await person.open(connectUrl("found"), bench.callback);
    expect(callback.left).toBe(true);
    storeIsBroken(true);
    expect((await person.open(callback.url)).status).toBe(503);
    storeIsBroken(false);
    expect(await person.open(callback.url, bench.application)).toMatchObject({ left: true });
    expect(await bench.list(person)).toMatchObject({ found: true });
  });

  test("a registration that could not be stored is repeated", async () => {
    const before = bench.service.registrations.length;
    storeIsBroken(true);
    expect((await person.open(connectUrl("auto"))).status).toBe(503);
    storeIsBroken(false);
    expect(await bench.connect(person, "auto")).toMatchObject({ left: true });
    expect(bench.service.registrations.length).toBeLessThanOrEqual(before + 2);
    expect(await bench.list(person)).toMatchObject({ auto: true });
  });
});

describe("lists and disconnecting while the store is unavailable", () => {
  test("respond with 503; afterwards the connection exists and can be ended", async () => {
    const page = await person.open(`${bench.gateway.origin}/.gateway/`);
    const form = findForm(page, "/.gateway/mcp/disconnect");
    if (!form) throw new Error("no form to disconnect");
    storeIsBroken(true);
    const cookie = person.cookieHeader("localhost");
    const headers = { accept: "application/json", cookie };
    expectTryAgain(await send({ method: "GET", url: `${bench.gateway.origin}/.gateway/mcp/routes`, headers }));
    expect((await person.submit(page, form, {})).status).toBe(503);
    expect(bench.service.revoked).toEqual([]);
    storeIsBroken(false);
    expect(await bench.list(person)).toMatchObject({ static: true });
    await person.submit(page, form, {});
    expect(await bench.list(person)).toMatchObject({ static: false });
    expect(bench.service.revoked).toHaveLength(0);
    expect((await call()).status).toBe(401);
  });
});

describe("the authorization server while the store is unavailable", () => {
  test("responds with 503 at every endpoint and consumes nothing: codes, refresh tokens and approvals work afterwards", async () => {
    const { verifier, challenge } = createPkce();
    const { client_id: clientId } = client.registration;
    const asked = { clientId, redirectUri: REDIRECT_URI, challenge };
    const approved = await client.oauth.authorize(asked);
    if (approved.at !== "client") throw new Error("not approved");
    const exchange = {
      grant_type: "authorization_code",
      code: approved.parameters["code"] ?? "",
      redirect_uri: REDIRECT_URI,
      code_verifier: verifier,
      ...clientProof(client.registration),
    };
    const refresh = {
      grant_type: "refresh_token",
      refresh_token: client.tokens.refresh_token ?? "",
      ...clientProof(client.registration),
    };
    storeIsBroken(true);
    for (const form of [exchange, refresh]) {
      const answer = await client.oauth.sendToken(form);
      expect([answer.status, answer.json()["error"]]).toEqual([503, "temporarily_unavailable"]);
    }
    expect(
      (await client.oauth.sendRevocation({ token: refresh.refresh_token, ...clientProof(client.registration) })).status,
    ).toBe(503);
    expect((await client.oauth.sendRegistration({ redirect_uris: [REDIRECT_URI] })).status).toBe(503);
    const refused = await client.oauth.authorize(asked);
    expect(refused).toMatchObject({ at: "page", page: { status: 503 } });
    storeIsBroken(false);
    for (const form of [exchange, refresh]) expect((await client.oauth.sendToken(form)).status).toBe(200);
    expect(await client.oauth.authorize(asked)).toMatchObject({ at: "client" });
  });
});
