import { afterEach, beforeEach, describe, expect, test } from "vitest";

import { snapshotFrom } from "../../../../support/config.ts";
import { epochSeconds } from "../../../../../runtime/shared/clock.ts";
import type { Held } from "../../../../../runtime/oauth/client/tokens/token-records.ts";
import {
  startTokenStoreBench,
  VAULT_CLIENT_SECRET,
  vaultYaml,
  type TokenStoreBench,
} from "../../../../support/vault-bench.ts";

let bench: TokenStoreBench;
beforeEach(async () => {
  bench = await startTokenStoreBench();
});
afterEach(() => bench.close());

const soon = (seconds = 60): number => epochSeconds(bench.clock) + seconds;
const tokenOf = (held: Held): string | undefined => (held.kind === "token" ? held.accessToken : undefined);

describe("vault.hold()", () => {
  test("returns the stored token without a request while it is valid", async () => {
    const { tokenStore } = bench.replica();
    const access = await bench.connect("alice", { expiresAt: soon() });
    expect(await tokenStore.hold("alice", bench.target)).toMatchObject({ kind: "token", accessToken: access });
    expect(await tokenStore.hold("bob", bench.target)).toEqual({ kind: "none" });
    expect(bench.service.tokenRequests).toHaveLength(0);
  });

  test("refreshes an expired token with the resource of the first request, and keeps the rotated one", async () => {
    const { tokenStore } = bench.replica();
    await bench.connect("alice", { expiresAt: soon() });
    bench.clock.advance(61_000);
    const held = await tokenStore.hold("alice", bench.target);
    expect(tokenOf(held)).toMatch(/^access-sentinel-/);
    expect(Object.fromEntries(bench.service.tokenRequests[0] ?? [])).toMatchObject({
      grant_type: "refresh_token",
      refresh_token: "refresh-sentinel-alice",
      resource: bench.target.url,
    });
    // The rotated refresh token is the one used next time.
    bench.clock.advance(3_601_000);
    expect((await tokenStore.hold("alice", bench.target)).kind).toBe("token");
    expect(bench.service.tokenRequests[1]?.get("refresh_token")).not.toBe("refresh-sentinel-alice");
  });

  test("keeps the old refresh token where the server gives no new one", async () => {
    bench.service.switches.rotates = false;
    const { tokenStore } = bench.replica();
    await bench.connect("alice", { expiresAt: soon() });
    for (let round = 0; round < 3; round += 1) {
      bench.clock.advance(3_601_000);
      expect((await tokenStore.hold("alice", bench.target)).kind).toBe("token");
    }
    expect(new Set(bench.service.tokenRequests.map((form) => form.get("refresh_token")))).toEqual(
      new Set(["refresh-sentinel-alice"]),
    );
  });

  test("never refreshes a token without an end", async () => {
    const { tokenStore } = bench.replica();
    await bench.connect("alice");
    bench.clock.advance(365 * 24 * 3600 * 1000 * 0.4);
    expect((await tokenStore.hold("alice", bench.target)).kind).toBe("token");
    expect(bench.service.tokenRequests).toHaveLength(0);
  });

  test("ends the connection of an expired token without a refresh token", async () => {
    const { tokenStore } = bench.replica();
    await bench.connect("alice", { expiresAt: soon(), refresh: false });
    bench.clock.advance(61_000);
    expect(await tokenStore.hold("alice", bench.target)).toEqual({ kind: "none" });
    expect(bench.service.tokenRequests).toHaveLength(0);
    expect(await tokenStore.find("alice", bench.target)).toMatchObject({ ended: "expired" });
  });
});

describe("vault.refresh(): one at a time", () => {
  test("many requests of one user cause one refresh and get one token", async () => {
    const { tokenStore } = bench.replica();
    await bench.connect("alice", { expiresAt: soon() });
    bench.clock.advance(61_000);
    const all = await Promise.all(Array.from({ length: 50 }, () => tokenStore.hold("alice", bench.target)));
    expect(new Set(all.map(tokenOf)).size).toBe(1);
    expect(bench.service.tokenRequests).toHaveLength(1);
  });

  test("several replicas refresh once between them", async () => {
    const replicas = [bench.replica(), bench.replica(), bench.replica()];
    await bench.connect("alice", { expiresAt: soon() });
    bench.clock.advance(61_000);
    const all = await Promise.all(
      replicas.flatMap(({ tokenStore }) => [
        tokenStore.hold("alice", bench.target),
        tokenStore.hold("alice", bench.target),
      ]),
    );
    expect(new Set(all.map(tokenOf)).size).toBe(1);
    expect(bench.service.tokenRequests).toHaveLength(1);
  });

  test("1,000 users whose tokens expire in the same second cause exactly one refresh each and no failed request", async () => {
    const replicas = [bench.replica(), bench.replica()];
    const users = Array.from({ length: 1000 }, (_, index) => `user-${index}`);
    for (const user of users) await bench.connect(user, { expiresAt: soon() });
    bench.clock.advance(61_000);
    const held = await Promise.all(
      users.flatMap((user) =>
        replicas.flatMap(({ attacher }) => [0, 1].map(async () => attacher.attach(user, bench.target.route))),
      ),
    );
    expect(held.filter(({ kind }) => kind !== "token")).toEqual([]);
    expect(bench.service.tokenRequests).toHaveLength(1000);
    expect(new Set(bench.service.tokenRequests.map((form) => form.get("refresh_token"))).size).toBe(1000);
  });
});

describe("vault: permanent and passing failures", () => {
  const expire = async (): Promise<ReturnType<TokenStoreBench["replica"]>> => {
    const replica = bench.replica();
    await bench.connect("alice", { expiresAt: soon() });
    bench.clock.advance(61_000);
    return replica;
  };

  test.each([
    [
      "500",
      (r: Response_) => r.writeHead(500, { "content-type": "application/json" }).end('{"error":"invalid_grant"}'),
    ],
    ["503 with a page", (r: Response_) => r.writeHead(503, { "content-type": "text/html" }).end("<h1>down</h1>")],
    ["200 with a page", (r: Response_) => r.writeHead(200, { "content-type": "text/html" }).end("<h1>Sign in</h1>")],
    [
      "200 with half an answer",
      (r: Response_) => r.writeHead(200, { "content-type": "application/json" }).end('{"access_token":"x'),
    ],
    ["200 without a token", (r: Response_) => r.writeHead(200, { "content-type": "application/json" }).end("{}")],
    [
      "a token with a line end",
      (r: Response_) =>
        r
          .writeHead(200, { "content-type": "application/json" })
          .end('{"access_token":"a\\r\\nX: y","token_type":"Bearer"}'),
    ],
    [
      "a token of another type",
      (r: Response_) =>
        r.writeHead(200, { "content-type": "application/json" }).end('{"access_token":"a","token_type":"mac"}'),
    ],
    [
      "a negative life",
      (r: Response_) =>
        r
          .writeHead(200, { "content-type": "application/json" })
          .end('{"access_token":"a","token_type":"Bearer","expires_in":-1}'),
    ],
    ["429", (r: Response_) => r.writeHead(429).end()],
    ["404", (r: Response_) => r.writeHead(404).end()],
    ["a redirect", (r: Response_) => r.writeHead(307, { location: "http://127.0.0.1:1/" }).end()],
    [
      "an unknown error",
      (r: Response_) => r.writeHead(400, { "content-type": "application/json" }).end('{"error":"no_idea"}'),
    ],
    ["a cut connection", (r: Response_) => r.socket?.destroy()],
  ])("a token endpoint that responds with %s ends no connection", async (_name, answer) => {
    const { tokenStore } = await expire();
    bench.service.switches.token = (_form, response) => {
      answer(response);
      return true;
    };
    expect(await tokenStore.hold("alice", bench.target)).toEqual({ kind: "unavailable" });
    expect((await tokenStore.find("alice", bench.target))?.ended).toBeUndefined();
    // It is not requested again immediately, but later it works again.
    const asked = bench.service.tokenRequests.length;
    expect(await tokenStore.hold("alice", bench.target)).toEqual({ kind: "unavailable" });
    expect(bench.service.tokenRequests.length).toBe(asked);
    bench.service.switches.token = undefined;
    bench.clock.advance(3_000);
    expect((await tokenStore.hold("alice", bench.target)).kind).toBe("token");
  });

  test.each(["invalid_grant", "invalid_scope", "invalid_target"])(
    "%s ends the connection, and nobody asks again",
    async (error) => {
      const { tokenStore } = await expire();
      bench.service.switches.token = (_form, response) => {
        response.writeHead(400, { "content-type": "application/json" }).end(JSON.stringify({ error }));
        return true;
      };
      expect(await tokenStore.hold("alice", bench.target)).toEqual({ kind: "none" });
      expect(await tokenStore.hold("alice", bench.target)).toEqual({ kind: "none" });
      expect(bench.service.tokenRequests).toHaveLength(1);
      expect(await tokenStore.find("alice", bench.target)).toMatchObject({ ended: "refused" });
      expect((await tokenStore.find("alice", bench.target))?.tokens).toBeUndefined();
    },
  );

  test("a wrong client secret in the configuration ends no connection, and is read again at each refresh", async () => {
    const { tokenStore } = await expire();
    bench.snapshot = snapshotFrom(vaultYaml(bench.service, "wrong-secret"));
    // Twice: the second result is cached, without a request.
    for (const _ of [1, 2])
      expect(await tokenStore.hold("alice", bench.target)).toEqual({ kind: "refused", why: "misconfigured" });
    expect((await tokenStore.find("alice", bench.target))?.ended).toBeUndefined();
    expect(bench.log()).toContain("; check client_id and client_secret in upstream_oauth2");
    bench.snapshot = snapshotFrom(vaultYaml(bench.service, VAULT_CLIENT_SECRET));
    bench.clock.advance(3_000);
    expect((await tokenStore.hold("alice", bench.target)).kind).toBe("token");
    const secrets = bench.service.tokenRequests.map((form) =>
      Buffer.from((form.get("authorization") ?? "").slice(6), "base64").toString(),
    );
    expect(secrets).toEqual(["route-client:wrong-secret", `route-client:${VAULT_CLIENT_SECRET}`]);
  });

  test("the secret of the route is stored nowhere", async () => {
    const { tokenStore } = await expire();
    await tokenStore.hold("alice", bench.target);
    expect(JSON.stringify(await bench.store.store.list("user:alice"))).not.toContain(VAULT_CLIENT_SECRET);
    expect(JSON.stringify(await bench.store.store.list("user:alice"))).not.toMatch(/access-sentinel|refresh-sentinel/);
  });

  test("logs name no token and no secret", async () => {
    const { tokenStore } = await expire();
    await tokenStore.hold("alice", bench.target);
    bench.service.switches.token = (_form, response) => {
      response.writeHead(400, { "content-type": "application/json" }).end('{"error":"refresh-sentinel-alice"}');
      return true;
    };
    bench.clock.advance(3_601_000);
    await tokenStore.hold("alice", bench.target);
    for (const secret of [...bench.service.secrets, VAULT_CLIENT_SECRET]) expect(bench.log()).not.toContain(secret);
  });
});

describe("vault: faults between response and store", () => {
  test("a response that cannot be stored is not used, but kept and stored later", async () => {
    const { tokenStore } = bench.replica();
    await bench.connect("alice", { expiresAt: soon() });
    bench.clock.advance(61_000);
    bench.intercept = async (request, send) => {
      const answer = await send(request);
      bench.store.broken = true;
      return answer;
    };
    expect(await tokenStore.hold("alice", bench.target)).toEqual({ kind: "unavailable" });
    expect(bench.service.tokenRequests).toHaveLength(1);
    bench.store.broken = false;
    bench.intercept = (request, send) => send(request);
    // The lease of the failed attempt has to expire.
    bench.clock.advance(10_000);
    expect((await tokenStore.hold("alice", bench.target)).kind).toBe("token");
    expect(bench.service.tokenRequests).toHaveLength(1);
  });

  test("a process that dies between response and store: the next one tries the old token once, then the connection has ended", async () => {
    await bench.connect("alice", { expiresAt: soon() });
    bench.clock.advance(61_000);
    const dying = bench.replica({
      lease: async (name, ttlMs) => {
        const held = await bench.store.store.lease(name, ttlMs);
        return held && { ...held, renew: async () => false };
      },
    });
    const end = Promise.withResolvers<void>();
    bench.intercept = async (request, send) => {
      await send(request);
      // The answer is not seen while the test lasts: the process is gone.
      await end.promise;
      return { ok: false, reason: "unreachable", detail: "the process is gone" };
    };
    const never = dying.tokenStore.hold("alice", bench.target);
    await expect.poll(() => bench.service.tokenRequests.length).toBe(1);
    bench.intercept = (request, send) => send(request);
    // The dead process's lease ends.
    bench.clock.advance(10_000);
    const next = bench.replica();
    expect(await next.tokenStore.hold("alice", bench.target)).toEqual({ kind: "none" });
    expect(await next.tokenStore.hold("alice", bench.target)).toEqual({ kind: "none" });
    expect(bench.service.tokenRequests).toHaveLength(2);
    expect(bench.service.tokenRequests[1]?.get("refresh_token")).toBe("refresh-sentinel-alice");
    end.resolve();
    await never;
  });

  test("a lost response with a rotated token: the old token is tried once, then the connection has ended", async () => {
    const { tokenStore } = bench.replica();
    await bench.connect("alice", { expiresAt: soon() });
    bench.clock.advance(61_000);
    bench.intercept = async (request, send) => {
      await send(request);
      return { ok: false, reason: "unreachable", detail: "cut" };
    };
    expect(await tokenStore.hold("alice", bench.target)).toEqual({ kind: "unavailable" });
    bench.intercept = (request, send) => send(request);
    bench.clock.advance(3_000);
    expect(await tokenStore.hold("alice", bench.target)).toEqual({ kind: "none" });
    expect(await tokenStore.hold("alice", bench.target)).toEqual({ kind: "none" });
    expect(bench.service.tokenRequests).toHaveLength(2);
  });

  test("a flow that completes during a refresh wins", async () => {
    const { tokenStore } = bench.replica();
    await bench.connect("alice", { expiresAt: soon() });
    bench.clock.advance(61_000);
    bench.intercept = async (request, send) => {
      const answer = await send(request);
      bench.intercept = (next, pass) => pass(next);
      await bench.connect("alice", { expiresAt: soon(600) });
      return answer;
    };
    expect(tokenOf(await tokenStore.hold("alice", bench.target))).toBe("access-sentinel-alice");
  });

  test("a user who disconnects during a refresh stays disconnected", async () => {
    const { tokenStore } = bench.replica();
    await bench.connect("alice", { expiresAt: soon() });
    bench.clock.advance(61_000);
    bench.intercept = async (request, send) => {
      const answer = await send(request);
      await bench.store.store.deleteByTag("user:alice");
      return answer;
    };
    expect(await tokenStore.hold("alice", bench.target)).toEqual({ kind: "none" });
    expect(await tokenStore.find("alice", bench.target)).toBeUndefined();
  });
});

describe("vault.requireScopes()", () => {
  test("is bounded: after two times another flow is no longer offered, until an hour has passed", async () => {
    const { tokenStore } = bench.replica();
    await bench.connect("alice");
    for (let count = 0; count < 2; count += 1) {
      expect(await tokenStore.requireScopes("alice", bench.target, ["write"])).toBe("connect");
    }
    expect(await tokenStore.requireScopes("alice", bench.target, ["write"])).toBe("exhausted");
    bench.clock.advance(3_601_000);
    expect(await tokenStore.requireScopes("alice", bench.target, ["write"])).toBe("connect");
    // The token stays valid for its scopes.
    expect((await tokenStore.hold("alice", bench.target)).kind).toBe("token");
  });

  test("offers nothing if the upstream does not name the missing scope", async () => {
    const { tokenStore } = bench.replica();
    await bench.connect("alice");
    expect(await tokenStore.requireScopes("alice", bench.target, [])).toBe("exhausted");
  });
});

type Response_ = import("node:http").ServerResponse;
