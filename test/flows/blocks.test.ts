/**
 * The incident brake: `gateway block …`, two replicas on one PostgreSQL (SQLite if there is no server), open responses,
 * and new access.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";

import { within2s } from "../support/promised.ts";
import { runCli } from "../../runtime/cli.ts";
import { createBrowser, createSend, type Answer, type Browser } from "../support/browser.ts";
import { createTestClock, type TestClock } from "../support/clock.ts";
import { startGateway, type TestGateway } from "../support/gateway.ts";
import { HANDSHAKE, openAnswer, startLiveUpstream, type LiveUpstream } from "../support/live-upstream.ts";
import { clientProof, createPkce, REDIRECT_URI, signInClient, type SignedInClient } from "../support/oauth-client.ts";
import { findPostgres, startPostgres, type Postgres } from "../support/postgres.ts";
import { runCommand, type CommandOutcome } from "../support/run-command.ts";
import { runGateway } from "../support/run-gateway.ts";
import { startSignInGateway, type SignInGateway } from "../support/sign-in-gateway.ts";

const found = findPostgres();
let postgres: Postgres | undefined;
let directory: string;
let clock: TestClock;
let upstream: LiveUpstream;
let world: SignInGateway;
/** Two replicas: the same routes, the same store. */
let a: TestGateway;
let b: TestGateway;
let storage: { readonly storage_url: string };
let routes: string;
let alice: SignedInClient;
/** Another client of alice's, for the other server. */
let notes: SignedInClient;
let bob: SignedInClient;

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "gateway-blocks-"));
  if (!("missing" in found)) postgres = await startPostgres(found.bin);
  storage = { storage_url: postgres?.url ?? `sqlite:${join(directory, "gateway.db")}` };
  clock = createTestClock(Math.floor(Date.now() / 1000) * 1000);
  upstream = await startLiveUpstream();
  const everybody = "policy: { allow: { and: [authenticated_user: true] } }";
  routes = `
routes:
  - { name: app, from: "{origin}", prefix: /app, to: "${upstream.origin}", allow_websockets: true, ${everybody} }
  - { name: open, from: "{origin}", prefix: /open, to: "${upstream.origin}", allow_public_unauthenticated_access: true }
  - { name: assistant, from: "{origin}", prefix: /assistant, to: "${upstream.origin}", mcp: { client: {} }, ${everybody} }
  - { name: tools, from: "{origin}", prefix: /tools, to: "${upstream.origin}", mcp: { server: {} }, ${everybody} }
  - { name: notes, from: "{origin}", prefix: /notes, to: "${upstream.origin}", mcp: { server: {} }, ${everybody} }
`;
  world = await startSignInGateway({ clock, boot: storage, yaml: routes });
  a = world.gateway;
  b = await startReplica();
  alice = await signInClient({ resource: `${a.origin}/tools`, user: "alice@example.com" });
  notes = await signInClient({ resource: `${a.origin}/notes`, browser: alice.oauth.browser });
  bob = await signInClient({ resource: `${a.origin}/tools`, user: "bob@example.com" });
});
afterAll(async () => {
  await b?.close();
  await world?.close();
  await upstream?.close();
  await postgres?.close();
  await rm(directory, { recursive: true, force: true });
});

/** Blocks of a test that failed must not fail the others. */
const lift: (readonly string[])[] = [];
afterEach(async () => {
  for (const args of lift.splice(0)) await run("unblock", ...args);
  await expect.poll(within2s(() => Promise.all([a, b].map(blocksOf)))).toEqual([[], []]);
});

async function startReplica(): Promise<TestGateway> {
  const { issuer } = world.identityProvider;
  const provider = `runtime_flags: { mcp: true }\nidp_provider_url: ${issuer}\nidp_client_id: gateway\nidp_client_secret: secret\n`;
  return startGateway({ clock, boot: storage, yaml: provider + routes.replaceAll("{origin}", a.origin) });
}

/** In this process: starting a new one takes longer than the command. */
async function run(command: string, ...args: readonly string[]): Promise<CommandOutcome> {
  const written = { out: "", err: "" };
  const spies = (["log", "error"] as const).map((name) =>
    vi.spyOn(console, name).mockImplementation((text: string) => {
      written[name === "log" ? "out" : "err"] += `${text}\n`;
    }),
  );
  try {
    const code = await runCli([...command.split(" "), "--config", a.configFile, ...args]);
    return { code, ...written };
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** Resolves when both replicas have it. */
async function block(...args: readonly string[]): Promise<void> {
  const isWord = (arg: string | undefined): boolean => arg === "--until" || arg === "--reason";
  lift.push(args.filter((arg, index) => !isWord(arg) && !isWord(args[index - 1])));
  const outcome = await run("block", ...args);
  expect([outcome.err, outcome.code]).toEqual(["", 0]);
  await expect
    .poll(within2s(async () => (await Promise.all([a, b].map(blocksOf))).map(({ length }) => length > 0)))
    .toEqual([true, true]);
}

async function unblock(): Promise<void> {
  for (const args of lift.splice(0)) expect((await run("unblock", ...args)).code).toBe(0);
  await expect.poll(within2s(() => Promise.all([a, b].map(blocksOf)))).toEqual([[], []]);
}

async function blocksOf(gateway: TestGateway): Promise<readonly Record<string, unknown>[]> {
  const headers = { authorization: `Bearer ${gateway.adminToken}` };
  const status = (await (await fetch(`${gateway.adminOrigin}/status`, { headers })).json()) as {
    blocks: Record<string, unknown>[];
  };
  return status.blocks;
}

/** A browser's request to one replica. */
function page(gateway: TestGateway, path: string, browser?: Browser, accept = "application/json"): Promise<Answer> {
  const cookie = browser?.cookieHeader("localhost");
  const headers = { accept, ...(cookie === undefined ? {} : { cookie }) };
  return createSend({ via: gateway.port })({ method: "GET", url: a.origin + path, headers });
}

function call(
  gateway: TestGateway,
  { tokens }: Pick<SignedInClient, "tokens">,
  tool?: string,
  route = "tools",
): Promise<Answer> {
  const message =
    tool === undefined ? { method: "ping" } : { method: "tools/call", params: { name: tool, arguments: {} } };
  const headers = {
    authorization: `Bearer ${tokens.access_token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, ...message });
  return createSend({ via: gateway.port })({ method: "POST", url: `${a.origin}/${route}`, headers, body });
}

const refresh = (client: SignedInClient): Promise<Answer> =>
  client.oauth.sendToken({
    grant_type: "refresh_token",
    refresh_token: client.tokens.refresh_token ?? "",
    ...clientProof(client.registration),
  });

const authorize = (client: SignedInClient) =>
  client.oauth.authorize({
    clientId: client.registration.client_id,
    redirectUri: REDIRECT_URI,
    challenge: createPkce().challenge,
  });

async function refusals(gateway: TestGateway): Promise<readonly Record<string, unknown>[]> {
  return (await gateway.records()).filter((record) => (record["allow-why-false"] as string[]).includes("blocked"));
}

describe("gateway block", () => {
  test("user: rejects existing and new credentials, ends open responses, and all work again after the block", async () => {
    const browser = alice.oauth.browser;
    const cookie = browser.cookieHeader("localhost");
    const open = await Promise.all([
      openAnswer(a.port, `${a.origin}/app/events`, { cookie }),
      openAnswer(b.port, `${a.origin}/app/events`, { cookie }),
      openAnswer(b.port, `${a.origin}/app/ws`, { cookie, ...HANDSHAKE }),
      openAnswer(a.port, `${a.origin}/tools`, { authorization: `Bearer ${alice.tokens.access_token}` }),
    ]);
    expect(open.map(({ status }) => status)).toEqual([200, 200, 101, 200]);
    const others = await openAnswer(b.port, `${a.origin}/app/events`, {
      cookie: bob.oauth.browser.cookieHeader("localhost"),
    });
    let othersEnded = false;
    void others.ended.then(() => (othersEnded = true));

    await block("user", "alice@example.com", "--reason", "laptop stolen");
    await Promise.all(open.map(({ ended }) => ended));
    const before = upstream.seen;
    for (const gateway of [a, b]) {
      for (const path of ["/app/", "/open/x", "/assistant/", "/.gateway/user", "/.gateway/mcp/routes"]) {
        const answer = await page(gateway, path, browser);
        expect([path, answer.status, answer.json()["error"]]).toEqual([path, 403, "blocked"]);
      }
      const answer = await call(gateway, alice);
      expect([answer.status, answer.json()]).toEqual([
        403,
        { jsonrpc: "2.0", error: expect.objectContaining({ data: expect.objectContaining({ reason: "blocked" }) }) },
      ]);
      expect((await call(gateway, alice, "x")).json()).toMatchObject({ id: 1, error: { data: { reason: "blocked" } } });
      expect(await refusals(gateway)).toContainEqual(
        expect.objectContaining({ allow: false, user: "u-alice", "allow-why-false": ["blocked", "blocked-user"] }),
      );
    }
    expect(upstream.seen).toBe(before);

    // Nothing new: no pages, no sign-in, no tokens.
    const own = await page(a, "/.gateway/", browser, "text/html");
    expect([
      own.status,
      own.text.includes("Access is blocked"),
      own.text.includes(String(own.headers["x-request-id"])),
    ]).toEqual([403, true, true]);
    expect(own.text).not.toContain("stolen");
    expect(own.setCookies).toEqual([]);
    const anew = createBrowser();
    const choice = await anew.open(`${a.origin}/app/`);
    const link = /href="([^"]*)"[^>]*>[^<]*alice@example.com/.exec(choice.text)?.[1] ?? "";
    const refused = await anew.open(new URL(link.replaceAll("&amp;", "&"), choice.url).href);
    expect([refused.status, new URL(refused.url).pathname]).toEqual([403, "/.gateway/callback"]);
    expect(refused.text).toContain("Access is blocked");
    expect(anew.cookieHeader("localhost")).not.toContain("gateway_session=");
    expect(a.log()).toContain("sign-in denied, user is blocked");
    const answer = await refresh(alice);
    expect([answer.status, answer.json()["error"]]).toEqual([400, "access_denied"]);
    expect(await authorize(alice)).toMatchObject({ at: "page", page: { status: 403 } });

    // Others continue, and all authorized users see the block.
    expect((await call(b, bob)).status).toBe(200);
    expect(othersEnded).toBe(false);
    expect(await blocksOf(b)).toMatchObject([{ kind: "user", name: "u-alice", reason: "laptop stolen", until: "" }]);
    for (const gateway of [a, b]) expect(gateway.log()).toContain("blocked by an administrator");

    await unblock();
    for (const gateway of [a, b]) {
      expect((await page(gateway, "/app/", browser)).status).toBe(200);
      expect((await call(gateway, alice)).status).toBe(200);
    }
    await alice.refresh();
    expect((await call(b, alice)).status).toBe(200);
  });

  test("user: they may still sign out, and it is done", async () => {
    const browser = createBrowser();
    const carol = await signInClient({ resource: `${a.origin}/tools`, user: "bob@example.com", browser });
    const form = await browser.open(`${a.origin}/.gateway/sign_out`);
    await block("user", "u-bob");
    const csrf = /name="csrf" value="([^"]+)"/.exec(form.text)?.[1] ?? "";
    const kept = browser.cookieHeader("localhost");
    const action = { action: "/.gateway/sign_out", method: "POST", fields: { csrf } };
    expect((await browser.submit(form, action, {}, world.identityProvider.issuer)).left).toBe(true);
    await unblock();
    const headers = { accept: "application/json", cookie: kept };
    const after = await createSend({ via: a.port })({ method: "GET", url: `${a.origin}/.gateway/user`, headers });
    expect(after.status).toBe(401);
    expect((await call(a, carol)).status).toBe(200);
  });

  test("user: service accounts and tokens of the client credentials grant", async () => {
    const made = await run("service-account create", "--name", "ci", "--email", "ci@example.com", "--expires", "1h");
    const ci = { tokens: { access_token: made.out.trim(), token_type: "Bearer", expires_in: 3600 } };
    const client = await run("client create", "--name", "nightly", "--machine", "--email", "n@example.com");
    const proof = JSON.parse(client.out) as { client_id: string; client_secret: string };
    const nightly = { tokens: (await askBasic(proof)).json() as never };
    for (const each of [ci, nightly]) expect((await call(b, each)).status).toBe(200);
    expect((await page(b, "/app/", undefined)).status).toBe(401);
    await block("user", "service-account:ci");
    await block("user", "service-account:nightly");
    for (const each of [a, b]) await expect.poll(within2s(async () => (await blocksOf(each)).length)).toBe(2);
    for (const each of [ci, nightly]) expect((await call(b, each)).status).toBe(403);
    const program = { accept: "application/json", authorization: `Bearer ${ci.tokens.access_token}` };
    const onPage = await createSend({ via: b.port })({ method: "GET", url: `${a.origin}/app/`, headers: program });
    expect([onPage.status, onPage.json()["error"]]).toEqual([403, "blocked"]);
    expect((await askBasic(proof)).json()["error"]).toBe("access_denied");
    await unblock();
    for (const each of [ci, nightly]) expect((await call(b, each)).status).toBe(200);
  });

  test("client: refuses its tokens, its refreshes and its users' approvals, and no other client", async () => {
    const { client_id: clientId } = alice.registration;
    const asked = await alice.oauth.authorize({
      clientId,
      redirectUri: REDIRECT_URI,
      challenge: createPkce().challenge,
      parameters: { prompt: "consent" },
      decision: "look",
    });
    await block("client", clientId);
    expect((await call(b, alice)).status).toBe(403);
    expect(await refusals(b)).toContainEqual(
      expect.objectContaining({ "allow-why-false": ["blocked", "blocked-client"] }),
    );
    const answer = await refresh(alice);
    expect([answer.status, answer.json()["error"]]).toEqual([400, "access_denied"]);
    expect(await authorize(alice)).toMatchObject({ at: "page", page: { status: 403 } });
    if (asked.at !== "page") throw new Error("not asked");
    expect((await alice.oauth.browser.open(asked.page.url)).status).toBe(403);
    // The user is not blocked.
    expect((await page(b, "/app/", alice.oauth.browser)).status).toBe(200);
    expect((await call(b, bob)).status).toBe(200);
    await unblock();
    await alice.refresh();
    expect((await call(b, alice)).status).toBe(200);
  });

  test("client: a code in its hands is not consumed by being refused", async () => {
    const { verifier, challenge } = createPkce();
    const { client_id: clientId } = bob.registration;
    const approved = await bob.oauth.authorize({ clientId, redirectUri: REDIRECT_URI, challenge });
    if (approved.at !== "client") throw new Error("not approved");
    const exchange = () =>
      bob.oauth.sendToken({
        grant_type: "authorization_code",
        code: approved.parameters["code"] ?? "",
        redirect_uri: REDIRECT_URI,
        code_verifier: verifier,
        ...clientProof(bob.registration),
      });
    await block("user", "u-bob");
    expect((await exchange()).json()["error"]).toBe("access_denied");
    await unblock();
    expect((await exchange()).status).toBe(200);
  });

  test("grant: refuses this one access and no other of the same user", async () => {
    const other = await signInClient({ resource: `${a.origin}/tools`, browser: alice.oauth.browser });
    const listed = JSON.parse((await run("grants list", "--client", other.registration.client_id, "--json")).out) as {
      id: string;
    }[];
    // Ids are random, and may begin as an option does.
    await block("--", "grant", listed[0]?.id ?? "");
    expect((await call(b, other)).status).toBe(403);
    expect((await refresh(other)).json()["error"]).toBe("access_denied");
    expect((await call(b, alice)).status).toBe(200);
    await unblock();
    await other.refresh();
    expect((await call(b, other)).status).toBe(200);
  });

  test("route: rejects all users, also unauthenticated ones, ends its streams, and is not listed", async () => {
    const cookie = alice.oauth.browser.cookieHeader("localhost");
    const anonymous = await openAnswer(b.port, `${a.origin}/open/events`);
    expect(anonymous.status).toBe(200);
    const listed = async () =>
      ((await page(b, "/.gateway/mcp/routes", alice.oauth.browser)).json()["servers"] as { name: string }[]).map(
        ({ name }) => name,
      );
    expect(await listed()).toEqual(["notes", "tools"]);
    await block("route", "default/open");
    await anonymous.ended;
    await block("route", "default/tools");
    await expect.poll(within2s(async () => (await blocksOf(b)).length)).toBe(2);
    for (const headers of [{}, { cookie }] as const) {
      const answer = await createSend({ via: b.port })({
        method: "GET",
        url: `${a.origin}/open/x`,
        headers: { accept: "application/json", ...headers },
      });
      expect([answer.status, answer.json()["error"]]).toEqual([403, "blocked"]);
    }
    const handshake = await openAnswer(b.port, `${a.origin}/open/ws`, HANDSHAKE);
    expect(handshake.status).toBe(403);
    const answer = await call(b, alice);
    expect([answer.status, answer.json()]).toMatchObject([
      403,
      { jsonrpc: "2.0", error: { data: { reason: "blocked" } } },
    ]);
    expect((await call(b, notes, undefined, "notes")).status).toBe(200);
    expect(await listed()).toEqual(["notes"]);
    const own = await alice.oauth.browser.open(`${a.origin}/.gateway/`);
    expect(own.text).toContain('Add to my client<span class="hidden">: notes<');
    expect(own.text).not.toContain('Add to my client<span class="hidden">: tools<');
    expect(await refusals(b)).toContainEqual(
      expect.objectContaining({ allow: false, "allow-why-false": ["blocked", "blocked-route"] }),
    );
    await unblock();
    expect((await page(b, "/open/x")).status).toBe(200);
    expect((await call(b, alice)).status).toBe(200);
  });

  test("tool: is denied like a tool that policy denies, on one route or on all, in every spelling that an upstream may fold", async () => {
    await block("tool", "delete_repo", "--route", "default/tools");
    const denied = await call(b, alice, "delete_repo");
    expect([denied.status, denied.json()]).toMatchObject([
      200,
      { id: 1, error: { code: -31403, data: { reason: "blocked" } } },
    ]);
    expect(await refusals(b)).toContainEqual(
      expect.objectContaining({
        "mcp-tool": "delete_repo",
        "allow-why-false": ["blocked", "blocked-tool", "mcp-tool-unauthorized"],
      }),
    );
    expect((await call(b, alice, "delete_repo\u200b")).status).toBe(400);
    expect((await call(b, alice, " delete_repo")).status).toBe(400);
    expect((await call(b, alice, "read_repo")).json()).toHaveProperty("result");
    expect((await call(b, notes, "delete_repo", "notes")).json()).toHaveProperty("result");
    await block("tool", "delete_repo");
    await expect.poll(within2s(async () => (await blocksOf(b)).length)).toBe(2);
    expect((await call(b, notes, "delete_repo", "notes")).json()).toMatchObject({
      error: { data: { reason: "blocked" } },
    });
    await unblock();
    expect((await call(b, alice, "delete_repo")).json()).toHaveProperty("result");
  });

  test("a block survives publishes and restarts, and is active before the first request", async () => {
    await block("user", "u-alice");
    await world.reconfigure(routes.replace("name: notes", "name: notices"));
    expect((await call(a, alice)).status).toBe(403);
    await b.close();
    b = await startReplica();
    expect((await call(b, alice)).status).toBe(403);
    await world.reconfigure(routes);
    await unblock();
    expect((await call(b, alice)).status).toBe(200);
  });

  test("a block expires, and is not listed afterwards", async () => {
    await block("user", "u-bob", "--until", "10m", "--reason", "until the call back");
    expect((await page(b, "/app/", bob.oauth.browser)).status).toBe(403);
    const rows = JSON.parse((await run("blocks", "--json")).out) as object[];
    expect(rows).toMatchObject([
      {
        kind: "user",
        name: "u-bob",
        email: "bob@example.com",
        reason: "until the call back",
        until: expect.stringMatching(/Z$/),
      },
    ]);
    clock.advance(11 * 60_000);
    expect((await page(b, "/app/", bob.oauth.browser)).status).toBe(200);
    await expect.poll(within2s(() => Promise.all([a, b].map(blocksOf)))).toEqual([[], []]);
    await expect.poll(within2s(() => b.log())).toContain("block expired");
  });

  test.each([
    ["a kind that there is not", ["block", "host", "x"]],
    ["a route without its owner", ["block", "route", "app"]],
    ["a route beside anything but a tool", ["block", "user", "u", "--route", "default/app"]],
    ["an end in the past", ["block", "user", "u", "--until", "2020-01-01T00:00:00Z"]],
    ["an end without a zone", ["block", "user", "u", "--until", "2099-01-01T00:00:00"]],
    ["an empty name", ["block", "user", ""]],
    ["what is not blocked", ["unblock", "user", "nobody"]],
  ])("%s is rejected, and blocks nothing", async (_, args) => {
    const [command = "", ...rest] = args;
    const outcome = await run(command, ...rest);
    expect(outcome.code).toBe(1);
    expect(outcome.err).not.toBe("");
    expect(JSON.parse((await run("blocks", "--json")).out)).toEqual([]);
  });

  test("an unknown subject is blocked with a warning", async () => {
    lift.push(["user", "mallory@example.com"]);
    const outcome = await run("block", "user", "mallory@example.com");
    expect([outcome.code, outcome.err]).toEqual([0, expect.stringContaining("is known here")]);
    await expect.poll(within2s(async () => (await blocksOf(b)).length)).toBe(1);
  });
});

/** `client_secret_basic`, as clients made here have it. */
function askBasic(proof: { readonly client_id: string; readonly client_secret: string }): Promise<Answer> {
  return createSend()({
    method: "POST",
    url: `${a.origin}/.gateway/mcp/token`,
    headers: {
      "content-type": "application/x-www-form-urlencoded",
      authorization: `Basic ${Buffer.from(`${proof.client_id}:${proof.client_secret}`).toString("base64")}`,
    },
    body: new URLSearchParams({ grant_type: "client_credentials", resource: `${a.origin}/tools` }).toString(),
  });
}

test("with --workers: active in every worker, and shown in /status", async () => {
  const upstreamOrigin = upstream.origin;
  const gateway = await runGateway({
    workers: 2,
    yaml: `routes: [{ name: open, from: "http://open.example.com", to: "${upstreamOrigin}", allow_public_unauthenticated_access: true }]\n`,
  });
  try {
    const port = Number(new URL(gateway.origin).port);
    const ask = async (): Promise<ReadonlySet<number>> => {
      const send = createSend({ via: port });
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => send({ method: "GET", url: "http://open.example.com/" })),
      );
      return new Set(answers.map(({ status }) => status));
    };
    expect(await ask()).toEqual(new Set([200]));
    const outcome = await runCommand("block", "route", "default/open", "--config", gateway.directory);
    expect([outcome.code, outcome.err]).toEqual([0, ""]);
    await expect.poll(within2s(ask)).toEqual(new Set([403]));
    const { body } = await gateway.admin.get("/status");
    expect(body).toMatchObject({
      blocks: [{ kind: "route", name: "default/open" }],
      workers: [{ blocks: 1 }, { blocks: 1 }],
    });
    // The supervisor answers the admin API.
    const listed = await gateway.admin.get("/api/v1/blocks");
    expect(listed.body).toMatchObject({ items: [{ kind: "route", name: "default/open" }] });
  } finally {
    await gateway.close();
  }
});
