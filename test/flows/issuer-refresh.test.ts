/** The refresh grant over HTTP (requirements, "States and transitions"; OAuth 2.1 §4.3). Labels: see issuer.test.ts. */
import { request as httpRequest } from "node:http";

import { describe, expect, test } from "vitest";

import type { GrantRecord } from "../../runtime/oauth/server/grant-records.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Store } from "../../runtime/store/store.ts";
import type { Answer } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { clientProof, type SignedInClient } from "../support/oauth-client.ts";
import { createBreakableStore } from "../support/store.ts";
import { ONE_SERVER, ORIGIN, RESOURCE, SESSION_SECONDS, testUser, useIssuers } from "../support/issuer.ts";

const start = useIssuers();
const soon = { interval: 5 };

/** Sends a refresh with this token (default: the newest) and returns the response. */
function refresh(
  client: SignedInClient,
  token = client.tokens.refresh_token ?? "",
  more: Record<string, string> = {},
): Promise<Answer> {
  return client.oauth.sendToken({
    grant_type: "refresh_token",
    refresh_token: token,
    ...clientProof(client.registration),
    ...more,
  });
}

const outcome = (answer: Answer): unknown =>
  answer.status === 200 ? "ok" : `${answer.status} ${String(answer.json()["error"])}`;
const newToken = (answer: Answer): string => String(answer.json()["refresh_token"]);

describe("refresh_token_absolute_lifetime", () => {
  const DAY = 24 * 3600;
  const yaml = `refresh_token_absolute_lifetime: 72h\n${ONE_SERVER}`;

  test.each(["none", "client_secret_post"])(
    "ends a grant whatever its rotations, of a client with %s",
    async (method) => {
      const gateway = await start({ yaml });
      const client = await gateway.signIn({ metadata: { token_endpoint_auth_method: method, client_name: "App" } });
      for (let day = 1; day < 3; day += 1) {
        gateway.clock.advance(DAY * 1000);
        await client.refresh();
      }
      // The last tokens before the end do not outlive it.
      gateway.clock.advance((DAY - 60) * 1000);
      expect((await client.refresh()).expires_in).toBe(54);
      const [grant] = (await gateway.store.list("user:alice")).filter(({ key }) => key.startsWith("grant:"));
      const end = Math.floor(gateway.clock.now() / 1000) + 60;
      expect(grant).toMatchObject({ expiresAt: end, value: { endsAt: end, clientName: "App" } });
      gateway.clock.advance(60_000);
      expect(outcome(await refresh(client))).toBe("400 invalid_grant");
      // A new authorization starts a new period.
      expect((await gateway.signIn()).tokens.expires_in).toBe(890);
    },
  );

  test("applies to earlier grants, also to a repeated refresh, and no longer soon after its removal", async () => {
    const gateway = await start();
    const [early, late] = [await gateway.signIn(), await gateway.signIn()];
    // To the second.
    gateway.clock.advance(3 * DAY * 1000);
    const before = late.tokens.refresh_token;
    await late.refresh();
    gateway.reconfigure(yaml);
    expect(outcome(await refresh(early))).toBe("400 invalid_grant");
    expect(outcome(await refresh(late, before))).toBe("400 invalid_grant");
    const next = await gateway.signIn();
    gateway.reconfigure(ONE_SERVER);
    gateway.clock.advance(2 * DAY * 1000);
    await next.refresh();
    gateway.clock.advance(2 * DAY * 1000);
    await next.refresh();
  });

  test("does not extend refresh_token_lifetime, which ends unused grants", async () => {
    const gateway = await start({ yaml: `refresh_token_lifetime: 24h\n${yaml}` });
    const client = await gateway.signIn();
    gateway.clock.advance(DAY * 1000);
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
  });
});

describe("rotation", () => {
  test("A6: a public client gets a new refresh token each time", async () => {
    const client = await (await start()).signIn();
    const seen = new Set([client.tokens.refresh_token]);
    for (let count = 0; count < 3; count += 1) seen.add((await client.refresh()).refresh_token);
    expect(seen.size).toBe(4);
  });

  test("a confidential client keeps its refresh token, which stays valid", async () => {
    const gateway = await start();
    const client = await gateway.signIn({ metadata: { token_endpoint_auth_method: "client_secret_post" } });
    const first = client.tokens.refresh_token;
    for (let count = 0; count < 3; count += 1) {
      gateway.clock.advance(60_000);
      expect((await client.refresh()).refresh_token).toBe(first);
    }
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(client)));
    expect(answers.map(outcome)).toEqual(Array.from({ length: 8 }, () => "ok"));
  });

  test("8 parallel refreshes all succeed with one rotation, and all get the same pair", async () => {
    const clock = createTestClock();
    const { store, calls } = createBreakableStore(clock);
    const client = await (await start({ clock, store })).signIn();
    calls.length = 0;
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(client)));
    expect(answers.map(outcome)).toEqual(Array.from({ length: 8 }, () => "ok"));
    expect(new Set(answers.map((answer) => answer.text)).size).toBe(1);
    expect(calls.filter((name) => name === "lease" || name === "put")).toEqual(["lease", "put"]);
    const [grant] = (await store.list("user:alice")).filter(({ key }) => key.startsWith("grant:"));
    expect(grant?.value).toMatchObject({ refresh: { generation: 2 } });
  });

  test("8 parallel refreshes on two replicas succeed with one rotation and one call to the provider", async () => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock });
    const first = await start({ clock, store });
    const second = await start({ clock, store });
    const client = await first.signIn();
    clock.advance((SESSION_SECONDS + 1) * 1000);
    let open = (): void => {};
    first.identities.gate = second.identities.gate = new Promise((resolve) => (open = resolve));
    const form = {
      grant_type: "refresh_token",
      refresh_token: client.tokens.refresh_token ?? "",
      ...clientProof(client.registration),
    };
    const pending = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? first : second).oauth().sendToken(form));
    await expect.poll(() => first.identities.refreshes + second.identities.refreshes).toBe(1);
    open();
    const answers = await Promise.all(pending);
    expect(answers.map(outcome)).toEqual(Array.from({ length: 8 }, () => "ok"));
    expect(new Set(answers.map(newToken)).size).toBe(1);
    expect(first.identities.refreshes + second.identities.refreshes).toBe(1);
  });

  test("a repeat within 30 s gets the same pair", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    const old = client.tokens.refresh_token ?? "";
    const first = await refresh(client, old);
    gateway.clock.advance(30_000);
    const again = await refresh(client, old);
    expect(newToken(again)).toBe(newToken(first));
    expect(again.json()["access_token"]).toBe(first.json()["access_token"]);
    expect(again.json()["expires_in"]).toBe(860);
    expect(outcome(await refresh(client, newToken(first)))).toBe("ok");
  });

  test("a repeat within 30 s after the successor was used gets the newest pair, which stays valid", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    const old = client.tokens.refresh_token ?? "";
    const second = await refresh(client, old);
    const third = await refresh(client, newToken(second));
    const repeated = await refresh(client, old);
    expect(newToken(repeated)).toBe(newToken(third));
    gateway.clock.advance(60_000);
    expect(outcome(await refresh(client, newToken(repeated)))).toBe("ok");
  });

  test("a repeat after 30 s ends the family", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    const old = client.tokens.refresh_token ?? "";
    const first = await refresh(client, old);
    gateway.clock.advance(31_000);
    expect(outcome(await refresh(client, old))).toBe("400 invalid_grant");
    expect(outcome(await refresh(client, newToken(first)))).toBe("400 invalid_grant");
    const entries = await gateway.store.changesSince("revocations", 0);
    expect(entries.map(({ entry }) => entry)).toContainEqual({ key: expect.stringMatching(/^grant:/) as string });
  });

  test("a process that stalls before the write: a repeat gets the same pair for 30 s after the write", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    gateway.clock.advance((SESSION_SECONDS + 1) * 1000);
    const old = client.tokens.refresh_token ?? "";
    const { promise, resolve } = Promise.withResolvers<void>();
    gateway.identities.gate = promise;
    const pending = refresh(client, old);
    await expect.poll(() => gateway.identities.refreshes, soon).toBe(1);
    gateway.clock.advance(40_000);
    resolve();
    const first = await pending;
    // The token is valid for longer than stated.
    expect(first.json()["expires_in"]).toBe(890);
    gateway.clock.advance(30_000);
    expect(newToken(await refresh(client, old))).toBe(newToken(first));
    gateway.clock.advance(1_000);
    expect(outcome(await refresh(client, old))).toBe("400 invalid_grant");
  });

  test.each(["hangs up meanwhile", "waits"])(
    "a process that stalls between write and response, whose client %s: a repeat gets the same pair for 30 s after the response",
    async (what) => {
      const clock = createTestClock();
      const inner = createMemoryStore({ clock });
      const { promise: stands, resolve: goOn } = Promise.withResolvers<void>();
      let stood = false;
      const store: Store = {
        ...inner,
        async put(key, value, options) {
          const result = await inner.put(key, value, options);
          if (stood || options?.ifVersion === 0 || !key.startsWith("grant:")) return result;
          stood = true;
          await stands;
          return result;
        },
      };
      const gateway = await start({ clock, store });
      const client = await gateway.signIn();
      const old = client.tokens.refresh_token ?? "";
      const form = { grant_type: "refresh_token", refresh_token: old, ...clientProof(client.registration) };
      const { token_endpoint } = await client.oauth.discover();
      const sent = httpRequest({
        port: gateway.port,
        host: "127.0.0.1",
        method: "POST",
        path: new URL(token_endpoint).pathname,
        headers: { host: new URL(token_endpoint).host, "content-type": "application/x-www-form-urlencoded" },
        agent: false,
      });
      const ended = new Promise<void>((resolve) => {
        sent.on("error", () => resolve());
        sent.on("response", (response) => response.resume().once("end", resolve));
      });
      sent.end(new URLSearchParams(form).toString());
      await expect.poll(() => stood, soon).toBe(true);
      clock.advance(40_000);
      if (what !== "waits") sent.destroy();
      goOn();
      await ended;
      const rotated = async () => {
        const [grant] = (await inner.list<GrantRecord>("user:alice")).filter(({ key }) => key.startsWith("grant:"));
        return grant?.value.refresh?.rotated.map(({ rotatedAt }) => rotatedAt);
      };
      await expect.poll(rotated, soon).toEqual([Math.floor(clock.now() / 1000)]);
      clock.advance(29_000);
      const again = await refresh(client, old);
      expect(outcome(again)).toBe("ok");
      clock.advance(2_000);
      expect(outcome(await refresh(client, old))).toBe("400 invalid_grant");
      expect(outcome(await refresh(client, newToken(again)))).toBe("400 invalid_grant");
    },
  );

  test.each([
    ["ahead", 79_000],
    ["behind", -79_000],
  ])("two replicas with different clocks, one %s, both accept a token sent to both", async (_, ms) => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock });
    const right = await start({ clock, store });
    const wrong = await start({ clock: createTestClock(clock.now() + ms), store });
    const client = await right.signIn();
    const send = (replica: typeof right, token: string): Promise<Answer> =>
      replica.oauth().sendToken({
        grant_type: "refresh_token",
        refresh_token: token,
        ...clientProof(client.registration),
      });
    let [old, token] = ["", client.tokens.refresh_token ?? ""];
    for (const [first, second] of [
      [right, wrong],
      [wrong, right],
    ] as const) {
      const answers = [await send(first, token), await send(second, token)];
      expect(answers.map(outcome)).toEqual(["ok", "ok"]);
      [old, token] = [token, newToken(answers[0] as Answer)];
      expect(newToken(answers[1] as Answer)).toBe(token);
    }
    // It is valid for thirty seconds, by the shared clock.
    clock.advance(31_000);
    expect(outcome(await send(wrong, old))).toBe("400 invalid_grant");
    expect(outcome(await send(right, token))).toBe("400 invalid_grant");
  });

  test("a token of many rotations ago also revokes the family", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    const old = client.tokens.refresh_token ?? "";
    for (let count = 0; count < 5; count += 1) {
      gateway.clock.advance(3600_000);
      await client.refresh();
    }
    expect(outcome(await refresh(client, old))).toBe("400 invalid_grant");
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
  });

  test("a repeat by another client is rejected and revokes nothing", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    const thief = await gateway.oauth().register();
    const old = client.tokens.refresh_token ?? "";
    await client.refresh();
    gateway.clock.advance(3600_000);
    for (const token of [old, client.tokens.refresh_token ?? ""]) {
      expect(
        outcome(
          await client.oauth.sendToken({
            grant_type: "refresh_token",
            refresh_token: token,
            client_id: thief.client_id,
          }),
        ),
      ).toBe("400 invalid_grant");
    }
    expect(outcome(await refresh(client))).toBe("ok");
  });
});

describe("while the session lives", () => {
  test("new tokens belong to it, without a provider request, and its expiry stays", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    gateway.clock.advance((SESSION_SECONDS - 300) * 1000);
    const tokens = await client.refresh();
    expect(tokens.expires_in).toBe(290);
    expect(gateway.identities.refreshes).toBe(0);
  });

  test("a deleted user gets invalid_grant", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    gateway.identities.users.delete("alice");
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
    gateway.identities.users.set("alice", testUser("alice"));
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
  });
});

describe("once the session expired (requirements, States and transitions)", () => {
  async function expired(yaml?: string) {
    const gateway = await start(yaml === undefined ? {} : { yaml });
    const client = await gateway.signIn();
    gateway.clock.advance((SESSION_SECONDS + 1) * 1000);
    return { gateway, client };
  }

  test("a good provider refresh token re-creates it: new tokens, rotated, for a whole session again", async () => {
    const { gateway, client } = await expired();
    const before = client.tokens;
    const tokens = await client.refresh();
    expect(gateway.identities.refreshes).toBe(1);
    expect(tokens.refresh_token).not.toBe(before.refresh_token);
    expect(tokens.expires_in).toBe(890);
    // The new session lasts cookie_expiration (14 h): no second call within it.
    gateway.clock.advance(13 * 3600_000);
    await client.refresh();
    expect(gateway.identities.refreshes).toBe(1);
  });

  test("8 parallel refreshes cause one provider request", async () => {
    const { gateway, client } = await expired();
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(client)));
    expect(answers.map(outcome)).toEqual(Array.from({ length: 8 }, () => "ok"));
    expect(gateway.identities.refreshes).toBe(1);
  });

  test("a rejection by the provider gives invalid_grant, and the client must authorize again", async () => {
    const { gateway, client } = await expired();
    gateway.identities.refreshOutcome = "refused";
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
    gateway.identities.refreshOutcome = "ok";
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
    const anew = await gateway.signIn({ registration: client.registration });
    expect(anew.tokens.token_type).toBe("Bearer");
  });

  test("a provider that cannot be reached gives 503 and consumes nothing", async () => {
    const { gateway, client } = await expired();
    gateway.identities.refreshOutcome = "unavailable";
    const answer = await refresh(client);
    expect(outcome(answer)).toBe("503 temporarily_unavailable");
    expect(Number(answer.headers["retry-after"])).toBeGreaterThan(0);
    gateway.clock.advance(120_000);
    gateway.identities.refreshOutcome = "ok";
    expect(outcome(await refresh(client))).toBe("ok");
  });

  test("current policy decides: a user without access gets invalid_grant", async () => {
    const { gateway, client } = await expired();
    gateway.reconfigure(ONE_SERVER.replace("authenticated_user: true", "email: { is: carol@example.com }"));
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
  });

  test("current claims decide", async () => {
    const { gateway, client } = await expired(
      ONE_SERVER.replace("authenticated_user: true", "email: { is: alice@example.com }"),
    );
    gateway.identities.users.set("alice", { ...testUser("alice"), email: "alice@left.example", version: 2 });
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
  });

  test("the chain may outlive cookie_expiration many times, until the refresh token itself ends after 90 days unused", async () => {
    const { gateway, client } = await expired();
    for (let day = 0; day < 100; day += 20) {
      gateway.clock.advance(20 * 24 * 3600_000);
      await client.refresh();
    }
    gateway.clock.advance(91 * 24 * 3600_000);
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
  });
});

describe("a bad refresh token", () => {
  test.each<[string, (token: string, access: string) => string]>([
    ["garbage", () => "garbage"],
    ["the prefix", () => "gwr_"],
    ["a truncated one", (token) => token.slice(0, -4)],
    ["a changed one", (token) => `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`],
    ["a longer one", (token) => `${token}AAAA`],
    ["an access token", (_, access) => access],
    ["an access token with the other prefix", (_, access) => access.replace("gwt_", "gwr_")],
    ["a huge one", () => `gwr_${"A".repeat(8000)}`],
    ["one with a NUL", (token) => `${token}\u0000`],
  ])("%s is invalid_grant, and the valid token keeps working", async (_, bend) => {
    const client = await (await start()).signIn();
    const { refresh_token = "", access_token } = client.tokens;
    expect(outcome(await refresh(client, bend(refresh_token, access_token)))).toBe("400 invalid_grant");
    expect(outcome(await refresh(client))).toBe("ok");
  });

  test("none at all is invalid_request", async () => {
    const client = await (await start()).signIn();
    expect(outcome(await refresh(client, ""))).toBe("400 invalid_request");
  });

  test("of another issuer is invalid_grant", async () => {
    const id = "https://app.example.org/client.json";
    const document = { client_id: id, client_name: "Doc", redirect_uris: ["https://app.example.org/cb"] };
    const yaml = `mcp_allowed_client_id_domains: ["app.example.org"]\n${ONE_SERVER}  - { name: b, from: https://b.example.com, to: "http://127.0.0.1:9", policy: [{ allow: { and: [authenticated_user: true] } }], mcp: { server: {} } }\n`;
    const gateway = await start({ yaml, fetchClientDocument: async () => ({ ok: true, document }) as const });
    const client = await gateway.signIn({ registration: document });
    const form = { grant_type: "refresh_token", refresh_token: client.tokens.refresh_token ?? "", client_id: id };
    expect(outcome(await gateway.oauth({ resource: "https://b.example.com" }).sendToken(form))).toBe(
      "400 invalid_grant",
    );
    expect(outcome(await refresh(client))).toBe("ok");
  });
});

describe("further parameters", () => {
  test("neither scope nor resource is needed; unknown scopes do not matter; the same resource may be named", async () => {
    const client = await (await start()).signIn();
    for (const more of [{}, { scope: "mcp offline_access" }, { resource: RESOURCE }, { resource: `${RESOURCE}/` }]) {
      const answer = await refresh(client, undefined, more);
      expect(answer.json()["scope"]).toBe("mcp");
    }
  });

  test("another resource is invalid_target and consumes nothing", async () => {
    const client = await (await start()).signIn();
    expect(outcome(await refresh(client, undefined, { resource: "https://other.example.com" }))).toBe(
      "400 invalid_target",
    );
    expect(outcome(await refresh(client))).toBe("ok");
  });

  test("a route that is gone gives invalid_grant, and once it is back the token works again", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    gateway.reconfigure(ONE_SERVER.replace("path: /mcp", "path: /other"));
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
    gateway.reconfigure(ONE_SERVER);
    expect(outcome(await refresh(client))).toBe("ok");
  });

  test("on a host with several servers a repeat may name another of the granted ones", async () => {
    const yaml = ONE_SERVER.replace("name: tools\n", "name: tools\n    prefix: /a\n").concat(
      `  - { name: b, from: "${ORIGIN}", prefix: /b, to: "http://127.0.0.1:9", policy: [{ allow: { and: [authenticated_user: true] } }], mcp: { server: {} } }\n`,
    );
    const gateway = await start({ yaml });
    const client = await gateway.signIn({ resource: `${ORIGIN}/b`, parameters: { resource: undefined } });
    const audience = async (answer: Answer): Promise<unknown> => {
      const opened = gateway.externalTokens.open(String(answer.json()["access_token"]));
      return opened.ok && opened.claims.audience;
    };
    const old = client.tokens.refresh_token ?? "";
    expect(await audience(await refresh(client, old, { resource: `${ORIGIN}/b` }))).toBe(`${ORIGIN}/b`);
    expect(await audience(await refresh(client, old, { resource: `${ORIGIN}/a/mcp` }))).toBe(`${ORIGIN}/a/mcp`);
  });
});

describe("ends", () => {
  test("a revoked user's grants are invalid immediately", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    const bob = await gateway.signIn({ userId: "bob" });
    await gateway.store.deleteByTag("user:alice");
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
    expect(outcome(await refresh(bob))).toBe("ok");
  });

  test("a grant revoked during its refresh does not come back", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    gateway.clock.advance((SESSION_SECONDS + 1) * 1000);
    let open = (): void => {};
    gateway.identities.gate = new Promise((resolve) => (open = resolve));
    const pending = refresh(client);
    await expect.poll(() => gateway.identities.refreshes).toBe(1);
    await client.oauth.sendRevocation({
      token: client.tokens.refresh_token ?? "",
      ...clientProof(client.registration),
    });
    open();
    expect(outcome(await pending)).toBe("400 invalid_grant");
    const kept = await gateway.store.list("user:alice");
    expect(kept.filter(({ key }) => key.startsWith("grant:"))).toEqual([]);
  });

  test("a store outage consumes nothing", async () => {
    const clock = createTestClock();
    const breakable = createBreakableStore(clock);
    const client = await (await start({ clock, store: breakable.store })).signIn();
    breakable.broken = true;
    expect(outcome(await refresh(client))).toBe("503 temporarily_unavailable");
    breakable.broken = false;
    expect(outcome(await refresh(client))).toBe("ok");
  });
});
