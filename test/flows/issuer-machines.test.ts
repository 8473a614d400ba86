/** Machines: client credentials of clients that an administrator made, and service accounts with a printed token. */
import { describe, expect, test } from "vitest";

import { createClient, endClient } from "../../runtime/oauth/server/clients/pre-registered.ts";
import {
  createServiceAccount,
  endServiceAccount,
  mintServiceAccountToken,
} from "../../runtime/identity/tokens/service-accounts.ts";
import { EVERY_SERVER } from "../../runtime/identity/external-token.ts";
import { createPkce, REDIRECT_URI } from "../support/oauth-client.ts";
import { ORIGIN, RESOURCE, useIssuers, type TestIssuer } from "../support/issuer.ts";

const start = useIssuers();

async function machine(gateway: TestIssuer, more: object = {}) {
  const made = await createClient(gateway, {
    name: "nightly",
    issuer: ORIGIN,
    machine: { email: "", groups: ["robots"] },
    ...more,
  });
  if (!made.ok) throw new Error(made.problem);
  return made;
}

describe("client credentials", () => {
  test("give an access token for the client's own account, bound to the resource, without a refresh token", async () => {
    const gateway = await start();
    const { clientId, secret = "" } = await machine(gateway);
    const answer = await gateway.oauth().sendToken({
      grant_type: "client_credentials",
      client_id: clientId,
      client_secret: secret,
      resource: RESOURCE,
    });
    expect(answer.status).toBe(200);
    expect(answer.headers["cache-control"]).toBe("no-store");
    const tokens = answer.json();
    expect(tokens).toEqual({ access_token: expect.any(String), token_type: "Bearer", expires_in: 900, scope: "mcp" });
    expect(gateway.externalTokens.open(String(tokens["access_token"]))).toMatchObject({
      ok: true,
      claims: { kind: "service-account", userId: "service-account:nightly", clientId, audience: RESOURCE },
    });
  });

  test("need neither resource nor scope, and refuse a foreign resource", async () => {
    const gateway = await start();
    const { clientId, secret = "" } = await machine(gateway);
    const form = { grant_type: "client_credentials", client_id: clientId, client_secret: secret };
    expect((await gateway.oauth().sendToken(form)).status).toBe(200);
    const foreign = await gateway.oauth().sendToken({ ...form, resource: "https://evil.example/mcp" });
    expect([foreign.status, foreign.json()["error"]]).toEqual([400, "invalid_target"]);
  });

  test("are rejected for dynamically registered clients, whatever they request", async () => {
    const gateway = await start();
    const oauth = gateway.oauth();
    const registration = await oauth.register({
      token_endpoint_auth_method: "client_secret_post",
      grant_types: ["authorization_code", "refresh_token", "client_credentials"],
    });
    const answer = await oauth.sendToken({
      grant_type: "client_credentials",
      client_id: registration.client_id,
      client_secret: registration.client_secret ?? "",
    });
    expect([answer.status, answer.json()["error"]]).toEqual([400, "unauthorized_client"]);
    const alone = await oauth.sendRegistration({ redirect_uris: [REDIRECT_URI], grant_types: ["client_credentials"] });
    expect([alone.status, alone.json()["error"]]).toEqual([400, "invalid_client_metadata"]);
  });

  test("are refused without the secret, with a wrong one, and at another issuer", async () => {
    const gateway = await start();
    const { clientId, secret = "" } = await machine(gateway);
    const elsewhere = await machine(gateway, { name: "elsewhere", issuer: "https://other.example.com" });
    const form = { grant_type: "client_credentials", client_id: clientId };
    for (const proof of [
      {},
      { client_secret: "gws_wrong" },
      { client_secret: elsewhere.secret ?? "" },
      { client_id: elsewhere.clientId, client_secret: elsewhere.secret ?? "" },
    ]) {
      const answer = await gateway.oauth().sendToken({ ...form, ...proof });
      expect([answer.status, answer.json()["error"]]).toEqual([401, "invalid_client"]);
    }
    expect((await gateway.oauth().sendToken({ ...form, client_secret: secret })).status).toBe(200);
  });

  test("end with the client", async () => {
    const gateway = await start();
    const { clientId, secret = "", accountId = "" } = await machine(gateway);
    await endClient(gateway, clientId);
    const form = { grant_type: "client_credentials", client_id: clientId, client_secret: secret };
    expect((await gateway.oauth().sendToken(form)).json()["error"]).toBe("invalid_client");
    expect(await gateway.store.get(`service-account:${accountId}`)).toBeUndefined();
  });

  test("end with the service account, though the client remains", async () => {
    const gateway = await start();
    const { clientId, secret = "", accountId = "" } = await machine(gateway);
    await endServiceAccount(gateway, accountId);
    const form = { grant_type: "client_credentials", client_id: clientId, client_secret: secret };
    const answer = await gateway.oauth().sendToken(form);
    expect([answer.status, answer.json()["error"]]).toEqual([400, "invalid_grant"]);
  });

  test("cannot be revoked: the revocation endpoint says so to their own client", async () => {
    const gateway = await start();
    const { clientId, secret = "" } = await machine(gateway);
    const proof = { client_id: clientId, client_secret: secret };
    const answer = await gateway.oauth().sendToken({ grant_type: "client_credentials", ...proof });
    const token = String(answer.json()["access_token"]);
    const own = await gateway.oauth().sendRevocation({ token, ...proof });
    expect([own.status, own.json()["error"]]).toEqual([400, "unsupported_token_type"]);
    const other = await gateway.oauth().register();
    expect((await gateway.oauth().sendRevocation({ token, client_id: other.client_id })).status).toBe(200);
  });

  test("cannot reach a user's consent page", async () => {
    const gateway = await start();
    const { clientId } = await machine(gateway);
    const outcome = await gateway
      .oauth()
      .authorize({ clientId, redirectUri: REDIRECT_URI, challenge: createPkce().challenge });
    expect(outcome).toMatchObject({ at: "page", page: { status: 400 } });
  });
});

describe("a pre-registered client", () => {
  test("signs users in, and does not expire if unused", async () => {
    const gateway = await start();
    const made = await createClient(gateway, { name: "desk", issuer: ORIGIN, redirectUris: [REDIRECT_URI] });
    if (!made.ok) throw new Error(made.problem);
    gateway.clock.advance(400 * 24 * 3600_000);
    const registration = {
      client_id: made.clientId,
      redirect_uris: [REDIRECT_URI],
      ...(made.secret === undefined ? {} : { client_secret: made.secret }),
    };
    const client = await gateway.signIn({ registration });
    await client.refresh();
    const stored = await gateway.store.get(`client:${made.clientId}`);
    expect(stored).not.toHaveProperty("expiresAt");
    expect(JSON.stringify(stored)).not.toContain(made.secret);
  });

  test("that ends takes its grants, codes and remembered approvals with it", async () => {
    const gateway = await start();
    const made = await createClient(gateway, {
      name: "desk",
      issuer: ORIGIN,
      redirectUris: [REDIRECT_URI],
      isPublic: true,
    });
    if (!made.ok) throw new Error(made.problem);
    const client = await gateway.signIn({ registration: { client_id: made.clientId, redirect_uris: [REDIRECT_URI] } });
    expect((await gateway.store.list(`client:${made.clientId}`)).length).toBeGreaterThan(1);
    await endClient(gateway, made.clientId);
    expect(await gateway.store.list(`client:${made.clientId}`)).toEqual([]);
    await expect(client.refresh()).rejects.toThrow("invalid_client");
  });

  test.each([
    ["neither redirect URIs nor a machine", {}],
    ["an unsafe redirect URI", { redirectUris: ["http://app.example.com/cb"] }],
    ["a public machine", { machine: { email: "", groups: [] }, isPublic: true }],
    ["a name that is none", { name: "a b", machine: { email: "", groups: [] } }],
    ["no issuer", { issuer: "mcp.example.com", redirectUris: [REDIRECT_URI] }],
  ])("is not made with %s", async (_, bent) => {
    const gateway = await start();
    const made = await createClient(gateway, { name: "x", issuer: ORIGIN, ...bent });
    expect(made.ok).toBe(false);
    expect(await gateway.store.list("clients")).toEqual([]);
  });
});

describe("a service account", () => {
  const account = { name: "ci", email: "ci@example.com", groups: ["robots"] };

  test("has a unique name while it exists", async () => {
    const gateway = await start();
    const first = await createServiceAccount(gateway, account);
    expect(await createServiceAccount(gateway, account)).toEqual({ ok: false, reason: "taken" });
    expect(await createServiceAccount(gateway, { ...account, name: "a b" })).toEqual({ ok: false, reason: "name" });
    const owner = "a\u202eb";
    expect(await createServiceAccount(gateway, { ...account, owner })).toEqual({ ok: false, reason: "owner" });
    if (!first.ok) throw new Error(first.reason);
    await endServiceAccount(gateway, first.id);
    expect((await createServiceAccount(gateway, account)).ok).toBe(true);
  });

  test("keeps its token nowhere", async () => {
    const gateway = await start();
    const made = await createServiceAccount(gateway, { ...account, audience: EVERY_SERVER });
    if (!made.ok) throw new Error(made.reason);
    const token = mintServiceAccountToken(gateway.externalTokens, made, EVERY_SERVER, 4_000_000_000);
    expect(token).toMatch(/^gwt_/);
    expect(JSON.stringify(await gateway.store.list("service-accounts"))).not.toContain(token.slice(4));
  });
});
