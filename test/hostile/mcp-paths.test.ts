/** Requests to paths of an MCP server's upstream that are not its MCP endpoint: they would pass with the operator's credential. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { checkFiles } from "../../runtime/tools/check.ts";
import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { sendRaw, type RawAnswer } from "../support/raw-client.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline;

beforeAll(async () => {
  victim = await startVictim((_request, socket) => {
    socket.write("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}");
  });
  const policy = `
        policy:
          - allow: { and: [{ domain: { is: example.com } }] }
            deny: { or: [{ mcp_tool: { starts_with: delete_ } }] }`;
  pipeline = await startPipeline(`
    runtime_flags: { mcp: true }
    mcp_allowed_origins: ["https://tools.example"]
    routes:
      - from: https://mcp.example
        name: prefixed
        prefix: /a
        to: ${victim.origin}/up
        set_request_headers: { Authorization: "Bearer the-operator's" }
        mcp: { server: { path: /mcp } }${policy}
      - from: https://root.example
        name: root
        to: ${victim.origin}
        mcp: { server: {} }${policy}
      - from: https://extra.example
        name: extra
        prefix: /x
        to: ${victim.origin}
        mcp: { server: { path: /mcp, extra_paths: [/sse, /files/*, /a%20b] } }${policy}
      - from: https://exact.example
        name: exact
        path: /only
        to: ${victim.origin}/mcp
        mcp: { server: {} }${policy}
  `);
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
});

let heardBefore = 0;
let recordsBefore = 0;
beforeEach(() => {
  heardBefore = victim.requests.length;
  recordsBefore = pipeline.records.length;
});

interface Sent {
  readonly host?: string;
  readonly method?: string;
  readonly headers?: readonly string[];
}

const CALL = '{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo"}}';

function send(path: string, { host = "mcp.example", method = "GET", headers = [] }: Sent = {}): Promise<RawAnswer> {
  const body = method === "POST" ? CALL : "";
  const type = body === "" ? [] : ["Content-Type: application/json", `Content-Length: ${body.length}`];
  const own = headers.some((header) => header.startsWith("Authorization")) ? [] : ["Authorization: Bearer gwt_alice"];
  const head = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, "Connection: close", ...own, ...type, ...headers];
  return sendRaw(pipeline.port, [...head, "", body].join("\r\n"));
}

function targets(): readonly string[] {
  return victim.requests.slice(heardBefore).map(({ target }) => target);
}

describe("other paths than MCP endpoints are 404 and are not forwarded", () => {
  test.each([
    ["DELETE", "/a/api/v1/repos/1"],
    ["GET", "/a/metrics"],
    ["HEAD", "/a/metrics"],
    ["POST", "/a/api/v1/repos"],
    ["GET", "/a/mcp/metrics"],
    ["GET", "/a/mcp.json"],
    ["GET", "/a/mcp2"],
    ["GET", "/a/MCP"],
    ["GET", "/a/up/mcp"],
    ["GET", "/a/.well-known/jwks.json"],
    ["DELETE", "/a/mcp/mcp"],
    ["GET", "/a/mcp?/../metrics", "/up/mcp?/../metrics"],
  ])("%s %s", async (method, path, forwarded = "") => {
    const answer = await send(path, { method });
    if (forwarded !== "") {
      // A query is not a path, whatever its content.
      expect(targets()).toEqual([forwarded]);
      return;
    }
    expect(answer.status).toBe(404);
    if (method !== "HEAD") expect(JSON.parse(answer.body)).toMatchObject({ error: "mcp.path-not-served" });
    expect(targets()).toEqual([]);
    const records = pipeline.records.slice(recordsBefore);
    expect(records).toHaveLength(1);
    expect(records[0]).toMatchObject({ allow: false, "allow-why-false": ["mcp-path-not-served"] });
  });

  test.each([
    ["GET", "root.example", "/mcp"],
    ["GET", "root.example", "/metrics"],
    ["DELETE", "root.example", "/api/v1/repos/1"],
    ["GET", "exact.example", "/only/mcp"],
    ["GET", "extra.example", "/x/sse2"],
    ["GET", "extra.example", "/x/sse/more"],
    ["GET", "extra.example", "/x/files"],
    ["GET", "extra.example", "/x/files2/a"],
    ["GET", "extra.example", "/x/metrics"],
    ["GET", "extra.example", "/sse"],
  ])("%s https://%s%s", async (method, host, path) => {
    expect((await send(path, { host, method })).status).toBe(404);
    expect(targets()).toEqual([]);
  });

  test.each([
    ["a path parameter", "/a/mcp;x", 404],
    ["a path parameter at the base", "/a;x", 400],
    ["a path parameter in front", "/a/metrics;/mcp", 404],
    ["a path parameter, encoded", "/a/mcp%3Bx", 404],
    ["an encoded slash", "/a/mcp%2F..%2Fmetrics", 400],
    ["dot segments", "/a/mcp/../metrics", 400],
    ["dot segments, encoded", "/a/mcp/%2e%2e/metrics", 400],
    ["two slashes", "/a//mcp", 400],
    ["a backslash", "/a/mcp%5C..%5Cmetrics", 400],
    ["a double encoding", "/a/%256dcp", 404],
  ])("however it is written: %s", async (_name, path, status) => {
    expect((await send(path)).status).toBe(status);
    expect(targets()).toEqual([]);
  });

  test("without a token the served paths are not revealed", async () => {
    const answers = await Promise.all(
      ["/a/metrics", "/a/mcp"].map((path) => send(path, { headers: ["Authorization: Basic eA=="] })),
    );
    expect(answers.map(({ status }) => status)).toEqual([401, 401]);
    expect(targets()).toEqual([]);
  });

  test("a page that may call reads the refusal", async () => {
    const answer = await send("/a/metrics", { headers: ["Origin: https://tools.example"] });
    expect(answer.status).toBe(404);
    expect(answer.headers.get("access-control-allow-origin")).toEqual(["https://tools.example"]);
  });

  test("the refusal says where the endpoint is", async () => {
    expect(JSON.parse((await send("/a/metrics")).body)).toMatchObject({
      message: expect.stringContaining("https://mcp.example/a/mcp") as string,
    });
  });
});

describe("served paths", () => {
  test.each([
    ["the base", "mcp.example", "/a", "/up/mcp"],
    ["the base with a slash", "mcp.example", "/a/", "/up/mcp"],
    ["the base and the path", "mcp.example", "/a/mcp", "/up/mcp"],
    ["with a slash at its end, which is the upstream's to read", "mcp.example", "/a/mcp/", "/up/mcp/"],
    ["in another spelling", "mcp.example", "/%61/%6Dcp", "/up/mcp"],
    ["with its query", "mcp.example", "/a/mcp?a=b&c", "/up/mcp?a=b&c"],
    ["a whole host", "root.example", "/", "/"],
    ["an exact path", "exact.example", "/only", "/mcp"],
    ["an extra path", "extra.example", "/x/sse?a", "/sse?a"],
    ["an extra path, escaped", "extra.example", "/x/a%20b", "/a%20b"],
    ["what lies below one", "extra.example", "/x/files/a/b", "/files/a/b"],
    ["what lies below one, with a parameter", "extra.example", "/x/files/a;b=c", "/files/a;b=c"],
  ])("%s", async (_name, host, path, target) => {
    for (const method of ["GET", "POST", "DELETE"]) {
      // oxlint-disable-next-line no-await-in-loop -- one after the other, to see them in order
      expect((await send(path, { host, method })).status).toBe(200);
    }
    expect(targets()).toEqual([target, target, target]);
  });

  test("messages to extra paths are under the policy of tools", async () => {
    const body = CALL.replace("echo", "delete_all");
    const answer = await sendRaw(
      pipeline.port,
      `POST /x/sse HTTP/1.1\r\nHost: extra.example\r\nConnection: close\r\nAuthorization: Bearer gwt_alice\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    expect(JSON.parse(answer.body)).toMatchObject({ error: { data: { reason: "mcp-tool-unauthorized" } } });
    expect(targets()).toEqual([]);
  });
});

describe("extra_paths is rejected at load if too broad or empty", () => {
  const check = (route: string): { readonly text: string; readonly ok: boolean } =>
    checkFiles([
      {
        file: "gateway.yaml",
        boot: true,
        text: `
development: true
shared_secret: ${"A".repeat(43)}=
runtime_flags: { mcp: true }
routes:
  - from: http://mcp.example
    to: http://127.0.0.1:1
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
    ${route}
`,
      },
    ]);

  test.each([
    ["everything", "mcp: { server: { extra_paths: [/*] } }", 'is "/*"'],
    ["everything, by the base", "mcp: { server: { extra_paths: [/] } }", 'is "/"'],
    ["no path", "mcp: { server: { extra_paths: [metrics] } }", 'must start with "/"'],
    ["dot segments", "mcp: { server: { extra_paths: [/a/../b] } }", "dot segments"],
    ["an empty segment", "mcp: { server: { extra_paths: [/a//b] } }", '"//"'],
    ["a query", "mcp: { server: { extra_paths: ['/a?b'] } }", "without query"],
    ["a path parameter", "mcp: { server: { extra_paths: [/a;b] } }", "path parameter"],
    ["an encoded path parameter", "mcp: { server: { extra_paths: [/a%3Bb] } }", "path parameter"],
    ["an encoded slash", "mcp: { server: { extra_paths: [/a%2Fb] } }", "%2F"],
    ["a spelling that no request has", "mcp: { server: { extra_paths: [/%61] } }", "plain character"],
    ["a character that requests have encoded", "mcp: { server: { extra_paths: ['/a{b}'] } }", "percent-encoded"],
    ["a star inside", "mcp: { server: { extra_paths: [/a/*/b] } }", '"*"'],
    ["a star that is no segment", "mcp: { server: { extra_paths: [/a*] } }", '"*"'],
    ["the same twice", "mcp: { server: { extra_paths: [/a, /a] } }", "twice"],
    ["the path itself", "mcp: { server: { path: /mcp, extra_paths: [/mcp] } }", '"path"'],
    ["an address of ours", "mcp: { server: { extra_paths: [/.gateway/x] } }", "itself answers"],
    ["all of ours", "mcp: { server: { extra_paths: [/.well-known/gateway/*] } }", "itself answers"],
    ["an exact route", "path: /only\n    mcp: { server: { extra_paths: [/a] } }", '"path" of the route'],
  ])("%s", (_name, route, expected) => {
    const { text, ok } = check(route);
    expect(ok).toBe(false);
    expect(text).toContain("extra_paths");
    expect(text).toContain(expected);
  });

  test("gateway check says that nothing else is served", () => {
    const { text, ok } = check("mcp: { server: { extra_paths: [/files/*] } }");
    expect(ok).toBe(true);
    expect(text).toMatch(/1 MCP server route.*extra_paths.*404/);
  });
});
