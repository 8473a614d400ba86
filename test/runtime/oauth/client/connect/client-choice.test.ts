/** Our registrations at upstreams' authorization servers: one user's abandoned flows cost others nothing. */
import { describe, expect, test } from "vitest";

import type { SafeFetch } from "../../../../../runtime/http/fetch/safe-fetch.ts";
import { createClientChooser } from "../../../../../runtime/oauth/client/connect/client-choice.ts";
import { createBoundIssuers } from "../../../../../runtime/oauth/client/discovery/bound-issuer.ts";
import type { AuthorizationServer } from "../../../../../runtime/oauth/client/discovery/metadata.ts";
import { findTarget } from "../../../../../runtime/oauth/client/target.ts";
import { createKeys } from "../../../../../runtime/shared/keys.ts";
import { silentLog } from "../../../../../runtime/shared/log.ts";
import { createMemoryStore } from "../../../../../runtime/store/memory.ts";
import { createTestClock } from "../../../../support/clock.ts";
import { routeNamed, snapshotFrom } from "../../../../support/config.ts";

const SERVER: AuthorizationServer = {
  issuer: "https://as.example",
  authorizationEndpoint: "https://as.example/authorize",
  tokenEndpoint: "https://as.example/token",
  registrationEndpoint: "https://as.example/register",
  readsClientDocuments: false,
  sendsIssuer: false,
  scopes: [],
  tokenAuthMethods: ["none"],
};
const DAY = 24 * 3600_000;

function setUp() {
  const clock = createTestClock();
  const store = createMemoryStore({ clock });
  const keys = createKeys([Buffer.alloc(32, 5)]);
  const log = silentLog();
  const server = { registered: 0, status: 201 };
  const fetch: SafeFetch = async () => {
    if (server.status === 201) server.registered += 1;
    const body = { client_id: `client-${server.registered}`, token_endpoint_auth_method: "none" };
    const headers = { "content-type": "application/json" };
    return { ok: true, status: server.status, headers, body: Buffer.from(JSON.stringify(body)) };
  };
  const issuers = createBoundIssuers({ store, keys, clock, log });
  const clients = createClientChooser({ store, keys, fetch, clock, log, issuers });
  const snapshot = snapshotFrom(`
runtime_flags: { mcp: true }
mcp_allowed_as_metadata_domains: [up.example, as.example]
routes: [{ name: up, from: "https://app.example", to: "https://up.example", mcp: { server: {} }, allow_any_authenticated_user: true }]`);
  const target = findTarget(routeNamed(snapshot, "up")) ?? expect.unreachable();
  const begin = async () => {
    const choice = await clients.choose(target, SERVER, snapshot.settings);
    return choice.ok ? choice.client : expect.unreachable(choice.detail);
  };
  const chooseAt = (changes: Partial<AuthorizationServer>, named?: string) =>
    clients.choose(
      named === undefined ? target : { ...target, server: { ...target.server, authorizationServerUrl: named } },
      { ...SERVER, ...changes },
      snapshot.settings,
    );
  const records = async (): Promise<number> => (await store.keys({ prefix: "upstream-client:", limit: 100 })).length;
  return { clock, server, clients, begin, chooseAt, records };
}

describe("flows that users abandon", () => {
  test("do not exhaust the server's registrations, and the working registration stays", async () => {
    const { clock, server, clients, begin } = setUp();
    await clients.answered(await begin());
    for (let flow = 0; flow < 60; flow += 1) await begin();
    expect(server.registered).toBe(2);
    server.status = 429;
    clock.advance(50 * 60_000);
    expect(await begin()).toMatchObject({ clientId: "client-2" });
  });

  test("leave registrations for a day at most; one that is used stays", async () => {
    const { clock, server, clients, begin, records } = setUp();
    const used = await begin();
    await clients.answered(used);
    for (let flow = 0; flow < 100; flow += 1) {
      await begin();
      clock.advance(120_000);
    }
    expect(server.registered).toBeLessThanOrEqual(21);
    clock.advance(DAY + 1000);
    // The current pointer, and the one that a flow came back to.
    expect(await records()).toBe(2);
    clock.advance(100 * DAY);
    expect(await records()).toBe(2);
  });
});

describe("a server that reports our registration as unknown", () => {
  test("registers again at the next flow, and while it does not the earlier registration is tried", async () => {
    const { server, clients, begin } = setUp();
    const first = await begin();
    await clients.answered(first);
    await clients.forget(first);
    server.status = 429;
    expect(await begin()).toMatchObject({ clientId: "client-1" });
    server.status = 201;
    expect(await begin()).toMatchObject({ clientId: "client-1" });
  });
});

describe("a registration endpoint at another origin", () => {
  const registrationEndpoint = "https://honest.example/register";

  test.each([false, true])(
    "gives no client, since its secret would go to the issuer that names it (iss: %s)",
    async (sendsIssuer) => {
      const { server, chooseAt } = setUp();
      expect(await chooseAt({ registrationEndpoint, sendsIssuer })).toMatchObject({
        ok: false,
        detail: expect.stringContaining("honest.example"),
      });
      expect(server.registered).toBe(0);
    },
  );

  test("is used at the origin of the token endpoint, and where the route names the issuer", async () => {
    const { chooseAt } = setUp();
    const token = { registrationEndpoint, tokenEndpoint: "https://honest.example/token", sendsIssuer: true };
    expect(await chooseAt(token)).toMatchObject({ ok: true });
    expect(await chooseAt({ registrationEndpoint }, "https://as.example")).toMatchObject({ ok: true });
  });
});
