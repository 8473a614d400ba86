/** Unauthenticated requests leave no records: the state of a sign-in or an authorization stays with the browser. */
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";

import type { openRecords } from "../../runtime/record-kinds.ts";
import type { Store } from "../../runtime/store/store.ts";
import { createSend, findForm } from "../support/browser.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { startMcpGateway, type McpGateway } from "../support/mcp-gateway.ts";
import {
  createOAuthClient,
  createPkce,
  REDIRECT_URI,
  signInClient,
  type OAuthClient,
} from "../support/oauth-client.ts";
import { LONG_MS } from "../support/limits.ts";

/** Keys that the gateway under test has written, by kind. */
const written = vi.hoisted(() => new Map<string, Set<string>>());
vi.mock(import("../../runtime/record-kinds.ts"), async (original) => {
  const real = await original();
  const open: typeof openRecords = async (...of) => {
    const store: Store = await real.openRecords(...of);
    return {
      ...store,
      put(key, ...rest) {
        const kind = key.slice(0, key.indexOf(":"));
        written.set(kind, (written.get(kind) ?? new Set()).add(key));
        return store.put(key, ...rest);
      },
    };
  };
  return { ...real, openRecords: open };
});

let clock: TestClock;
let world: McpGateway;
let oauth: OAuthClient;
let clientId = "";
const send = createSend();

beforeAll(async () => {
  clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  world = await startMcpGateway({ clock });
  oauth = createOAuthClient({ resource: world.resource });
  clientId = (await oauth.register()).client_id;
});
beforeEach(() => written.clear());
afterAll(() => world?.close());

const countOf = (kind: string): number => written.get(kind)?.size ?? 0;
/** All kinds of records except the gateway's own status. */
const writtenKinds = (): readonly string[] =>
  [...written.keys()].filter((kind) => kind !== "status" && kind !== "shared-secret").toSorted();

/** Sends `count` requests, a few in parallel, and follows redirects on this host, excluding the provider. */
async function repeat(count: number, url: (index: number) => string): Promise<ReadonlySet<number>> {
  const statuses = new Set<number>();
  let next = 0;
  const worker = async (): Promise<void> => {
    while (next < count) {
      const index = next;
      next += 1;
      let answer = await send({ method: "GET", url: url(index), headers: { accept: "text/html" } });
      const location = answer.headers["location"] ?? "";
      // Without the cookies: the second step of a sign-in, too.
      if (location.startsWith(world.gateway.origin)) answer = await send({ method: "GET", url: location });
      statuses.add(answer.status);
    }
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return statuses;
}

const authorizeUrl = (parameters: Readonly<Record<string, string>>): string => {
  const query = {
    response_type: "code",
    client_id: clientId,
    redirect_uri: REDIRECT_URI,
    code_challenge: createPkce().challenge,
    code_challenge_method: "S256",
    resource: world.resource,
    ...parameters,
  };
  return `${world.gateway.origin}/.gateway/mcp/authorize?${new URLSearchParams(query).toString()}`;
};

describe("10,000 anonymous requests do not grow the store", () => {
  test("authorization requests, each with the sign-in that follows", { timeout: LONG_MS }, async () => {
    await repeat(5_000, (index) => authorizeUrl({ state: `state-${index}` }));
    expect(writtenKinds()).toEqual([]);
  });

  test("sign-ins", { timeout: LONG_MS }, async () => {
    await repeat(5_000, (index) => `${world.gateway.origin}/.gateway/sign_in?return_to=/${index}`);
    expect(writtenKinds()).toEqual([]);
  });

  test("but for a few that are too long to travel: those wait, limited by peer", { timeout: LONG_MS }, async () => {
    const long = "x".repeat(2_000);
    const signIns = await repeat(500, (index) => `${world.gateway.origin}/.gateway/sign_in?return_to=/${index}${long}`);
    expect(countOf("sign-in")).toBeLessThanOrEqual(35);
    // No request is rejected for it: the address stays in the URL.
    expect([...signIns].every((status) => status < 400)).toBe(true);
    await repeat(500, (index) => authorizeUrl({ state: `${index}${long}` }));
    expect(countOf("authz-request")).toBeLessThanOrEqual(35);
    expect(writtenKinds()).toEqual(["authz-request", "sign-in"]);
    const refused = await send({ method: "GET", url: authorizeUrl({ state: long }), headers: { accept: "text/html" } });
    expect(refused.status).toBe(429);
    // Others continue as usual.
    const usual = await send({ method: "GET", url: authorizeUrl({ state: "short" }) });
    expect(usual.status).toBe(302);
    // A minute later the next ones may wait.
    clock.advance(60_000);
  });
});

describe("what travels instead", () => {
  test("works once: a second answer to the same request is refused", async () => {
    const client = await signInClient({ resource: world.resource, user: "alice@example.com" });
    const { browser } = client.oauth;
    const first = await browser.open(authorizeUrl({ client_id: client.registration.client_id }), REDIRECT_URI);
    expect(first.left).toBe(true);
    const page = await browser.open(authorizeUrl({ client_id: client.registration.client_id, prompt: "consent" }));
    const waiting = page.url;
    expect(await browser.open(waiting)).toMatchObject({ status: 200 });
    expect(countOf("authz-answer")).toBe(2);
    const form = findForm(page, "/.gateway/mcp/consent");
    if (!form) throw new Error("no consent form");
    expect(await browser.submit(page, form, { decision: "approve" }, REDIRECT_URI)).toMatchObject({ left: true });
    expect(await browser.submit(page, form, { decision: "approve" }, REDIRECT_URI)).toMatchObject({ status: 400 });
    expect(await browser.submit(page, form, { decision: "deny" }, REDIRECT_URI)).toMatchObject({ status: 400 });
    expect(await browser.open(waiting)).toMatchObject({ status: 400 });
    // Nor after ten minutes, when its record is gone.
    clock.advance(601_000);
    expect(await browser.open(waiting)).toMatchObject({ status: 400 });
    clock.advance(601_000);
    expect(await browser.open(waiting)).toMatchObject({ status: 400 });
  });

  test("cannot be changed, cut or made by others", async () => {
    const answer = await send({ method: "GET", url: authorizeUrl({}) });
    const location = new URL(answer.headers["location"] ?? "");
    const text = location.searchParams.get("request") ?? "";
    const { browser } = await signInClient({ resource: world.resource, user: "alice@example.com" }).then(
      ({ oauth: signedIn }) => signedIn,
    );
    expect((await browser.open(location.href)).status).toBe(200);
    const middle = Math.floor(text.length / 2);
    const flipped = text.slice(0, middle) + (text[middle] === "A" ? "B" : "A") + text.slice(middle + 1);
    for (const bad of [flipped, text.slice(0, -1), text.slice(1), `${text}A`, `${text}=`, "", "x", text.slice(0, 43)]) {
      location.searchParams.set("request", bad);
      expect([bad, (await browser.open(location.href)).status]).toEqual([bad, 400]);
    }
  });

  test("a long request works all the same, once", async () => {
    const state = "s".repeat(3_000);
    const client = await signInClient({ resource: world.resource, user: "alice@example.com", parameters: { state } });
    expect((await client.refresh()).access_token).toMatch(/^gwt_/);
    expect(countOf("authz-request")).toBe(1);
    expect(countOf("authz-answer")).toBe(0);
  });
});
