/**
 * A company's directory with real gateways: two replicas on one store, PostgreSQL if available. Its groups apply to
 * agents with only an ID-JAG. A removed user loses open streams on both replicas, and gets nothing back after a return. So
 * does a workload that acts for the user in an agent run.
 */
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { within2s } from "../support/promised.ts";
import { runCli } from "../../runtime/cli.ts";
import { type Answer, createSend } from "../support/browser.ts";
import { makeSigningKey, signAssertion, type SigningKey } from "../support/client-assertion.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { idJagClaims, JWT_BEARER, signIdJag } from "../support/id-jag.ts";
import { type LiveUpstream, openAnswer, startLiveUpstream } from "../support/live-upstream.ts";
import { createOAuthClient, type Registration } from "../support/oauth-client.ts";
import { signInAt } from "../support/provider-tokens.ts";
import { findPostgres, type Postgres, startPostgres } from "../support/postgres.ts";
import { createScimClient, oktaUser, patchOf, type ScimClient } from "../support/scim-client.ts";
import { type Browser, createBrowser } from "../support/scripted-browser.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

const COMPANY = "https://company.example.com";
const PODS = "https://pods.example.com";
const TOKEN = "scim-token-of-the-company";
const send = createSend();

let key: SigningKey;
let live: LiveUpstream;
let world: SignInGateway;
let second: TestGateway;
let directory: string;
let postgres: Postgres | undefined;
let origin = "";
let agent: Registration;
let company: ScimClient;
let people: ScimClient;

beforeAll(async () => {
  const found = findPostgres();
  [key, live, directory, postgres] = await Promise.all([
    makeSigningKey("ES256", "company"),
    startLiveUpstream(),
    mkdtemp(join(tmpdir(), "scim-")),
    "missing" in found ? undefined : startPostgres(found.bin),
  ]);
  const boot = { audit: true, storage_url: postgres?.url ?? `sqlite:${join(directory, "store.db")}` };
  const users = [
    { id: "sub-olga", email: "olga@example.com", name: "Olga", groups: ["From sign-in"] },
    { id: "sub-paul", email: "paul@example.com", name: "Paul", groups: [] },
  ];
  world = await startSignInGateway({ yaml: settings(), boot, provider: { users } });
  ({ origin } = world.gateway);
  const yaml = world.withProvider(settings()).replaceAll("{origin}", origin);
  second = await startGateway({ yaml, boot });
  agent = await createOAuthClient({ resource: `${origin}/live` }).register({
    token_endpoint_auth_method: "client_secret_post",
  });
  company = createScimClient(`${origin}/.gateway/scim/v2/company`, TOKEN);
  // Through the other replica.
  people = createScimClient(`${origin}/.gateway/scim/v2/people`, `${TOKEN}-2`, second.port);
});
afterAll(async () => {
  await second?.close();
  await world?.close();
  await Promise.all([live?.close(), postgres?.close()]);
  if (directory) await rm(directory, { recursive: true, force: true });
});

function settings(): string {
  const jwks = JSON.stringify({ keys: [key.jwk] });
  return `
identity_issuers:
  company: { issuer: "${COMPANY}", uses: [id_jag], jwks: '${jwks}' }
  pods:
    issuer: "${PODS}"
    uses: [workload]
    jwks: '${jwks}'
    workload_rules: { agents: { claims: { sub: [agent] }, resources: ["{origin}/live"], agent_runs: { identified_by: [pod] } } }
directories:
  company: { provider: company, token: ${TOKEN} }
  people: { token: ${TOKEN}-2, unlisted_users: refused }
routes:
  - { name: live, from: "{origin}", prefix: /live, to: "${live.origin}", mcp: { server: {} }, policy: { allow: { or: [groups: { has: Engineers }, actor: "workload:pods/agent"] } } }
  - { name: api, from: "{origin}", prefix: /api, to: "${live.origin}", bearer_token_format: idp_identity_token, policy: { allow: { and: [groups: { has: Writers }] } } }
  - { name: web, from: "{origin}", prefix: /web, to: "${live.origin}", policy: { allow: { and: [groups: { has: Writers }] }, deny: { and: [groups: { has: From sign-in }] } } }
`;
}

async function exchange(sub: string, inSeconds = 0): Promise<Answer> {
  const iat = Math.floor(Date.now() / 1000) + inSeconds;
  const claims = idJagClaims(agent.client_id, Date.now(), {
    iss: COMPANY,
    sub,
    aud: origin,
    resource: `${origin}/live`,
    iat,
    exp: iat + 60,
  });
  const form = { client_id: agent.client_id, client_secret: agent.client_secret ?? "", grant_type: JWT_BEARER };
  const body = new URLSearchParams({ ...form, assertion: await signIdJag(claims, key) }).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return send({ method: "POST", url: `${origin}/.gateway/mcp/token`, headers, body });
}

/** The platform's token of a pod. */
function podToken(pod: string): Promise<string> {
  const iat = Math.floor(Date.now() / 1000);
  const claims = { iss: PODS, sub: "agent", aud: origin, jti: randomUUID(), iat, exp: iat + 300, pod };
  return signAssertion(claims, key, { typ: "JWT", kid: "company" });
}

/** An agent run for the user, requested at one replica and approved at the other. @returns its tokens, one of each replica */
async function runFor(browser: Browser, user: string, pod: string): Promise<readonly string[]> {
  const asked = await createSend({ via: second.port })({
    method: "POST",
    url: `${origin}/.gateway/mcp/runs`,
    headers: { authorization: `Bearer ${await podToken(pod)}`, "content-type": "application/json" },
    body: JSON.stringify({ purpose: "Report", servers: [`${origin}/live`], expires_in: 600, approver: user }),
  });
  const page = await browser.open(String(asked.json()["approval_url"]));
  expect((await browser.submit(page, { button: "Approve" })).status).toBe(200);
  return Promise.all(ports().map(async (port) => String((await exchangeRun(pod, port)).json()["access_token"])));
}

async function exchangeRun(pod: string, via: number): Promise<Answer> {
  const type = "urn:ietf:params:oauth:token-type:jwt";
  const form = { subject_token: await podToken(pod), subject_token_type: type, resource: `${origin}/live` };
  const grant = "urn:ietf:params:oauth:grant-type:token-exchange";
  const body = new URLSearchParams({ grant_type: grant, ...form }).toString();
  const headers = { "content-type": "application/x-www-form-urlencoded" };
  return createSend({ via })({ method: "POST", url: `${origin}/.gateway/mcp/token`, headers, body });
}

async function tokenOf(sub: string, inSeconds = 0): Promise<string> {
  const answer = await exchange(sub, inSeconds);
  expect(answer.status, answer.text).toBe(200);
  return String(answer.json()["access_token"]);
}

async function call(token: string, via: number): Promise<number> {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });
  const answer = await createSend({ via })({ method: "POST", url: `${origin}/live`, headers, body });
  // Policy's no is a JSON-RPC error.
  return answer.status === 200 && answer.json()["error"] !== undefined ? 403 : answer.status;
}

/** A stream that is held open at a replica. */
async function hold(token: string, port: number, path = "/live"): Promise<() => boolean> {
  const stream = await openAnswer(port, origin + path, { authorization: `Bearer ${token}` });
  expect(stream.status).toBe(200);
  let ended = false;
  void stream.ended.then(() => (ended = true));
  return () => !ended;
}

const ports = (): readonly [number, number] => [world.gateway.port, second.port];

/** An engineer of the company, in the directory. */
async function engineer(sub: string): Promise<{ readonly id: string; readonly group: string }> {
  const id = await company.create("/Users", oktaUser(`${sub}@company.example`, sub));
  const found = (
    await company.send("GET", `/Groups?filter=${encodeURIComponent('displayName eq "Engineers"')}`)
  ).json() as {
    readonly Resources: readonly { readonly id: string }[];
  };
  const group = found.Resources[0]?.id ?? (await company.create("/Groups", { displayName: "Engineers", members: [] }));
  await company.send("PATCH", `/Groups/${group}`, patchOf({ op: "add", path: "members", value: [{ value: id }] }));
  return { id, group };
}

test("directory groups apply to a user known only by ID-JAG", async () => {
  const stranger = await tokenOf("stranger");
  expect(await call(stranger, world.gateway.port)).toBe(403);
  const { id, group } = await engineer("dana");
  const token = await tokenOf("dana");
  const statuses = [await call(token, ports()[0]), await call(token, ports()[1])];
  expect(statuses).toEqual([200, 200]);
  const streams = await Promise.all(ports().map((port) => hold(token, port)));
  await company.send("PATCH", `/Groups/${group}`, patchOf({ op: "Remove", path: "members", value: [{ value: id }] }));
  for (const isOpen of streams) await expect.poll(within2s(isOpen)).toBe(false);
  for (const port of ports()) await expect.poll(within2s(() => call(token, port))).toBe(403);
  expect(await call(await tokenOf("dana"), ports()[0])).toBe(403);
});

test("so do members that a whole list no longer has, and those of a group that is deleted", async () => {
  for (const [sub, leave] of [
    ["fay", (group: string) => company.send("PUT", `/Groups/${group}`, { displayName: "Engineers", members: [] })],
    ["gus", (group: string) => company.send("DELETE", `/Groups/${group}`)],
  ] as const) {
    const { group } = await engineer(sub);
    const token = await tokenOf(sub);
    expect(await call(token, second.port)).toBe(200);
    await leave(group);
    await expect.poll(within2s(() => call(token, second.port))).toBe(403);
  }
});

test("an invalid id is not found, without a store error", async () => {
  const { group } = await engineer("erin");
  for (const id of ["\\u0000", "\\ud800"]) {
    for (const type of ["Users", "Groups"]) {
      const answer = await company.send("GET", `/${type}?filter=${encodeURIComponent(`id eq "${id}"`)}`);
      expect([answer.status, answer.json()["totalResults"]], answer.text).toEqual([200, 0]);
    }
    const filter = encodeURIComponent(`id eq "${group}" and members eq "${id}"`);
    expect((await company.send("GET", `/Groups?filter=${filter}`)).json()["totalResults"]).toBe(0);
  }
});

/** Cases 24 and 25 of the research; people with browsers below. */
describe("a removed user", () => {
  const leave: Readonly<Record<string, (id: string, user: object) => Promise<Answer>>> = {
    "Okta PUT": (id, user) => company.send("PUT", `/Users/${id}`, { ...user, id, active: false }),
    "Okta PATCH without path": (id) =>
      company.send("PATCH", `/Users/${id}`, patchOf({ op: "replace", value: { active: false } })),
    "Entra text": (id) =>
      company.send("PATCH", `/Users/${id}`, patchOf({ op: "Replace", path: "active", value: "False" })),
  };
  test.each(Object.keys(leave))(
    "loses streams and tokens on every replica, and finds nothing again: %s",
    async (way) => {
      const sub = `leaver-${way.replaceAll(" ", "-")}`;
      const { id } = await engineer(sub);
      const token = await tokenOf(sub);
      const streams = await Promise.all(ports().map((port) => hold(token, port)));
      expect((await leave[way]?.(id, oktaUser(`${sub}@company.example`, sub)))?.status).toBe(200);
      for (const isOpen of streams) await expect.poll(within2s(isOpen)).toBe(false);
      for (const port of ports()) await expect.poll(within2s(() => call(token, port))).toBe(401);
      const refused = await exchange(sub, 5);
      expect([refused.status, refused.json()["error"]]).toEqual([400, "invalid_grant"]);
      // Back again, by Entra's text.
      const back = await company.send(
        "PATCH",
        `/Users/${id}`,
        patchOf({ op: "Replace", path: "active", value: "True" }),
      );
      expect([back.status, back.json()["active"]]).toEqual([200, true]);
      for (const port of ports()) expect(await call(token, port)).toBe(401);
      expect(await call(await tokenOf(sub, 6), ports()[1])).toBe(200);
      expect(world.gateway.log()).toContain("access of user ended by directory");
      await expect
        .poll(() => world.gateway.records())
        .toContainEqual(
          expect.objectContaining({
            message: "administrative action",
            action: "revoke",
            by: "directory company",
            target: `all access of issuer:company/${sub}`,
          }),
        );
    },
  );

  test("also loses access when deleted", async () => {
    const { id } = await engineer("deleted");
    const token = await tokenOf("deleted");
    const isOpen = await hold(token, second.port);
    expect((await company.send("DELETE", `/Users/${id}`)).status).toBe(204);
    await expect.poll(within2s(isOpen)).toBe(false);
    for (const port of ports()) await expect.poll(within2s(() => call(token, port))).toBe(401);
  });
});

test("users in the directory can sign in, with its groups instead of the provider's", async () => {
  const browser = createBrowser();
  const signIn = async (): Promise<number> =>
    (await createBrowser().signIn(`${origin}/web`, "olga@example.com")).status;
  // Not in the directory.
  expect(await signIn()).toBe(403);
  const id = await people.create("/Users", oktaUser("olga@example.com", "sub-olga"));
  await people.create("/Groups", { displayName: "Writers", members: [{ value: id }] });
  expect((await browser.signIn(`${origin}/web`, "olga@example.com")).status).toBe(200);
  expect((await browser.open(`${origin}/web`)).status).toBe(200);
  // A workload acts for the user at both replicas, with either token.
  const tokens = await runFor(browser, "olga@example.com", "pod-1");
  for (const token of tokens) for (const port of ports()) expect(await call(token, port)).toBe(200);
  const streams = await Promise.all(ports().map((port, at) => hold(tokens[at] ?? "", port)));
  await people.send("PATCH", `/Users/${id}`, patchOf({ op: "replace", value: { active: false } }));
  const again = async (): Promise<string> =>
    (await browser.open(`${origin}/web`, { follow: false })).hops.at(-1)?.location ?? "";
  await expect.poll(within2s(again)).toContain("/.gateway/");
  for (const isOpen of streams) await expect.poll(within2s(isOpen)).toBe(false);
  for (const token of tokens)
    for (const port of ports()) await expect.poll(within2s(() => call(token, port))).toBe(401);
  for (const port of ports()) expect((await exchangeRun("pod-1", port)).json()["error"]).toBe("invalid_grant");
  expect(await signIn()).toBe(403);
  const flag = (value: string) => patchOf({ op: "Replace", path: "active", value });
  expect((await people.send("PATCH", `/Users/${id}`, flag("True"))).status).toBe(200);
  expect(await again()).toContain("/.gateway/");
  expect(await signIn()).toBe(200);
  expect((await people.send("PATCH", `/Users/${id}`, flag("False"))).status).toBe(200);
});

test("a user with only a provider token is accepted and revoked like others", async () => {
  const gateway = { client_id: "gateway", client_secret: "secret", redirect_uris: [`${origin}/.gateway/callback`] };
  const { id_token: token } = await signInAt(world.identityProvider, gateway, "paul@example.com");
  const headers = { authorization: `Bearer ${token}` };
  const statusAt = async (port: number): Promise<number> =>
    (await createSend({ via: port })({ method: "GET", url: `${origin}/api`, headers })).status;
  const id = await people.create("/Users", oktaUser("paul@example.com", "sub-paul"));
  const filter = encodeURIComponent('displayName eq "Writers"');
  const {
    Resources: [group],
  } = (await people.send("GET", `/Groups?filter=${filter}`)).json() as {
    readonly Resources: readonly { readonly id: string }[];
  };
  await people.send("PATCH", `/Groups/${group?.id}`, patchOf({ op: "add", path: "members", value: [{ value: id }] }));
  const streams = await Promise.all(ports().map((port) => hold(token, port, "/api")));
  await people.send("PATCH", `/Users/${id}`, patchOf({ op: "replace", value: { active: false } }));
  for (const isOpen of streams) await expect.poll(within2s(isOpen)).toBe(false);
  for (const port of ports()) await expect.poll(within2s(() => statusAt(port))).toBe(401);
  expect((await people.send("DELETE", `/Users/${id}`)).status).toBe(204);
});

test("`gateway directory` tells what there is, and forgets a directory that is configured no longer", async () => {
  const { configFile: config } = world.gateway;
  const forget = async (name: string, from = config): Promise<readonly [number, string]> => {
    const printed = vi.spyOn(console, "log").mockImplementation(() => {});
    const refused = vi.spyOn(console, "error").mockImplementation(() => {});
    try {
      const code = await runCli(["directory", "forget", name, "--config", from]);
      return [code, [...printed.mock.calls, ...refused.mock.calls].map(([line]) => String(line)).join("\n")];
    } finally {
      printed.mockRestore();
      refused.mockRestore();
    }
  };
  const run = async (...args: readonly string[]): Promise<readonly Record<string, unknown>[]> => {
    const printed = vi.spyOn(console, "log").mockImplementation(() => {});
    try {
      expect(await runCli(["directory", ...args, "--config", config, "--json"])).toBe(0);
      return JSON.parse(printed.mock.calls.map(([line]) => String(line)).join("\n")) as Record<string, unknown>[];
    } finally {
      printed.mockRestore();
    }
  };
  expect(await run("status", "people")).toMatchObject([{ directory: "people", users: 1, active: 0, groups: 1 }]);
  expect((await run("status")).map(({ directory }) => directory)).toEqual(["company", "people"]);
  expect(await run("users", "people")).toMatchObject([
    { name: "olga@example.com", external: "sub-olga", active: "no" },
  ]);
  expect(await run("groups", "people", "--user", "sub-olga")).toMatchObject([{ name: "Writers" }]);
  expect(await forget("people")).toEqual([1, expect.stringContaining("is in the configuration")]);
  const without = join(directory, "without.yaml");
  await writeFile(without, (await readFile(config, "utf8")).replace(/^ {2}people: .*\n/m, ""));
  // A user by two names, a group by one, and a membership.
  expect(await forget("people", without)).toEqual([0, expect.stringMatching(/^6 records /)]);
  expect(await forget("people", without)).toEqual([1, "No data of people is stored"]);
  expect(await forget("../people", without)).toEqual([expect.any(Number), expect.stringContaining("no directory")]);
  expect(await run("status", "people")).toMatchObject([{ users: 0, groups: 0 }]);
  expect(await run("users", "company")).not.toEqual([]);
});
