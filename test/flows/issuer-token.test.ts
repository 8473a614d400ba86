/** The token endpoint over HTTP: client authentication, the code grant, revocation (OAuth 2.1 §3.2, §4.1.3, RFC 7009). */
import { once } from "node:events";
import { connect } from "node:net";
import { text } from "node:stream/consumers";

import { describe, expect, test } from "vitest";

import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Store } from "../../runtime/store/store.ts";
import type { Answer } from "../support/browser.ts";
import { clientProof, createPkce, REDIRECT_URI, type OAuthClient, type Registration } from "../support/oauth-client.ts";
import { createBreakableStore } from "../support/store.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import {
  ONE_SERVER,
  ORIGIN,
  RESOURCE,
  SESSION_SECONDS,
  useIssuers,
  type TestIssuer,
  type TestIssuerOptions,
} from "../support/issuer.ts";

const start = useIssuers();

interface Ready {
  readonly gateway: TestIssuer;
  readonly oauth: OAuthClient;
  readonly registration: Registration;
  /** A good token request. */
  readonly form: Readonly<Record<string, string>>;
}

/** A code that waits to be exchanged. */
async function ready(
  options?: TestIssuerOptions,
  metadata?: Record<string, unknown>,
  parameters: Record<string, string | undefined> = {},
): Promise<Ready> {
  const gateway = await start(options);
  const oauth = gateway.oauth();
  const registration = await oauth.register(metadata);
  return { gateway, oauth, registration, form: await codeFor(oauth, registration, parameters) };
}

async function codeFor(
  oauth: OAuthClient,
  registration: Registration,
  parameters: Record<string, string | undefined> = {},
) {
  const { verifier, challenge } = createPkce();
  const outcome = await oauth.authorize({
    clientId: registration.client_id,
    redirectUri: REDIRECT_URI,
    challenge,
    parameters,
  });
  const code = outcome.at === "client" ? outcome.parameters["code"] : undefined;
  if (code === undefined) throw new Error("no code");
  return {
    grant_type: "authorization_code",
    code,
    ...("redirect_uri" in parameters && parameters["redirect_uri"] === undefined ? {} : { redirect_uri: REDIRECT_URI }),
    code_verifier: verifier,
    ...clientProof(registration),
  };
}

const errorOf = (answer: Answer): [number, unknown] => [
  answer.status,
  answer.status === 200 ? "ok" : answer.json()["error"],
];

function without(form: Readonly<Record<string, string>>, ...names: readonly string[]): Record<string, string> {
  return Object.fromEntries(Object.entries(form).filter(([name]) => !names.includes(name)));
}

describe("the code grant", () => {
  test("A10: answers tokens as JSON, never cached, expires_in as a number", async () => {
    const { gateway, oauth, form } = await ready();
    const answer = await oauth.sendToken(form);
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      pragma: "no-cache",
    });
    const body = answer.json();
    expect(body).toEqual({
      access_token: expect.stringMatching(/^gwt_/) as string,
      refresh_token: expect.stringMatching(/^gwr_/) as string,
      token_type: "Bearer",
      // A client with a refresh token is to use it before this one ends.
      expires_in: 890,
      scope: "mcp",
    });
    const opened = gateway.externalTokens.open(String(body["access_token"]));
    expect(opened).toMatchObject({
      ok: true,
      claims: {
        kind: "grant",
        userId: "alice",
        clientId: form["client_id"],
        audience: RESOURCE,
        expiresAt: Math.floor(gateway.clock.now() / 1000) + 900,
      },
    });
  });

  test("a code works once, and its replay ends the grant", async () => {
    const { gateway, oauth, form, registration } = await ready();
    const tokens = (await oauth.sendToken(form)).json();
    expect(errorOf(await oauth.sendToken(form))).toEqual([400, "invalid_grant"]);
    const refresh = {
      grant_type: "refresh_token",
      refresh_token: String(tokens["refresh_token"]),
      ...clientProof(registration),
    };
    expect(errorOf(await oauth.sendToken(refresh))).toEqual([400, "invalid_grant"]);
    expect(await gateway.store.list(`client:${registration.client_id}`)).not.toContainEqual(
      expect.objectContaining({ key: expect.stringMatching(/^grant:/) as string }),
    );
  });

  test("the replay ends it even with a wrong verifier, and after the code's minute", async () => {
    const { gateway, oauth, form, registration } = await ready();
    const tokens = (await oauth.sendToken(form)).json();
    gateway.clock.advance(300_000);
    await oauth.sendToken({ ...form, code_verifier: "x".repeat(43) });
    const refresh = {
      grant_type: "refresh_token",
      refresh_token: String(tokens["refresh_token"]),
      ...clientProof(registration),
    };
    expect(errorOf(await oauth.sendToken(refresh))).toEqual([400, "invalid_grant"]);
  });

  /** The client's tokens stay valid. */
  async function refreshes({ oauth, registration }: Ready, answer: Answer): Promise<unknown> {
    const refresh_token = String(answer.json()["refresh_token"]);
    const form = { grant_type: "refresh_token", refresh_token, ...clientProof(registration) };
    return errorOf(await oauth.sendToken(form))[1];
  }

  /** A store in which something may happen before a record of a kind is read or written. */
  function watchedStore(clock: TestClock) {
    const inner = createMemoryStore({ clock });
    const before: { get?: (() => Promise<unknown>) | undefined; putGrant?: (() => Promise<unknown>) | undefined } = {};
    const store: Store = {
      ...inner,
      async get<T>(key: string) {
        const found = await inner.get<T>(key);
        if (key.startsWith("code:")) await before.get?.();
        return found;
      },
      async put(key, value, options) {
        if (key.startsWith("grant:")) await before.putGrant?.();
        return inner.put(key, value, options);
      },
    };
    return { store, before };
  }

  test("of requests at the same time, at two replicas, one gets tokens, and they last", async () => {
    const clock = createTestClock();
    const { store, before } = watchedStore(clock);
    const first = await ready({ clock, store });
    const second = await start({ clock, store });
    const other = second.oauth();
    // All of them find it unused.
    let found = 0;
    const all = Promise.withResolvers<void>();
    before.get = () => {
      found += 1;
      if (found === 6) all.resolve();
      return all.promise;
    };
    const answers = await Promise.all(
      [0, 1, 2].flatMap(() => [first.oauth.sendToken(first.form), other.sendToken(first.form)]),
    );
    before.get = undefined;
    const good = answers.filter(({ status }) => status === 200);
    expect(good).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 200) expect(errorOf(answer)).toEqual([400, "invalid_grant"]);
    for (const answer of good) expect(await refreshes(first, answer)).toBe("ok");
  });

  test("a request that arrives before the grant exists is rejected and revokes nothing", async () => {
    const clock = createTestClock();
    const { store, before } = watchedStore(clock);
    const { oauth, form, ...rest } = await ready({ clock, store });
    let refused: unknown;
    before.putGrant = async () => {
      before.putGrant = undefined;
      clock.advance(1);
      refused = errorOf(await oauth.sendToken(form));
    };
    const answer = await oauth.sendToken(form);
    expect(refused).toEqual([400, "invalid_grant"]);
    expect(await refreshes({ oauth, form, ...rest }, answer)).toBe("ok");
  });

  test("a slower request that arrived before the code was used is rejected and revokes nothing", async () => {
    const clock = createTestClock();
    const { store } = watchedStore(clock);
    const one = await ready({ clock, store });
    const { gateway, oauth, form } = one;
    // Its body comes later than its head.
    const slow = connect(gateway.port, "127.0.0.1");
    const body = new URLSearchParams(form).toString();
    const path = new URL((await oauth.discover()).token_endpoint).pathname;
    const type = "application/x-www-form-urlencoded";
    slow.write(
      `POST ${path} HTTP/1.1\r\nHost: mcp.example.com\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\nConnection: close\r\nExpect: 100-continue\r\n\r\n`,
    );
    // "Continue" is sent when the body is read.
    await once(slow, "data");
    clock.advance(1);
    const answer = await oauth.sendToken(form);
    slow.write(body);
    expect(await text(slow)).toContain('"invalid_grant"');
    expect(await refreshes(one, answer)).toBe("ok");
  });

  test.each(["user:alice", "client"])("revoking its %s before there is a grant leaves none", async (who) => {
    const clock = createTestClock();
    const { store, before } = watchedStore(clock);
    const { gateway, oauth, form, registration } = await ready({ clock, store });
    const key = who === "client" ? `client:${registration.client_id}` : who;
    before.putGrant = () => gateway.revocations.revoke(key);
    expect(errorOf(await oauth.sendToken(form))).toEqual([400, "invalid_grant"]);
    const kept = await store.list(`client:${registration.client_id}`);
    expect(kept.filter((record) => record.key.startsWith("grant:"))).toEqual([]);
  });

  test("a code lives 60 s", async () => {
    const { gateway, oauth, form } = await ready();
    gateway.clock.advance(60_000);
    expect(errorOf(await oauth.sendToken(form))).toEqual([400, "invalid_grant"]);
  });

  test.each<[string, Record<string, string>, string]>([
    ["a wrong verifier", { code_verifier: "a".repeat(43) }, "invalid_grant"],
    ["a short verifier", { code_verifier: "a".repeat(42) }, "invalid_request"],
    ["a verifier with foreign characters", { code_verifier: `${"a".repeat(43)}!` }, "invalid_request"],
    ["an empty verifier", { code_verifier: "" }, "invalid_grant"],
    ["another redirect URI", { redirect_uri: "http://127.0.0.1:33419/callback" }, "invalid_grant"],
    ["a redirect URI with a slash more", { redirect_uri: `${REDIRECT_URI}/` }, "invalid_grant"],
    ["no redirect URI though it was sent", { redirect_uri: "" }, "invalid_grant"],
    ["an unknown code", { code: "A".repeat(43) }, "invalid_grant"],
    ["no code", { code: "" }, "invalid_request"],
    ["another resource", { resource: "https://other.example.com/mcp" }, "invalid_target"],
    ["no grant type", { grant_type: "" }, "invalid_request"],
    ["client credentials", { grant_type: "client_credentials" }, "unauthorized_client"],
    ["a password", { grant_type: "password", username: "a", password: "b" }, "unsupported_grant_type"],
  ])("%s is refused, and the code stays good", async (_, change, error) => {
    const { oauth, form } = await ready();
    expect(errorOf(await oauth.sendToken({ ...form, ...change }))).toEqual([400, error]);
    expect((await oauth.sendToken(form)).status).toBe(200);
  });

  test("no verifier at all is refused", async () => {
    const { oauth, form } = await ready();
    expect(errorOf(await oauth.sendToken(without(form, "code_verifier")))).toEqual([400, "invalid_grant"]);
  });

  test("the redirect URI need not be repeated when it was not sent", async () => {
    const { oauth, form } = await ready(undefined, undefined, { redirect_uri: undefined });
    expect((await oauth.sendToken(form)).status).toBe(200);
  });

  test("another client cannot use the code, and does not end it", async () => {
    const { oauth, form } = await ready();
    const other = await oauth.register();
    expect(errorOf(await oauth.sendToken({ ...form, client_id: other.client_id }))).toEqual([400, "invalid_grant"]);
    expect((await oauth.sendToken(form)).status).toBe(200);
  });

  test("a client registered without refresh_token gets none, and cannot refresh", async () => {
    const { oauth, form, registration } = await ready(undefined, { grant_types: ["authorization_code"] });
    const answer = await oauth.sendToken(form);
    expect(answer.json()).not.toHaveProperty("refresh_token");
    const refresh = { grant_type: "refresh_token", refresh_token: "gwr_x", ...clientProof(registration) };
    expect(errorOf(await oauth.sendToken(refresh))).toEqual([400, "unauthorized_client"]);
  });

  test("a user who was removed meanwhile gets nothing", async () => {
    const { gateway, oauth, form } = await ready();
    gateway.identities.users.delete("alice");
    expect(errorOf(await oauth.sendToken(form))).toEqual([400, "invalid_grant"]);
  });

  test("a token never outlives the session that it belongs to", async () => {
    const yaml = ONE_SERVER.replace("runtime_flags", "access_token_lifetime: 2h\nruntime_flags");
    const { oauth, form } = await ready({ yaml });
    expect((await oauth.sendToken(form)).json()["expires_in"]).toBe(SESSION_SECONDS - 10);
  });
});

describe("audience (RFC 8707)", () => {
  const MANY = `
runtime_flags: { mcp: true }
routes:
  - { name: a, from: https://mcp.example.com, prefix: /a, to: "http://127.0.0.1:9", policy: [{ allow: { and: [authenticated_user: true] } }], mcp: { server: {} } }
  - { name: b, from: https://mcp.example.com, prefix: /b, to: "http://127.0.0.1:9", policy: [{ allow: { and: [authenticated_user: true] } }], mcp: { server: {} } }
`;

  async function audience(authorized: string | undefined, asked?: string): Promise<unknown> {
    const gateway = await start({ yaml: MANY });
    const oauth = gateway.oauth({ resource: `${ORIGIN}/a` });
    const registration = await oauth.register();
    const form = await codeFor(oauth, registration, { resource: authorized });
    const answer = await oauth.sendToken({ ...form, ...(asked === undefined ? {} : { resource: asked }) });
    if (answer.status !== 200) return answer.json()["error"];
    const opened = gateway.externalTokens.open(String(answer.json()["access_token"]));
    return opened.ok && opened.claims.audience;
  }

  test.each([
    [`${ORIGIN}/a`, undefined, `${ORIGIN}/a`],
    [`${ORIGIN}/a`, `${ORIGIN}/a/`, `${ORIGIN}/a`],
    [`${ORIGIN}/a`, `${ORIGIN}/b`, "invalid_target"],
    [`${ORIGIN}/a`, ORIGIN, "invalid_target"],
    [undefined, undefined, ORIGIN],
    [undefined, `${ORIGIN}/b`, `${ORIGIN}/b`],
    [ORIGIN, `${ORIGIN}/`, ORIGIN],
  ])("authorized for %s, requested %s: %s", async (authorized, asked, expected) => {
    expect(await audience(authorized, asked)).toBe(expected);
  });
});

describe("client authentication (RFC 6749 §2.3)", () => {
  const basic = (id: string, secret: string) => ({
    authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`,
  });

  test.each(["client_secret_basic", "client_secret_post"])(
    "a %s client proves itself in the header or in the form",
    async (method) => {
      const { oauth, registration, form } = await ready(undefined, { token_endpoint_auth_method: method });
      expect((await oauth.sendToken(form)).status).toBe(200);
      const next = await codeFor(oauth, registration);
      const header = basic(registration.client_id, registration.client_secret ?? "");
      expect((await oauth.sendToken(without(next, "client_id", "client_secret"), header)).status).toBe(200);
    },
  );

  test("id and secret in the header are form-encoded", async () => {
    const { oauth, registration, form } = await ready(undefined, { token_endpoint_auth_method: "client_secret_basic" });
    const encode = (text: string) => Buffer.from(text).toString("hex").replace(/../g, "%$&");
    const header = basic(encode(registration.client_id), encode(registration.client_secret ?? ""));
    expect((await oauth.sendToken(without(form, "client_id", "client_secret"), header)).status).toBe(200);
  });

  test.each<
    [
      string,
      (registration: Registration) => { form?: Record<string, string>; headers?: Record<string, string> },
      number,
      string,
    ]
  >([
    ["no secret", () => ({ form: { client_secret: "" } }), 401, "invalid_client"],
    ["a wrong secret", () => ({ form: { client_secret: "gws_wrong" } }), 401, "invalid_client"],
    [
      "a truncated secret",
      (r) => ({ form: { client_secret: (r.client_secret ?? "").slice(0, -1) } }),
      401,
      "invalid_client",
    ],
    ["the hash of the secret", () => ({ form: { client_secret: "x".repeat(43) } }), 401, "invalid_client"],
    [
      "a wrong secret in the header",
      (r) => ({ form: { client_secret: "" }, headers: basic(r.client_id, "wrong") }),
      401,
      "invalid_client",
    ],
    ["two ways at once", (r) => ({ headers: basic(r.client_id, r.client_secret ?? "") }), 400, "invalid_request"],
    [
      "two ids",
      (r) => ({
        form: { client_id: "gwc_AAAAAAAAAAAAAAAAAAAAAA", client_secret: "" },
        headers: basic(r.client_id, r.client_secret ?? ""),
      }),
      400,
      "invalid_request",
    ],
    ["a Bearer header", () => ({ headers: { authorization: "Bearer x" } }), 401, "invalid_client"],
    ["a broken Basic header", () => ({ headers: { authorization: "Basic ???" } }), 401, "invalid_client"],
    [
      "a secret and an assertion",
      () => ({
        form: {
          client_assertion: "a.b.c",
          client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        },
      }),
      400,
      "invalid_request",
    ],
    ["an unknown id", () => ({ form: { client_id: "gwc_AAAAAAAAAAAAAAAAAAAAAA" } }), 401, "invalid_client"],
    ["no id", () => ({ form: { client_id: "" } }), 400, "invalid_request"],
    ["a huge id", () => ({ form: { client_id: "x".repeat(5000) } }), 401, "invalid_client"],
    ["an id with a NUL", () => ({ form: { client_id: "gwc_\u0000" } }), 401, "invalid_client"],
  ])("refuses %s", async (_, bend, status, error) => {
    const { oauth, registration, form } = await ready(undefined, { token_endpoint_auth_method: "client_secret_post" });
    const { form: change = {}, headers = {} } = bend(registration);
    const answer = await oauth.sendToken({ ...form, ...change }, headers);
    expect(errorOf(answer)).toEqual([status, error]);
    const challenged = "authorization" in headers && status === 401;
    expect(answer.headers["www-authenticate"]).toBe(challenged ? `Basic realm="${ORIGIN}"` : undefined);
    expect((await oauth.sendToken(form)).status).toBe(200);
  });

  test("a public client with a secret is a mix-up", async () => {
    const { oauth, form } = await ready();
    expect(errorOf(await oauth.sendToken({ ...form, client_secret: "x" }))).toEqual([401, "invalid_client"]);
  });

  test("an unknown client and a wrong secret get the same answer", async () => {
    const { oauth, form } = await ready(undefined, { token_endpoint_auth_method: "client_secret_post" });
    const wrong = await oauth.sendToken({ ...form, client_secret: "gws_wrong" });
    const unknown = await oauth.sendToken({ ...form, client_id: "gwc_AAAAAAAAAAAAAAAAAAAAAA" });
    expect(unknown.text).toBe(wrong.text);
  });

  test("a URL client outside the list is no client here either", async () => {
    const { oauth, form } = await ready();
    expect(errorOf(await oauth.sendToken({ ...form, client_id: "https://evil.example/c" }))).toEqual([
      401,
      "invalid_client",
    ]);
  });
});

describe("the form (RFC 6749 §3.2)", () => {
  test.each([
    ["JSON", { "content-type": "application/json" }, JSON.stringify({ grant_type: "authorization_code" })],
    ["no type", {}, "grant_type=authorization_code"],
    [
      "a parameter twice",
      { "content-type": "application/x-www-form-urlencoded" },
      "grant_type=refresh_token&client_id=a&client_id=a",
    ],
    ["broken encoding", { "content-type": "application/x-www-form-urlencoded" }, "grant_type=%ff&client_id=a"],
    ["a huge body", { "content-type": "application/x-www-form-urlencoded" }, `grant_type=${"x".repeat(20_000)}`],
    ["a coding", { "content-type": "application/x-www-form-urlencoded", "content-encoding": "gzip" }, "x"],
  ])("refuses %s", async (_, headers, body) => {
    const { send } = await start();
    const answer = await send({ method: "POST", url: `${ORIGIN}/.gateway/mcp/token`, headers, body });
    expect(errorOf(answer)).toEqual([400, "invalid_request"]);
    expect(answer.headers["cache-control"]).toBe("no-store");
  });

  test("parameters in the query do not count", async () => {
    const { oauth, form } = await ready();
    const query = new URLSearchParams(form).toString();
    const answer = await oauth.send({
      method: "POST",
      url: `${ORIGIN}/.gateway/mcp/token?${query}`,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: "",
    });
    expect(errorOf(answer)).toEqual([400, "invalid_request"]);
  });

  test("GET is rejected", async () => {
    const { send } = await start();
    expect((await send({ method: "GET", url: `${ORIGIN}/.gateway/mcp/token` })).status).toBe(405);
  });
});

describe("revocation (RFC 7009)", () => {
  test.each(["refresh_token", "access_token"])("of the %s ends the grant", async (kind) => {
    const { gateway, oauth, form, registration } = await ready();
    const tokens = (await oauth.sendToken(form)).json();
    const answer = await oauth.sendRevocation({
      token: String(tokens[kind]),
      token_type_hint: "nonsense",
      ...clientProof(registration),
    });
    expect([answer.status, answer.text]).toEqual([200, ""]);
    const refresh = {
      grant_type: "refresh_token",
      refresh_token: String(tokens["refresh_token"]),
      ...clientProof(registration),
    };
    expect(errorOf(await oauth.sendToken(refresh))).toEqual([400, "invalid_grant"]);
    const entries = await gateway.store.changesSince("revocations", 0);
    expect(entries.map(({ entry }) => entry)).toContainEqual({ key: expect.stringMatching(/^grant:/) as string });
  });

  test("by another client changes nothing, without an error", async () => {
    const { oauth, form, registration } = await ready();
    const tokens = (await oauth.sendToken(form)).json();
    const other = await oauth.register();
    for (const kind of ["refresh_token", "access_token"]) {
      expect((await oauth.sendRevocation({ token: String(tokens[kind]), client_id: other.client_id })).status).toBe(
        200,
      );
    }
    const refresh = {
      grant_type: "refresh_token",
      refresh_token: String(tokens["refresh_token"]),
      ...clientProof(registration),
    };
    expect((await oauth.sendToken(refresh)).status).toBe(200);
  });

  test("of an unknown token is no error, without a token or a client it is", async () => {
    const { oauth, registration } = await ready();
    expect((await oauth.sendRevocation({ token: "unknown", ...clientProof(registration) })).status).toBe(200);
    expect(errorOf(await oauth.sendRevocation(clientProof(registration)))).toEqual([400, "invalid_request"]);
    expect(errorOf(await oauth.sendRevocation({ token: "x", client_id: "gwc_AAAAAAAAAAAAAAAAAAAAAA" }))).toEqual([
      401,
      "invalid_client",
    ]);
  });
});

describe("the store is unavailable", () => {
  test("nothing is allowed or consumed, and the response says so (D26)", async () => {
    const clock = createTestClock();
    const breakable = createBreakableStore(clock);
    const { oauth, form } = await ready({ clock, store: breakable.store });
    breakable.broken = true;
    expect(errorOf(await oauth.sendToken(form))).toEqual([503, "temporarily_unavailable"]);
    expect((await oauth.sendRegistration({ redirect_uris: [REDIRECT_URI] })).status).toBe(503);
    const page = await oauth.browser.open(`${ORIGIN}/.gateway/mcp/authorize?client_id=${form["client_id"]}`);
    expect([page.status, page.text.includes("Temporarily unavailable")]).toEqual([503, true]);
    breakable.broken = false;
    expect((await oauth.sendToken(form)).status).toBe(200);
  });
});
