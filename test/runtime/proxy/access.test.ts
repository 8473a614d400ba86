/** Who gets through an ordinary route, what the others see, and what happens when a part of the gateway fails. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";

import type { AuthFailureReason } from "../../../runtime/identity/principal.ts";
import { createTestAuthenticator, startPipeline, type Pipeline, type PipelineOptions } from "../../support/pipeline.ts";
import { openRaw, sendRaw, type RawAnswer } from "../../support/raw-client.ts";
import { startVictim, type Victim } from "../../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline;

beforeEach(async () => {
  victim = await startVictim();
});
afterEach(async () => {
  await pipeline.close();
  await victim.close();
});

async function start(options: PipelineOptions = {}): Promise<Pipeline> {
  pipeline = await startPipeline(
    `
    runtime_flags: { mcp: true }
    routes:
      - from: https://app.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ email: { is: alice@example.com } }] } }]
      - from: https://mixed.example
        to: ${victim.origin}
        policy: [{ allow: { or: [{ accept: true }] }, deny: { or: [{ email: { is: bob@example.com } }] } }]
      - from: https://tokens.example
        to: ${victim.origin}
        set_request_headers: { X-Token: "\${gateway.access_token}" }
        policy: [{ allow: { and: [{ authenticated_user: true }] } }]
      - from: https://client.example
        to: ${victim.origin}
        mcp: { client: {} }
        policy: [{ allow: { and: [{ authenticated_user: true }] } }]
      - from: https://mcp.example
        to: ${victim.origin}
        mcp: { server: {} }
        policy: [{ allow: { and: [{ authenticated_user: true }] }, deny: { or: [{ email: { is: bob@example.com } }] } }]
    `,
    options,
  );
  return pipeline;
}

function send(
  host: string,
  user: string | undefined,
  method = "GET",
  headers: readonly string[] = [],
): Promise<RawAnswer> {
  const cookie = user === undefined ? [] : [`Cookie: gateway_session=${user}`];
  return sendRaw(
    pipeline.port,
    [
      `${method} /a HTTP/1.1`,
      `Host: ${host}`,
      "Content-Length: 0",
      "Connection: close",
      ...cookie,
      ...headers,
      "",
      "",
    ].join("\r\n"),
  );
}

const verdicts = (): unknown[] => pipeline.records.map((record) => [record["allow"], record["allow-why-false"]]);

describe("ordinary routes", () => {
  test("let allowed callers pass, with one record", async () => {
    await start();
    expect((await send("app.example", "alice")).status).toBe(200);
    expect(pipeline.records).toHaveLength(1);
    expect(pipeline.records[0]).toMatchObject({ allow: true, user: "alice", email: "alice@example.com" });
    expect(pipeline.records[0]?.["request-id"]).toBe(victim.requests[0]?.header("x-request-id"));
  });

  test("respond 403 to callers that the policy denies, as a page for browsers", async () => {
    await start();
    const answer = await send("app.example", "bob", "GET", ["Accept: text/html"]);
    expect(answer.status).toBe(403);
    expect(answer.headers.get("content-type")).toEqual(["text/html; charset=utf-8"]);
    expect(answer.body).toContain(answer.headers.get("x-request-id")?.[0] ?? "no id");
    expect(victim.received).toBe("");
    expect(verdicts()).toEqual([[false, ["email-unauthorized"]]]);
  });

  test("lead navigations to the sign-in and answer 401 to everything else", async () => {
    await start();
    expect((await send("app.example", undefined)).status).toBe(302);
    expect((await send("app.example", undefined, "POST")).status).toBe(401);
    expect((await send("app.example", undefined, "OPTIONS")).status).toBe(401);
    expect((await send("app.example", "-")).status).toBe(302);
    expect(victim.received).toBe("");
    expect(verdicts()).toEqual([
      [false, ["credential-missing"]],
      [false, ["credential-missing"]],
      [false, ["credential-missing"]],
      [false, ["credential-malformed"]],
    ]);
  });

  test("take no External Token in place of a session", async () => {
    await start();
    expect((await send("app.example", undefined, "GET", ["Authorization: Bearer gwt_alice"])).status).toBe(302);
    expect(victim.received).toBe("");
  });

  test("answer 503 when the session cannot be checked", async () => {
    await start();
    for (const host of ["app.example", "mixed.example"]) expect((await send(host, "down")).status).toBe(503);
    expect(victim.received).toBe("");
  });

  test("with an accept rule allow anonymous callers, and still identify denied ones", async () => {
    await start();
    expect((await send("mixed.example", "alice")).status).toBe(200);
    expect(victim.requests[0]?.header("x-gateway-assertion")).toBe("assertion.alice.mixed.example");
    const bob = await send("mixed.example", "bob");
    expect(bob.status).toBe(403);
    expect(victim.requests).toHaveLength(1);
  });
});

describe("failing parts deny", () => {
  const boom = (): never => {
    throw new Error("a part failed with a secret");
  };
  const rejects = (): Promise<never> => Promise.reject(new Error("a part failed with a secret"));
  const known = createTestAuthenticator({ now: () => Date.now() });
  const failing: [string, string, Partial<PipelineOptions>][] = [
    ["the authenticator throws", "app.example", { authenticator: { ...known, cookie: boom } }],
    ["the authenticator rejects", "app.example", { authenticator: { ...known, cookie: rejects } }],
    ["the assertion cannot be signed", "app.example", { assertions: { sign: boom } }],
    ["the application token cannot be made", "client.example", { applicationTokens: { mint: boom } }],
    [
      "the provider's tokens cannot be read",
      "tokens.example",
      { authenticator: { ...known, providerTokens: rejects } },
    ],
    [
      "the record cannot be taken",
      "app.example",
      { records: { write: boom, flush: rejects, reopen: boom, close: rejects } },
    ],
  ];

  test.each(failing)("%s", async (_name, host, options) => {
    await start(options);
    const answer = await send(host, "alice");
    expect(answer.status).toBe(500);
    expect(answer.text).not.toContain("secret");
    expect(victim.received).toBe("");
    expect(pipeline.proxy.underWay).toBe(0);
    // The gateway continues.
    expect((await send("unknown.example", "alice")).status).toBe(404);
  });

  test("the challenge of an MCP route, and the sign-in", async () => {
    await start({ challenge: boom, signIn: { redirect: rejects } });
    expect((await send("mcp.example", undefined)).status).toBe(500);
    expect((await send("app.example", undefined)).status).toBe(500);
    expect(victim.received).toBe("");
  });
});

describe("a full record queue", () => {
  // Also rejected requests: otherwise any client could fill the memory with them while the disk is slow.
  test.each([
    ["an allowed request", "GET /a", "app.example", ["Cookie: gateway_session=alice"], 200],
    ["a denied one", "GET /a", "app.example", ["Cookie: gateway_session=bob"], 403],
    ["one without a session", "POST /a", "app.example", [], 401],
    ["one whose session cannot be checked", "GET /a", "app.example", ["Cookie: gateway_session=down"], 503],
    ["one without a token", "GET /", "mcp.example", [], 401],
    ["one of a foreign page", "GET /", "mcp.example", ["Origin: https://evil.example"], 403],
    ["one with a message that cannot be read", "POST /", "mcp.example", ["Authorization: Bearer gwt_alice"], 415],
    [
      "one of an unknown MCP session",
      "GET /",
      "mcp.example",
      ["Authorization: Bearer gwt_alice", "Mcp-Session-Id: x"],
      404,
    ],
    ["a denied MCP request", "GET /", "mcp.example", ["Authorization: Bearer gwt_bob"], 403],
  ])("makes %s wait until there is room, and no longer", async (_name, line, host, headers, status) => {
    const room = Promise.withResolvers<void>();
    const written: string[] = [];
    await start({
      records: {
        write(record) {
          written.push(record);
          return room.promise;
        },
        flush: () => Promise.resolve(),
        reopen: () => {},
        close: () => Promise.resolve(),
      },
    });
    const length = line.startsWith("POST") ? ["Content-Length: 0"] : [];
    const client = openRaw(
      pipeline.port,
      [`${line} HTTP/1.1`, `Host: ${host}`, ...headers, ...length, "", ""].join("\r\n"),
    );
    await expect.poll(() => written.length).toBe(1);
    // Another request goes its whole way meanwhile.
    expect((await send("unknown.example", "alice")).status).toBe(404);
    expect(client.text).toBe("");
    expect(victim.received).toBe("");
    room.resolve();
    await client.contains(`HTTP/1.1 ${status}`);
    expect(written).toHaveLength(1);
    client.socket.destroy();
  });
});

describe("401 on an MCP server route", () => {
  test.each<AuthFailureReason>([
    "missing",
    "malformed",
    "expired",
    "revoked",
    "wrong-audience",
    "wrong-kind",
    "unknown-user",
  ])("carries one challenge made for reason %s", async (reason) => {
    await start({
      authenticator: { ...known(), bearer: () => ({ ok: false, reason }) },
      challenge: (route, origin, failure) => `Bearer realm="${route.key} ${origin} ${failure}"`,
    });
    const answer = await send(
      "mcp.example",
      undefined,
      "POST",
      reason === "missing" ? [] : ["Authorization: Bearer x"],
    );
    expect(answer.status).toBe(401);
    expect(answer.headers.get("www-authenticate")).toEqual([
      expect.stringMatching(new RegExp(`https://mcp\\.example ${reason}"$`)),
    ]);
    expect(verdicts()).toEqual([[false, [`credential-${reason}`]]]);
  });

  const known = (): ReturnType<typeof createTestAuthenticator> => createTestAuthenticator({ now: () => Date.now() });
});
