/**
 * Agent runs through a whole gateway: a workload asks, the named user approves in a browser, the workload works for them,
 * and the run ends. Attackers are other pods, other users, and writers of the store.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { calculateJwkThumbprint } from "jose";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";

import { runCli } from "../../runtime/cli.ts";
import { createClient } from "../../runtime/oauth/server/clients/pre-registered.ts";
import { type RunRecord, withProof } from "../../runtime/oauth/server/runs/run-records.ts";
import { openRecords } from "../../runtime/record-kinds.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { type RunningMcpServer, startMcpServer } from "../../examples/demo/mcp-server.ts";
import {
  type Answer,
  type Browser,
  createBrowser,
  createSend,
  findForm,
  findLink,
  type Page,
} from "../support/browser.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { dpopProof } from "../support/dpop.ts";
import { type EchoUpstream, startEchoUpstream } from "../support/echo-upstream.ts";
import { openAnswer, startLiveUpstream, type LiveUpstream } from "../support/live-upstream.ts";
import { createOAuthClient } from "../support/oauth-client.ts";
import { type Platform, startPlatform } from "../support/platform.ts";
import { freePort } from "../support/ports.ts";
import { within2s } from "../support/promised.ts";
import { TEST_SHARED_SECRET } from "../support/config.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";
import { startUpstreamService, type UpstreamService } from "../support/upstream-service.ts";

const TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange";
const JWT_TYPE = "urn:ietf:params:oauth:token-type:jwt";
const ALICE = "alice@example.com";
const BOB = "bob@example.com";
const SUBJECT = "system:serviceaccount:agents:reporter";

let platform: Platform;
let mcpServer: RunningMcpServer;
let live: LiveUpstream;
let echo: EchoUpstream;
let account: UpstreamService;
let world: SignInGateway;
let origin = "";
let directory = "";

beforeAll(async () => {
  const port = await freePort();
  [platform, mcpServer, live, echo, account, directory] = await Promise.all([
    startPlatform(),
    startMcpServer(),
    startLiveUpstream(),
    startEchoUpstream(),
    startUpstreamService(),
    mkdtemp(join(tmpdir(), "gateway-runs-")),
  ]);
  const redirectUris = ["127.0.0.1", "localhost"].map(
    (host) => `http://${host}:${port}/.gateway/mcp/client/oauth/callback`,
  );
  account.clients.set("reports", { secret: "reports-secret", redirectUris });
  world = await startSignInGateway({
    port,
    pagesHost: "127.0.0.1",
    yaml: settings(),
    boot: { audit: true, storage_url: `sqlite:${join(directory, "gateway.db")}` },
  });
  ({ origin } = world.gateway);
});

afterAll(async () => {
  await world?.close();
  await Promise.all([platform?.close(), mcpServer?.close(), live?.close(), echo?.close(), account?.close()]);
  await rm(directory, { recursive: true, force: true });
});

function settings({ runs = `identified_by: [pod], max_duration: 2h` } = {}): string {
  const rule = (resources: string, more: string): string =>
    `{ claims: { sub: ["${SUBJECT}", greedy-1, greedy-2] }, resources: [${resources}], ${more} }`;
  const servers = ["tools/mcp", "live", "echo", "account/mcp", "keyed/mcp"]
    .map((path) => `"{origin}/${path}"`)
    .join(", ");
  return `
authorize_log_fields: [user, actor, run, client-id, auth-method, grant-id, route, replay]
identity_issuers:
  pods:
    issuer: "${platform.issuer}"
    uses: [workload]
    workload_rules:
      reporter: ${rule(servers, `agent_runs: { ${runs} }`)}
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${mcpServer.origin}
    mcp: { server: { path: /mcp, tool_scopes: { add_note: [notes] } } }
    policy:
      allow: { and: [{ domain: { is: example.com } }] }
      deny: { and: [{ actor: { starts_with: "workload:pods/" } }, { mcp_tool: { is: delete_repo } }] }
  - name: live
    from: "{origin}"
    prefix: /live
    to: ${live.origin}
    mcp: { server: {} }
    policy: { allow: { and: [{ actor_claim/pod: { has: pod-live } }] } }
  - name: echo
    from: "{origin}"
    prefix: /echo
    to: ${echo.origin}
    pass_identity_headers: true
    mcp:
      server:
        history_rules:
          - { name: once, per: run, calls: { or: [{ mcp_tool: any }] }, at_most: { count: 1, within: 1h } }
          - { name: order, per: run, calls: { or: [{ mcp_tool: next }] }, after: { calls: { or: [{ mcp_tool: any }] }, within: 1h } }
    policy: { allow: { and: [authenticated_user: true] } }
  - name: account
    from: "{origin}"
    prefix: /account
    to: ${account.origin}
    mcp:
      server:
        path: /mcp
        upstream_oauth2:
          client_id: reports
          client_secret: reports-secret
          endpoint: { auth_url: "${account.origin}/authorize", token_url: "${account.origin}/token" }
    policy: { allow: { and: [authenticated_user: true] } }
  - name: keyed
    from: "{origin}"
    prefix: /keyed
    to: ${mcpServer.origin}
    mcp: { server: { path: /mcp, dpop: required, introspection_accounts: [auditor] } }
    policy: { allow: { and: [authenticated_user: true] } }
  - name: closed
    from: "{origin}"
    prefix: /closed
    to: ${live.origin}
    mcp: { server: {} }
    policy: { allow: { and: [authenticated_user: true] } }
`;
}

const send = createSend();
const keys = createKeys([Buffer.from(TEST_SHARED_SECRET, "base64")]);
const podToken = (pod: string, claims: Readonly<Record<string, unknown>> = {}): Promise<string> =>
  platform.token(origin, { sub: SUBJECT, pod, ...claims });

interface Asked {
  readonly method?: string;
  readonly body?: Readonly<Record<string, unknown>>;
  readonly token?: string;
}

async function runs(pod: string, { method = "POST", body = {}, token }: Asked = {}): Promise<Answer> {
  const asked = { purpose: `Report of ${pod}`, servers: [`${origin}/tools/mcp`], expires_in: 3600, approver: ALICE };
  return send({
    method,
    url: `${origin}/.gateway/mcp/runs`,
    headers: {
      authorization: `Bearer ${token ?? (await podToken(pod))}`,
      ...(method === "POST" && { "content-type": "application/json" }),
    },
    ...(method === "POST" && { body: JSON.stringify({ ...asked, ...body }) }),
  });
}

async function exchange(
  pod: string,
  form: Readonly<Record<string, string>> = {},
  more: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const all = {
    grant_type: TOKEN_EXCHANGE,
    subject_token: await podToken(pod),
    subject_token_type: JWT_TYPE,
    resource: `${origin}/tools/mcp`,
    ...form,
  };
  const headers = { "content-type": "application/x-www-form-urlencoded", ...more };
  return send({
    method: "POST",
    url: `${origin}/.gateway/mcp/token`,
    headers,
    body: new URLSearchParams(all).toString(),
  });
}

/** The store of the gateway, as another process of the same operator opens it. */
async function withStore<T>(work: (store: Awaited<ReturnType<typeof openRecords>>) => Promise<T>): Promise<T> {
  const store = await openRecords(`sqlite:${join(directory, "gateway.db")}`, { clock: systemClock, log: silentLog() });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const pageOf = (answer: Answer): string => String(answer.json()["approval_url"]);
const tokenOf = (answer: Answer): string => String(answer.json()["access_token"]);

async function open(browser: Browser, url: string, user = ALICE): Promise<Page> {
  const page = await browser.open(url);
  const choice = findLink(page, user);
  return choice === undefined ? page : browser.open(choice);
}

function formOf(page: Page) {
  const form = findForm(page, "/.gateway/run");
  if (!form) throw new Error(`no form on the page:\n${page.status} ${page.text}`);
  return form;
}

async function decide(url: string, decision = "approve", user = ALICE, browser = createBrowser()): Promise<Page> {
  const page = await open(browser, url, user);
  return browser.submit(page, formOf(page), { decision });
}

/** An approved run of a pod. */
async function approved(pod: string, body: Asked["body"] = {}): Promise<void> {
  const asked = await runs(pod, { body });
  expect(asked.status).toBe(201);
  expect((await decide(pageOf(asked))).status).toBe(200);
}

function call(
  token: string,
  tool: string,
  route = "tools/mcp",
  more: Readonly<Record<string, string>> = {},
): Promise<Answer> {
  const headers = {
    authorization: `Bearer ${token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2025-06-18",
    ...more,
  };
  const params = { name: tool, arguments: { text: "from a run" } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
  return send({ method: "POST", url: `${origin}/${route}`, headers, body });
}

describe("an agent run", () => {
  test("is requested, approved by the named user, used for that user, renewed and ended by the workload", async () => {
    const asked = await runs("pod-1", { body: { scope: "notes" } });
    expect([asked.status, asked.json()]).toEqual([
      201,
      {
        state: "pending",
        servers: [`${origin}/tools/mcp`],
        scope: "mcp notes",
        approver: ALICE,
        ends_at: expect.stringMatching(/Z$/) as string,
        expires_at: expect.stringMatching(/Z$/) as string,
        approval_url: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/\.gateway\/run\?request=/) as string,
      },
    ]);
    // Nothing is open before the decision, and the same request has the same state.
    expect((await exchange("pod-1")).json()["error"]).toBe("invalid_grant");
    const again = await runs("pod-1", { body: { scope: "notes" } });
    expect([again.status, pageOf(again)]).toEqual([200, pageOf(asked)]);
    expect((await runs("pod-1", { body: { purpose: "Another" } })).status).toBe(409);

    const browser = createBrowser();
    const page = await open(browser, pageOf(asked));
    expect(page.status).toBe(200);
    for (const text of [
      `workload:pods/${SUBJECT}`,
      platform.issuer,
      "pod-1",
      "Report of pod-1",
      `${origin}/tools/mcp`,
      "add_note",
      ALICE,
    ])
      expect(page.text).toContain(text);
    expect(page.headers["content-security-policy"]).toContain("frame-ancestors 'none'");
    expect((await browser.submit(page, formOf(page), { decision: "approve" })).text).toContain("Approved");

    const got = await exchange("pod-1");
    expect([got.status, got.json()]).toMatchObject([
      200,
      {
        token_type: "Bearer",
        issued_token_type: "urn:ietf:params:oauth:token-type:access_token",
        scope: "mcp notes",
      },
    ]);
    // Never longer than the platform's token.
    expect(Number(got.json()["expires_in"])).toBeLessThanOrEqual(300);
    expect(got.json()).not.toHaveProperty("refresh_token");
    expect((await call(tokenOf(got), "add_note")).text).toContain('"content"');
    expect((await call(tokenOf(got), "delete_repo")).text).toContain("-31403");
    const record = (await world.gateway.records()).findLast(({ actor }) => actor !== undefined);
    expect(record).toMatchObject({
      user: "u-alice",
      actor: `workload:pods/${SUBJECT}`,
      "client-id": `workload:pods/${SUBJECT}`,
      "auth-method": "agent-run",
      replay: { user: { actor: { claims: { pod: "pod-1", sub: SUBJECT } } } },
    });
    expect(record?.["run"]).toBe(new URL(pageOf(asked)).searchParams.get("request"));

    // Renewing is another exchange, and keeps the identity that sessions and approvals are bound to.
    const renewed = tokenOf(await exchange("pod-1", { scope: "mcp" }));
    expect((await call(renewed, "add_note")).status).toBe(403);
    expect((await runs("pod-1", { method: "GET" })).json()).toMatchObject({ state: "active" });
    expect((await runs("pod-1", { method: "DELETE" })).status).toBe(204);
    await expect.poll(within2s(async () => (await call(renewed, "add_note")).status)).toBe(401);
    expect((await exchange("pod-1")).json()["error"]).toBe("invalid_grant");
    expect((await runs("pod-1", { method: "GET" })).status).toBe(404);
    for (const text of [world.gateway.log(), await world.gateway.recordText()])
      for (const token of platform.issued) expect(text).not.toContain(token);
  });

  test("opens what its claims open, its server learns who acts, and history rules count its calls", async () => {
    // The page decides about servers as the exchange of tokens: with the workload's claims.
    const DENIED = "Policy denies this server";
    const servers = [`${origin}/echo`, `${origin}/live`];
    const other = await runs("pod-dead", { body: { servers } });
    expect((await open(createBrowser(), pageOf(other))).text).toContain(DENIED);
    await decide(pageOf(other));
    expect((await exchange("pod-dead", { resource: `${origin}/live` })).json()["error"]).toBe("invalid_grant");
    const asked = await runs("pod-live", { body: { servers } });
    expect((await open(createBrowser(), pageOf(asked))).text).not.toContain(DENIED);
    await decide(pageOf(asked));
    await call(tokenOf(await exchange("pod-live", { resource: `${origin}/echo` })), "any", "echo");
    const [, payload = ""] = String(echo.seen.at(-1)?.headers["x-gateway-jwt-assertion"]).split(".");
    const assertion = JSON.parse(Buffer.from(payload, "base64url").toString()) as Readonly<Record<string, unknown>>;
    expect(assertion).toMatchObject({ sub: "u-alice", act: { sub: `workload:pods/${SUBJECT}` } });
    // A new token belongs to the same run.
    const again = await call(tokenOf(await exchange("pod-live", { resource: `${origin}/echo` })), "any", "echo");
    expect(again.text).toContain("history-at-most");
    const next = await call(tokenOf(await exchange("pod-live", { resource: `${origin}/echo` })), "next", "echo");
    expect(next.text).not.toContain("history-after");
    await world.gateway.runtime.flushRecords();
    const outcomes = (await world.gateway.records()).filter((each) => each["succeeded"] !== undefined);
    expect(outcomes).toMatchObject([{ message: "request outcome", status: 200, succeeded: true }]);
    const token = tokenOf(await exchange("pod-live", { resource: `${origin}/live` }));
    const stream = await openAnswer(world.gateway.port, `${origin}/live`, { authorization: `Bearer ${token}` });
    expect(stream.status).toBe(200);
    // The end of the run ends open streams.
    await runs("pod-live", { method: "DELETE" });
    await stream.ended;
  });

  test("connects the account that a server needs on the page, before or after the approval", async () => {
    const resource = `${origin}/account/mcp`;
    const asked = await runs("pod-account", { body: { servers: [resource, `${origin}/echo`] } });
    const browser = createBrowser();
    const shown = await open(browser, pageOf(asked));
    expect(shown.text).toContain("before you connect your account");
    expect(shown.text.match(/>Connect</g)).toHaveLength(1);
    await browser.submit(shown, formOf(shown), { decision: "approve" });
    // Approved, but the account is missing: the workload learns which user to ask.
    expect((await exchange("pod-account", { resource })).json()["error"]).toBe("interaction_required");

    const other = await runs("pod-account-2", { body: { servers: [resource] } });
    const page = await open(browser, pageOf(other));
    const [, href = ""] = /<a class="button" href="([^"]*)"/.exec(page.text) ?? [];
    const connected = await browser.open(href);
    const back = connected.url === pageOf(other) ? connected : await browser.open(findLink(connected, "Back") ?? "");
    expect(back.url).toBe(pageOf(other));
    expect(back.text).not.toContain(">Connect<");
    const got = await exchange("pod-account", { resource });
    expect(got.status).toBe(200);
    await call(tokenOf(got), "any", "account/mcp");
    expect(account.mcpRequests.at(-1)?.authorization).toMatch(/^Bearer access-sentinel-/);
  });

  test("gets tokens that are bound to the workload's key where the server requires it, and introspection names both", async () => {
    const resource = `${origin}/keyed/mcp`;
    await approved("pod-keyed", { servers: [resource, `${origin}/tools/mcp`] });
    const [key, thief] = await Promise.all([makeSigningKey("ES256"), makeSigningKey("ES256")]);
    const tokenUrl = `${origin}/.gateway/mcp/token`;
    const got = await exchange("pod-keyed", { resource }, { dpop: await dpopProof(tokenUrl, { by: key }) });
    expect([got.status, got.json()["token_type"]]).toEqual([200, "DPoP"]);
    const token = tokenOf(got);
    const called = async (proof: Readonly<Record<string, string>>): Promise<number> =>
      (await call(token, "list_notes", "keyed/mcp", proof)).status;
    const proven = async (by: SigningKey): Promise<Readonly<Record<string, string>>> => ({
      authorization: `DPoP ${token}`,
      dpop: await dpopProof(resource, { by, token }),
    });
    expect(await called(await proven(key))).toBe(200);
    expect([await called({}), await called(await proven(thief))]).toEqual([401, 401]);
    const bearer = await exchange("pod-keyed", { resource });
    expect((await call(tokenOf(bearer), "list_notes", "keyed/mcp")).status).toBe(401);

    const made = await withStore((store) =>
      createClient(
        { store, clock: systemClock },
        { name: "auditor", issuer: origin, machine: { email: "", groups: [] } },
      ),
    );
    if (!made.ok) throw new Error(made.problem);
    const auditor = { client_id: made.clientId, client_secret: made.secret ?? "" };
    const oauth = createOAuthClient({ resource });
    const described = await oauth.sendIntrospection({ token, ...auditor });
    const workload = `workload:pods/${SUBJECT}`;
    expect(described.json()).toMatchObject({
      active: true,
      sub: "u-alice",
      act: { sub: workload },
      client_id: workload,
      cnf: { jkt: await calculateJwkThumbprint(key.jwk) },
    });
    await runs("pod-keyed", { method: "DELETE" });
    expect((await oauth.sendIntrospection({ token, ...auditor })).json()).toEqual({ active: false });
  });
});

describe("a request", () => {
  const servers = (): readonly string[] => [`${origin}/tools/mcp`];
  test.each<[string, () => Promise<Asked>, number, string]>([
    ["without a token", () => Promise.resolve({ token: "" }), 401, "invalid_token"],
    ["of no pod", async () => ({ token: await platform.token(origin, { sub: SUBJECT }) }), 401, "invalid_token"],
    ["of a pod as a list", async () => ({ token: await podToken("", { pod: ["a"] }) }), 401, "invalid_token"],
    ["of another workload", async () => ({ token: await podToken("a", { sub: "x" }) }), 401, "invalid_token"],
    [
      "with a token for another audience",
      async () => ({ token: await platform.token("https://elsewhere.example", { sub: SUBJECT, pod: "a" }) }),
      401,
      "invalid_token",
    ],
    ["that names a run", () => Promise.resolve({ body: { id: "x" } }), 400, "invalid_request"],
    ["for no server", () => Promise.resolve({ body: { servers: [] } }), 400, "invalid_request"],
    [
      "for a server that the rule does not open",
      () => Promise.resolve({ body: { servers: [...servers(), `${origin}/closed`] } }),
      400,
      "invalid_target",
    ],
    ["for the whole host", () => Promise.resolve({ body: { servers: [origin] } }), 400, "invalid_target"],
    [
      "for another host",
      () => Promise.resolve({ body: { servers: ["https://x.example/mcp"] } }),
      400,
      "invalid_target",
    ],
    ...["#x", "?x=1", "/../../closed", "/%2e%2e/%2e%2e/closed", "/..%2f..%2fclosed", "\\..\\..\\closed", ";x"].map(
      (more) =>
        [
          `for an address with ${more}`,
          () => Promise.resolve({ body: { servers: [`${origin}/tools/mcp${more}`] } }),
          400,
          "invalid_target",
        ] as [string, () => Promise<Asked>, number, string],
    ),
    [
      "for a server with another user and host",
      () => Promise.resolve({ body: { servers: [`http://${new URL(origin).host}@evil.example/tools/mcp`] } }),
      400,
      "invalid_target",
    ],
    [
      "for a server of a prototype",
      () => Promise.resolve({ body: { servers: ["__proto__", "constructor"] } }),
      400,
      "invalid_target",
    ],
    [
      "by an email address with a display name",
      () => Promise.resolve({ body: { approver: `A <${ALICE}>` } }),
      400,
      "invalid_request",
    ],
    [
      "by two email addresses",
      () => Promise.resolve({ body: { approver: `${ALICE},${BOB}` } }),
      400,
      "invalid_request",
    ],
    ["for ever", () => Promise.resolve({ body: { expires_in: 1e308 } }), 400, "invalid_request"],
    ["for a fraction of a second", () => Promise.resolve({ body: { expires_in: 60.5 } }), 400, "invalid_request"],
    ["for unknown scopes", () => Promise.resolve({ body: { scope: "mcp admin" } }), 400, "invalid_scope"],
    ["of more time than allowed", () => Promise.resolve({ body: { expires_in: 7201 } }), 400, "invalid_request"],
    ["of two lines", () => Promise.resolve({ body: { purpose: "a\nb" } }), 400, "invalid_request"],
    ["of a long purpose", () => Promise.resolve({ body: { purpose: "a".repeat(1001) } }), 400, "invalid_request"],
    ["for no address", () => Promise.resolve({ body: { approver: "u-alice" } }), 400, "invalid_request"],
  ])("%s is rejected", async (_, make, status, error) => {
    const asked = await make();
    const answer = await runs("pod-bad", asked);
    expect([answer.status, answer.json()["error"]]).toEqual([status, error]);
    expect((await runs("pod-bad", { method: "GET" })).status).toBe(404);
  });

  test("is limited per approver and per workload, and a refusal is remembered", async () => {
    const asked = await runs("pod-refused");
    expect((await decide(pageOf(asked), "refuse")).text).toContain("Denied");
    // The workload cannot end a refusal, to ask again.
    expect((await runs("pod-refused", { method: "DELETE" })).json()["state"]).toBe("refused");
    for (const [body, status] of [
      [{}, 200],
      [{ purpose: "Please" }, 409],
    ] as const) {
      const again = await runs("pod-refused", { body });
      expect([again.status, again.json()["state"]]).toEqual([status, "refused"]);
    }
    expect((await exchange("pod-refused")).json()["error"]).toBe("invalid_grant");

    const greedy = async (sub: string, at: number, approver: string): Promise<Answer> =>
      runs("", { token: await podToken(`greedy-${at}`, { sub }), body: { approver } });
    // One workload holds a part of an approver's places only, also with parallel requests; others find places left.
    const parallel = await Promise.all(
      Array.from({ length: 12 }, (_, at) => greedy("greedy-1", at, "zoe@example.com")),
    );
    const created = parallel.filter(({ status }) => status === 201).length;
    expect(created).toBeLessThanOrEqual(8);
    for (let at = created; at < 8; at += 1)
      expect((await greedy("greedy-1", 100 + at, "zoe@example.com")).status).toBe(201);
    expect((await greedy("greedy-1", 200, "zoe@example.com")).status).toBe(429);
    expect((await runs("pod-zoe", { body: { approver: "zoe@example.com" } })).status).toBe(201);
    // With ever new approvers and pods.
    const answers: number[] = [];
    for (let at = 0; at < 31; at += 1) answers.push((await greedy("greedy-2", at, `zoe-${at}@example.com`)).status);
    expect(answers).toEqual([...Array.from({ length: 30 }, () => 201), 429]);
  });
});

describe("the page", () => {
  test("shows and takes nothing of another user, in a frame, or by a script", async () => {
    const url = pageOf(await runs("pod-page"));
    const alice = createBrowser();
    const shown = await open(alice, url);
    const bob = createBrowser();
    const denied = await open(bob, url, BOB);
    expect([denied.status, denied.text.includes("pod-page")]).toEqual([404, false]);
    // The form of another user's page, in this user's browser.
    expect((await bob.submit(shown, formOf(shown), { decision: "approve" })).status).toBe(404);
    const cookie = alice.cookieHeader(new URL(url).hostname);
    const framed = {
      cookie,
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "iframe",
      "sec-fetch-site": "same-origin",
    };
    expect((await send({ method: "GET", url, headers: framed })).status).toBe(403);
    const { action, fields } = formOf(shown);
    const body = new URLSearchParams({ ...fields, decision: "approve" }).toString();
    const post = (headers: Readonly<Record<string, string>>): Promise<Answer> => {
      const form = { cookie, "content-type": "application/x-www-form-urlencoded" };
      return send({ method: "POST", url: new URL(action, url).href, headers: { ...form, ...headers }, body });
    };
    expect((await post({ origin: "https://evil.example", "sec-fetch-site": "cross-site" })).status).toBe(403);
    expect((await runs("pod-page", { method: "GET" })).json()["state"]).toBe("pending");

    // The form of another run opens nothing, and a form works once.
    const other = await open(alice, pageOf(await runs("pod-other")));
    const mixed = { ...formOf(other), fields: { ...formOf(other).fields, request: fields["request"] ?? "" } };
    expect((await alice.submit(other, mixed, { decision: "approve" })).status).toBe(403);
    expect((await alice.submit(shown, formOf(shown), { decision: "refuse" })).status).toBe(200);
    expect((await alice.submit(shown, formOf(shown), { decision: "approve" })).status).toBe(404);
    expect((await runs("pod-page", { method: "GET" })).json()["state"]).toBe("refused");
  });

  test("approves only what it showed: a request that a writer of the store changes is not approved", async () => {
    await withStore(async (store) => {
      // What finds a run is kept as long as the run.
      const kept = pageOf(await runs("pod-kept", { body: { expires_in: 7200 } }));
      const runId = new URL(kept).searchParams.get("request") ?? "";
      const ends = async (): Promise<readonly (number | undefined)[]> => {
        const run = await store.get<RunRecord>(`run:${runId}`);
        return [run?.expiresAt, (await store.get(`run-of:${run?.value.pointer}`))?.expiresAt, run?.value.endsAt];
      };
      const [pending, pointed, end = 0] = await ends();
      expect(pointed).toBe(pending);
      await decide(kept);
      expect(await ends()).toEqual([end, end, end]);
      for (const [pod, isProven] of [
        ["pod-changed", false],
        ["pod-proven", true],
      ] as const) {
        const url = pageOf(await runs(pod));
        const browser = createBrowser();
        const shown = await open(browser, url);
        const id = new URL(url).searchParams.get("request") ?? "";
        const found = await store.get<RunRecord>(`run:${id}`);
        const wider = { ...(found?.value as RunRecord), servers: [`${origin}/echo`, `${origin}/tools/mcp`] };
        // Even with the gateway's own keys, the form is for the request that was shown.
        const { proof: _, ...rest } = wider;
        const value = isProven ? withProof(keys, id, rest) : wider;
        await store.put(`run:${id}`, value, { tags: found?.tags ?? [], expiresAt: found?.expiresAt ?? 0 });
        const answer = await browser.submit(shown, formOf(shown), { decision: "approve" });
        expect(answer.status).toBe(isProven ? 403 : 404);
        expect((await exchange(pod)).json()["error"]).toBe("invalid_grant");
      }
    });
  });

  test("is for groups that the rule requires, and the portal lists and ends runs", async () => {
    await world.reconfigure(settings({ runs: "identified_by: [pod], approver_groups: [no-such-group]" }));
    const url = pageOf(await runs("pod-group"));
    const page = await open(createBrowser(), url);
    // Alice is in none of the groups.
    expect(page.status).toBe(404);
    await world.reconfigure(settings());
    const asked = await runs("pod-portal");
    const browser = createBrowser();
    const portal = new URL("/.gateway/", pageOf(asked)).href;
    expect((await open(browser, portal)).text).toContain("Report of pod-portal");
    await decide(pageOf(asked), "approve", ALICE, browser);
    const token = tokenOf(await exchange("pod-portal"));
    const listed = await browser.open(portal);
    const forms = [...listed.text.matchAll(/<form\b.*?<\/form>/gs)].map(([text]) => findForm({ ...listed, text }));
    const id = new URL(pageOf(asked)).searchParams.get("request");
    const form = forms.find((each) => each?.fields["id"] === id);
    if (!form) throw new Error(listed.text);
    await browser.submit(listed, form, {});
    await expect.poll(within2s(async () => (await call(token, "list_notes")).status)).toBe(401);
    expect((await exchange("pod-portal")).json()["error"]).toBe("invalid_grant");
  });
});

describe("an approved run", () => {
  test("is of one pod, for its servers, and each token of the platform is exchanged once", async () => {
    await approved("pod-a");
    // The same service account.
    expect((await exchange("pod-b")).json()["error"]).toBe("invalid_grant");
    expect((await runs("pod-b", { method: "GET" })).status).toBe(404);
    expect((await runs("pod-b", { method: "DELETE" })).status).toBe(404);
    for (const [resource, error] of [
      [`${origin}/echo`, "invalid_target"],
      [`${origin}/closed`, "invalid_target"],
      [origin, "invalid_target"],
    ] as const)
      expect((await exchange("pod-a", { resource })).json()["error"]).toBe(error);
    for (const form of [
      { actor_token: "x" },
      { client_id: "x" },
      { audience: "x" },
      { requested_token_type: "urn:ietf:params:oauth:token-type:refresh_token" },
      { subject_token_type: "urn:ietf:params:oauth:token-type:access_token" },
    ])
      expect((await exchange("pod-a", form)).json()["error"]).toBe("invalid_request");
    expect((await exchange("pod-a", { scope: "admin" })).json()["error"]).toBe("invalid_scope");
    const subject = await podToken("pod-a");
    expect((await exchange("pod-a", { subject_token: subject })).status).toBe(200);
    expect((await exchange("pod-a", { subject_token: subject })).json()["error"]).toBe("invalid_grant");
    // What was approved does not change: another purpose, approver, server, scope or end is another request.
    for (const body of [
      { purpose: "Report of pod-a, and more" },
      { approver: BOB },
      { servers: [`${origin}/echo`, `${origin}/tools/mcp`] },
      { scope: "notes" },
      { expires_in: 7200 },
    ])
      expect([(await runs("pod-a", { body })).status, body]).toEqual([409, body]);
    expect((await runs("pod-a")).json()).toMatchObject({ state: "active", approver: ALICE });
    // A token for one server is invalid at the others, and wherever users or workloads identify themselves.
    const token = tokenOf(await exchange("pod-a"));
    expect((await call(token, "any", "echo")).status).toBe(401);
    expect((await runs("pod-a", { method: "DELETE", token })).status).toBe(401);
    for (const type of [JWT_TYPE, "urn:ietf:params:oauth:token-type:access_token"]) {
      const form = { subject_token: token, subject_token_type: type };
      expect((await exchange("pod-a", form)).status).toBe(400);
    }
    const { hostname, port } = new URL(pageOf(await runs("pod-a-page")));
    for (const url of [`${origin}/.gateway/user`, `http://${hostname}:${port}/.gateway/`]) {
      const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
      expect([(await send({ method: "GET", url, headers })).status, url]).toEqual([401, url]);
    }
  });

  test("ends with the rule that admitted the workload", async () => {
    await approved("pod-rule");
    const token = tokenOf(await exchange("pod-rule"));
    expect((await call(token, "list_notes")).status).toBe(200);
    await world.reconfigure(settings({ runs: "identified_by: [pod, ref], max_duration: 2h" }));
    expect((await call(token, "list_notes")).status).toBe(401);
    expect((await exchange("pod-rule")).json()["error"]).toBe("invalid_grant");
    await world.reconfigure(settings());
  });

  test("is renewed while the provider confirms its user, and ends once the user has left", async () => {
    const asked = await runs("pod-left", { body: { approver: BOB } });
    await decide(pageOf(asked), "approve", BOB);
    const token = tokenOf(await exchange("pod-left"));
    const id = new URL(pageOf(asked)).searchParams.get("request") ?? "";
    // The approver's session is over, which the run outlives.
    const expire = (): Promise<void> =>
      withStore(async (store) => {
        const found = await store.get<RunRecord>(`run:${id}`);
        if (!found) throw new Error("no such run");
        const { proof: _, ...rest } = found.value;
        const value = withProof(keys, id, { ...rest, sessionExpiresAt: 1 });
        await store.put(`run:${id}`, value, { tags: found.tags ?? [], expiresAt: found.expiresAt ?? 0 });
      });
    await expire();
    const { calls } = world.identityProvider;
    const before = calls.refresh;
    expect((await exchange("pod-left")).status).toBe(200);
    expect(calls.refresh).toBe(before + 1);
    expect((await exchange("pod-left")).status).toBe(200);
    expect(calls.refresh).toBe(before + 1);
    // An outage proves nothing: it ends nothing, and opens nothing.
    await expire();
    world.identityProvider.pause();
    expect((await exchange("pod-left")).json()["error"]).toBe("temporarily_unavailable");
    world.identityProvider.resume();
    expect((await call(token, "list_notes")).status).toBe(200);
    world.identityProvider.disable(BOB);
    try {
      await expect.poll(async () => (await exchange("pod-left")).json()["error"]).toBe("invalid_grant");
      await expect.poll(within2s(async () => (await call(token, "list_notes")).status)).toBe(401);
      expect((await runs("pod-left", { method: "GET" })).status).toBe(404);
    } finally {
      world.identityProvider.enable(BOB);
    }
  });

  test("is stopped by blocks of user, workload and run, listed and ended by commands, within 2 s", async () => {
    const asked = await runs("pod-admin", { body: { approver: BOB } });
    await decide(pageOf(asked), "approve", BOB);
    const id = new URL(pageOf(asked)).searchParams.get("request") ?? "";
    const token = tokenOf(await exchange("pod-admin"));
    const isDenied = async (): Promise<boolean> => (await call(token, "list_notes")).text.includes("-31403");
    // In this process: starting a new one takes longer than the command.
    const command = async (...args: readonly string[]): Promise<string> => {
      let out = "";
      const spies = [
        vi.spyOn(console, "log").mockImplementation((text: string) => (out += text)),
        vi.spyOn(console, "error").mockImplementation(() => {}),
      ];
      try {
        expect(await runCli([...args, "--config", world.gateway.configFile])).toBe(0);
      } finally {
        for (const spy of spies) spy.mockRestore();
      }
      return out;
    };
    expect(await isDenied()).toBe(false);
    for (const target of [
      ["run", id],
      ["user", `workload:pods/${SUBJECT}`],
      ["user", BOB],
    ]) {
      await command("block", ...target);
      await expect.poll(within2s(isDenied)).toBe(true);
      const refused = await exchange("pod-admin");
      expect([refused.status, refused.json()["error"]]).toEqual([400, "access_denied"]);
      await command("unblock", ...target);
      await expect.poll(within2s(isDenied)).toBe(false);
    }
    const listed = JSON.parse(await command("runs", "list", "--user", BOB, "--json")) as readonly object[];
    expect(listed).toMatchObject([{ id, state: "active", user: "u-bob", purpose: "Report of pod-admin" }]);
    expect(JSON.stringify(listed)).not.toContain("proof");
    await command("runs", "end", id);
    await expect.poll(within2s(async () => (await call(token, "list_notes")).status)).toBe(401);
    expect((await exchange("pod-admin")).json()["error"]).toBe("invalid_grant");
  });
});
