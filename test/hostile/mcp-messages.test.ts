/** Messages to an MCP server route that a strict reader and a lenient one would read differently; and bad callers. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { openRaw, sendRaw, type RawAnswer } from "../support/raw-client.ts";
import { startVictim, type Victim } from "../support/victim.ts";
import { withChangedEnd } from "../support/tamper.ts";

let victim: Victim;
let pipeline: Pipeline;
let heardBefore = 0;
let recordsBefore = 0;

beforeAll(async () => {
  victim = await startVictim((_request, socket) => {
    socket.write(
      "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nmcp-session-id: upstream-1\r\ncontent-length: 2\r\n\r\n{}",
    );
  });
  pipeline = await startPipeline(`
    runtime_flags: { mcp: true }
    mcp_allowed_origins: ["https://tools.example"]
    routes:
      - from: https://mcp.example
        name: tools
        to: ${victim.origin}
        mcp: { server: { path: /mcp } }
        policy:
          - allow: { and: [{ domain: { is: example.com } }] }
            deny: { or: [{ mcp_tool: { is: secret } }] }
      - from: https://other.example
        name: other
        to: ${victim.origin}
        mcp: { server: {} }
        policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  `);
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
});
beforeEach(() => {
  heardBefore = victim.received.length;
  recordsBefore = pipeline.records.length;
});

const CALL = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}';

function message(
  body: string,
  headers: readonly string[] = [],
  options: { token?: string; host?: string; method?: string } = {},
): string {
  const own = headers.some((header) => /^content-type:/i.test(header)) ? [] : ["Content-Type: application/json"];
  const token =
    options.token === undefined ? ["Authorization: Bearer gwt_alice"] : options.token === "" ? [] : [options.token];
  return [
    `${options.method ?? "POST"} /mcp HTTP/1.1`,
    `Host: ${options.host ?? "mcp.example"}`,
    `Content-Length: ${Buffer.byteLength(body, "latin1")}`,
    "Connection: close",
    ...token,
    ...own,
    ...headers,
    "",
    body,
  ].join("\r\n");
}

function expectNothingHeard(): void {
  expect(victim.received.length).toBe(heardBefore);
  const records = pipeline.records.slice(recordsBefore);
  expect(records).toHaveLength(1);
  expect(records[0]?.["allow"]).toBe(false);
}

describe("bodies", () => {
  test.each([
    ["malformed JSON", '{"jsonrpc":"2.0","id":1,', [], 400],
    ["empty body", "", [], 400],
    ["two values", `${CALL}${CALL}`, [], 400],
    [
      "duplicate method",
      '{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"secret"}}',
      [],
      400,
    ],
    [
      "duplicate tool name",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"secret"}}',
      [],
      400,
    ],
    [
      "duplicate key deep inside",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"a":{"b":1,"b":2}}}}',
      [],
      400,
    ],
    [
      "look-alike key",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","Name":"secret"}}',
      [],
      400,
    ],
    [
      "look-alike key for decoders that ignore low lines",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","na_me":"secret"}}',
      [],
      400,
    ],
    [
      "look-alike key for decoders that ignore dashes",
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","na-me":"secret"}}',
      [],
      400,
    ],
    ["batch", `[${CALL}]`, [], 400],
    ["byte order mark", `\xef\xbb\xbf${CALL}`, [], 400],
    ["tool name that is no text", '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}', [], 400],
    ["text/plain", CALL, ["Content-Type: text/plain"], 415],
    ["two types in one", CALL, ["Content-Type: text/plain; application/json"], 415],
    ["UTF-16", CALL, ["Content-Type: application/json; charset=utf-16le"], 415],
    ["compressed", CALL, ["Content-Encoding: gzip"], 415],
    ["mirror header of another tool", CALL, ["Mcp-Method: tools/call", "Mcp-Name: secret"], 400],
    ["oversize", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"${"x".repeat(5000)}"}}`, [], 413],
  ])("%s is refused", async (_name, body, headers, status) => {
    const answer = await sendRaw(pipeline.port, message(body, headers));
    expect(answer.status).toBe(status);
    expect((JSON.parse(answer.body) as { error: { code: number } }).error.code).toBeLessThan(0);
    expectNothingHeard();
  });

  test("an oversize chunked body is refused when it passes the limit", async () => {
    const chunk = `1000\r\n${"x".repeat(4096)}\r\n`;
    const answer = await sendRaw(
      pipeline.port,
      `POST /mcp HTTP/1.1\r\nHost: mcp.example\r\nAuthorization: Bearer gwt_alice\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n${chunk}${chunk}0\r\n\r\n`,
    );
    expect(answer.status).toBe(413);
    expectNothingHeard();
  });

  test.each(["PUT", "PATCH"])("%s is not a method of MCP", async (method) => {
    const answer = await sendRaw(pipeline.port, message(CALL, [], { method }));
    expect(answer.status).toBe(405);
    expect(answer.headers.get("allow")).toEqual(["GET, POST, DELETE, OPTIONS"]);
    expectNothingHeard();
  });

  test("a denied tool is answered with a JSON-RPC error of the same id", async () => {
    const answer = await sendRaw(pipeline.port, message(CALL.replace("echo", "secret")));
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.body)).toMatchObject({
      jsonrpc: "2.0",
      id: 7,
      error: { data: { reason: "mcp-tool-unauthorized" } },
    });
    expectNothingHeard();
  });

  test("a denied tool is denied however its name is escaped", async () => {
    const answer = await sendRaw(pipeline.port, message(CALL.replace("echo", "s\\u0065cret")));
    expect(JSON.parse(answer.body)).toMatchObject({ error: { data: { reason: "mcp-tool-unauthorized" } } });
    expectNothingHeard();
  });

  test("an allowed message arrives byte for byte, with our own content headers", async () => {
    const body =
      '{ "jsonrpc":"2.0", "id":12345678901234567890, "method":"tools/call","params":{"name":"echo","arguments":{"n":1.0e2}} }';
    const answer = await sendRaw(
      pipeline.port,
      message(body, ["Content-Type: Application/JSON; charset=UTF-8", "Accept-Encoding: gzip"]),
    );
    expect(answer.status).toBe(200);
    const request = victim.requests.at(-1);
    expect(request?.body.toString()).toBe(body);
    expect(request?.header("content-type")).toBe("application/json");
    expect(request?.header("accept-encoding")).toBe("identity");
    expect(request?.target).toBe("/mcp");
  });
});

describe("callers", () => {
  test.each([
    ["no token", "", "missing"],
    ["another scheme", "Authorization: Basic Z3d0X2FsaWNlOg==", "malformed"],
    ["a foreign token", "Authorization: Bearer foreign", "malformed"],
    ["two tokens in one", "Authorization: Bearer gwt_alice gwt_alice", "malformed"],
    ["the session cookie", "Cookie: gateway_session=alice", "missing"],
  ])("%s is 401 before anything is parsed", async (_name, token, reason) => {
    for (const method of ["POST", "GET", "DELETE"]) {
      const answer = await sendRaw(pipeline.port, message("{", [], { token, method }));
      expect(answer.status).toBe(401);
      expect(answer.headers.get("www-authenticate")).toHaveLength(1);
      expect(answer.body).toContain("Unauthorized");
    }
    expect(victim.received.length).toBe(heardBefore);
    expect(pipeline.records.slice(recordsBefore).map((record) => record["allow-why-false"])).toEqual(
      Array.from({ length: 3 }, () => [`credential-${reason}`]),
    );
  });

  test("a token in the query is not looked at", async () => {
    const answer = await sendRaw(
      pipeline.port,
      message(CALL, [], { token: "" }).replace("/mcp ", "/mcp?access_token=gwt_alice "),
    );
    expect(answer.status).toBe(401);
    expectNothingHeard();
  });

  test("a right that ends while the message is still coming is 401, and the message goes nowhere", async () => {
    const bytes = message(CALL, [], { token: "Authorization: Bearer gwt_mallory" });
    const client = openRaw(pipeline.port, bytes.slice(0, -10));
    // Another request goes its whole way, so that the first one has been authenticated.
    await sendRaw(pipeline.port, message(CALL, [], { token: "" }));
    [heardBefore, recordsBefore] = [victim.received.length, pipeline.records.length];
    pipeline.revocations.revokeNow("session:session-mallory");
    client.socket.write(bytes.slice(-10));
    await client.contains("HTTP/1.1 401");
    await client.closed;
    expectNothingHeard();
    expect(pipeline.records.at(-1)?.["allow-why-false"]).toEqual(["credential-revoked"]);
  });

  test("a failing authenticator is 500, not a pass", async () => {
    const answer = await sendRaw(pipeline.port, message(CALL, [], { token: "Authorization: Bearer gwt_boom" }));
    expect(answer.status).toBe(500);
    expect(victim.received.length).toBe(heardBefore);
  });

  test("an unavailable store is 503, not a denial", async () => {
    const answer = await sendRaw(pipeline.port, message(CALL, [], { token: "Authorization: Bearer gwt_down" }));
    expect(answer.status).toBe(503);
    expect(answer.headers.get("retry-after")).toEqual(["5"]);
    expectNothingHeard();
  });

  test.each([
    "https://evil.example",
    "null",
    "https://mcp.example.evil.example",
    "http://mcp.example",
    "https://localhost.evil.example",
  ])("a page of %s is 403", async (origin) => {
    const answer = await sendRaw(pipeline.port, message(CALL, [`Origin: ${origin}`]));
    expect(answer.status).toBe(403);
    expect(answer.headers.has("access-control-allow-origin")).toBe(false);
    expectNothingHeard();
  });

  test.each(["https://mcp.example", "https://tools.example", "http://localhost:6274", "http://127.0.0.1:1234"])(
    "a page of %s may call and read the answer",
    async (origin) => {
      const answer = await sendRaw(pipeline.port, message(CALL, [`Origin: ${origin}`]));
      expect(answer.status).toBe(200);
      expect(answer.headers.get("access-control-allow-origin")).toEqual([origin]);
    },
  );

  test("a preflight is answered before authentication", async () => {
    const answer = await sendRaw(
      pipeline.port,
      "OPTIONS /mcp HTTP/1.1\r\nHost: mcp.example\r\nOrigin: https://tools.example\r\nAccess-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization, mcp-param-City, x-evil\r\n\r\n",
    );
    expect(answer.status).toBe(204);
    const allowed = answer.headers.get("access-control-allow-headers")?.[0] ?? "";
    expect(allowed).toContain("authorization");
    expect(allowed).toContain("mcp-param-city");
    expect(allowed).not.toContain("evil");
    expect(answer.headers.has("access-control-allow-credentials")).toBe(false);
    expect(victim.received.length).toBe(heardBefore);
  });
});

describe("Mcp-Session-Id", () => {
  async function startSession(): Promise<string> {
    const answer: RawAnswer = await sendRaw(pipeline.port, message(CALL));
    const sealed = answer.headers.get("mcp-session-id")?.[0] ?? "";
    expect(sealed).not.toBe("");
    expect(answer.text).not.toContain("upstream-1");
    return sealed;
  }

  test("leaves sealed and comes back opened", async () => {
    const sealed = await startSession();
    const answer = await sendRaw(pipeline.port, message(CALL, [`Mcp-Session-Id: ${sealed}`]));
    expect(answer.status).toBe(200);
    expect(victim.requests.at(-1)?.header("mcp-session-id")).toBe("upstream-1");
    expect(answer.headers.get("mcp-session-id")).toEqual([sealed]);
  });

  test.each([
    [
      "of another user",
      (sealed: string) => message(CALL, [`Mcp-Session-Id: ${sealed}`], { token: "Authorization: Bearer gwt_bob" }),
    ],
    ["of another route", (sealed: string) => message(CALL, [`Mcp-Session-Id: ${sealed}`], { host: "other.example" })],
    ["as the upstream knows it", () => message(CALL, ["Mcp-Session-Id: upstream-1"])],
    ["that was changed", (sealed: string) => message(CALL, [`Mcp-Session-Id: ${withChangedEnd(sealed)}`])],
    [
      "on DELETE",
      (sealed: string) =>
        message("", [`Mcp-Session-Id: ${sealed}`], { method: "DELETE", token: "Authorization: Bearer gwt_bob" }),
    ],
  ])("%s is 404", async (_name, bytes) => {
    const sealed = await startSession();
    const heard = victim.received.length;
    const answer = await sendRaw(pipeline.port, bytes(sealed));
    expect(answer.status).toBe(404);
    expect(victim.received.length).toBe(heard);
  });

  test("of another user: the message tells the client what to do, without naming the user", async () => {
    const sealed = await startSession();
    const bob = message(CALL, [`Mcp-Session-Id: ${sealed}`], { token: "Authorization: Bearer gwt_bob" });
    const unknown = message(CALL, ["Mcp-Session-Id: upstream-1"]);
    const answers = [await sendRaw(pipeline.port, bob), await sendRaw(pipeline.port, unknown)];
    for (const { body } of answers) {
      expect(JSON.parse(body)).toMatchObject({
        error: {
          code: -32001,
          message: expect.stringMatching(/^Session not found: .+registered again.+initialize again$/) as unknown,
          data: { reason: "mcp-session-unknown" },
        },
      });
    }
  });

  test("Last-Event-ID passes only within a session that is the caller's", async () => {
    const sealed = await startSession();
    await sendRaw(pipeline.port, message("", ["Last-Event-ID: 5"], { method: "GET" }));
    expect(victim.requests.at(-1)?.headers.has("last-event-id")).toBe(false);
    await sendRaw(pipeline.port, message("", ["Last-Event-ID: 5", `Mcp-Session-Id: ${sealed}`], { method: "GET" }));
    expect(victim.requests.at(-1)?.header("last-event-id")).toBe("5");
  });
});

test("a message that is too long is refused with the limit and the setting that moves it", async () => {
  const long = CALL.replace("echo", "e".repeat(6000));
  const answer = await sendRaw(pipeline.port, message(long));
  expect(answer.status).toBe(413);
  const { error } = JSON.parse(answer.body) as { error: { message: string; data: object } };
  expect(error.message).toContain("4096 bytes");
  expect(error.message).toContain("mcp.server.max_request_bytes");
  expect(error.data).toMatchObject({ reason: "mcp-body-too-large" });
  expectNothingHeard();
});

test("with the flag off MCP routes answer 503 and forward nothing", async () => {
  const own = await startPipeline(`
    routes:
      - from: https://mcp.example
        to: ${victim.origin}
        mcp: { server: {} }
        policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
      - from: https://client.example
        to: ${victim.origin}
        mcp: { client: {} }
        policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  `);
  try {
    expect((await sendRaw(own.port, message(CALL))).status).toBe(503);
    expect(
      (
        await sendRaw(
          own.port,
          message("", [], { host: "client.example", method: "GET", token: "Cookie: gateway_session=alice" }),
        )
      ).status,
    ).toBe(503);
    expect(victim.received.length).toBe(heardBefore);
  } finally {
    await own.close();
  }
});
