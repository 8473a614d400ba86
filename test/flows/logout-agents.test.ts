/**
 * An agent with only a company's assertion (ID-JAG) loses access by the company's statement: by a logout token if
 * configured, and by a global token revocation always. Open streams end with it.
 */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { within2s } from "../support/promised.ts";
import { type Answer, createSend } from "../support/browser.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { idJagClaims, JWT_BEARER, signIdJag } from "../support/id-jag.ts";
import { type LiveUpstream, openAnswer, startLiveUpstream } from "../support/live-upstream.ts";
import { logoutClaims, signLogout } from "../support/logout-tokens.ts";
import { createOAuthClient, type Registration } from "../support/oauth-client.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

const COMPANY = "https://company.example.com";
const send = createSend();

let key: SigningKey;
let live: LiveUpstream;
let world: SignInGateway;
let origin = "";
let agent: Registration;

beforeAll(async () => {
  [key, live] = await Promise.all([makeSigningKey("ES256", "company"), startLiveUpstream()]);
  world = await startSignInGateway({ yaml: settings(true) });
  ({ origin } = world.gateway);
  const metadata = { token_endpoint_auth_method: "client_secret_post" };
  agent = await createOAuthClient({ resource: `${origin}/live` }).register(metadata);
});
afterAll(async () => {
  await world?.close();
  await live?.close();
});

function settings(endsGrants: boolean): string {
  const jwks = JSON.stringify({ keys: [key.jwk] });
  return `
identity_issuers:
  company: { issuer: "${COMPANY}", uses: [id_jag, logout], jwks: '${jwks}', logout_audiences: [gateway-at-company], logout_ends_grants: ${endsGrants}, email_domains: [company.example] }
routes:
  - { name: live, from: "{origin}", prefix: /live, to: "${live.origin}", mcp: { server: {} }, policy: { allow: { and: [authenticated_user: true] } } }
`;
}

const assertion = (sub: string, claims: Readonly<Record<string, unknown>> = {}): Promise<string> =>
  signIdJag(
    idJagClaims(agent.client_id, Date.now(), {
      iss: COMPANY,
      sub,
      aud: origin,
      resource: `${origin}/live`,
      email: `${sub}@company.example`,
      ...claims,
    }),
    key,
  );

function exchange(idJag: string): Promise<Answer> {
  const form = { client_id: agent.client_id, client_secret: agent.client_secret ?? "", grant_type: JWT_BEARER };
  const body = new URLSearchParams({ ...form, assertion: idJag }).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return send({ method: "POST", url: `${origin}/.gateway/mcp/token`, headers, body });
}

/** An agent at work: its token, and a stream that it holds open. */
async function work(sub: string): Promise<{ readonly calls: () => Promise<number>; readonly streams: () => boolean }> {
  const token = String((await exchange(await assertion(sub))).json()["access_token"]);
  const authorization = `Bearer ${token}`;
  const stream = await openAnswer(world.gateway.port, `${origin}/live`, { authorization });
  let ended = false;
  void stream.ended.then(() => (ended = true));
  const headers = { authorization, "content-type": "application/json", accept: "application/json, text/event-stream" };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const calls = async (): Promise<number> =>
    (await send({ method: "POST", url: `${origin}/live`, headers, body })).status;
  expect([stream.status, await calls()]).toEqual([200, 200]);
  return { calls, streams: () => !ended };
}

async function logout(claims: Readonly<Record<string, unknown>>): Promise<void> {
  const all = logoutClaims(COMPANY, Date.now(), { aud: "gateway-at-company", ...claims });
  const body = new URLSearchParams({ logout_token: await signLogout(all, key) }).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  const answer = await send({ method: "POST", url: `${origin}/.gateway/backchannel_logout`, headers, body });
  expect(answer.status).toBe(200);
}

async function revoke(subject: Readonly<Record<string, unknown>>): Promise<number> {
  const url = `${origin}/.gateway/global_token_revocation`;
  const claims = logoutClaims(COMPANY, Date.now(), { aud: url, events: undefined });
  const token = await signLogout(claims, key, { typ: "global-token-revocation+jwt" });
  const headers = { "content-type": "application/json", authorization: `Bearer ${token}` };
  return (await send({ method: "POST", url, headers, body: JSON.stringify({ sub_id: subject }) })).status;
}

describe("an agent by ID-JAG", () => {
  test("is revoked by a logout token of its user: calls and open streams; earlier assertions are invalid", async () => {
    const [dana, erin] = [await work("dana"), await work("erin")];
    const early = await assertion("dana");
    await logout({ sub: "dana" });
    await expect.poll(within2s(dana.streams)).toBe(false);
    expect(await dana.calls()).toBe(401);
    expect([erin.streams(), await erin.calls()]).toEqual([true, 200]);
    const late = await exchange(early);
    expect([late.status, late.json()["error"]]).toEqual([400, "invalid_grant"]);
    // A new assertion of the company gives access again.
    const iat = Math.floor(Date.now() / 1000) + 5;
    expect((await exchange(await assertion("dana", { iat, exp: iat + 60 }))).status).toBe(200);
    expect(world.gateway.log()).toContain('"issuer":"company"');
  });

  test("is also revoked by a logout token with user and session", async () => {
    const frida = await work("frida");
    await logout({ sub: "frida", sid: "a-session-at-the-company" });
    await expect.poll(within2s(frida.streams)).toBe(false);
    expect(await frida.calls()).toBe(401);
  });

  test("continues if configured so", async () => {
    await world.reconfigure(settings(false));
    const gil = await work("gil");
    await logout({ sub: "gil" });
    expect([gil.streams(), await gil.calls()]).toEqual([true, 200]);
    await world.reconfigure(settings(true));
  });

  test.each<[string, (sub: string) => Readonly<Record<string, unknown>>]>([
    ["hanna", (sub) => ({ format: "iss_sub", iss: COMPANY, sub })],
    ["igor", (sub) => ({ format: "email", email: `${sub}@company.example` })],
  ])("is cut off by a global token revocation, however its user is named: %s", async (sub, subjectOf) => {
    const each = await work(sub);
    const early = await assertion(sub);
    expect(await revoke(subjectOf(sub))).toBe(204);
    await expect.poll(within2s(each.streams)).toBe(false);
    expect(await each.calls()).toBe(401);
    expect((await exchange(early)).json()["error"]).toBe("invalid_grant");
    const iat = Math.floor(Date.now() / 1000) + 5;
    expect((await exchange(await assertion(sub, { iat, exp: iat + 60 }))).status).toBe(200);
  });
});

test("statements of one kind are no statements of another", async () => {
  const claims = { aud: "gateway-at-company", sub: "dana" };
  const logoutToken = await signLogout(logoutClaims(COMPANY, Date.now(), claims), key);
  // As an ID-JAG, even under its type: it names no client.
  expect((await exchange(logoutToken)).json()["error"]).toBe("invalid_grant");
  const disguised = logoutClaims(COMPANY, Date.now(), { ...claims, aud: origin });
  expect((await exchange(await signIdJag(disguised, key))).json()["error"]).toBe("invalid_grant");
  // As a bearer.
  const headers = { authorization: `Bearer ${logoutToken}`, accept: "application/json" };
  expect((await send({ method: "GET", url: `${origin}/live`, headers })).status).toBe(401);
  // An ID-JAG as a logout token.
  const body = new URLSearchParams({ logout_token: await assertion("dana", { aud: "gateway-at-company" }) }).toString();
  const type = { "content-type": "application/x-www-form-urlencoded" };
  expect(
    (await send({ method: "POST", url: `${origin}/.gateway/backchannel_logout`, headers: type, body })).status,
  ).toBe(400);
});
