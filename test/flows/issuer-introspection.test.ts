/** The introspection endpoint (RFC 7662): its callers, the description of each token, and agreement with the routes. */
import { describe, expect, test } from "vitest";

import { createClient } from "../../runtime/oauth/server/clients/pre-registered.ts";
import { CLIENTS_TAG } from "../../runtime/oauth/server/grant-records.ts";
import { applicationAudience, EVERY_SERVER, programAudience } from "../../runtime/identity/external-token.ts";
import { NO_BLOCKS, type Blocks } from "../../runtime/identity/blocks.ts";
import {
  createServiceAccount,
  endServiceAccount,
  mintServiceAccountToken,
} from "../../runtime/identity/tokens/service-accounts.ts";
import { findBlock, indexBlocks, type BlockTarget } from "../../runtime/policy/blocks.ts";
import { createKeys, hashSecret } from "../../runtime/shared/keys.ts";
import { createLog } from "../../runtime/shared/log.ts";
import { serviceAccountUserId } from "../../runtime/shared/user-id.ts";
import { epochSeconds } from "../../runtime/shared/clock.ts";
import { GatewayError } from "../../runtime/shared/errors.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import type { Store } from "../../runtime/store/store.ts";
import type { Answer } from "../support/browser.ts";
import { ASSERTION_TYPE, assertionClaims, makeSigningKey, signAssertion } from "../support/client-assertion.ts";
import { createTestClock } from "../support/clock.ts";
import { ONE_SERVER, ORIGIN, RESOURCE, useIssuers, type TestIssuer } from "../support/issuer.ts";
import { clientProof, type SignedInClient } from "../support/oauth-client.ts";
import { createBreakableStore } from "../support/store.ts";
import { userId } from "../support/users.ts";

const start = useIssuers();

const URL_OF_IT = `${ORIGIN}/.gateway/mcp/introspect`;
const FORM = "application/x-www-form-urlencoded";
const SECRET = { token_endpoint_auth_method: "client_secret_post" };
const INACTIVE = '{"active":false}';
const policy = "policy: [{ allow: { and: [authenticated_user: true] } }]";
/** Two servers on one host and one on another; an account speaks for the first. */
const SEVERAL = `
runtime_flags: { mcp: true }
routes:
  - { name: tools, from: https://mcp.example.com, prefix: /mcp, to: http://127.0.0.1:9, ${policy}, mcp: { server: { introspection_accounts: [auditor] } } }
  - { name: notes, from: https://mcp.example.com, prefix: /notes, to: http://127.0.0.1:9, ${policy}, mcp: { server: { introspection_accounts: [somebody-else] } } }
  - { name: far, from: https://far.example.com, to: http://127.0.0.1:9, ${policy}, mcp: { server: { introspection_accounts: [auditor] } } }
  - { name: app, from: https://app.example.com, to: http://127.0.0.1:9, ${policy}, mcp: { client: {} } }
`;

type Proof = Readonly<Record<string, string>>;

async function machine(gateway: TestIssuer, name = "auditor", issuer = ORIGIN) {
  const made = await createClient(gateway, { name, issuer, machine: { email: `${name}@example.com`, groups: [] } });
  if (!made.ok) throw new Error(made.problem);
  const { clientId, secret = "", accountId = "" } = made;
  return { clientId, accountId, proof: { client_id: clientId, client_secret: secret } };
}

const ask = (gateway: TestIssuer, token: string, proof: Proof): Promise<Answer> =>
  gateway.oauth().sendIntrospection({ token, ...proof });

async function isActive(gateway: TestIssuer, token: string, proof: Proof): Promise<boolean> {
  const answer = await ask(gateway, token, proof);
  expect(answer.status).toBe(200);
  if (answer.json()["active"] === true) return true;
  expect(answer.text).toBe(INACTIVE);
  return false;
}

/** Returns true if a request to the route would accept the token. */
async function passes(gateway: TestIssuer, token: string): Promise<boolean> {
  const result = await gateway.callers.bearer(token, { resource: RESOURCE, origin: ORIGIN });
  return result.ok;
}

describe("a client's own tokens", () => {
  test("are described without the user's email address", async () => {
    const gateway = await start();
    const client = await gateway.signIn({ metadata: SECRET });
    const now = epochSeconds(gateway.clock);
    gateway.clock.advance(10_000);
    const answer = await ask(gateway, client.tokens.access_token, clientProof(client.registration));
    expect(answer.status).toBe(200);
    expect(answer.headers).toMatchObject({ "content-type": "application/json", "cache-control": "no-store" });
    expect(answer.json()).toEqual({
      active: true,
      scope: "mcp",
      client_id: client.registration.client_id,
      token_type: "Bearer",
      exp: now + 900,
      iat: now,
      sub: "alice",
      aud: RESOURCE,
      iss: ORIGIN,
      jti: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
  });

  test("and of a refresh token until when it is good if it is not used", async () => {
    const gateway = await start();
    const client = await gateway.signIn({ metadata: SECRET });
    const answer = await ask(gateway, client.tokens.refresh_token ?? "", clientProof(client.registration));
    expect(answer.json()).toEqual({
      active: true,
      scope: "mcp",
      client_id: client.registration.client_id,
      exp: epochSeconds(gateway.clock) + 90 * 24 * 3600,
      sub: "alice",
      aud: RESOURCE,
      iss: ORIGIN,
      jti: expect.any(String),
    });
    const jti = async (token = "") => (await ask(gateway, token, clientProof(client.registration))).json()["jti"];
    expect(await jti(client.tokens.refresh_token)).toBe(answer.json()["jti"]);
    expect(await jti(client.tokens.access_token)).not.toBe(answer.json()["jti"]);
  });

  test("with the secret in the header, or with a signature", async () => {
    const gateway = await start();
    const { clientId, proof } = await machine(gateway);
    const tokens = await gateway.oauth().sendToken({ grant_type: "client_credentials", ...proof });
    const token = String(tokens.json()["access_token"]);
    const basic = Buffer.from(`${clientId}:${proof.client_secret}`).toString("base64");
    const answer = await gateway.oauth().sendIntrospection({ token }, { authorization: `Basic ${basic}` });
    expect(answer.json()).toMatchObject({ active: true, client_id: clientId, sub: "service-account:auditor" });
    expect(answer.json()).not.toHaveProperty("username");

    const key = await makeSigningKey("ES256", "one");
    const metadata = { token_endpoint_auth_method: "private_key_jwt", jwks: { keys: [key.jwk] } };
    const signer = (await gateway.oauth().register(metadata)).client_id;
    const sign = async (aud: string) => {
      const claims = assertionClaims(signer, gateway.clock.now(), { aud });
      const client_assertion = await signAssertion(claims, key, { kid: "one" });
      return { client_assertion_type: ASSERTION_TYPE, client_assertion };
    };
    for (const aud of [ORIGIN, URL_OF_IT]) {
      const mine = await sign(aud);
      expect((await ask(gateway, token, mine)).text).toBe(INACTIVE);
      // Once, here as at all endpoints.
      expect((await ask(gateway, token, mine)).status).toBe(401);
      expect((await gateway.oauth().sendRevocation({ token, ...mine })).status).toBe(401);
    }
    expect((await ask(gateway, token, await sign(`${ORIGIN}/.gateway/mcp/revoke`))).status).toBe(401);
  });

  test("and not about those of others, known or made up, which all get one answer", async () => {
    const gateway = await start();
    const alice = await gateway.signIn({ metadata: SECRET });
    const other = await gateway.signIn({ metadata: SECRET, userId: "bob" });
    const proof = clientProof(other.registration);
    const { access_token: access, refresh_token: refresh = "" } = alice.tokens;
    const flipped = access.slice(0, -2) + (access.endsWith("AA") ? "BB" : "AA");
    for (const token of [
      access,
      refresh,
      flipped,
      "gwt_",
      "gwr_",
      "x",
      "gwt_" + "A".repeat(9000),
      "é\u0000",
      "gwr_null",
    ]) {
      expect([token.slice(0, 20), await isActive(gateway, token, proof)]).toEqual([token.slice(0, 20), false]);
    }
    expect(await isActive(gateway, other.tokens.access_token, proof)).toBe(true);
    // Asking has ended nothing.
    expect(await isActive(gateway, access, clientProof(alice.registration))).toBe(true);
  });

  test("are described at their own issuer only", async () => {
    const gateway = await start({ yaml: SEVERAL });
    const client = await gateway.signIn({ metadata: SECRET });
    const far = await machine(gateway, "nightly", "https://far.example.com");
    const url = "https://far.example.com/.gateway/mcp/introspect";
    const send = (form: Proof) =>
      gateway.send({
        method: "POST",
        url,
        headers: { "content-type": FORM },
        body: new URLSearchParams(form).toString(),
      });
    const stranger = await send({ token: client.tokens.access_token, ...clientProof(client.registration) });
    expect([stranger.status, stranger.json()["error"]]).toEqual([401, "invalid_client"]);
    // One id that both issuers know, as that of a document would be: the token is of the other host.
    const mine = gateway.externalTokens.mint({
      kind: "service-account",
      userId: serviceAccountUserId("nightly"),
      accountId: far.accountId,
      clientId: far.clientId,
      audience: RESOURCE,
      expiresAt: epochSeconds(gateway.clock) + 60,
    });
    expect(await passes(gateway, mine)).toBe(true);
    expect((await send({ token: mine, ...far.proof })).text).toBe(INACTIVE);
  });

  test("made by a version that wrote no time of issue", async () => {
    const gateway = await start();
    const { clientId, accountId, proof } = await machine(gateway);
    const exp = epochSeconds(gateway.clock) + 60;
    const wire = { k: "service-account", u: "service-account:auditor", m: accountId, c: clientId, a: RESOURCE, e: exp };
    const sealer = createKeys([Buffer.alloc(32, 7)]).sealer("external-token");
    const answer = await ask(gateway, `gwt_${sealer.seal(JSON.stringify(wire), "te")}`, proof);
    expect(answer.json()).toMatchObject({ active: true, exp });
    expect(answer.json()).not.toHaveProperty("iat");
  });
});

describe("an account that speaks for a resource", () => {
  test("sees every valid token there with its user, but no other resources", async () => {
    const gateway = await start({ yaml: SEVERAL });
    const { proof } = await machine(gateway);
    const client = await gateway.signIn();
    const answer = await ask(gateway, client.tokens.access_token, proof);
    expect(answer.json()).toEqual({
      active: true,
      scope: "mcp",
      client_id: client.registration.client_id,
      username: "alice@example.com",
      token_type: "Bearer",
      exp: expect.any(Number),
      iat: expect.any(Number),
      sub: "alice",
      aud: RESOURCE,
      iss: ORIGIN,
      jti: expect.any(String),
    });
    // Refresh tokens are of their client alone.
    expect(await isActive(gateway, client.tokens.refresh_token ?? "", proof)).toBe(false);

    const account = await createServiceAccount(gateway, { name: "ci", email: "", groups: [] });
    if (!account.ok) throw new Error(account.reason);
    const expiresAt = epochSeconds(gateway.clock) + 60;
    const of = (audience: string) => mintServiceAccountToken(gateway.externalTokens, account, audience, expiresAt);
    const seen = [];
    for (const audience of [ORIGIN, EVERY_SERVER, RESOURCE, `${ORIGIN}/notes`, "https://far.example.com"]) {
      seen.push((await ask(gateway, of(audience), proof)).json());
    }
    const machineAtTools = expect.objectContaining({ active: true, aud: RESOURCE, username: "ci" });
    expect(seen).toEqual([machineAtTools, machineAtTools, machineAtTools, { active: false }, { active: false }]);
  });

  test("sees which of its resources a token is valid for", async () => {
    const gateway = await start({ yaml: SEVERAL.replace("somebody-else", "auditor") });
    const { proof } = await machine(gateway);
    const client = await gateway.signIn({ parameters: { resource: undefined } });
    const wide = await gateway.oauth().sendToken({
      grant_type: "refresh_token",
      refresh_token: client.tokens.refresh_token ?? "",
      ...clientProof(client.registration),
    });
    const answer = await ask(gateway, String(wide.json()["access_token"]), proof);
    expect(answer.json()["aud"]).toEqual([`${ORIGIN}/notes`, RESOURCE]);
  });

  test("is the one named, of a client, at that host, while it lives and is not blocked", async () => {
    const { blocks, put } = changingBlocks();
    const gateway = await start({ yaml: SEVERAL, blocks });
    const owner = await machine(gateway);
    const other = await machine(gateway, "Auditor");
    const people = await gateway.signIn({ metadata: SECRET });
    const { access_token: token } = (await gateway.signIn({ userId: "bob" })).tokens;
    expect(await isActive(gateway, token, owner.proof)).toBe(true);
    expect(await isActive(gateway, token, other.proof)).toBe(false);
    expect(await isActive(gateway, token, clientProof(people.registration))).toBe(false);

    put({ kind: "user", name: "service-account:auditor" });
    expect(await isActive(gateway, token, owner.proof)).toBe(false);
    put({ kind: "client", name: owner.clientId });
    const blocked = await ask(gateway, token, owner.proof);
    expect([blocked.status, blocked.json()["error"]]).toEqual([400, "access_denied"]);
    put();
    expect(await isActive(gateway, token, owner.proof)).toBe(true);

    gateway.reconfigure(SEVERAL.replace("[auditor]", "[]"));
    expect(await isActive(gateway, token, owner.proof)).toBe(false);
    gateway.reconfigure(SEVERAL);
    expect(await isActive(gateway, token, owner.proof)).toBe(true);
    await endServiceAccount(gateway, owner.accountId);
    expect(await isActive(gateway, token, owner.proof)).toBe(false);
  });

  test("sees application tokens as a route would, but no program's tokens", async () => {
    const gateway = await start({ yaml: SEVERAL });
    const { proof } = await machine(gateway);
    await gateway.store.put("session:s1", { userId: "alice" }, {});
    const common = { userId: userId("alice"), sessionId: "s1", expiresAt: epochSeconds(gateway.clock) + 60 };
    const application = gateway.externalTokens.mint({
      ...common,
      kind: "application",
      audience: applicationAudience("https://app.example.com"),
    });
    const program = gateway.externalTokens.mint({ ...common, kind: "programmatic", audience: programAudience(ORIGIN) });
    const answer = await ask(gateway, application, proof);
    expect(answer.json()).toMatchObject({ active: true, sub: "alice", aud: RESOURCE });
    expect(answer.json()).not.toHaveProperty("client_id");
    expect(await isActive(gateway, program, proof)).toBe(false);
    // The session ends.
    await gateway.revocations.revoke("session:s1");
    expect(await isActive(gateway, application, proof)).toBe(false);
  });
});

/** Blocks that the test changes. */
function changingBlocks(): { blocks: Blocks; put: (...targets: BlockTarget[]) => void } {
  let index = indexBlocks([]);
  return {
    blocks: {
      ...NO_BLOCKS,
      get size() {
        return index.size;
      },
      find: (subject) => findBlock(index, subject, 0),
    },
    put: (...targets) => {
      index = indexBlocks(targets.map((target) => ({ ...target, reason: "", since: 0, by: "test" })));
    },
  };
}

describe("a token invalid at the routes is inactive", () => {
  type End = (gateway: TestIssuer, client: SignedInClient) => unknown;
  const grantOf = (gateway: TestIssuer, client: SignedInClient): string => {
    const opened = gateway.externalTokens.open(client.tokens.access_token);
    return (opened.ok && opened.claims.grantId) || "";
  };
  test.each<readonly [name: string, end: End, refreshEnds: boolean]>([
    ["its end", (gateway) => gateway.clock.advance(900_000), false],
    [
      "its client",
      (_, { oauth, tokens, registration }) =>
        oauth.sendRevocation({ token: tokens.access_token, ...clientProof(registration) }),
      true,
    ],
    [
      "the end of its grant",
      (gateway, client) => gateway.revocations.revoke(`grant:${grantOf(gateway, client)}`),
      true,
    ],
    ["the end of its user's sessions", (gateway) => gateway.revocations.revoke("user:alice"), true],
    [
      "its user's leaving",
      async (gateway) => {
        gateway.identities.users.delete("alice");
        // As long as routes cache records.
        gateway.clock.advance(20_000);
      },
      true,
    ],
    [
      "another place of the server",
      (gateway) => gateway.reconfigure(ONE_SERVER.replace("path: /mcp", "path: /x")),
      true,
    ],
  ])("%s", async (name, end, refreshEnds) => {
    const gateway = await start();
    const client = await gateway.signIn({ metadata: SECRET });
    const proof = clientProof(client.registration);
    const { access_token: access, refresh_token: refresh = "" } = client.tokens;
    expect([await passes(gateway, access), await isActive(gateway, access, proof)]).toEqual([true, true]);
    await end(gateway, client);
    // A removed route rejects all callers.
    if (!name.startsWith("another")) expect(await passes(gateway, access)).toBe(false);
    const url = URL_OF_IT;
    const seen = async (token: string): Promise<string> => {
      const body = new URLSearchParams({ token, ...proof }).toString();
      return (await gateway.send({ method: "POST", url, headers: { "content-type": FORM }, body })).text;
    };
    expect(await seen(access)).toBe(INACTIVE);
    expect((await seen(refresh)) === INACTIVE).toBe(refreshEnds);
  });

  test.each(["user", "email", "grant", "route"])("a block of the %s, until it is lifted", async (kind) => {
    const { blocks, put } = changingBlocks();
    const gateway = await start({ blocks });
    const client = await gateway.signIn({ metadata: SECRET });
    const proof = clientProof(client.registration);
    const { access_token: access, refresh_token: refresh = "" } = client.tokens;
    const targets: Readonly<Record<string, BlockTarget>> = {
      user: { kind: "user", name: "alice" },
      email: { kind: "user", name: "Alice@Example.com" },
      grant: { kind: "grant", name: grantOf(gateway, client) },
      route: { kind: "route", name: "default/tools" },
    };
    put(targets[kind] ?? { kind: "tool", name: "" });
    expect(await isActive(gateway, access, proof)).toBe(false);
    expect(await isActive(gateway, refresh, proof)).toBe(kind === "route");
    put();
    expect(await isActive(gateway, access, proof)).toBe(true);
    expect(await isActive(gateway, refresh, proof)).toBe(true);
  });

  test("a rotated refresh token is inactive, and introspection revokes nothing", async () => {
    const gateway = await start();
    const client = await gateway.signIn();
    const { refresh_token: first = "" } = client.tokens;
    const rotated = await client.refresh();
    // Refresh tokens rotate for public clients; from here on the same client has a secret.
    const [record] = await gateway.store.list<{ metadata: object }>(CLIENTS_TAG);
    if (!record) throw new Error("No client");
    const metadata = { ...record.value.metadata, token_endpoint_auth_method: "client_secret_post" };
    await gateway.store.put(
      record.key,
      { ...record.value, metadata, secretHash: hashSecret("s") },
      { ifVersion: record.version, tags: record.tags },
    );
    const proof = { client_id: client.registration.client_id, client_secret: "s" };
    expect(await isActive(gateway, first, proof)).toBe(false);
    gateway.clock.advance(60_000);
    expect(await isActive(gateway, first, proof)).toBe(false);
    expect(await isActive(gateway, rotated.refresh_token ?? "", proof)).toBe(true);
    expect(await isActive(gateway, rotated.access_token, proof)).toBe(true);
  });

  test("after refresh_token_absolute_lifetime nothing is active, regardless of the first request", async () => {
    const gateway = await start();
    const client = await gateway.signIn({ metadata: SECRET });
    const proof = clientProof(client.registration);
    gateway.reconfigure(`refresh_token_absolute_lifetime: 1h\n${ONE_SERVER}`);
    expect(await isActive(gateway, client.tokens.refresh_token ?? "", proof)).toBe(true);
    gateway.clock.advance(3600_000);
    expect(await isActive(gateway, client.tokens.refresh_token ?? "", proof)).toBe(false);
  });
});

describe("rejected callers", () => {
  const unproven = async (gateway: TestIssuer, form: Proof, headers?: Proof): Promise<unknown[]> => {
    const answer = await gateway.oauth().sendIntrospection(form, headers);
    expect(answer.headers["cache-control"]).toBe("no-store");
    const { error, error_description: description, ...rest } = answer.json();
    expect(rest).toEqual({});
    return [answer.status, error, description];
  };

  test("a public client, even with a key; a wrong secret; nobody; a bearer of tokens", async () => {
    const gateway = await start();
    const client = await gateway.signIn({ metadata: SECRET });
    const { access_token: token } = client.tokens;
    const { client_id: id } = client.registration;
    const key = await makeSigningKey("ES256", "one");
    const open = await gateway.signIn({ metadata: { token_endpoint_auth_method: "none", jwks: { keys: [key.jwk] } } });
    const publicId = open.registration.client_id;
    const claims = assertionClaims(publicId, gateway.clock.now());
    const signed = {
      client_assertion_type: ASSERTION_TYPE,
      client_assertion: await signAssertion(claims, key, { kid: "one" }),
    };
    const failed = [401, "invalid_client", "Client authentication failed"];
    expect(await unproven(gateway, { token: open.tokens.access_token, client_id: publicId })).toEqual(failed);
    expect(await unproven(gateway, { token: open.tokens.access_token, ...signed })).toEqual(failed);
    expect(await unproven(gateway, { token, client_id: id })).toEqual(failed);
    expect(await unproven(gateway, { token, client_id: id, client_secret: "gws_wrong" })).toEqual(failed);
    expect(await unproven(gateway, { token, client_id: "gwc_AAAAAAAAAAAAAAAAAAAAAA", client_secret: "x" })).toEqual(
      failed,
    );
    expect(await unproven(gateway, { token })).toEqual(failed);
    expect(await unproven(gateway, { token, client_id: "", client_secret: "" })).toEqual(failed);
    expect((await unproven(gateway, { token }, { authorization: `Bearer ${token}` })).slice(0, 2)).toEqual(
      failed.slice(0, 2),
    );
    // The token is not looked at before that.
    expect(await unproven(gateway, {})).toEqual(failed);
  });

  test("gets a challenge after a failed Authorization header", async () => {
    const gateway = await start();
    const basic = Buffer.from("gwc_AAAAAAAAAAAAAAAAAAAAAA:x").toString("base64");
    const answer = await gateway.oauth().sendIntrospection({ token: "x" }, { authorization: `Basic ${basic}` });
    expect([answer.status, answer.headers["www-authenticate"]]).toEqual([401, `Basic realm="${ORIGIN}"`]);
  });
});

describe("invalid requests", () => {
  test("are rejected by RFC 6749 §5.2, without the token in response or log", async () => {
    const lines: string[] = [];
    const log = createLog({ level: "debug", destination: { write: (line) => void lines.push(line) } });
    const gateway = await start({ log });
    const client = await gateway.signIn({ metadata: SECRET });
    const { access_token: token } = client.tokens;
    const proof = clientProof(client.registration);
    const own = new URLSearchParams(proof).toString();
    const form = new URLSearchParams({ token, ...proof }).toString();
    const send = (body: string, type = FORM, query = "") =>
      gateway.send({ method: "POST", url: URL_OF_IT + query, headers: { "content-type": type }, body });
    const refused = [
      await send(own),
      await send(`${own}&token=`),
      await send(`${form}&token=${token}`),
      await send(`${form}&token=`),
      await send(`${form}&token_type_hint=a&token_type_hint=b`),
      await send(`${form}&client_id=${client.registration.client_id}`),
      await send(`${form}&padding=${"x".repeat(20_000)}`),
      await send(JSON.stringify({ token, ...proof }), "application/json"),
      await send(form, "text/plain"),
      await send(form, "multipart/form-data; boundary=x"),
      await send(`${form}%zz`),
      // A token in the URL does not count: URLs are logged everywhere.
      await send(own, FORM, `?token=${token}`),
      await send("", FORM, `?${form}`),
    ];
    expect(refused.map((answer) => [answer.status, answer.json()["error"]])).toEqual([
      ...Array.from({ length: 12 }, () => [400, "invalid_request"]),
      [401, "invalid_client"],
    ]);
    for (const hint of ["access_token", "refresh_token", "", "<b>", "x".repeat(500)]) {
      const hinted = await gateway.oauth().sendIntrospection({ token, token_type_hint: hint, ...proof });
      expect(hinted.json()["active"]).toBe(true);
    }
    for (const method of ["GET", "PUT", "DELETE"]) {
      const answer = await gateway.send({ method, url: `${URL_OF_IT}?token=${token}` });
      expect([answer.status, answer.headers["allow"]]).toEqual([405, "OPTIONS, POST"]);
      refused.push(answer);
    }
    const html = await gateway.send({
      method: "POST",
      url: URL_OF_IT,
      headers: { "content-type": FORM, accept: "text/html" },
      body: own,
    });
    expect([html.status, html.headers["content-type"]]).toEqual([400, "application/json"]);
    const said = refused.map(({ text, headers }) => text + JSON.stringify(headers)).join("") + lines.join("");
    expect(lines.join("")).toContain("introspection rejected");
    for (const secret of [token, token.slice(4, 40), proof["client_secret"] ?? "?"]) expect(said).not.toContain(secret);
  });

  test("revoke nothing here, and the revocation endpoint describes nothing", async () => {
    const gateway = await start();
    const client = await gateway.signIn({ metadata: SECRET });
    const form = { token: client.tokens.access_token, ...clientProof(client.registration) };
    expect((await gateway.oauth().sendIntrospection(form)).json()["active"]).toBe(true);
    await expect(client.refresh()).resolves.toBeDefined();
    expect((await gateway.oauth().sendRevocation(form)).text).toBe("");
    expect((await gateway.oauth().sendIntrospection(form)).text).toBe(INACTIVE);
  });
});

test("without the store nothing is active: 503, and the description again afterwards", async () => {
  const clock = createTestClock();
  const breakable = createBreakableStore(clock, createMemoryStore({ clock }));
  const gateway = await start({ clock, store: breakable.store });
  const client = await gateway.signIn({ metadata: SECRET });
  const proof = clientProof(client.registration);
  const { access_token: access, refresh_token: refresh = "" } = client.tokens;
  expect(await isActive(gateway, access, proof)).toBe(true);
  breakable.broken = true;
  for (const token of [access, refresh, "x"]) {
    const answer = await ask(gateway, token, proof);
    expect([answer.status, answer.json()["error"], answer.headers["retry-after"]]).toEqual([
      503,
      "temporarily_unavailable",
      "5",
    ]);
  }
  breakable.broken = false;
  expect(await isActive(gateway, access, proof)).toBe(true);
});

test("with the client's record but not the token's nothing is active either", async () => {
  const clock = createTestClock();
  const inner = createMemoryStore({ clock });
  let broken = false;
  const isLost = (key: string): boolean => broken && !key.startsWith("client:");
  const store: Store = Object.assign(Object.create(inner) as Store, {
    get: (key: string) =>
      isLost(key) ? Promise.reject(new GatewayError("store.unavailable", "Cannot reach the store")) : inner.get(key),
  });
  const gateway = await start({ clock, store });
  const client = await gateway.signIn({ metadata: SECRET });
  const proof = clientProof(client.registration);
  const owner = await machine(gateway);
  broken = true;
  const { access_token: access, refresh_token: refresh = "" } = client.tokens;
  for (const token of [access, refresh]) expect((await ask(gateway, token, proof)).status).toBe(503);
  gateway.reconfigure(ONE_SERVER.replace("path: /mcp", "path: /mcp, introspection_accounts: [auditor]"));
  expect((await ask(gateway, access, owner.proof)).status).toBe(503);
  broken = false;
  expect(await isActive(gateway, access, proof)).toBe(true);
  expect(await isActive(gateway, access, owner.proof)).toBe(true);
});
