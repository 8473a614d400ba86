/**
 * Invalid ID-JAGs: each check of enterprise-managed authorization separately. All rejections of an assertion have one wire
 * text; the reason is in the log, and the assertion nowhere.
 */
import { createHmac, randomUUID } from "node:crypto";

import { UnsecuredJWT } from "jose";
import { pino } from "pino";
import { afterEach, beforeAll, describe, expect, test } from "vitest";

import { NO_BLOCKS, type Blocks } from "../../runtime/identity/blocks.ts";
import type { Block } from "../../runtime/policy/blocks.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import { createTestClock } from "../support/clock.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import {
  fakeIssuer,
  ID_JAG_PROFILE,
  IDP,
  idJagClaims,
  JWT_BEARER,
  presenter,
  presentIdJag,
  signIdJag,
  type FakeIssuer,
  type Presenter,
} from "../support/id-jag.ts";
import { userId } from "../support/users.ts";
import { ORIGIN, RESOURCE, useIssuers, type TestIssuer, type TestIssuerOptions } from "../support/issuer.ts";

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

const KEYS = `${IDP}/keys`;
const ALICE = userId("alice", "idp");
const BLOCK: Block = { kind: "user", name: ALICE, reason: "", since: 1_800_000_000, by: "test" };

/** Two servers on the host, and one elsewhere. */
const config = (issuers: string): string => `
runtime_flags: { mcp: true }
${issuers}
routes:
  - { name: one, from: https://mcp.example.com, prefix: /one, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }
  - { name: two, from: https://mcp.example.com, prefix: /two, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }
  - { name: else, from: https://other.example.com, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }
`;
const entry = (more = ""): string =>
  `identity_issuers: { idp: { issuer: "${IDP}", uses: [id_jag], jwks_url: "${KEYS}"${more} } }`;
const ONE = `${ORIGIN}/one/mcp`;
const TWO = `${ORIGIN}/two/mcp`;

interface World {
  readonly gateway: TestIssuer;
  readonly idp: FakeIssuer;
  readonly desk: Presenter;
  /** Good but for these claims and members of the header. */
  readonly sign: (
    claims?: Readonly<Record<string, unknown>>,
    header?: Readonly<Record<string, unknown>>,
    by?: SigningKey,
  ) => Promise<string>;
}

let logged = "";
afterEach(() => void (logged = ""));

async function startWorld(yaml = config(entry()), options: TestIssuerOptions = {}): Promise<World> {
  const idp = fakeIssuer({ [KEYS]: { keys: [key.jwk, rsa.jwk] } });
  const log = pino({ level: "debug" }, { write: (line: string) => void (logged += line) });
  const gateway = await start({ yaml, issuerFetch: idp.fetch, log, ...options });
  const desk = await presenter(gateway);
  return {
    gateway,
    idp,
    desk,
    sign: (claims = {}, header = {}, by = key) =>
      signIdJag(idJagClaims(desk.clientId, gateway.clock.now(), { resource: ONE, ...claims }), by, header),
  };
}

const REFUSED = { error: "invalid_grant", error_description: "Invalid assertion" };

/** The same response for all errors, no token, and only the reason in the log. */
async function expectRefused(world: World, assertion: string, reason: RegExp | string): Promise<void> {
  const answer = await world.desk.present(assertion);
  expect([answer.status, answer.json()]).toEqual([400, REFUSED]);
  expect(logged).toMatch(reason);
  for (const part of assertion.split(".")) if (part.length > 20) expect(logged).not.toContain(part);
  expect(await world.gateway.store.list("grants")).toEqual([]);
}

describe("without an issuer for this host", () => {
  test.each([
    ["no issuers", ""],
    ["one for another host", entry(", hosts: [other.example.com]")],
  ])("the grant type is unknown, and named nowhere: %s", async (_, issuers) => {
    const { gateway, desk, sign } = await startWorld(config(issuers));
    const answer = await desk.present(await sign());
    expect([answer.status, answer.json()["error"]]).toEqual([400, "unsupported_grant_type"]);
    for (const name of ["oauth-authorization-server", "openid-configuration"]) {
      const text = (await gateway.send({ method: "GET", url: `${ORIGIN}/.well-known/${name}` })).text;
      expect(text).toContain("grant_types_supported");
      expect(text).not.toMatch(/jwt-bearer"|id-jag/);
    }
  });
});

test("both metadata documents name grant and profile if an issuer is configured, without its name", async () => {
  const { gateway } = await startWorld();
  for (const name of ["oauth-authorization-server", "openid-configuration"]) {
    const answer = await gateway.send({ method: "GET", url: `${ORIGIN}/.well-known/${name}` });
    expect(answer.json()["grant_types_supported"]).toContain(JWT_BEARER);
    expect(answer.json()["authorization_grant_profiles_supported"]).toEqual([ID_JAG_PROFILE]);
    expect(answer.text).not.toContain(IDP);
  }
});

describe("a good ID-JAG", () => {
  test("becomes a token for one server, without a refresh token, and a grant that is listed and ends", async () => {
    const { gateway, desk, sign } = await startWorld();
    const answer = await desk.present(await sign());
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({
      access_token: expect.stringMatching(/^gwt_/),
      token_type: "Bearer",
      expires_in: expect.any(Number),
      scope: "mcp",
    });
    expect(answer.headers["cache-control"]).toBe("no-store");
    const opened = gateway.externalTokens.open(String(answer.json()["access_token"]));
    if (!opened.ok) throw new Error(opened.reason);
    expect(opened.claims).toMatchObject({
      kind: "grant",
      userId: "issuer:idp/alice",
      audience: ONE,
      clientId: desk.clientId,
    });
    const [grant] = await gateway.store.list("grants");
    expect(grant?.value).toMatchObject({
      userId: "issuer:idp/alice",
      assertedBy: { name: "idp", issuer: IDP, origin: ORIGIN },
    });
    expect(grant?.value).not.toHaveProperty("refresh");
    await gateway.revocations.revoke(`grant:${opened.claims.grantId}`);
    expect(await gateway.store.list("grants")).toEqual([]);
  });

  test.each([
    ["one text", ORIGIN],
    ["with a slash at the end", `${ORIGIN}/`],
    ["a list of one", [ORIGIN]],
  ])("names us as its audience: %s", async (_, aud) => {
    const { desk, sign } = await startWorld();
    expect((await desk.present(await sign({ aud }))).status).toBe(200);
  });

  test("fits into the form with a client's own assertion", async () => {
    const { desk, sign } = await startWorld();
    const answer = await desk.present(await sign({ filler: "x".repeat(9000) }));
    expect(answer.status).toBe(200);
  });
});

describe("the sign-in at the issuer", () => {
  test("is logged with the grant, bounded: time, method and actors", async () => {
    const { desk, sign } = await startWorld();
    const act = { sub: "agent-7", act: { sub: "orchestrator", iss: IDP } };
    const told = { auth_time: 1_799_999_000, amr: ["pwd", "hwk"], act };
    expect((await desk.present(await sign(told))).status).toBe(200);
    expect(grantLine()).toMatchObject({
      issuer: "idp",
      user: "issuer:idp/alice",
      client: desk.clientId,
      auth_time: 1_799_999_000,
      amr: ["pwd", "hwk"],
      act: ["agent-7", "orchestrator"],
    });
  });

  test("is no condition, whatever its shape and length", async () => {
    const { gateway, desk, sign } = await startWorld();
    let deep: object = { sub: "last" };
    for (let depth = 0; depth < 20; depth += 1) deep = { sub: "a".repeat(200), act: deep };
    const long = { auth_time: "yesterday", amr: [7, ...Array.from({ length: 50 }, () => "m".repeat(80))], act: deep };
    expect((await desk.present(await sign(long))).status).toBe(200);
    const line = grantLine();
    expect(line).not.toHaveProperty("auth_time");
    expect(line["amr"]).toEqual(Array.from({ length: 8 }, () => "m".repeat(80)));
    expect(line["act"]).toEqual(Array.from({ length: 8 }, () => "a".repeat(128)));
    expect((await desk.present(await sign({ auth_time: -1, amr: "pwd", act: { iss: IDP } }))).status).toBe(200);
    expect(grantLine()).not.toHaveProperty("amr");
    expect(grantLine()).not.toHaveProperty("act");
    // An actor is neither the user nor the client.
    for (const { value } of await gateway.store.list("grants"))
      expect(value).toMatchObject({ userId: "issuer:idp/alice", clientId: desk.clientId });
  });

  function grantLine(): Readonly<Record<string, unknown>> {
    const lines = logged.split("\n").filter((line) => line.includes("grant created from issuer assertion"));
    return JSON.parse(lines.at(-1) ?? "{}") as Record<string, unknown>;
  }
});

test.each([
  ["2m", 120],
  ["1h", 900],
])("max_token_lifetime %s caps the life of a token, and lengthens none", async (cap, seconds) => {
  const { gateway, desk, sign } = await startWorld(config(entry(`, max_token_lifetime: ${cap}`)));
  const answer = await desk.present(await sign());
  expect(answer.json()["expires_in"]).toBe(seconds);
  const opened = gateway.externalTokens.open(String(answer.json()["access_token"]));
  expect(opened).toMatchObject({ ok: true, claims: { expiresAt: 1_800_000_000 + seconds } });
  gateway.clock.advance((seconds + 1) * 1000);
  expect(await gateway.store.list("grants")).toEqual([]);
});

describe("an assertion is refused", () => {
  test.each([
    ["typ JWT", { typ: "JWT" }],
    ["typ at+jwt", { typ: "at+jwt" }],
    ["no typ", { typ: undefined }],
    ["typ in other letters", { typ: "OAuth-ID-JAG+jwt" }],
    ["typ with its prefix", { typ: "application/oauth-id-jag+jwt" }],
  ])("by its header: %s", async (_, header) => {
    const world = await startWorld();
    await expectRefused(world, await world.sign({}, header), /typ is not that of an ID-JAG/);
  });

  test.each<[string, Readonly<Record<string, unknown>>, RegExp]>([
    ["an unknown issuer", { iss: "https://evil.example.net" }, /iss is not an issuer/],
    ["iss with a slash", { iss: `${IDP}/` }, /iss is not an issuer/],
    ["no iss", { iss: undefined }, /iss is not an issuer/],
    ["another host's audience", { aud: "https://other.example.com" }, /aud is not only this issuer/],
    ["two audiences, ours first", { aud: [ORIGIN, "https://other.example.com"] }, /aud is not/],
    ["our audience twice", { aud: [ORIGIN, ORIGIN] }, /aud is not/],
    ["an empty list of audiences", { aud: [] }, /aud is not/],
    ["the token endpoint as audience", { aud: `${ORIGIN}/.gateway/mcp/token` }, /aud is not/],
    ["two slashes after the audience", { aud: `${ORIGIN}//` }, /aud is not/],
    ["no audience", { aud: undefined }, /aud is not/],
    ["no exp", { exp: undefined }, /exp or iat is missing/],
    ["exp as text", { exp: "1900000000" }, /exp or iat is missing/],
    ["no iat", { iat: undefined }, /exp or iat is missing/],
    ["expired", { iat: 1_799_999_700, exp: 1_799_999_970 }, /expired/],
    ["issued ahead", { iat: 1_800_000_031, exp: 1_800_000_200 }, /iat is in the future/],
    ["not yet good", { nbf: 1_800_000_031 }, /nbf is in the future/],
    ["nbf as text", { nbf: "1" }, /nbf is in the future/],
    ["good for too long", { exp: 1_800_000_301 }, /max_assertion_age/],
    ["the client's name in other letters", { client_id: "GWC_x" }, /client_id is another client/],
    ["no client", { client_id: undefined }, /client_id is another client/],
    ["a list as client", { client_id: ["a"] }, /client_id is another client/],
    ["a foreign server", { resource: "https://elsewhere.example.com/mcp" }, /resource is not a server/],
    ["a server of another host", { resource: "https://other.example.com/mcp" }, /resource is not a server/],
    [
      "a foreign server among ours",
      { resource: [ONE, "https://elsewhere.example.com/mcp"] },
      /resource is not a server/,
    ],
    ["the whole host", { resource: ORIGIN }, /resource is not a server/],
    ["no server at all", { resource: [] }, /resource is not a server/],
    ["a number as resource", { resource: 7 }, /resource is not a server/],
    ["authorization_details", { authorization_details: [] }, /authorization_details is not supported/],
    ["cnf", { cnf: { jkt: "x" } }, /cnf is not supported/],
    ["tenant", { tenant: "t" }, /tenant is not supported/],
    ["aud_tenant", { aud_tenant: "t" }, /aud_tenant is not supported/],
    ["a scope that is not ours", { scope: "other" }, /scope has none/],
    ["an empty scope", { scope: "" }, /scope has none/],
    ["a list as scope", { scope: ["mcp"] }, /scope is not text/],
    ["no sub", { sub: undefined }, /sub is missing/],
    ["an empty sub", { sub: "" }, /sub is empty/],
    ["a number as sub", { sub: 7 }, /sub is missing/],
    ["a control character in sub", { sub: "a\nb" }, /sub has a control character/],
    ["no jti", { jti: undefined }, /no usable jti/],
    ["an empty jti", { jti: "" }, /no usable jti/],
    ["a jti that is too long", { jti: "j".repeat(513) }, /no usable jti/],
  ])("by its claims: %s", async (_, claims, reason) => {
    const world = await startWorld();
    await expectRefused(world, await world.sign(claims), reason);
    // A rejected assertion uses up nothing.
    expect((await world.desk.present(await world.sign())).status).toBe(200);
  });

  test("by its issuer: one that counts on another host alone", async () => {
    const issuers = `identity_issuers:
  idp: { issuer: "${IDP}", uses: [id_jag], jwks_url: "${KEYS}" }
  there: { issuer: "https://there.example.net", uses: [id_jag], jwks_url: "${KEYS}", hosts: [other.example.com] }`;
    const world = await startWorld(config(issuers));
    await expectRefused(world, await world.sign({ iss: "https://there.example.net" }), /iss is not an issuer/);
  });

  test("by its user: a blocked one, without consuming the assertion", async () => {
    let blocks: Blocks = { ...NO_BLOCKS, size: 1, find: ({ user }) => (user?.id === ALICE ? BLOCK : undefined) };
    const world = await startWorld(config(entry()), {
      blocks: { ...NO_BLOCKS, size: 1, find: (subject) => blocks.find(subject) },
    });
    const assertion = await world.sign();
    const answer = await world.desk.present(assertion);
    expect([answer.status, answer.json()["error"]]).toEqual([400, "access_denied"]);
    expect(await world.gateway.store.list("grants")).toEqual([]);
    blocks = NO_BLOCKS;
    expect((await world.desk.present(assertion)).status).toBe(200);
  });

  test("by its user: one with a blocked address from a sign-in, whatever the assertion states", async () => {
    const world = await startWorld(config(entry()), {
      blocks: {
        ...NO_BLOCKS,
        size: 1,
        find: ({ user }) => (user?.email === "blocked@example.com" ? BLOCK : undefined),
      },
    });
    const known = world.gateway.identities.users.get("alice");
    if (known) world.gateway.identities.users.set(ALICE, { ...known, id: ALICE, email: "blocked@example.com" });
    const answer = await world.desk.present(await world.sign());
    expect([answer.status, answer.json()["error"]]).toEqual([400, "access_denied"]);
  });

  test("by its client: one that is registered, but not named", async () => {
    const world = await startWorld();
    const other = await presenter(world.gateway);
    await expectRefused(world, await world.sign({ client_id: other.clientId }), /client_id is another client/);
  });

  test("by its client: one that allowed_clients does not name", async () => {
    const world = await startWorld(config(entry(", allowed_clients: [somebody]")));
    await expectRefused(world, await world.sign(), /not among allowed_clients/);
  });

  test("by its signature: of another key under the same id", async () => {
    const world = await startWorld();
    await expectRefused(world, await world.sign({}, {}, stranger), /ERR_JWS_SIGNATURE_VERIFICATION_FAILED/);
  });

  test("by its signature: a key from its own header, or at a URL in it", async () => {
    const world = await startWorld();
    const header = { jwk: stranger.jwk, jku: "https://evil.example.net/keys", x5u: "https://evil.example.net/x" };
    await expectRefused(world, await world.sign({}, header, stranger), /SIGNATURE_VERIFICATION_FAILED/);
    expect(new Set(world.idp.asked)).toEqual(new Set([KEYS]));
  });

  test("by its algorithm: none, a secret made of the public key, one that the entry does not name", async () => {
    const world = await startWorld(config(entry(", algorithms: [ES256]")));
    const claims = idJagClaims(world.desk.clientId, world.gateway.clock.now(), { resource: ONE });
    const b64 = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const unsigned = new UnsecuredJWT(claims).encode().split(".")[1] ?? "";
    const none = `${b64({ alg: "none", typ: "oauth-id-jag+jwt" })}.${unsigned}.`;
    await expectRefused(world, none, /not a compact JWS/);
    await expectRefused(world, `${none}AA`, /ALG_NOT_ALLOWED/);
    const head = `${b64({ alg: "HS256", typ: "oauth-id-jag+jwt", kid: "one" })}.${unsigned}`;
    const mac = createHmac("sha256", JSON.stringify(key.jwk)).update(head).digest("base64url");
    await expectRefused(world, `${head}.${mac}`, /ALG_NOT_ALLOWED/);
    await expectRefused(world, await world.sign({}, {}, rsa), /ALG_NOT_ALLOWED/);
  });

  test("without the id of a key where several fit", async () => {
    const world = await startWorld();
    const second = await makeSigningKey("ES256", "two");
    world.idp.documents.set(KEYS, { keys: [key.jwk, second.jwk] });
    await expectRefused(world, await world.sign({}, { kid: undefined }), /several keys match/);
  });

  test.each(["", "a.b", "a.b.c.d.e", "a.b.c", "a..c", "{}", "ä.b.c"])("as no compact JWS: %j", async (text) => {
    const world = await startWorld();
    const answer = await world.desk.present(text);
    // An empty member counts as none (RFC 6749 §3.2).
    expect(answer.json()["error"]).toBe(text === "" ? "invalid_request" : "invalid_grant");
    expect(world.idp.asked).toEqual([]);
  });

  test("when it is too long, before anything is decoded", async () => {
    const world = await startWorld();
    await expectRefused(world, await world.sign({ filler: "x".repeat(16_384) }), /too long/);
    expect(world.idp.asked).toEqual([]);
  });

  test("when it is sent twice, or not at all", async () => {
    const { gateway, desk, sign } = await startWorld();
    const form = new URLSearchParams({ grant_type: JWT_BEARER, client_id: desk.clientId, assertion: await sign() });
    form.append("assertion", "x");
    const twice = await gateway.send({
      method: "POST",
      url: `${ORIGIN}/.gateway/mcp/token`,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: form.toString(),
    });
    expect([twice.status, twice.json()["error"]]).toEqual([400, "invalid_request"]);
    const missing = await desk.present("", { assertion: undefined });
    expect([missing.status, missing.json()["error"]]).toEqual([400, "invalid_request"]);
  });
});

describe("the rest of the request", () => {
  test("wants the client's proof, once", async () => {
    const { desk, sign, gateway } = await startWorld();
    const wrong = await desk.present(await sign(), { client_secret: "wrong" });
    expect([wrong.status, wrong.json()["error"]]).toEqual([401, "invalid_client"]);
    const none = await desk.present(await sign(), { client_secret: undefined });
    expect([none.status, none.json()["error"]]).toEqual([401, "invalid_client"]);
    const two = await desk.present(await sign(), { client_assertion: "x", client_assertion_type: "y" });
    expect(two.json()["error"]).toBe("invalid_request");
    expect(await gateway.store.list("grants")).toEqual([]);
  });

  test("may name the server, but no other than the assertion does", async () => {
    const { gateway, desk, sign } = await startWorld();
    for (const resource of ["https://elsewhere.example.com/mcp", TWO, ORIGIN, "x"]) {
      const answer = await desk.present(await sign(), { resource });
      expect([resource, answer.status, answer.json()["error"]]).toEqual([resource, 400, "invalid_target"]);
    }
    const both = await sign({ resource: [ONE, TWO] });
    expect((await desk.present(both)).json()["error"]).toBe("invalid_target");
    const chosen = await desk.present(both, { resource: TWO });
    const opened = gateway.externalTokens.open(String(chosen.json()["access_token"]));
    expect(opened).toMatchObject({ ok: true, claims: { audience: TWO } });
  });

  test("has to name it where the assertion does not and the host has several", async () => {
    const { gateway, desk, sign } = await startWorld();
    const open = await sign({ resource: undefined });
    expect((await desk.present(open)).json()["error"]).toBe("invalid_target");
    expect((await desk.present(open, { resource: ORIGIN })).json()["error"]).toBe("invalid_target");
    const answer = await desk.present(open, { resource: ONE });
    const opened = gateway.externalTokens.open(String(answer.json()["access_token"]));
    expect(opened).toMatchObject({ ok: true, claims: { audience: ONE } });
  });

  test("need not name it where the host has one server", async () => {
    const single = `runtime_flags: { mcp: true }
${entry()}
routes: [{ name: one, from: https://mcp.example.com, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }]`;
    const { gateway, desk, sign } = await startWorld(single);
    const answer = await desk.present(await sign({ resource: undefined }));
    const opened = gateway.externalTokens.open(String(answer.json()["access_token"]));
    expect(opened).toMatchObject({ ok: true, claims: { audience: RESOURCE } });
  });

  test("gets no unrequested and no unknown scope", async () => {
    const { desk, sign } = await startWorld();
    expect((await desk.present(await sign(), { scope: "other" })).json()["error"]).toBe("invalid_scope");
    expect((await desk.present(await sign({ scope: undefined }), { scope: "mcp x" })).json()["scope"]).toBe("mcp");
    expect((await desk.present(await sign({ scope: "mcp admin" }))).json()["scope"]).toBe("mcp");
  });
});

describe("public clients", () => {
  const publicClient = async (gateway: TestIssuer): Promise<string> =>
    (await gateway.oauth({ resource: ONE }).register({ token_endpoint_auth_method: "none" })).client_id;

  test("are refused where no entry lets them", async () => {
    const { gateway, sign } = await startWorld();
    const clientId = await publicClient(gateway);
    const answer = await presentIdJag(gateway, { client_id: clientId }, await sign({ client_id: clientId }));
    expect([answer.status, answer.json()["error"]]).toEqual([401, "invalid_client"]);
  });

  test("get tokens if the entry allows them, and learn nothing of other entries", async () => {
    const issuers = `identity_issuers:
  open: { issuer: "${IDP}", uses: [id_jag], jwks_url: "${KEYS}", allow_public_clients: true }
  closed: { issuer: "https://closed.example.net", uses: [id_jag], jwks_url: "${KEYS}" }`;
    const { gateway, sign } = await startWorld(config(issuers));
    const clientId = await publicClient(gateway);
    const form = { client_id: clientId };
    expect((await presentIdJag(gateway, form, await sign({ client_id: clientId }))).status).toBe(200);
    const closed = await presentIdJag(
      gateway,
      form,
      await sign({ client_id: clientId, iss: "https://closed.example.net" }),
    );
    const unknown = await presentIdJag(
      gateway,
      form,
      await sign({ client_id: clientId, iss: "https://no.example.net" }),
    );
    expect([closed.status, closed.json()]).toEqual([400, REFUSED]);
    expect([unknown.status, unknown.json()]).toEqual([400, REFUSED]);
  });
});

describe("an ID-JAG counts once", () => {
  test("though it comes again, and at two replicas at the same time", async () => {
    const clock = createTestClock();
    const store = createMemoryStore({ clock });
    const world = await startWorld(config(entry()), { clock, store });
    const twin = await start({ yaml: config(entry()), issuerFetch: world.idp.fetch, clock, store });
    // The replica's own client has the same record in the store.
    const secretForm = await registerAtBoth(world.gateway);
    const assertion = await world.sign({ client_id: secretForm.client_id });
    const answers = await Promise.all([
      ...Array.from({ length: 4 }, () => presentIdJag(world.gateway, secretForm, assertion)),
      ...Array.from({ length: 4 }, () => presentIdJag(twin, secretForm, assertion)),
    ]);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    for (const answer of answers) if (answer.status !== 200) expect(answer.json()).toEqual(REFUSED);
    clock.advance(200_000);
    expect((await presentIdJag(twin, secretForm, assertion)).json()).toEqual(REFUSED);
    expect(await store.list("grants")).toHaveLength(1);
  });

  async function registerAtBoth(gateway: TestIssuer): Promise<{ client_id: string; client_secret: string }> {
    const made = await gateway.oauth({ resource: ONE }).register({ token_endpoint_auth_method: "client_secret_post" });
    return { client_id: made.client_id, client_secret: made.client_secret ?? "" };
  }

  test("until its end with the skew, one id of two issuers apart", async () => {
    const issuers = `identity_issuers:
  idp: { issuer: "${IDP}", uses: [id_jag], jwks_url: "${KEYS}" }
  second: { issuer: "https://second.example.net", uses: [id_jag], jwks_url: "${KEYS}" }`;
    const { gateway, desk, sign } = await startWorld(config(issuers));
    const jti = randomUUID();
    expect((await desk.present(await sign({ jti }))).status).toBe(200);
    expect((await desk.present(await sign({ jti }))).json()).toEqual(REFUSED);
    expect((await desk.present(await sign({ jti, iss: "https://second.example.net" }))).status).toBe(200);
    gateway.clock.advance(332_000);
    // Another assertion that happens to have its id: the first one is expired by now.
    expect((await desk.present(await sign({ jti }))).status).toBe(200);
  });
});

describe("keys that cannot be read", () => {
  test("are our trouble, not the assertion's: it can be presented again", async () => {
    const { gateway, idp, desk, sign } = await startWorld();
    idp.documents.delete(KEYS);
    const assertion = await sign();
    const answer = await desk.present(assertion);
    expect([answer.status, answer.json()["error"]]).toEqual([503, "temporarily_unavailable"]);
    idp.documents.set(KEYS, { keys: [key.jwk] });
    gateway.clock.advance(30_000);
    expect((await desk.present(assertion)).status).toBe(200);
  });

  test("a peer that presents bad ones is slowed down, whatever it invents, and the keys are read once", async () => {
    const world = await startWorld();
    const statuses = new Map<number, number>();
    for (let n = 0; n < 80; n += 1) {
      const { status } = await world.desk.present(await world.sign({}, { kid: `k${n}` }, stranger));
      statuses.set(status, (statuses.get(status) ?? 0) + 1);
    }
    expect(new Set(statuses.keys())).toEqual(new Set([400, 429]));
    expect(world.idp.asked).toEqual([KEYS]);
  });
});

test("e-mail addresses count only in the issuer's domains, and while it does not call them unverified", async () => {
  const { gateway, desk, sign } = await startWorld(config(entry(", email_domains: [example.com]")));
  const cases: readonly (readonly [string, Readonly<Record<string, unknown>>, string])[] = [
    ["in", { email: "in@example.com" }, "in@example.com"],
    ["verified", { email: "v@Example.COM", email_verified: true }, "v@Example.COM"],
    ["unverified", { email: "u@example.com", email_verified: false }, ""],
    ["text", { email: "t@example.com", email_verified: "true" }, ""],
    ["foreign", { email: "f@evil.example" }, ""],
    ["below", { email: "b@sub.example.com" }, ""],
    ["twice", { email: "a@evil.example@example.com" }, ""],
    ["space", { email: "a b@example.com" }, ""],
    ["list", { email: ["l@example.com"] }, ""],
  ];
  for (const [sub, claims, email] of cases) {
    expect((await desk.present(await sign({ sub, ...claims }))).status).toBe(200);
    expect([sub, gateway.identities.users.get(`issuer:idp/${sub}`)?.email]).toEqual([sub, email]);
  }
});
