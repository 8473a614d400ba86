/**
 * Invalid tokens of platforms, and the result of a valid one: each check of workload identity federation separately. All
 * rejections of an assertion have one wire text; the reason is in the log, and the assertion nowhere.
 */
import { createHmac } from "node:crypto";

import { pino } from "pino";
import { afterEach, beforeAll, describe, expect, test } from "vitest";

import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Store } from "../../runtime/store/store.ts";
import type { Answer } from "../support/browser.ts";
import { createTestClock } from "../support/clock.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { fakeIssuer, idJagClaims, JWT_BEARER, presenter, signIdJag, type FakeIssuer } from "../support/id-jag.ts";
import { ORIGIN, useIssuers, type TestIssuer, type TestIssuerOptions } from "../support/issuer.ts";
import { jobClaims, PLATFORM, PLATFORM_KEYS, presentJob, signJob } from "../support/workload.ts";

const start = useIssuers();

let key: SigningKey;
let rsa: SigningKey;
let stranger: SigningKey;
beforeAll(async () => {
  [key, rsa, stranger] = await Promise.all([
    makeSigningKey("ES256", "one"),
    makeSigningKey("RS256", "rsa"),
    makeSigningKey("ES256", "one"),
  ]);
});

const ONE = `${ORIGIN}/one/mcp`;
const TWO = `${ORIGIN}/two/mcp`;
const TOKEN_ENDPOINT = `${ORIGIN}/.gateway/mcp/token`;

/** Two servers on the host, and one elsewhere. */
const config = (issuers: string): string => `
runtime_flags: { mcp: true }
${issuers}
routes:
  - { name: one, from: https://mcp.example.com, prefix: /one, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }
  - { name: two, from: https://mcp.example.com, prefix: /two, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }
  - { name: else, from: https://other.example.com, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }
`;
const MAIN = `main: { claims: { repository_id: ["42"] }, resources: ["${ONE}"], groups: [ci] }`;
const entry = (more = "", rules = MAIN): string =>
  `identity_issuers: { ci: { issuer: "${PLATFORM}", uses: [workload], jwks_url: "${PLATFORM_KEYS}", workload_rules: { ${rules} }${more} } }`;

type Members = Readonly<Record<string, unknown>>;
interface World {
  readonly gateway: TestIssuer;
  readonly platform: FakeIssuer;
  /** Good but for these claims and members of the header. */
  readonly sign: (claims?: Members, header?: Members, by?: SigningKey) => Promise<string>;
  readonly present: (
    assertion: string | undefined,
    form?: Readonly<Record<string, string | undefined>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<Answer>;
}

let logged = "";
afterEach(() => void (logged = ""));

async function startWorld(yaml = config(entry()), options: TestIssuerOptions = {}): Promise<World> {
  const platform = fakeIssuer({ [PLATFORM_KEYS]: { keys: [key.jwk, rsa.jwk] } });
  const log = pino({ level: "debug" }, { write: (line: string) => void (logged += line) });
  const gateway = await start({ yaml, issuerFetch: platform.fetch, log, ...options });
  return {
    gateway,
    platform,
    sign: (claims = {}, header = {}, by = key) => signJob(jobClaims(gateway.clock.now(), claims), by, header),
    present: (assertion, form, headers) => presentJob(gateway, assertion, { resource: ONE, ...form }, headers),
  };
}

const REFUSED = { error: "invalid_grant", error_description: "Invalid assertion" };
const BASIC = { authorization: `Basic ${Buffer.from("x:y").toString("base64")}` };

/** The same response for all errors, no token, and only the reason in the log. */
async function expectRefused(world: World, assertion: string, reason: RegExp | string): Promise<void> {
  const answer = await world.present(assertion);
  expect([answer.status, answer.json()]).toEqual([400, REFUSED]);
  expect(logged).toMatch(reason);
  for (const part of assertion.split(".")) if (part.length > 20) expect(logged).not.toContain(part);
  expect(await world.gateway.store.list("grants")).toEqual([]);
}

/** Caller that a request with the token has at a route. */
async function callerAt(world: World, token: unknown, resource = ONE) {
  return world.gateway.callers.bearer(String(token), { resource, origin: ORIGIN });
}

describe("without an issuer for this host", () => {
  test.each([
    ["no issuers", ""],
    ["one for another host", entry(", hosts: [other.example.com]")],
  ])("the grant type is unknown, and a client is wanted as ever: %s", async (_, issuers) => {
    const { gateway, present, sign } = await startWorld(config(issuers));
    expect((await present(await sign())).json()["error"]).toBe("invalid_request");
    const { client_id } = await gateway.oauth({ resource: ONE }).register({ token_endpoint_auth_method: "none" });
    expect((await present(await sign(), { client_id })).json()["error"]).toBe("unsupported_grant_type");
    const text = (await gateway.send({ method: "GET", url: `${ORIGIN}/.well-known/oauth-authorization-server` })).text;
    expect(text).not.toContain("jwt-bearer");
  });
});

test("no other grant goes without a client where platforms need none", async () => {
  const { present } = await startWorld();
  for (const grant_type of ["authorization_code", "refresh_token", "client_credentials"]) {
    const answer = await present(undefined, { grant_type, code: "x", refresh_token: "x" });
    expect([answer.status, answer.json()["error"]], grant_type).toEqual([400, "invalid_request"]);
  }
});

test("the metadata names the grant type if an issuer is configured, without user profile or issuer names", async () => {
  const { gateway } = await startWorld();
  for (const name of ["oauth-authorization-server", "openid-configuration"]) {
    const answer = await gateway.send({ method: "GET", url: `${ORIGIN}/.well-known/${name}` });
    expect(answer.json()["grant_types_supported"]).toContain(JWT_BEARER);
    expect(answer.json()["token_endpoint_auth_methods_supported"]).toContain("none");
    expect(answer.text).not.toMatch(/id-jag|ci\.example/);
  }
});

describe("a good token", () => {
  test("is exchanged for a token of its rule's server, for a non-person user, without a refresh token", async () => {
    const world = await startWorld();
    const answer = await world.present(await world.sign());
    expect([answer.status, answer.headers["cache-control"]]).toEqual([200, "no-store"]);
    expect(answer.json()).toEqual({
      access_token: expect.stringMatching(/^gwt_/),
      token_type: "Bearer",
      expires_in: 300,
      scope: "mcp",
    });
    const opened = world.gateway.externalTokens.open(String(answer.json()["access_token"]));
    if (!opened.ok) throw new Error(opened.reason);
    const userId = "workload:ci/repo:acme/app:ref:refs/heads/main";
    expect(opened.claims).toMatchObject({ kind: "workload", userId, audience: ONE });
    expect(opened.claims).not.toHaveProperty("clientId");
    const caller = await callerAt(world, answer.json()["access_token"]);
    expect(caller).toMatchObject({
      ok: true,
      principal: {
        kind: "workload",
        user: { id: userId, email: "", name: "", groups: ["ci"], claims: {} },
        assertedBy: { name: "ci", issuer: PLATFORM, origin: ORIGIN, rules: [{ name: "main" }] },
      },
    });
    expect(await callerAt(world, answer.json()["access_token"], TWO)).toMatchObject({ reason: "wrong-audience" });
    // No record of a person comes of it.
    expect(await world.gateway.store.get(`identity:${userId}`)).toBeUndefined();
    expect(logged).toContain('"rules":["main"]');
  });

  test("is listed as a grant, and ends with it, with its user and with its client", async () => {
    const world = await startWorld();
    const userId = "workload:ci/repo:acme/app:ref:refs/heads/main";
    for (const revoked of ["grant", "user", "client"] as const) {
      const { access_token: token } = (await world.present(await world.sign())).json();
      const [grant] = await world.gateway.store.list<{ clientId: string }>("grants");
      expect(grant?.value).toMatchObject({ userId, clientId: userId, clientName: "ci", audience: ONE });
      const name = { grant: grant?.key ?? "", user: `user:${userId}`, client: `client:${userId}` }[revoked];
      await world.gateway.revocations.revoke(name);
      expect([revoked, await callerAt(world, token)]).toEqual([revoked, { ok: false, reason: "revoked" }]);
      expect(await world.gateway.store.list("grants")).toEqual([]);
    }
  });

  test.each<[string, Members | string, string?]>([
    ["the origin", ORIGIN],
    ["with a slash", `${ORIGIN}/`],
    ["the token endpoint", TOKEN_ENDPOINT],
  ])("names us as its audience: %s", async (_, aud) => {
    const { present, sign } = await startWorld();
    expect((await present(await sign({ aud }))).status).toBe(200);
    expect((await present(await sign({ aud: [aud] }))).status).toBe(200);
  });

  test("has exactly the audiences that its entry accepts", async () => {
    const { present, sign } = await startWorld(config(entry(', audiences: ["https://github.com/acme", "api://x"]')));
    expect((await present(await sign({ aud: "https://github.com/acme" }))).status).toBe(200);
    expect((await present(await sign({ aud: ["api://x", "https://github.com/acme"] }))).status).toBe(200);
    expect((await present(await sign({ aud: ORIGIN }))).json()).toEqual(REFUSED);
  });

  test("has no typ, as of Kubernetes and others", async () => {
    const { present, sign } = await startWorld();
    expect((await present(await sign({}, { typ: undefined }))).status).toBe(200);
  });

  test("works with ID-JAGs on the same host, distinguished by typ only", async () => {
    const both = `identity_issuers:
  ci: { issuer: "${PLATFORM}", uses: [workload, id_jag], jwks_url: "${PLATFORM_KEYS}", workload_rules: { ${MAIN} } }`;
    const { gateway, present, sign } = await startWorld(config(both));
    expect((await present(await sign())).status).toBe(200);
    const desk = await presenter(gateway);
    const claims = idJagClaims(desk.clientId, gateway.clock.now(), { iss: PLATFORM, resource: ONE });
    const answer = await desk.present(await signIdJag(claims, key));
    const opened = gateway.externalTokens.open(String(answer.json()["access_token"]));
    expect(opened).toMatchObject({ ok: true, claims: { kind: "grant", userId: "issuer:ci/alice" } });
    // An ID-JAG is never a workload's, whatever it says.
    const idJag = await signIdJag({ ...claims, ...jobClaims(gateway.clock.now()) }, key);
    expect((await present(idJag)).json()["error"]).toBe("invalid_request");
  });
});

describe("its life", () => {
  test.each([
    ["what is left of the assertion", "", MAIN, { exp: 1_800_000_060 }, 60],
    ["that of access tokens", "access_token_lifetime: 2m\n", MAIN, {}, 120],
    ["the entry's", "", MAIN, {}, 90, ", max_token_lifetime: 90s"],
  ] as const)("is at most %s", async (_, settings, rules, claims, seconds, more: string | undefined = "") => {
    const { present, sign } = await startWorld(settings + config(entry(more, rules)));
    expect((await present(await sign(claims))).json()["expires_in"]).toBe(seconds);
  });
});

describe("an assertion is refused", () => {
  test.each<[string, Members]>([
    ["typ of an ID-JAG", { typ: "oauth-id-jag+jwt" }],
    ["typ at+jwt", { typ: "at+jwt" }],
    ["typ in other letters", { typ: "jwt" }],
    ["typ of a logout token", { typ: "logout+jwt" }],
  ])("by its header: %s", async (_, header) => {
    const world = await startWorld();
    await expectRefused(world, await world.sign({}, header), /typ is not that of a platform's token/);
  });

  test.each<[string, Members, RegExp]>([
    ["an unknown issuer", { iss: "https://evil.example.net" }, /iss is not an issuer/],
    ["iss with a slash", { iss: `${PLATFORM}/` }, /iss is not an issuer/],
    ["no iss", { iss: undefined }, /iss is not an issuer/],
    ["another host's audience", { aud: "https://other.example.com" }, /aud is not only this gateway/],
    ["a server's audience", { aud: ONE }, /aud is not only this gateway/],
    ["another audience beside ours", { aud: [ORIGIN, "https://other.example.com"] }, /aud is not only this gateway/],
    ["an empty list of audiences", { aud: [] }, /aud is not only this gateway/],
    ["a list in a list", { aud: [[ORIGIN]] }, /aud is not only this gateway/],
    ["no audience", { aud: undefined }, /aud is not only this gateway/],
    ["no exp", { exp: undefined }, /exp or iat is missing/],
    ["exp as text", { exp: "1900000000" }, /exp or iat is missing/],
    ["no iat", { iat: undefined }, /exp or iat is missing/],
    ["expired this second", { iat: 1_799_999_700, exp: 1_800_000_000 }, /expired/],
    ["issued ahead", { iat: 1_800_000_031, exp: 1_800_000_200 }, /iat is in the future/],
    ["not yet good", { nbf: 1_800_000_031 }, /nbf is in the future/],
    ["good for too long", { exp: 1_800_003_601 }, /max_assertion_age/],
    ["an ID token by nonce", { nonce: "x" }, /nonce is not for/],
    ["an ID token by at_hash", { at_hash: "x" }, /at_hash is not for/],
    ["an ID token by c_hash", { c_hash: "x" }, /c_hash is not for/],
    ["a logout token by events", { events: {} }, /events is not for/],
    ["bound to a key", { cnf: { jkt: "x" } }, /cnf is not for/],
    ["no sub", { sub: undefined }, /sub is missing/],
    ["an empty sub", { sub: "" }, /sub is empty/],
    ["a number as sub", { sub: 7 }, /sub is missing/],
    ["a control character in sub", { sub: "a\nb" }, /sub has a control character/],
    ["a sub that is too long", { sub: "s".repeat(1001) }, /sub is too long/],
    ["an empty jti", { jti: "" }, /no usable jti/],
    ["a number as jti", { jti: 1 }, /no usable jti/],
    ["a jti that is too long", { jti: "j".repeat(513) }, /no usable jti/],
    ["another project", { repository_id: "43" }, /matches no rule of ci/],
    ["the project as number", { repository_id: 42 }, /matches no rule of ci/],
    ["the project in a block", { repository_id: { "42": "42" } }, /matches no rule of ci/],
    ["no project", { repository_id: undefined }, /matches no rule of ci/],
  ])("by its claims: %s", async (_, claims, reason) => {
    const world = await startWorld();
    await expectRefused(world, await world.sign(claims), reason);
    // A rejected token uses up nothing.
    expect((await world.present(await world.sign())).status).toBe(200);
  });

  test("by its issuer's uses: an issuer for users asserts no workloads", async () => {
    const other = `identity_issuers:
  ci: { issuer: "${PLATFORM}", uses: [id_jag], jwks_url: "${PLATFORM_KEYS}" }
  else: { issuer: "https://x.example.net", uses: [workload], jwks_url: "${PLATFORM_KEYS}", workload_rules: { ${MAIN} } }`;
    const world = await startWorld(config(other));
    await expectRefused(world, await world.sign(), /iss is not an issuer with the use workload/);
  });

  test("by its signature: another key with the same id, a key from its own header", async () => {
    const world = await startWorld();
    await expectRefused(world, await world.sign({}, {}, stranger), /ERR_JWS_SIGNATURE_VERIFICATION_FAILED/);
    const header = { jwk: stranger.jwk, jku: "https://evil.example.net/keys", x5u: "https://evil.example.net/x" };
    await expectRefused(world, await world.sign({}, header, stranger), /SIGNATURE_VERIFICATION_FAILED/);
    expect(new Set(world.platform.asked)).toEqual(new Set([PLATFORM_KEYS]));
  });

  test("by its algorithm: none, a secret made of the public key, one that the entry does not name", async () => {
    const world = await startWorld(config(entry(", algorithms: [ES256]")));
    const b64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = b64(jobClaims(world.gateway.clock.now()));
    await expectRefused(world, `${b64({ alg: "none", typ: "JWT" })}.${claims}.`, /not a compact JWS/);
    await expectRefused(world, `${b64({ alg: "none", typ: "JWT" })}.${claims}.AA`, /ALG_NOT_ALLOWED/);
    const head = `${b64({ alg: "HS256", typ: "JWT", kid: "one" })}.${claims}`;
    const mac = createHmac("sha256", JSON.stringify(key.jwk)).update(head).digest("base64url");
    await expectRefused(world, `${head}.${mac}`, /ALG_NOT_ALLOWED/);
    await expectRefused(world, await world.sign({}, {}, rsa), /ALG_NOT_ALLOWED/);
  });

  test.each(["a.b", "a.b.c.d.e", "a.b.c", "a..c", "{}", "ä.b.c"])("as no compact JWS: %j", async (text) => {
    const world = await startWorld();
    await expectRefused(world, text, /not a compact JWS/);
    expect(world.platform.asked).toEqual([]);
  });

  test("when it is too long, before anything is decoded", async () => {
    const world = await startWorld();
    await expectRefused(world, await world.sign({ filler: "x".repeat(16_384) }), /too long/);
    expect(world.platform.asked).toEqual([]);
  });

  test("when it is missing", async () => {
    const { present } = await startWorld();
    expect((await present(undefined)).json()).toMatchObject({ error: "invalid_request" });
  });

  test("while its keys cannot be read, as unavailable; it is not consumed", async () => {
    const world = await startWorld();
    const assertion = await world.sign();
    world.platform.documents.delete(PLATFORM_KEYS);
    const answer = await world.present(assertion);
    expect([answer.status, answer.json()["error"]]).toEqual([503, "temporarily_unavailable"]);
    world.platform.documents.set(PLATFORM_KEYS, { keys: [key.jwk] });
    world.gateway.clock.advance(30_000);
    expect((await world.present(assertion)).status).toBe(200);
  });

  test("many times, and its peer is rate limited; valid ones cost nothing", async () => {
    const world = await startWorld();
    let slowed = 0;
    for (let count = 0; count < 80; count += 1) {
      const { status } = await world.present(await world.sign({ repository_id: "43" }));
      if (status === 429) slowed += 1;
    }
    expect(slowed).toBeGreaterThan(5);
    world.gateway.clock.advance(600_000);
    for (let count = 0; count < 40; count += 1) expect((await world.present(await world.sign())).status).toBe(200);
  });
});

describe("the rest of the request", () => {
  test("names one server, once, that a rule of the token opens", async () => {
    const world = await startWorld();
    const missing = await world.present(await world.sign(), { resource: undefined });
    expect([missing.status, missing.json()["error"]]).toEqual([400, "invalid_request"]);
    const form = new URLSearchParams({ grant_type: JWT_BEARER, assertion: await world.sign(), resource: ONE });
    form.append("resource", ONE);
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    const twice = await world.gateway.send({ method: "POST", url: TOKEN_ENDPOINT, headers, body: form.toString() });
    expect([twice.status, twice.json()["error"]]).toEqual([400, "invalid_request"]);
    for (const resource of [TWO, ORIGIN, "https://other.example.com/mcp", "https://elsewhere.example.com", "x"]) {
      const answer = await world.present(await world.sign(), { resource });
      expect([resource, answer.status, answer.json()["error"]]).toEqual([resource, 400, "invalid_target"]);
    }
    expect(await world.gateway.store.list("grants")).toEqual([]);
  });

  test("learns of servers only with a good token", async () => {
    const world = await startWorld();
    const bad = await world.sign({ repository_id: "43" });
    for (const resource of [ONE, TWO, "x"]) expect((await world.present(bad, { resource })).json()).toEqual(REFUSED);
  });

  test("need name no client, and every one that is named must be good", async () => {
    const { gateway, present, sign } = await startWorld();
    const basic = await present(await sign(), {}, BASIC);
    expect([basic.status, basic.json()["error"]]).toEqual([401, "invalid_client"]);
    expect(basic.headers["www-authenticate"]).toMatch(/^Basic /);
    for (const form of [
      { client_id: "nobody" },
      { client_id: "nobody", client_secret: "x" },
      { client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer", client_assertion: "x" },
    ]) {
      const answer = await present(await sign(), form);
      expect([form, answer.json()["error"]]).toEqual([form, expect.stringMatching(/^invalid_(client|request)$/)]);
    }
    expect((await present(await sign(), {}, { authorization: "Bearer x" })).json()["error"]).toBe("invalid_client");
    const made = await gateway.oauth({ resource: ONE }).register({ token_endpoint_auth_method: "client_secret_post" });
    const wrong = await present(await sign(), { client_id: made.client_id, client_secret: "wrong" });
    expect([wrong.status, wrong.json()["error"]]).toEqual([401, "invalid_client"]);
    expect((await present(await sign(), { client_id: made.client_id })).json()["error"]).toBe("invalid_client");
    expect(await gateway.store.list("grants")).toEqual([]);
    const proven = await present(await sign(), { client_id: made.client_id, client_secret: made.client_secret });
    const opened = gateway.externalTokens.open(String(proven.json()["access_token"]));
    expect(opened).toMatchObject({ ok: true, claims: { kind: "workload", clientId: made.client_id } });
  });

  test("may name a client without credentials if the entry ignores it, and does not authenticate it", async () => {
    const { gateway, present, sign } = await startWorld(config(entry(", ignore_client_id: true")));
    const answer = await present(await sign(), { client_id: "conformance-wif-workload" });
    const opened = gateway.externalTokens.open(String(answer.json()["access_token"]));
    expect(opened).toMatchObject({ ok: true });
    expect(JSON.stringify(opened)).not.toContain("conformance");
    const more = await present(await sign(), { client_id: "conformance-wif-workload", client_secret: "x" });
    expect(more.json()["error"]).toBe("invalid_client");
    expect((await present(await sign(), { client_id: "x" }, BASIC)).json()["error"]).toMatch(/^invalid_/);
  });

  test("gets no scope that is unknown", async () => {
    const { present, sign } = await startWorld();
    expect((await present(await sign(), { scope: "other" })).json()["error"]).toBe("invalid_scope");
    expect((await present(await sign(), { scope: "mcp other" })).json()["scope"]).toBe("mcp");
  });
});

describe("a token counts once", () => {
  test("though it comes again, and at two replicas at the same time", async () => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock });
    const world = await startWorld(config(entry()), { clock, store });
    const twin = await start({ yaml: config(entry()), issuerFetch: world.platform.fetch, clock, store });
    const assertion = await world.sign();
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => world.present(assertion)),
      ...Array.from({ length: 4 }, () => presentJob(twin, assertion, { resource: ONE })),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 200) expect(answer.json()).toEqual(REFUSED);
  });

  test("by the whole of it if it has no jti, even with another encoding of its signature", async () => {
    const world = await startWorld();
    const assertion = await world.sign({ jti: undefined });
    expect((await world.present(assertion)).status).toBe(200);
    expect((await world.present(assertion)).json()).toEqual(REFUSED);
    // (r, n − s) is a valid signature if (r, s) is.
    const [head = "", claims = "", signature = ""] = assertion.split(".");
    const bytes = Buffer.from(signature, "base64url");
    const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
    const s = order - BigInt(`0x${bytes.subarray(32).toString("hex")}`);
    const other = Buffer.concat([bytes.subarray(0, 32), Buffer.from(s.toString(16).padStart(64, "0"), "hex")]);
    expect((await world.present(`${head}.${claims}.${other.toString("base64url")}`)).json()).toEqual(REFUSED);
    expect(logged.match(/workload: used before/g)).toHaveLength(2);
    expect((await world.present(await world.sign({ jti: undefined, n: 2 }))).status).toBe(200);
  });

  test("but where its entry lets it come again, as Kubernetes needs it", async () => {
    const world = await startWorld(config(entry(", replay: allowed")));
    const assertion = await world.sign();
    for (let count = 0; count < 3; count += 1) expect((await world.present(assertion)).status).toBe(200);
    world.gateway.clock.advance(300_000);
    expect((await world.present(assertion)).json()).toEqual(REFUSED);
  });

  test("and no more once the store cannot say whether it came before", async () => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock });
    let isAway = true;
    const away: Store = Object.create(store, {
      put: {
        value: (...args: Parameters<Store["put"]>) =>
          isAway ? Promise.reject(new Error("the store is away")) : store.put(...args),
      },
    });
    const world = await startWorld(config(entry()), { clock, store: away });
    const assertion = await world.sign();
    expect((await world.present(assertion)).status).toBeGreaterThanOrEqual(500);
    expect(await store.list("grants")).toEqual([]);
    isAway = false;
    expect((await world.present(assertion)).status).toBe(200);
  });
});

describe("rules", () => {
  const RULES = `
    project: { claims: { repository_id: ["42", "43"] }, resources: ["${ONE}", "${TWO}"], groups: [ci] },
    main: { claims: { repository_id: ["42"], ref: [refs/heads/main] }, resources: ["${ONE}"], groups: [deploy] }`;

  test("that a token fits for the server count together, and no others", async () => {
    const world = await startWorld(config(entry("", RULES)));
    const groupsOf = async (claims: Members, resource: string): Promise<unknown> => {
      const { access_token: token } = (await world.present(await world.sign(claims), { resource })).json();
      const caller = await callerAt(world, token, resource);
      return caller.ok && caller.principal.user.groups;
    };
    expect(await groupsOf({}, ONE)).toEqual(["ci", "deploy"]);
    expect(await groupsOf({}, TWO)).toEqual(["ci"]);
    expect(await groupsOf({ ref: "refs/heads/x" }, ONE)).toEqual(["ci"]);
    expect(await groupsOf({ repository_id: "43" }, ONE)).toEqual(["ci"]);
  });

  const without = (yaml: string, ...parts: readonly [string, string][]): string => {
    let text = yaml;
    for (const [part, instead] of parts) {
      expect(text).toContain(part);
      text = text.replace(part, instead);
    }
    return text;
  };
  const GOOD = config(entry("", RULES));
  test.each<[string, string]>([
    ["the issuer", config("")],
    ["the use", config(`identity_issuers: { ci: { issuer: "${PLATFORM}", uses: [id_jag] } }`)],
    ["the host", without(GOOD, ["uses: [workload]", "uses: [workload], hosts: [other.example.com]"])],
    ["the issuer's address", without(GOOD, [`issuer: "${PLATFORM}"`, `issuer: "${PLATFORM}/x"`])],
    ["one of its rules", without(GOOD, ["main: {", "other: {"])],
    ["what a rule asks", without(GOOD, ["[refs/heads/main]", "[refs/heads/release]"])],
    ["what a rule opens", without(GOOD, [`["${ONE}"], groups: [deploy]`, `["${TWO}"], groups: [deploy]`])],
    ["what a rule gives", without(GOOD, ["groups: [deploy]", "groups: [admins]"])],
  ])("revoke their tokens when the configuration loses %s", async (_, yaml) => {
    const world = await startWorld(GOOD);
    const { access_token: token } = (await world.present(await world.sign())).json();
    expect(await callerAt(world, token)).toMatchObject({ ok: true });
    world.gateway.reconfigure(GOOD.replace("name: two", "name: renamed"));
    expect(await callerAt(world, token)).toMatchObject({ ok: true });
    world.gateway.reconfigure(yaml);
    expect(await callerAt(world, token)).toEqual({ ok: false, reason: "revoked" });
  });

  test("also revoke tokens that were read from the store", async () => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock });
    const world = await startWorld(GOOD, { clock, store });
    const { access_token: token } = (await world.present(await world.sign())).json();
    const twin = await start({ yaml: config(entry()), clock, store });
    expect(await twin.callers.bearer(String(token), { resource: ONE, origin: ORIGIN })).toMatchObject({
      ok: false,
      reason: "revoked",
    });
  });
});
