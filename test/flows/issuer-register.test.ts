/** A4: dynamic client registration over HTTP (RFC 7591). Labels: see issuer.test.ts. */
import { describe, expect, test } from "vitest";

import { ONE_SERVER, ORIGIN, useIssuers } from "../support/issuer.ts";

const start = useIssuers();
const cb = "https://app.example.com/cb";

describe("registration", () => {
  test("answers 201 with what was registered, never cached", async () => {
    const gateway = await start();
    const answer = await gateway.oauth().sendRegistration({
      client_name: "App",
      redirect_uris: [cb, "myapp://cb"],
      token_endpoint_auth_method: "none",
      scope: "openid mcp",
      x_unknown: { nested: true },
    });
    expect(answer.status).toBe(201);
    expect(answer.headers["cache-control"]).toBe("no-store");
    const body = answer.json();
    expect(body).toEqual({
      client_id: expect.stringMatching(/^gwc_[A-Za-z0-9_-]{22}$/) as string,
      client_id_issued_at: Math.floor(gateway.clock.now() / 1000),
      client_name: "App",
      redirect_uris: [cb],
      token_endpoint_auth_method: "none",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: "mcp",
    });
  });

  test("gives a secret only to confidential clients, and keeps its hash only", async () => {
    const gateway = await start();
    const registration = await gateway.oauth().register({ token_endpoint_auth_method: "client_secret_post" });
    expect(registration).toMatchObject({
      client_secret: expect.stringMatching(/^gws_/) as string,
      client_secret_expires_at: 0,
    });
    const stored = await gateway.store.get(`client:${registration.client_id}`);
    expect(JSON.stringify(stored)).not.toContain(registration.client_secret);
    const open = await gateway.oauth().register();
    expect(open).not.toHaveProperty("client_secret");
  });

  test("gives every registration its own id", async () => {
    const gateway = await start();
    const ids = await Promise.all([1, 2, 3].map(() => gateway.oauth().register()));
    expect(new Set(ids.map((each) => each.client_id)).size).toBe(3);
  });

  test.each(["com.example.app:/callback", "cursor://anysphere.cursor-mcp/oauth/callback"])(
    "takes the redirect URI with a private-use scheme that the operator listed: %s",
    async (uri) => {
      const yaml = `
mcp_allowed_private_redirect_uris: ["${uri}"]
runtime_flags: { mcp: true }
routes: [{ name: t, from: "https://mcp.example.com", to: "http://127.0.0.1:9", mcp: { server: { path: /mcp } } }]
`;
      const gateway = await start({ yaml });
      const registered = await gateway.oauth().register({ redirect_uris: [uri, `${uri}/elsewhere`, cb] });
      expect(registered.redirect_uris).toEqual([uri, cb]);
    },
  );

  test.each([
    ["no JSON", "application/json", "{", "invalid_client_metadata"],
    ["JSON of another type", "application/json", "[]", "invalid_client_metadata"],
    ["invalid UTF-8 escapes are fine, broken text is not", "application/json", '"\\ud800"', "invalid_client_metadata"],
    ["a form", "application/x-www-form-urlencoded", "redirect_uris=https://a.example/cb", "invalid_client_metadata"],
    ["text/plain", "text/plain", JSON.stringify({ redirect_uris: [cb] }), "invalid_client_metadata"],
    ["no redirect URI", "application/json", "{}", "invalid_redirect_uri"],
    [
      "http off loopback",
      "application/json",
      JSON.stringify({ redirect_uris: ["http://app.example.com/cb"] }),
      "invalid_redirect_uri",
    ],
    [
      "a huge body",
      "application/json",
      JSON.stringify({ redirect_uris: [cb], client_name: "x".repeat(70_000) }),
      "invalid_client_metadata",
    ],
  ])("refuses %s", async (_, type, body, error) => {
    const { send } = await start();
    const answer = await send({
      method: "POST",
      url: `${ORIGIN}/.gateway/mcp/register`,
      headers: { "content-type": type },
      body,
    });
    expect(answer.status).toBe(400);
    expect(answer.json()["error"]).toBe(error);
  });

  test("refuses a content coding rather than guess", async () => {
    const { send } = await start();
    const headers = { "content-type": "application/json", "content-encoding": "gzip" };
    const answer = await send({ method: "POST", url: `${ORIGIN}/.gateway/mcp/register`, headers, body: "x" });
    expect(answer.status).toBe(400);
  });

  test("bounds how often one address registers, and says when to come back", async () => {
    const gateway = await start();
    const oauth = gateway.oauth();
    let refused;
    for (let count = 0; count < 70 && !refused; count += 1) {
      const answer = await oauth.sendRegistration({ redirect_uris: [cb] });
      if (answer.status !== 201) refused = answer;
    }
    expect(refused?.status).toBe(429);
    expect(Number(refused?.headers["retry-after"])).toBeGreaterThan(0);
    gateway.clock.advance(10_000);
    expect((await oauth.sendRegistration({ redirect_uris: [cb] })).status).toBe(201);
  });

  test("deletes never used registrations after a day, and used ones later", async () => {
    const gateway = await start();
    const unused = await gateway.oauth().register();
    const used = await gateway.signIn();
    gateway.clock.advance(24 * 3600_000 - 1000);
    expect(await gateway.store.get(`client:${unused.client_id}`)).toBeDefined();
    gateway.clock.advance(2000);
    expect(await gateway.store.get(`client:${unused.client_id}`)).toBeUndefined();
    expect(await gateway.store.get(`client:${used.registration.client_id}`)).toBeDefined();
  });

  test("accepts real clients' metadata, and at most 16 KiB", async () => {
    const gateway = await start();
    const register = (bytes: number) =>
      gateway.oauth().sendRegistration({ redirect_uris: [cb], x_padding: "x".repeat(bytes) });
    expect((await register(16_000)).status).toBe(201);
    const refused = await register(16_500);
    expect(refused.status).toBe(400);
    expect(refused.json()).toEqual({
      error: "invalid_client_metadata",
      error_description: "The registration is larger than 16384 bytes",
    });
  });

  test("deletes unused registrations after a week, and keeps used ones", async () => {
    const gateway = await start();
    const unused = await gateway.oauth().register();
    const used = await gateway.signIn();
    gateway.clock.advance(8 * 24 * 3600_000);
    expect(await gateway.store.get(`client:${unused.client_id}`)).toBeUndefined();
    expect(await gateway.store.get(`client:${used.registration.client_id}`)).toBeDefined();
    await expect(used.refresh()).resolves.toMatchObject({ token_type: "Bearer" });
  });

  test("turned off is 403 and not in the metadata; existing registrations stay valid", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    expect(await client.oauth.discover()).toHaveProperty("registration_endpoint");
    gateway.reconfigure(`mcp_dynamic_registration: false\n${ONE_SERVER}`);
    expect(await gateway.oauth().discover()).not.toHaveProperty("registration_endpoint");
    const answer = await client.oauth.sendRegistration({ redirect_uris: [cb] });
    expect([answer.status, answer.json()["error"], answer.headers["cache-control"]]).toEqual([
      403,
      "access_denied",
      "no-store",
    ]);
    await client.refresh();
  });

  test("is made with one issuer and unknown to the others", async () => {
    const route = (name: string) =>
      `- { name: ${name}, from: "https://${name}.example.com", to: "http://127.0.0.1:9", policy: [{ allow: { and: [authenticated_user: true] } }], mcp: { server: {} } }`;
    const gateway = await start({ yaml: `runtime_flags: { mcp: true }\nroutes:\n  ${route("a")}\n  ${route("b")}\n` });
    const a = await gateway.oauth({ resource: "https://a.example.com" }).register();
    const answer = await gateway.oauth({ resource: "https://b.example.com" }).sendToken({
      grant_type: "refresh_token",
      refresh_token: "x",
      client_id: a.client_id,
    });
    expect([answer.status, answer.json()["error"]]).toEqual([401, "invalid_client"]);
  });
});
