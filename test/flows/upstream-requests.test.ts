/** Internal Tokens on requests: refresh, rejection, step-up, their effects for the client, and what it must never see. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { SignedInClient } from "../support/oauth-client.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { startUpstreamGateway, type UpstreamGateway } from "../support/upstream-gateway.ts";

let clock: TestClock;
let bench: UpstreamGateway;
let client: SignedInClient;

beforeEach(async () => {
  clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  bench = await startUpstreamGateway({ clock });
  bench.service.switches.accessTokenSeconds = 120;
  client = await bench.signIn("static");
  expect((await bench.call("static", client.tokens.access_token)).status).toBe(200);
});
afterEach(() => bench?.close());

const call = () => bench.call("static", client.tokens.access_token);
const refreshes = () => bench.service.tokenRequests.filter((form) => form.get("grant_type") === "refresh_token");
/** Requests with a token: our own question for the challenge has none. */
const authorized = () => bench.service.mcpRequests.filter(({ authorization }) => authorization !== undefined).length;
const expectChallenge = (answer: { status: number; headers: Readonly<Record<string, string>>; text: string }): void => {
  expect(answer.status).toBe(401);
  expect(answer.headers["www-authenticate"]).toMatch(
    /^Bearer error="invalid_token", .*resource_metadata="http:\/\/localhost/,
  );
  expect(answer.headers["www-authenticate"]).not.toContain(bench.service.origin);
  expect(answer.text).not.toContain("upstream says no");
};

describe("expiry", () => {
  test("parallel requests at the end of a token cause one refresh and all succeed", async () => {
    clock.advance(121_000);
    const answers = await Promise.all(Array.from({ length: 20 }, call));
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect(refreshes()).toHaveLength(1);
  });

  test("a token is renewed before its end, in the background", async () => {
    clock.advance(70_000);
    const first = bench.service.mcpRequests.at(-1)?.authorization;
    expect((await call()).status).toBe(200);
    expect(bench.service.mcpRequests.at(-1)?.authorization).toBe(first);
    expect((await call()).status).toBe(200);
    await expect.poll(() => refreshes().length).toBe(1);
    await expect.poll(async () => (await call()) && bench.service.mcpRequests.at(-1)?.authorization).not.toBe(first);
    expect(refreshes()).toHaveLength(1);
  });

  test("an unavailable token endpoint: 503 with Retry-After after the token expired, and everything works again afterwards", async () => {
    const person = client.oauth.browser;
    clock.advance(121_000);
    bench.service.switches.token = (_form, response) => Boolean(response.writeHead(500).end("down"));
    const answer = await call();
    expect(answer.status).toBe(503);
    expect(answer.headers["retry-after"]).toBe("5");
    expect(await bench.list(person)).toMatchObject({ static: true });
    bench.service.switches.token = undefined;
    clock.advance(3_000);
    expect((await call()).status).toBe(200);
  });

  test("a rejected refresh: a correct challenge, connected false, and no further token request", async () => {
    clock.advance(121_000);
    bench.service.refreshTokens.clear();
    for (let count = 0; count < 3; count += 1) expectChallenge(await call());
    expect(refreshes()).toHaveLength(1);
    expect(await bench.list(client.oauth.browser)).toMatchObject({ static: false });
    // The client's own next login connects it again.
    await expect(client.refresh()).rejects.toThrow(/invalid_grant/);
    const again = await bench.signIn("static", { browser: client.oauth.browser });
    expect((await bench.call("static", again.tokens.access_token)).status).toBe(200);
  });

  test("the client secret is read from the route at each refresh", async () => {
    await bench.gateway.reconfigure(
      bench.yaml((yaml) => yaml.replaceAll("static-client-secret-sentinel", "second-secret-sentinel")),
    );
    const registered = bench.service.clients.get("static-client");
    bench.service.clients.set("static-client", {
      redirectUris: registered?.redirectUris ?? [],
      secret: "second-secret-sentinel",
    });
    clock.advance(121_000);
    expect((await call()).status).toBe(200);
    expect(refreshes()).toHaveLength(1);
  });
});

describe("an upstream's 401", () => {
  test("leads to one refresh, and the request is sent again with the new token", async () => {
    bench.service.accessTokens.clear();
    const before = bench.service.mcpRequests.length;
    expect((await call()).status).toBe(200);
    expect(refreshes()).toHaveLength(1);
    expect(bench.service.mcpRequests.length).toBe(before + 2);
  });

  test("that a fresh token does not change leads to a correct challenge and connected false, without a loop", async () => {
    bench.service.switches.refusesAll = true;
    const before = authorized();
    expectChallenge(await call());
    expect(authorized()).toBe(before + 2);
    expect(await bench.list(client.oauth.browser)).toMatchObject({ static: false });
    expectChallenge(await call());
    expect(authorized()).toBe(before + 2);
    expect(refreshes()).toHaveLength(1);
  });

  test("of a token that cannot be refreshed leads to the challenge immediately", async () => {
    bench.service.switches.givesRefreshTokens = false;
    const person = await bench.person("bob@example.com");
    const bob = await bench.signIn("static", { browser: person, user: "bob@example.com" });
    bench.service.accessTokens.clear();
    expectChallenge(await bench.call("static", bob.tokens.access_token));
    expect(await bench.list(person)).toMatchObject({ static: false });
  });

  test("teaches a route without settings that its upstream wants OAuth", async () => {
    bench.service.switches.resourceMetadata = undefined;
    bench.service.switches.open = true;
    const plain = await bench.signIn("auto", { browser: client.oauth.browser });
    expect((await bench.call("auto", plain.tokens.access_token)).status).toBe(200);
    expect(await bench.list(client.oauth.browser)).toMatchObject({ auto: true });
    bench.service.switches.open = false;
    bench.service.switches.resourceMetadata = {
      resource: bench.service.url,
      authorization_servers: [bench.service.origin],
    };
    expectChallenge(await bench.call("auto", plain.tokens.access_token));
    expect(await bench.list(client.oauth.browser)).toMatchObject({ auto: false });
    const again = await bench.signIn("auto", { browser: client.oauth.browser });
    expect((await bench.call("auto", again.tokens.access_token)).status).toBe(200);
  });

  test("that no sign-in can change (another scheme, an unlisted host, credentials of the configuration) is 502 without a challenge: a 401 would make clients loop", async () => {
    const expectOperatorsMatter = (answer: Awaited<ReturnType<typeof call>>): void => {
      expect(answer.status).toBe(502);
      expect(JSON.parse(answer.text)).toMatchObject({ error: "upstream.unauthorized" });
      expect(answer.headers["www-authenticate"]).toBeUndefined();
      expect(answer.text).not.toContain("upstream says no");
    };
    bench.service.switches.resourceMetadata = undefined;
    bench.service.switches.challenge = 'Basic realm="upstream"';
    const { access_token: token } = (await bench.signIn("auto", { browser: client.oauth.browser })).tokens;
    const before = bench.service.mcpRequests.length;
    expectOperatorsMatter(await bench.call("auto", token));
    // Sent once: the same credentials would be refused again.
    expect(bench.service.mcpRequests.length).toBe(before + 1);
    bench.service.switches.challenge = "Bearer";
    const unlisted = (yaml: string): string => yaml.replace('domains: ["127.0.0.1"]', "domains: [as.example]");
    await bench.gateway.reconfigure(bench.yaml(unlisted));
    expectOperatorsMatter(await bench.call("auto", token));
    const withKey = (yaml: string): string =>
      yaml.replace(
        "mcp: { server: { path: /mcp } }",
        "mcp: { server: { path: /mcp } }\n    set_request_headers: { Authorization: Bearer wrong-key }",
      );
    await bench.gateway.reconfigure(bench.yaml(withKey));
    expectOperatorsMatter(await bench.call("auto", token));
    expect(bench.service.mcpRequests.at(-1)?.authorization).toBe("Bearer wrong-key");
    expect(bench.gateway.log()).toContain("upstream requires credentials that no sign-in provides");
  });

  test("is the only changed response: 400, 403, 404 and 405 pass unchanged, since clients detect protocol versions by them", async () => {
    for (const status of [400, 403, 404, 405]) {
      bench.service.switches.plain = { status, body: "as it is" };
      expect(await call()).toMatchObject({ status, text: "as it is" });
    }
  });
});

describe("step-up on insufficient_scope", () => {
  test("requests old and new scopes together, and is bounded", async () => {
    bench.service.switches.neededScopes = ["read", "admin"];
    expectChallenge(await call());
    // The token stays valid for its scopes: it is not removed.
    expect(await bench.list(client.oauth.browser)).toMatchObject({ static: true });
    const stepped = await bench.signIn("static", { browser: client.oauth.browser });
    expect(bench.service.authorizations.at(-1)?.get("scope")?.split(" ").toSorted()).toEqual([
      "admin",
      "read",
      "write",
    ]);
    expect((await bench.call("static", stepped.tokens.access_token)).status).toBe(200);
  });

  test("an upstream that keeps demanding scopes is served twice, then its 403 passes", async () => {
    const statuses: number[] = [];
    let token = client.tokens.access_token;
    for (let round = 1; round <= 5; round += 1) {
      bench.service.switches.neededScopes = [`more-${round}`, "never"];
      bench.service.switches.decision = "approve";
      statuses.push((await bench.call("static", token)).status);
      // The server grants the requested scope, and the upstream requires another one.
      token = (await bench.signIn("static", { browser: client.oauth.browser })).tokens.access_token;
    }
    expect(statuses).toEqual([401, 401, 403, 403, 403]);
  });
});

describe("the upstream's outages", () => {
  test("an upstream that is down is 502, never 401, and ends no connection", async () => {
    bench.service.pause();
    expect((await call()).status).toBe(502);
    bench.service.resume();
    expect((await call()).status).toBe(200);
    expect(await bench.list(client.oauth.browser)).toMatchObject({ static: true });
  });
});

describe("secrets", () => {
  test("no Internal Token, code, verifier or client secret is in any response, log line or record, whatever goes wrong", async () => {
    const seen: string[] = [];
    const keep = (answer: { headers: Readonly<Record<string, string>>; text: string }): void =>
      void seen.push(JSON.stringify(answer.headers) + answer.text);
    keep(await call());
    bench.service.accessTokens.clear();
    keep(await call());
    clock.advance(121_000);
    bench.service.switches.token = (form, response) => {
      // A server that echoes requests.
      response
        .writeHead(400, { "content-type": "application/json" })
        .end(JSON.stringify({ error: form.get("refresh_token") ?? "x", error_description: form.toString() }));
      return true;
    };
    keep(await call());
    bench.service.switches.token = undefined;
    bench.service.switches.refusesAll = true;
    clock.advance(3_000);
    keep(await call());
    const person = client.oauth.browser;
    keep(await person.open(`${bench.gateway.origin}/.gateway/`));
    keep(await bench.connect(person, "auto"));
    const everything = [...seen, bench.gateway.log(), await bench.gateway.recordText()].join("\n");
    expect(bench.service.secrets.size).toBeGreaterThan(5);
    for (const secret of bench.service.secrets) expect(everything).not.toContain(secret);
  });
});
