/**
 * Facts that the gateway learns about an upstream from its responses: with a proof, reversible, and never from a single
 * one.
 */
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { SignedInClient } from "../support/oauth-client.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { serverMetadata } from "../support/upstream-service.ts";
import { startUpstreamGateway, type UpstreamGateway } from "../support/upstream-gateway.ts";

let clock: TestClock;
let bench: UpstreamGateway;
let alice: SignedInClient;
let bob: SignedInClient;

beforeEach(async () => {
  clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  bench = await startUpstreamGateway({ clock });
  Object.assign(bench.service.switches, OPEN);
});
afterEach(() => bench?.close());

/** A server without OAuth. */
const OPEN = { open: true, challenge: undefined, resourceMetadata: undefined, serverMetadata: undefined };

const signIn = async (): Promise<void> => {
  alice = await bench.signIn("auto");
  bob = await bench.signIn("auto", { user: "bob@example.com" });
};
const call = ({ tokens }: SignedInClient) => bench.call("auto", tokens.access_token);
const callRefused = async (client: SignedInClient) => {
  bench.service.switches.open = false;
  const answer = await call(client);
  bench.service.switches.open = true;
  return answer;
};
/** A request refused while the gateway's own questions are not: the server's mistake. */
const callRefusedOnce = async (client: SignedInClient) => {
  const { mcpRequests } = bench.service;
  const push = mcpRequests.push.bind(mcpRequests);
  bench.service.switches.open = false;
  let isFirst = true;
  mcpRequests.push = (...of) => {
    bench.service.switches.open = !isFirst;
    isFirst = false;
    return push(...of);
  };
  const answer = await call(client);
  mcpRequests.push = push;
  bench.service.switches.open = true;
  return answer;
};

describe("one 401 of a server without OAuth", () => {
  test.each([
    ["without a challenge", undefined],
    ["with one for a token", "Bearer"],
    ["with one that names metadata which is not there", 'Bearer resource_metadata="http://127.0.0.1:9/nothing"'],
  ])("%s is a 502 for that request, without effect on others", async (_, challenge) => {
    bench.service.switches.challenge = challenge;
    await signIn();
    expect((await call(bob)).status).toBe(200);
    const refused = await callRefusedOnce(alice);
    if (challenge?.includes("9/") !== true) {
      expect(refused.status).toBe(502);
      expect(JSON.parse(refused.text)).toMatchObject({ error: "upstream.unauthorized" });
    }
    expect(refused.headers["www-authenticate"]).toBeUndefined();
    for (const client of [alice, bob]) {
      expect((await call(client)).status).toBe(200);
      await client.refresh();
      expect((await call(client)).status).toBe(200);
    }
    expect(await bench.list(alice.oauth.browser)).toMatchObject({ auto: true });
    const carol = await bench.signIn("auto", { user: "dora@example.com" });
    expect((await call(carol)).status).toBe(200);
  });

  test("costs the server one discovery, however many requests it refuses", async () => {
    await signIn();
    await callRefused(alice);
    const documents = () => bench.service.seen.filter((each) => each.includes(".well-known")).length;
    const before = documents();
    bench.service.switches.open = false;
    const answers = await Promise.all(Array.from({ length: 10 }, () => call(bob)));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 502));
    expect(documents()).toBe(before);
  });
});

describe("a server without metadata that requires a token each time", () => {
  test("can be connected, and stops being one once it lets requests pass without a token", async () => {
    await signIn();
    bench.service.switches.challenge = "Bearer";
    bench.service.switches.open = false;
    const refused = await call(alice);
    expect(refused.status).toBe(401);
    expect(refused.headers["www-authenticate"]).toContain('error="invalid_token"');
    expect(await bench.list(alice.oauth.browser)).toMatchObject({ auto: false });
    await expect(alice.refresh()).rejects.toThrow(/invalid_grant/);
    const connected = await bench.signIn("auto", { browser: alice.oauth.browser });
    expect((await call(connected)).status).toBe(200);
    expect(JSON.parse((await call(connected)).text)).toMatchObject({ result: { authorized: true } });

    bench.service.switches.open = true;
    expect(await bench.list(bob.oauth.browser)).toMatchObject({ auto: false });
    expect((await call(bob)).status).toBe(200);
    await expect.poll(() => bench.list(bob.oauth.browser)).toMatchObject({ auto: true });
  });
});

describe("a server that contradicts itself", () => {
  test("one 401 without a challenge keeps no other user's challenge from being heard", async () => {
    await signIn();
    expect((await callRefused(alice)).status).toBe(502);
    bench.service.switches.challenge = "Bearer";
    bench.service.switches.open = false;
    expect((await call(bob)).status).toBe(401);
  });

  test("a rejected user stays signed in once requests pass without a token", async () => {
    await signIn();
    bench.service.switches.challenge = "Bearer";
    bench.service.switches.open = false;
    expect((await call(alice)).status).toBe(401);
    bench.service.switches.open = true;
    expect((await call(bob)).status).toBe(200);
    await expect.poll(() => bench.list(bob.oauth.browser)).toMatchObject({ auto: true });
    await alice.refresh();
    expect((await call(alice)).status).toBe(200);
  });

  test("no user is sent to an authorization server that was only assumed once requests pass without a token", async () => {
    await signIn();
    bench.service.switches.challenge = "Bearer";
    bench.service.switches.open = false;
    expect((await call(alice)).status).toBe(401);
    bench.service.switches.open = true;
    const { authorizations } = bench.service;
    const before = authorizations.length;
    const again = await bench.signIn("auto", { browser: alice.oauth.browser });
    expect(authorizations.length).toBe(before);
    expect((await call(again)).status).toBe(200);
  });
});

describe("a server whose metadata require a token for a part of it", () => {
  beforeEach(() => {
    const { switches, origin, url } = bench.service;
    switches.resourceMetadata = { resource: url, authorization_servers: [origin] };
  });

  test("does not block sign-ins and refreshes of users whose requests pass, though it cannot be connected", async () => {
    await signIn();
    // There is nothing to connect that could be connected.
    expect(await bench.list(alice.oauth.browser)).toMatchObject({ auto: true });
    await alice.refresh();
    expect((await call(alice)).status).toBe(200);
  });

  test("asks a user only for the scope of that user's rejected request", async () => {
    const { switches, origin, authorizations } = bench.service;
    await signIn();
    switches.serverMetadata = serverMetadata(origin);
    switches.challenge = 'Bearer scope="all-files"';
    expect((await callRefused(alice)).status).toBe(401);
    await bench.signIn("auto", { browser: alice.oauth.browser });
    expect(authorizations.at(-1)?.get("scope")).toBe("all-files");
    await bench.connect(bob.oauth.browser, "auto");
    expect(authorizations.at(-1)?.get("scope")).not.toBe("all-files");
  });
});
