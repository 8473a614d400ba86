/**
 * The authorization server's tokens at the routes they protect, in a whole gateway with a real identity provider:
 * the MCP rules for protected resources, requirements "States and transitions" and "Errors". Labels: see issuer.test.ts.
 */
import { afterAll, afterEach, describe, expect, test } from "vitest";

import type { Answer } from "../support/browser.ts";
import { createSend, findForm } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { startMcpGateway, type McpGateway, type McpGatewayOptions } from "../support/mcp-gateway.ts";
import {
  clientProof,
  createOAuthClient,
  createPkce,
  REDIRECT_URI,
  type SignedInClient,
} from "../support/oauth-client.ts";
import { withChangedEnd } from "../support/tamper.ts";

let world: McpGateway | undefined;

/** One world for the tests that change nothing in it. */
async function shared(): Promise<McpGateway> {
  world ??= await startMcpGateway();
  return world;
}

let own: McpGateway | undefined;

/** A world of the test's own. */
async function start(options?: McpGatewayOptions): Promise<McpGateway> {
  own = await startMcpGateway(options);
  return own;
}

afterEach(async () => {
  await own?.close();
  own = undefined;
});

afterAll(async () => {
  await world?.close();
});

const send = createSend();

const INITIALIZE = JSON.stringify({
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "t", version: "1" } },
});

/** An initialize request with this credential. */
function call(
  url: string,
  authorization: string | undefined,
  method = "POST",
  headers: Record<string, string> = {},
): Promise<Answer> {
  return send({
    method,
    url,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...(authorization === undefined ? {} : { authorization }),
      ...headers,
    },
    ...(method === "POST" ? { body: INITIALIZE } : {}),
  });
}

const refresh = (client: SignedInClient): Promise<Answer> =>
  client.oauth.sendToken({
    grant_type: "refresh_token",
    refresh_token: client.tokens.refresh_token ?? "",
    ...clientProof(client.registration),
  });

const outcome = (answer: Answer): string =>
  answer.status === 200 ? "ok" : `${answer.status} ${String(answer.json()["error"])}`;

describe("tokens at the protected routes", () => {
  test("R1, R4, R9: 401 with one Bearer challenge for every bad credential, on POST, GET and DELETE", async () => {
    const { gateway, resource, signIn } = await shared();
    const client = await signIn();
    const { access_token, refresh_token = "" } = client.tokens;
    const bad: Record<string, string | undefined> = {
      none: undefined,
      garbage: "Bearer garbage",
      "no token": "Bearer",
      "another scheme": `Basic ${Buffer.from(`a:${access_token}`).toString("base64")}`,
      "a changed token": `Bearer ${withChangedEnd(access_token)}`,
      "a truncated token": `Bearer ${access_token.slice(0, 60)}`,
      "a refresh token": `Bearer ${refresh_token}`,
      "a client id": `Bearer ${client.registration.client_id}`,
      "an unsigned JWT": `Bearer ${Buffer.from('{"alg":"none"}').toString("base64url")}.${Buffer.from('{"sub":"u-alice"}').toString("base64url")}.`,
    };
    for (const [name, authorization] of Object.entries(bad)) {
      for (const method of ["POST", "GET", "DELETE"]) {
        const answer = await call(resource, authorization, method);
        expect([name, method, answer.status]).toEqual([name, method, 401]);
        expect(answer.headers["www-authenticate"]).toMatch(/^Bearer [^,]/);
        expect(answer.headers["www-authenticate"]).toContain(
          `resource_metadata="${gateway.origin}/.well-known/oauth-protected-resource/tools/mcp"`,
        );
        expect(answer.text).toContain("Unauthorized");
      }
    }
    expect((await call(resource, `Bearer ${access_token}`)).status).toBe(200);
  });

  test("a client configured with the route's base gets metadata about the base", async () => {
    const { gateway } = await shared();
    const answer = await call(`${gateway.origin}/tools`, undefined);
    const url = /resource_metadata="([^"]+)"/.exec(answer.headers["www-authenticate"] ?? "")?.[1] ?? "";
    expect(url).toBe(`${gateway.origin}/.well-known/oauth-protected-resource/tools`);
    expect((await send({ method: "GET", url })).json()["resource"]).toBe(`${gateway.origin}/tools`);
  });

  test("R5: a token for one route is invalid on the other", async () => {
    const { resource, otherResource, signIn } = await shared();
    const client = await signIn();
    const bearer = `Bearer ${client.tokens.access_token}`;
    expect((await call(resource, bearer)).status).toBe(200);
    const answer = await call(otherResource, bearer);
    expect(answer.status).toBe(401);
    expect(answer.headers["www-authenticate"]).toContain('error="invalid_token"');
  });

  test("a token requested without a resource is valid for the servers of the host", async () => {
    const { resource, otherResource, signIn } = await shared();
    const client = await signIn();
    const registration = client.registration;
    const { verifier, challenge } = createPkce();
    const outcome = await client.oauth.authorize({
      clientId: registration.client_id,
      redirectUri: REDIRECT_URI,
      challenge,
      parameters: { resource: undefined },
    });
    const code = outcome.at === "client" ? (outcome.parameters["code"] ?? "") : "";
    const tokens = (
      await client.oauth.sendToken({
        grant_type: "authorization_code",
        code,
        redirect_uri: REDIRECT_URI,
        code_verifier: verifier,
        ...clientProof(registration),
      })
    ).json();
    for (const url of [resource, otherResource]) {
      expect((await call(url, `Bearer ${String(tokens["access_token"])}`)).status).toBe(200);
    }
  });

  test("R6: a token in the query does not count", async () => {
    const { resource, signIn } = await shared();
    const client = await signIn();
    expect((await call(`${resource}?access_token=${client.tokens.access_token}`, undefined)).status).toBe(401);
  });

  test("D11: the session cookie does not count on an MCP server route", async () => {
    const { resource, signIn } = await shared();
    const client = await signIn();
    const cookie = client.oauth.browser.cookieHeader("localhost");
    expect(cookie).not.toBe("");
    expect((await call(resource, undefined, "POST", { cookie })).status).toBe(401);
  });

  test("the token never reaches the server behind", async () => {
    const { resource, signIn, gateway } = await shared();
    const client = await signIn();
    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 2,
      method: "tools/call",
      params: { name: "whoami", arguments: {} },
    });
    const answer = await send({
      method: "POST",
      url: resource,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        authorization: `Bearer ${client.tokens.access_token}`,
      },
      body,
    });
    expect(answer.status).toBe(200);
    expect(answer.text).not.toContain(client.tokens.access_token);
    expect(gateway.log()).not.toContain(client.tokens.access_token);
    expect(await gateway.recordText()).not.toContain(client.tokens.access_token);
  });
});

test("D13: sign-in and consent on a host of their own", async () => {
  const world = await start({ authenticateHost: true });
  const oauth = createOAuthClient({ resource: world.resource });
  const { client_id } = await oauth.register();
  const { challenge } = createPkce();
  const request = { clientId: client_id, redirectUri: REDIRECT_URI, challenge, user: "alice@example.com" };
  const asked = await oauth.authorize({ ...request, decision: "look" });
  if (asked.at !== "page") throw new Error(asked.url);
  expect(new URL(asked.page.url).hostname).toBe("127.0.0.1");
  expect(asked.page.text).toContain("alice@example.com");
  const form = findForm(asked.page, "/.gateway/mcp/consent");
  if (!form) throw new Error(asked.page.text);
  const done = await oauth.browser.submit(asked.page, form, { decision: "approve" }, REDIRECT_URI);
  expect(new URL(done.url).searchParams.get("iss")).toBe(world.gateway.origin);
  expect((await call(world.resource, `Bearer ${(await world.signIn()).tokens.access_token}`)).status).toBe(200);
});

describe("ends", () => {
  test("a revoked grant is invalid immediately", async () => {
    const { resource, signIn } = await shared();
    const client = await signIn();
    const bearer = `Bearer ${client.tokens.access_token}`;
    expect((await call(resource, bearer)).status).toBe(200);
    await client.oauth.sendRevocation({
      token: client.tokens.refresh_token ?? "",
      ...clientProof(client.registration),
    });
    expect((await call(resource, bearer)).status).toBe(401);
  });

  test("an access token ends after 15 minutes, and a refresh gives another", async () => {
    const clock = createTestClock(Date.now());
    const { resource, signIn } = await start({ clock });
    const client = await signIn();
    clock.advance(900_000);
    const answer = await call(resource, `Bearer ${client.tokens.access_token}`);
    expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, expect.stringContaining("expired")]);
    const tokens = await client.refresh();
    expect((await call(resource, `Bearer ${tokens.access_token}`)).status).toBe(200);
  });

  test("two users of one client are distinguished", async () => {
    const { otherResource, signIn } = await shared();
    const alice = await signIn({ resource: otherResource });
    expect((await call(otherResource, `Bearer ${alice.tokens.access_token}`)).status).toBe(200);
    // Bob is in no group with access to this server: he gets an error instead of tokens.
    await expect(
      signIn({ resource: otherResource, user: "bob@example.com", registration: alice.registration }),
    ).rejects.toThrow("access_denied");
  });
});

describe("an expired session (requirements, States and transitions)", () => {
  const settings = "cookie_expiration: 10m";

  async function expired(): Promise<{ world: McpGateway; client: SignedInClient }> {
    const clock = createTestClock(Date.now());
    const started = await start({ clock, settings });
    const client = await started.signIn();
    clock.advance(601_000);
    return { world: started, client };
  }

  test("is re-created from the provider's refresh token, once for 8 parallel refreshes", async () => {
    const { world, client } = await expired();
    const before = world.identityProvider.calls.refresh;
    const answers = await Promise.all(Array.from({ length: 8 }, () => refresh(client)));
    expect(answers.map(outcome)).toEqual(Array.from({ length: 8 }, () => "ok"));
    expect(world.identityProvider.calls.refresh - before).toBe(1);
    const token = String(answers[0]?.json()["access_token"]);
    expect((await call(world.resource, `Bearer ${token}`)).status).toBe(200);
  });

  test("gives invalid_grant when the provider revoked its refresh token", async () => {
    const { world, client } = await expired();
    world.identityProvider.revokeRefreshTokens("alice@example.com");
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
  });

  test("gives invalid_grant when the account is disabled", async () => {
    const { world, client } = await expired();
    world.identityProvider.disable("alice@example.com");
    expect(outcome(await refresh(client))).toBe("400 invalid_grant");
  });

  test("gives 503 while the provider cannot be reached, and works once it is back", async () => {
    const { world, client } = await expired();
    world.identityProvider.pause();
    expect(outcome(await refresh(client))).toBe("503 temporarily_unavailable");
    world.identityProvider.resume();
    expect(outcome(await refresh(client))).toBe("ok");
  });
});
