/**
 * Enterprise-managed authorization toward upstreams, from gateway to gateway: no user connects anything, the identity
 * provider decides, and each decision is requested once.
 */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import {
  type ExchangeAnswer,
  type ExchangeRequest,
  ID_JAG,
  idJagAnswer,
} from "../../examples/demo/identity-provider-exchange.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { type CompanyWorld, startCompanyWorld } from "../support/company-world.ts";
import { createOAuthClient, signInClient } from "../support/oauth-client.ts";

let clock: TestClock;
let world: CompanyWorld;
let idTokenSeconds = 3600;

beforeAll(async () => {
  clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  world = await startCompanyWorld({ clock, idTokenSeconds: () => idTokenSeconds });
});
afterAll(() => world?.close());
beforeEach(() => {
  world.decide();
  world.exchanges.length = 0;
  idTokenSeconds = 3600;
});

/** The back gateway's log of every ID-JAG, valid or not. */
const PRESENTED = /id-jag|by an issuer's assertion/;

const code = (text: string): unknown => (JSON.parse(text) as { error: unknown }).error;

describe("access by a company's assertion", () => {
  test("a user calls immediately; one provider request is made, for exactly this server", async () => {
    const person = await world.newcomer();
    const answer = await world.call(person.token);
    expect([answer.status, answer.text.includes("list_repos")]).toEqual([200, true]);
    expect((await world.call(person.token)).status).toBe(200);
    expect(world.exchanges.map(({ subject, clientId, parameters }) => ({ subject, clientId, parameters }))).toEqual([
      {
        subject: person.id,
        clientId: "gateway",
        parameters: expect.objectContaining({
          requested_token_type: ID_JAG,
          subject_token_type: "urn:ietf:params:oauth:token-type:id_token",
          audience: world.back.origin,
          resource: world.upstream,
        }),
      },
    ]);
    // The upstream's gateway knows the user and the issuer.
    expect(await world.back.records()).toContainEqual(
      expect.objectContaining({ user: `issuer:company/${person.id}`, "client-id": world.client.client_id }),
    );
  });

  test("requests at the same time cause one exchange, other users have their own", async () => {
    const [one, other] = [await world.newcomer(), await world.newcomer()];
    const calls = Array.from({ length: 12 }, (_, at) => world.call(at % 2 === 0 ? one.token : other.token));
    expect(new Set((await Promise.all(calls)).map(({ status }) => status))).toEqual(new Set([200]));
    expect(world.exchanges.map(({ subject }) => subject).toSorted()).toEqual([one.id, other.id].toSorted());
  });

  test("nothing has to be connected, and the account page says so", async () => {
    const person = await world.newcomer();
    const page = await person.browser.open(`${world.front.gateway.origin}/.gateway/`);
    expect(page.text).toMatch(/<h3>tools<\/h3>[^]*Ready/);
    expect(page.text).not.toContain("Connect<span");
  });

  test("an expired ID token is renewed first; one that cannot be renewed needs a new sign-in", async () => {
    // The provider's clock runs while ours is stopped: the token must expire within our half minute, also on a slow host.
    idTokenSeconds = 1;
    const person = await world.newcomer();
    const refreshes = world.provider.calls.refresh;
    const refused = await world.call(person.token);
    expect([refused.status, code(refused.text)]).toEqual([403, "upstream.sign-in-needed"]);
    expect([world.provider.calls.refresh - refreshes, world.exchanges.length]).toEqual([1, 0]);
    idTokenSeconds = 3600;
    clock.advance(31_000);
    expect((await world.call(person.token)).status).toBe(200);
    expect([world.provider.calls.refresh - refreshes, world.exchanges.length]).toEqual([2, 1]);
  });

  test("a user known from an assertion alone is refused without a question or a challenge", async () => {
    const settings = `identity_issuers: { company: { issuer: "${world.provider.issuer}", uses: [id_jag] } }\n`;
    await world.front.reconfigure(settings + world.frontYaml());
    const oauth = createOAuthClient({ resource: world.resource });
    const client = await oauth.register({ token_endpoint_auth_method: "client_secret_basic" });
    const basic = Buffer.from(`${client.client_id}:${client.client_secret}`).toString("base64");
    const form = {
      grant_type: "urn:ietf:params:oauth:grant-type:jwt-bearer",
      assertion: await signedFor(world.front.gateway.origin, client.client_id),
      resource: world.resource,
    };
    const granted = await oauth.sendToken(form, { authorization: `Basic ${basic}` });
    expect(granted.status).toBe(200);
    world.exchanges.length = 0;
    const answer = await world.call(String(granted.json()["access_token"]));
    expect([answer.status, code(answer.text)]).toEqual([403, "upstream.sign-in-needed"]);
    expect(answer.headers["www-authenticate"]).toBeUndefined();
    expect(world.exchanges).toHaveLength(0);
    await world.front.reconfigure(world.frontYaml());
  });
});

/** An ID-JAG of the provider for a user who never signed in, through another user's exchange. */
async function signedFor(audience: string, clientId: string): Promise<string> {
  let made = "";
  world.decide(async ({ sign }) => {
    made = await sign({ client_id: clientId, aud: audience, sub: "u-stranger", resource: world.resource });
    return { status: 400, body: { error: "access_denied" } };
  });
  await world.call((await world.newcomer()).token);
  return made;
}

describe("rejections by the identity provider", () => {
  test("a user without permission: 403, and no new request for half a minute", async () => {
    world.decide(async () => ({ status: 400, body: { error: "access_denied" } }));
    const person = await world.newcomer();
    for (let each = 0; each < 4; each += 1) {
      const answer = await world.call(person.token);
      expect([answer.status, code(answer.text)]).toEqual([403, "upstream.not-permitted"]);
      clock.advance(2_000);
    }
    expect(world.exchanges).toHaveLength(1);
    world.decide();
    clock.advance(31_000);
    expect((await world.call(person.token)).status).toBe(200);
    expect(world.exchanges).toHaveLength(2);
  });

  test("a required new sign-in is used immediately", async () => {
    world.decide(async () => ({ status: 400, body: { error: "insufficient_user_authentication" } }));
    const person = await world.newcomer();
    expect((await world.call(person.token)).status).toBe(403);
    world.decide();
    const again = await signInClient({ resource: world.resource, user: person.email });
    clock.advance(1_100);
    expect((await world.call(again.tokens.access_token)).status).toBe(200);
    expect((await world.call(person.token)).status).toBe(200);
  });

  test.each([
    ["invalid_grant", 400, 403, "upstream.not-permitted"],
    ["insufficient_user_authentication", 400, 403, "upstream.sign-in-needed"],
    ["invalid_client", 401, 502, "upstream.unauthorized"],
    ["invalid_target", 400, 502, "upstream.unauthorized"],
    ["temporarily_unavailable", 503, 503, "upstream.token-unavailable"],
    ["slow_down", 429, 503, "upstream.token-unavailable"],
  ])("%s is answered as such", async (error, status, answered, expected) => {
    world.decide(async () => ({ status, body: { error, max_age: 60 } }));
    const answer = await world.call((await world.newcomer()).token);
    expect([answer.status, code(answer.text)]).toEqual([answered, expected]);
    expect(answer.text).not.toContain(error);
    expect(world.exchanges).toHaveLength(1);
  });

  test("an unavailable provider: 503, and everything works again afterwards", async () => {
    const person = await world.newcomer();
    world.provider.pause();
    expect((await world.call(person.token)).status).toBe(503);
    world.provider.resume();
    clock.advance(3_000);
    expect((await world.call(person.token)).status).toBe(200);
  });
});

describe("provider responses that must not be presented", () => {
  const signed =
    (claims: Readonly<Record<string, unknown>>, type?: string) =>
    async ({ sign }: ExchangeRequest): Promise<ExchangeAnswer> =>
      idJagAnswer(await sign({ client_id: world.client.client_id, ...claims }, type));
  const answered =
    (members: Readonly<Record<string, unknown>>) =>
    async ({ sign }: ExchangeRequest): Promise<ExchangeAnswer> => {
      const { body } = idJagAnswer(await sign({ client_id: world.client.client_id }));
      return { body: { ...(body as object), ...members } };
    };
  const now = Math.floor(Date.now() / 1000);

  test.each<[string, (request: ExchangeRequest) => Promise<ExchangeAnswer>, number]>([
    [
      "an access token by its issued type",
      answered({ issued_token_type: "urn:ietf:params:oauth:token-type:access_token" }),
      502,
    ],
    ["no issued type", answered({ issued_token_type: undefined }), 502],
    ["a bearer token", answered({ token_type: "Bearer" }), 502],
    ["an unknown type", answered({ token_type: "mac" }), 502],
    ["no token", answered({ access_token: undefined }), 502],
    ["no JWT", answered({ access_token: "opaque" }), 502],
    ["another kind of JWT", signed({}, "JWT"), 502],
    [
      "two audiences, ours first",
      (request) => signed({ aud: [world.back.origin, "https://other.example"] })(request),
      502,
    ],
    ["another audience", signed({ aud: "https://other.example" }), 502],
    ["another resource", signed({ resource: "https://other.example/mcp" }), 502],
    ["other resources", signed({ resource: ["https://other.example/mcp"] }), 502],
    ["another client", signed({ client_id: "somebody-else" }), 502],
    ["one that has ended", signed({ exp: now - 1 }), 502],
    ["one without an end", signed({ exp: null }), 502],
    ["one that no form takes", signed({ padding: "x".repeat(20_000) }), 502],
    ["more than anybody reads", signed({ padding: "x".repeat(400_000) }), 503],
    [
      "a redirect",
      async () => ({ status: 307, headers: { location: `${world.back.origin}/.gateway/` }, body: "" }),
      503,
    ],
    ["a page", async () => ({ headers: { "content-type": "text/html" }, body: "<h1>Sign in</h1>" }), 503],
  ])("%s", async (_what, decide, status) => {
    const person = await world.newcomer();
    const before = world.back.log().length;
    world.decide(decide);
    const answer = await world.call(person.token);
    expect([answer.status, world.exchanges.length]).toEqual([status, 1]);
    // It was presented to no server.
    expect(world.back.log().slice(before)).not.toMatch(PRESENTED);
  });

  test("an audience in a list of one, a resource among others, and none at all are fine", async () => {
    const others = ["https://other.example/mcp", world.upstream];
    for (const claims of [{ aud: [world.back.origin] }, { resource: undefined }]) {
      world.decide(signed(claims));
      expect([claims, (await world.call((await world.newcomer()).token)).status]).toEqual([claims, 200]);
    }
    // The back gateway refuses a claim that names a foreign resource too: it was presented.
    const before = world.back.log().length;
    world.decide(signed({ resource: others }));
    expect((await world.call((await world.newcomer()).token)).status).toBe(403);
    expect(world.back.log().slice(before)).toMatch(PRESENTED);
  });
});

describe("rejections by the upstream", () => {
  test("an ID-JAG that was used up: one fresh one; then it is an answer", async () => {
    const jti = "used-already";
    world.decide(async ({ sign }) => idJagAnswer(await sign({ client_id: world.client.client_id, jti })));
    expect((await world.call((await world.newcomer()).token)).status).toBe(200);
    world.exchanges.length = 0;
    const person = await world.newcomer();
    const answer = await world.call(person.token);
    expect([answer.status, code(answer.text), world.exchanges.length]).toEqual([403, "upstream.not-permitted", 2]);
    expect((await world.call(person.token)).status).toBe(403);
    expect(world.exchanges).toHaveLength(2);
  });

  test("a rejected token: the request continues with one fresh token; then the operator must act", async () => {
    const person = await world.newcomer();
    expect((await world.call(person.token)).status).toBe(200);
    world.endUpstreamTokens();
    expect((await world.call(person.token)).status).toBe(200);
    expect(world.exchanges).toHaveLength(2);
    await world.trust([]);
    expect((await world.call(person.token)).status).toBe(502);
    const asked = world.exchanges.length;
    expect((await world.call(person.token)).status).toBe(502);
    expect(world.exchanges).toHaveLength(asked);
    await world.trust(["id_jag"]);
  });
});

test("no log or record contains a token", async () => {
  const { token } = await world.newcomer();
  expect((await world.call(token)).status).toBe(200);
  const written = [
    world.front.gateway.log(),
    await world.front.gateway.recordText(),
    world.back.log(),
    await world.back.recordText(),
  ].join("\n");
  expect(world.idJags.length).toBeGreaterThan(10);
  for (const { parameters } of world.exchanges) expect(written).not.toContain(parameters["subject_token"]?.slice(-40));
  for (const idJag of world.idJags.filter((text) => text.length > 40)) expect(written).not.toContain(idJag.slice(-40));
  expect(written).not.toContain(world.client.client_secret);
  expect(written).not.toMatch(/eyJ[\w-]{10,}\.eyJ/);
});
