/** Calls that need approval: requested by a client, decided on the page, executed once. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { type RunningMcpServer, startMcpServer } from "../../examples/demo/mcp-server.ts";
import { createBrowser, createSend, findForm, findLink, type Browser, type Page } from "../support/browser.ts";
import { modernHeaders, modernMeta } from "../support/mcp.ts";
import { createPkce, REDIRECT_URI, signInClient, type SignedInClient } from "../support/oauth-client.ts";
import { type SignInGateway, startSignInGateway } from "../support/sign-in-gateway.ts";

let now = Date.now();
let server: RunningMcpServer;
let world: SignInGateway;
/** Alice is an admin, Bob is not. */
let alice: SignedInClient;
let bob: SignedInClient;

beforeAll(async () => {
  server = await startMcpServer();
  world = await startSignInGateway({
    clock: { now: () => now },
    pagesHost: "127.0.0.1",
    yaml: `
routes:
  - name: tools
    from: "{origin}"
    prefix: /tools
    to: ${server.origin}
    mcp:
      server:
        path: /mcp
        max_request_bytes: 65536
        history_rules:
          - name: no-leaks
            calls: { or: [{ mcp_tool: create_issue }] }
            not_after: { calls: { or: [{ mcp_tool: list_notes }] }, within: 1h, unless_approved: true, approvers: [admins] }
          - { name: strict, calls: { or: [{ mcp_tool: list_repos }] }, not_after: { calls: { or: [{ mcp_tool: list_notes }] }, within: 1h } }
    set_request_headers: { X-Account: '\${gateway.request.headers["X-Correlation-Id"]}' }
    policy:
      - allow: { and: [{ domain: { is: example.com } }] }
        deny: { and: [{ mcp_tool: { is: whoami } }] }
      - approve: { and: [{ mcp_tool: { in: [add_note, whoami] } }] }
      - approve: { and: [{ mcp_tool: { is: delete_repo } }] }
        approvers: [admins]
  - name: all
    from: "{origin}"
    prefix: /all/mcp
    mcp: { server: { members: { t: tools }, search_tools_above: 0, max_request_bytes: 65536 } }
    policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
`,
  });
  const resource = `${world.gateway.origin}/tools/mcp`;
  alice = await signInClient({ resource, user: "alice@example.com" });
  // With the same client, so that only the user differs.
  bob = await signInClient({ resource, user: "bob@example.com", registration: alice.registration });
});

afterAll(async () => {
  await world?.close();
  await server?.close();
});

beforeEach(() => {
  now += 1;
});

const send = createSend();

interface Reply {
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: number; readonly message: string; readonly data: Readonly<Record<string, string>> };
}

async function post(
  client: SignedInClient,
  body: string,
  headers: readonly string[] = [],
  query = "",
  path = "/tools/mcp",
): Promise<Reply> {
  const pairs = Array.from({ length: headers.length / 2 }, (_, at) => [headers[2 * at], headers[2 * at + 1]]);
  const answer = await send({
    method: "POST",
    url: `${world.gateway.origin}${path}${query}`,
    headers: {
      accept: "application/json, text/event-stream",
      ...Object.fromEntries(headers.length === 0 ? [["content-type", "application/json"]] : pairs),
      authorization: `Bearer ${client.tokens.access_token}`,
    },
    body,
  });
  const data = /^data: (.*)$/m.exec(answer.text)?.[1] ?? answer.text;
  return JSON.parse(data) as Reply;
}

const call = (
  client: SignedInClient,
  name: string,
  args: string,
  query = "",
  headers: readonly string[] = [],
  meta: object = modernMeta(),
): Promise<Reply> =>
  post(
    client,
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"_meta":${JSON.stringify(meta)},"name":"${name}","arguments":${args}}}`,
    [...modernHeaders("tools/call", name), ...headers],
    query,
  );

const pageOf = ({ error }: Reply): string => error?.data["approval_url"] ?? "";

async function decide(browser: Browser, url: string, decision: "approve" | "refuse"): Promise<Page> {
  const page = await browser.open(url);
  const form = findForm(page, "/.gateway/approval");
  return form ? browser.submit(page, form, { decision }) : page;
}

const callsOf = (tool: string): readonly unknown[] =>
  server.calls.filter((each) => each.tool === tool).map((each) => each.arguments);
const lastRecord = async (): Promise<Readonly<Record<string, unknown>>> => {
  await world.gateway.runtime.flushRecords();
  return (await world.gateway.records()).at(-1) ?? {};
};

describe("a call that its user confirms", () => {
  test("needs approval on the page, runs once, and then needs approval again", async () => {
    const args = '{"text":"buy milk"}';
    const asked = await call(alice, "add_note", args);
    expect(asked.error).toMatchObject({
      code: -31403,
      data: { reason: "approval-required", approved_by: "user", retry: "same arguments" },
    });
    expect(asked.error?.message).toContain(pageOf(asked));
    expect(new URL(pageOf(asked)).origin).toBe(`http://127.0.0.1:${world.gateway.port}`);
    expect(await lastRecord()).toMatchObject({
      allow: false,
      "allow-why-false": ["approval-required"],
      approval: { state: "waiting", id: asked.error?.data["approval_id"] },
    });
    // The same call again leads to the same page, in other order and spacing too.
    expect(pageOf(await call(alice, "add_note", '{ "text" : "buy\\u0020milk" }'))).toBe(pageOf(asked));

    const page = await alice.oauth.browser.open(pageOf(asked));
    expect(page.status).toBe(200);
    expect(page.headers["content-security-policy"]).toMatch(/^default-src 'none';/);
    expect(page.text).toMatch(/Test client<\/bdi>, self-reported name/);
    expect(page.text).toContain("buy milk");
    expect(callsOf("add_note")).toEqual([]);
    const done = await decide(alice.oauth.browser, pageOf(asked), "approve");
    expect([done.status, /<h1>(.*)<\/h1>/.exec(done.text)?.[1]]).toEqual([200, "Approved"]);

    expect((await call(alice, "add_note", args)).result).toBeDefined();
    expect(callsOf("add_note")).toEqual([{ text: "buy milk" }]);
    const { approval, allow } = await lastRecord();
    expect([allow, approval]).toEqual([
      true,
      { state: "approved", id: asked.error?.data["approval_id"], by: "u-alice" },
    ]);
    const again = await call(alice, "add_note", args);
    expect(pageOf(again)).not.toBe(pageOf(asked));
    expect(callsOf("add_note")).toHaveLength(1);
    await decide(alice.oauth.browser, pageOf(again), "refuse");
  });

  test("is approved for exactly the displayed arguments, user and grant", async () => {
    const asked = await call(alice, "add_note", '{"text":"n","n":9007199254740993}');
    await decide(alice.oauth.browser, pageOf(asked), "approve");
    const before = server.calls.length;
    const { registration, oauth } = alice;
    const resource = `${world.gateway.origin}/tools/mcp`;
    // The same user by the same client, let in once more.
    const again = await signInClient({ resource, user: "alice@example.com", registration, browser: oauth.browser });
    const others = [
      await call(alice, "add_note", '{"text":"n","n":9007199254740992}'),
      await call(alice, "add_note", '{"text":"n","n":9007199254740993.0}'),
      await call(alice, "add_note", '{"text":"n"}'),
      await call(bob, "add_note", '{"text":"n","n":9007199254740993}'),
      await call(again, "add_note", '{"text":"n","n":9007199254740993}'),
    ];
    for (const other of others) expect([pageOf(other) === pageOf(asked), other.result]).toEqual([false, undefined]);
    expect(server.calls).toHaveLength(before);
    expect((await call(alice, "add_note", '{"n":9007199254740993,"text":"n"}')).result).toBeDefined();
    for (const other of others.toSpliced(3, 1)) await decide(alice.oauth.browser, pageOf(other), "refuse");
    await decide(bob.oauth.browser, pageOf(others[3] ?? {}), "refuse");
  });

  test("is for the address that was called, with its query", async () => {
    const asked = await call(alice, "add_note", '{"text":"to whom"}', "?tenant=test");
    expect((await alice.oauth.browser.open(pageOf(asked))).text).toContain("/tools/mcp?tenant=test<");
    await decide(alice.oauth.browser, pageOf(asked), "approve");
    const others = await Promise.all(
      ["?tenant=live", "?Tenant=test", ""].map((query) => call(alice, "add_note", '{"text":"to whom"}', query)),
    );
    for (const other of others) {
      expect(pageOf(other)).not.toBe("");
      await decide(alice.oauth.browser, pageOf(other), "refuse");
    }
    expect((await call(alice, "add_note", '{"text":"to whom"}', "?tenant=test")).result).toBeDefined();
  });

  test("is approved for exactly its header fields, which are displayed", async () => {
    const path = "X-Atlassian-Jira-Url";
    const site = (value: string, more: readonly string[] = []): Promise<Reply> =>
      call(alice, "add_note", '{"text":"where"}', "", [path, value, ...more]);
    const asked = await site("https://sandbox.example", ["User-Agent", "a/1"]);
    const page = await alice.oauth.browser.open(pageOf(asked));
    expect(page.text).toContain("Also sent in HTTP header fields");
    expect(page.text).toMatch(/x-atlassian-jira-url<\/bdi>: <bdi>https:\/\/sandbox\.example</);
    expect(page.text).not.toContain("mcp-method");
    await decide(alice.oauth.browser, pageOf(asked), "approve");
    const others = [await site("https://live.example"), await call(alice, "add_note", '{"text":"where"}')];
    for (const other of others) {
      expect([pageOf(other) === pageOf(asked), other.result]).toEqual([false, undefined]);
      await decide(alice.oauth.browser, pageOf(other), "refuse");
    }
    expect((await site("https://sandbox.example", ["User-Agent", "a/2"])).result).toBeDefined();
  });

  test("is bound to a header field that a setting copies for the server, whatever it is for otherwise", async () => {
    const account = (value: string, baggage: string): Promise<Reply> =>
      call(alice, "add_note", '{"text":"account"}', "", ["X-Correlation-Id", value, "Baggage", baggage]);
    const asked = await account("test", "a=1");
    expect((await alice.oauth.browser.open(pageOf(asked))).text).toMatch(/x-correlation-id<\/bdi>: <bdi>test</);
    await decide(alice.oauth.browser, pageOf(asked), "approve");
    const other = await account("live", "a=1");
    expect(other.result).toBeUndefined();
    await decide(alice.oauth.browser, pageOf(other), "refuse");
    expect((await account("test", "a=2")).result).toBeDefined();
  });

  test("shows no credential of a header field, and is bound to it", async () => {
    const withKey = (key: string): Promise<Reply> =>
      call(alice, "add_note", '{"text":"whose"}', "", ["X-Api-Key", key]);
    const asked = await withKey("key-of-alice");
    const page = await alice.oauth.browser.open(pageOf(asked));
    expect(page.text).toMatch(/x-api-key<\/bdi>: <bdi>not shown, SHA-256 [0-9a-f]{64}</);
    expect(page.text).not.toContain("key-of-alice");
    await decide(alice.oauth.browser, pageOf(asked), "approve");
    const other = await withKey("key-of-bob");
    expect(pageOf(other)).not.toBe(pageOf(asked));
    await decide(alice.oauth.browser, pageOf(other), "refuse");
    expect((await withKey("key-of-alice")).result).toBeDefined();
  });

  test("is approved for exactly its _meta, except the progress token and the trace", async () => {
    const withMeta = (meta: object): Promise<Reply> =>
      call(alice, "add_note", '{"text":"meta"}', "", [], { ...modernMeta(), ...meta });
    const asked = await withMeta({ "com.example/tenant": "sandbox", progressToken: 1 });
    const page = await alice.oauth.browser.open(pageOf(asked));
    expect(page.text).toContain("Also sent: <bdi>_meta</bdi>");
    expect(page.text).toContain("com.example/tenant");
    expect(page.text).not.toContain("progressToken");
    await decide(alice.oauth.browser, pageOf(asked), "approve");
    for (const meta of [{ "com.example/tenant": "live" }, {}]) {
      const other = await withMeta(meta);
      expect([pageOf(other) === pageOf(asked), other.result]).toEqual([false, undefined]);
      await decide(alice.oauth.browser, pageOf(other), "refuse");
    }
    const traced = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", progressToken: 2 };
    expect((await withMeta({ "com.example/tenant": "sandbox", ...traced })).result).toBeDefined();
  });

  test("many concurrent requests are one call", async () => {
    const asked = await call(alice, "add_note", '{"text":"once"}');
    await decide(alice.oauth.browser, pageOf(asked), "approve");
    const replies = await Promise.all(Array.from({ length: 8 }, () => call(alice, "add_note", '{"text":"once"}')));
    expect(replies.filter(({ result }) => result !== undefined)).toHaveLength(1);
    expect(callsOf("add_note").filter((each) => (each as { text: string }).text === "once")).toHaveLength(1);
    for (const page of new Set(replies.map(pageOf).filter((each) => each !== "")))
      await decide(alice.oauth.browser, page, "refuse");
  });

  test("that is rejected gets an error and waits no longer", async () => {
    const asked = await call(alice, "add_note", '{"text":"no"}');
    await decide(alice.oauth.browser, pageOf(asked), "refuse");
    expect((await call(alice, "add_note", '{"text":"no"}')).error?.data["reason"]).toBe("approval-refused");
    // Forgotten after a while.
    now += 601_000;
    const again = await call(alice, "add_note", '{"text":"no"}');
    expect(pageOf(again)).not.toBe("");
    await decide(alice.oauth.browser, pageOf(again), "refuse");
  });

  test("may take an hour to be decided, and ten minutes to come again", async () => {
    const late = await call(alice, "add_note", '{"text":"late"}');
    now += 3_601_000;
    await alice.refresh();
    await bob.refresh();
    expect((await decide(alice.oauth.browser, pageOf(late), "approve")).status).toBe(404);
    const asked = await call(alice, "add_note", '{"text":"late"}');
    await decide(alice.oauth.browser, pageOf(asked), "approve");
    now += 601_000;
    const again = await call(alice, "add_note", '{"text":"late"}');
    expect([pageOf(again) === pageOf(asked), again.error?.data["reason"]]).toEqual([false, "approval-required"]);
    await decide(alice.oauth.browser, pageOf(again), "refuse");
  });

  test("is denied by policy, stays in lists, and cannot be requested by a notification", async () => {
    expect((await call(alice, "whoami", "{}")).error?.data["reason"]).toBe("mcp-tool-unauthorized");
    const listed = await post(
      alice,
      JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: { _meta: modernMeta() } }),
      modernHeaders("tools/list"),
    );
    const names = ((listed.result?.["tools"] ?? []) as readonly { name: string }[]).map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["add_note", "delete_repo"]));
    expect(names).not.toContain("whoami");
    const before = server.calls.length;
    const silent = await post(
      alice,
      '{"jsonrpc":"2.0","method":"tools/call","params":{"name":"add_note","arguments":{"text":"silent"}}}',
    );
    expect(silent.error?.data["reason"]).toBe("access-denied");
    expect(server.calls).toHaveLength(before);
    expect(await lastRecord()).not.toHaveProperty("approval");
  });
});

describe("a call that another user approves", () => {
  test("is shown to its user without an approve button, and otherwise only to approvers", async () => {
    const asked = await call(bob, "delete_repo", '{"repo":"website"}');
    expect(asked.error?.data["approved_by"]).toBe("group");
    const own = await bob.oauth.browser.open(pageOf(asked));
    expect([own.status, own.text.includes('value="approve"'), own.text.includes("admins")]).toEqual([200, false, true]);
    const form = findForm(own, "/.gateway/approval");
    if (!form) throw new Error("no form");
    expect((await bob.oauth.browser.submit(own, form, { decision: "approve" })).status).toBe(403);

    const carol = createBrowser();
    const chooser = await carol.open(pageOf(asked));
    const link = findLink(chooser, "carol@other.example") ?? "";
    expect((await carol.open(link)).status).toBe(404);

    expect((await decide(alice.oauth.browser, pageOf(asked), "approve")).status).toBe(200);
    expect((await call(bob, "delete_repo", '{"repo":"website"}')).result).toBeDefined();
    expect(callsOf("delete_repo")).toEqual([{ repo: "website" }]);
    expect((await lastRecord())["approval"]).toMatchObject({ state: "approved", by: "u-alice" });
  });

  test("cannot be approved by its own user, even as a member of the group", async () => {
    const asked = await call(alice, "delete_repo", '{"repo":"gateway"}');
    const page = await alice.oauth.browser.open(pageOf(asked));
    expect(page.text).not.toContain('value="approve"');
    const form = findForm(page, "/.gateway/approval");
    if (!form) throw new Error("no form");
    expect((await alice.oauth.browser.submit(page, form, { decision: "approve" })).status).toBe(403);
    // Bob is in no such group.
    expect((await decide(bob.oauth.browser, pageOf(asked), "approve")).status).toBe(404);
    expect((await call(alice, "delete_repo", '{"repo":"gateway"}')).result).toBeUndefined();
    expect((await decide(alice.oauth.browser, pageOf(asked), "refuse")).status).toBe(200);
  });
});

describe("a call after another one that a history rule is about", () => {
  test("is approved for its arguments by a member of approvers, runs once, and is denied without unless_approved", async () => {
    const issue = '{"repo":"website","title":"notes"}';
    expect((await call(bob, "create_issue", issue)).result).toBeDefined();
    expect((await call(bob, "list_repos", "{}")).result).toBeDefined();
    expect((await call(bob, "list_notes", "{}")).result).toBeDefined();
    expect((await call(bob, "list_repos", "{}")).error?.data["reason"]).toBe("history-not-after");

    const before = callsOf("create_issue").length;
    const asked = await call(bob, "create_issue", issue);
    expect(asked.error?.data).toMatchObject({ reason: "approval-required", approved_by: "group" });
    expect(await lastRecord()).toMatchObject({
      allow: false,
      "allow-why-false": ["approval-required", "history-not-after:no-leaks"],
      approval: { state: "waiting", id: asked.error?.data["approval_id"] },
    });
    const own = await bob.oauth.browser.open(pageOf(asked));
    expect([own.status, own.text.includes('value="approve"')]).toEqual([200, false]);
    expect(pageOf(await call(bob, "create_issue", issue))).toBe(pageOf(asked));
    expect((await decide(alice.oauth.browser, pageOf(asked), "approve")).status).toBe(200);

    const other = await call(bob, "create_issue", '{"repo":"website","title":"other"}');
    expect([other.error?.data["reason"], pageOf(other) === pageOf(asked)]).toEqual(["approval-required", false]);
    expect(callsOf("create_issue")).toHaveLength(before);
    expect((await call(bob, "create_issue", issue)).result).toBeDefined();
    expect(await lastRecord()).toMatchObject({ allow: true, approval: { state: "approved", by: "u-alice" } });
    const again = await call(bob, "create_issue", issue);
    expect([again.error?.data["reason"], pageOf(again) === pageOf(asked)]).toEqual(["approval-required", false]);
    expect(callsOf("create_issue")).toHaveLength(before + 1);
    for (const page of [other, again].map(pageOf)) await decide(alice.oauth.browser, page, "refuse");
    expect((await call(bob, "create_issue", issue)).error?.data["reason"]).toBe("approval-refused");
  });

  test("stays denied with a new token, and with a new client registration", async () => {
    const resource = `${world.gateway.origin}/tools/mcp`;
    const fresh = await signInClient({ resource, user: "bob@example.com", browser: bob.oauth.browser });
    expect(fresh.registration.client_id).not.toBe(bob.registration.client_id);
    expect((await call(fresh, "list_notes", "{}")).result).toBeDefined();
    await fresh.refresh();
    for (const client of [fresh, bob])
      expect((await call(client, "list_repos", "{}")).error?.data["reason"]).toBe("history-not-after");
    expect((await call(alice, "list_repos", "{}")).result).toBeDefined();
  });
});

describe("the page", () => {
  test("decides nothing when viewed, by foreign forms, or twice", async () => {
    const asked = await call(alice, "add_note", '{"text":"form"}');
    const { browser } = alice.oauth;
    const page = await browser.open(pageOf(asked));
    const form = findForm(page, "/.gateway/approval");
    if (!form) throw new Error("no form");
    const url = new URL("/.gateway/approval", page.url).href;
    const cookie = browser.cookieHeader("127.0.0.1");
    const post = (fields: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) =>
      send({
        method: "POST",
        url,
        headers: {
          "content-type": "application/x-www-form-urlencoded",
          origin: new URL(url).origin,
          "sec-fetch-site": "same-origin",
          "sec-fetch-mode": "navigate",
          "sec-fetch-dest": "document",
          cookie,
          ...headers,
        },
        body: new URLSearchParams({ ...form.fields, decision: "approve", ...fields }).toString(),
      });
    const bearer = { authorization: `Bearer ${alice.tokens.access_token}` };
    const other = await call(alice, "add_note", '{"text":"other form"}');
    const otherId = other.error?.data["approval_id"] ?? "";
    const statuses = [
      (await send({ method: "HEAD", url: page.url, headers: { cookie } })).status,
      (await send({ method: "GET", url: page.url, headers: { accept: "text/html" } })).status,
      (await post({}, { origin: "https://evil.example", "sec-fetch-site": "cross-site" })).status,
      (await post({}, { "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" })).status,
      (await post({ csrf_token: "" })).status,
      (await post({ request: otherId })).status,
      (await post({ decision: "always" })).status,
      (await post({}, { cookie: bob.oauth.browser.cookieHeader("127.0.0.1") })).status,
      (await send({ method: "GET", url: page.url.replace("127.0.0.1", "localhost") })).status,
      (await send({ method: "GET", url: page.url, headers: bearer })).status,
      (await post({}, { ...bearer, cookie: "" })).status,
    ];
    expect(statuses).toEqual([200, 302, 403, 403, 403, 403, 403, 403, 404, 401, 401]);
    expect((await call(alice, "add_note", '{"text":"form"}')).result).toBeUndefined();
    expect([(await post({})).status, (await post({})).status]).toEqual([200, 404]);
    expect((await call(alice, "add_note", '{"text":"form"}')).result).toBeDefined();
    expect([(await post({})).status, (await browser.open(page.url)).status]).toEqual([404, 404]);
    await decide(browser, pageOf(other), "refuse");
  });

  test("shows everything: markup, invisible characters and direction marks", async () => {
    const asked = await call(
      alice,
      "add_note",
      '{"text":"<script>alert(1)</script>","path":"/ok\\u202e\\u200b\\ufe0f\\udb40\\udc41","n":1.0e+2,"deep":[{"__proto__":null}]}',
    );
    const page = await alice.oauth.browser.open(pageOf(asked));
    expect(page.text).not.toContain("<script");
    expect(page.text).toContain("&#60;script&#62;alert(1)");
    expect(page.text).toContain("/ok\\u202e\\u200b\\ufe0f\\udb40\\udc41");
    expect(page.text).toContain("1.0e+2");
    expect(page.text).toContain("__proto__");
    await decide(alice.oauth.browser, pageOf(asked), "refuse");
  });

  test("shows the approvals that a user's own calls wait for, and ends with the access of the caller", async () => {
    const resource = `${world.gateway.origin}/tools/mcp`;
    const passing = await signInClient({ resource, user: "bob@example.com", browser: bob.oauth.browser });
    const asked = await call(passing, "add_note", '{"text":"passing"}');
    const own = await bob.oauth.browser.open(`http://127.0.0.1:${world.gateway.port}/.gateway/`);
    expect(findLink(own, "add_note")).toBe(pageOf(asked));
    expect(
      (
        await passing.oauth.sendRevocation({
          token: passing.tokens.refresh_token ?? "",
          client_id: passing.registration.client_id,
        })
      ).status,
    ).toBe(200);
    expect((await bob.oauth.browser.open(pageOf(asked))).status).toBe(404);
    const after = await bob.oauth.browser.open(`http://127.0.0.1:${world.gateway.port}/.gateway/`);
    expect(findLink(after, "add_note")).toBeUndefined();
  });
});

describe("a call that no user can decide", () => {
  test("is denied: too long to read, or too many", async () => {
    const before = server.calls.length;
    const long = await call(alice, "add_note", JSON.stringify({ text: "x".repeat(20_000) }));
    expect(long.error?.data["reason"]).toBe("approval-too-long");
    const pages: string[] = [];
    let reply: Reply = {};
    for (let index = 0; index < 9; index += 1) {
      reply = await call(bob, "add_note", `{"text":"many ${index}"}`);
      if (pageOf(reply) !== "") pages.push(pageOf(reply));
    }
    expect([pages.length, reply.error?.data["reason"]]).toEqual([8, "approval-too-many"]);
    for (const page of pages) await decide(bob.oauth.browser, page, "refuse");
    expect(pageOf(await call(bob, "add_note", '{"text":"many 8"}'))).not.toBe("");
    expect(server.calls).toHaveLength(before);
  });
});

test("through use_tool, page and records have the real tool and the member, and it runs once", async () => {
  const resource = `${world.gateway.origin}/all/mcp`;
  const { registration, oauth } = alice;
  const asked = await oauth.authorize({
    clientId: registration.client_id,
    redirectUri: REDIRECT_URI,
    challenge: createPkce().challenge,
    parameters: { prompt: "consent", resource },
    decision: "look",
  });
  expect(asked.at === "page" && asked.page.text).toContain("Use the servers behind all: tools");
  const client = await signInClient({ resource, user: "alice@example.com", registration, browser: oauth.browser });
  const use = async (tool = "add_note", given: object = { text: "u" }): Promise<Reply> => {
    const params = {
      _meta: modernMeta(),
      name: "use_tool",
      arguments: { name: `t__${tool}`, arguments: given },
    };
    const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params });
    return post(client, body, modernHeaders("tools/call", "use_tool"), "", "/all/mcp");
  };
  const before = callsOf("add_note").length;
  const first = await use();
  expect(first.error).toMatchObject({ code: -31403, data: { reason: "approval-required", approved_by: "user" } });
  const told = { federated: { route: "default/all", name: "t__add_note" }, "mcp-tool": "add_note" };
  const id = first.error?.data["approval_id"];
  expect(await lastRecord()).toMatchObject({ ...told, allow: false, approval: { state: "waiting", id } });
  const page = await client.oauth.browser.open(pageOf(first));
  expect(page.text).toContain("add_note");
  expect(page.text).toContain("/tools/mcp");
  expect(page.text).not.toMatch(/use_tool|t__add_note/);
  await decide(client.oauth.browser, pageOf(first), "approve");
  expect((await use()).result).toBeDefined();
  expect(await lastRecord()).toMatchObject({ ...told, allow: true, approval: { state: "approved", id } });
  expect(callsOf("add_note").slice(before)).toEqual([{ text: "u" }]);
  expect(pageOf(await use())).not.toBe(pageOf(first));
  const records = JSON.stringify(await world.gateway.records());
  expect(records).not.toContain("use_tool");
  // History rules of the member count calls of the federated route, and apply to them.
  expect((await call(alice, "list_repos", "{}")).result).toBeDefined();
  expect((await use("list_notes", {})).result).toBeDefined();
  expect((await call(alice, "list_repos", "{}")).error?.data["reason"]).toBe("history-not-after");
  expect((await use("list_repos", {})).error?.data["reason"]).toBe("history-not-after");
});
