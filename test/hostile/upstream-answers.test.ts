/** Upstreams that try to speak in the gateway's name: the misleading parts of their responses never reach a browser. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { sendRaw, type RawAnswer } from "../support/raw-client.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline;
let cookie = "";
let challenge = "";
let status = "200 OK";

beforeAll(async () => {
  victim = await startVictim((_request, socket) => {
    socket.write(
      `HTTP/1.1 ${status}\r\ncontent-length: 2\r\nset-cookie: ${cookie}\r\nset-cookie: mine=1\r\nWWW-Authenticate: ${challenge}\r\n\r\nok`,
    );
  });
  pipeline = await startPipeline(`
    runtime_flags: { mcp: true }
    routes:
      - from: https://app.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ accept: true }] } }]
      - from: https://set.example
        to: ${victim.origin}
        set_response_headers: { Set-Cookie: "__Host-gateway_session=evil; Secure; Path=/" }
        policy: [{ allow: { and: [{ accept: true }] } }]
      - from: https://rewritten.example
        to: ${victim.origin}
        set_response_headers: { Set-Cookie: "x=evil; Secure; Path=/" }
        rewrite_response_headers: [{ header: Set-Cookie, prefix: "x=", value: "gateway_session=" }]
        policy: [{ allow: { and: [{ accept: true }] } }]
      - from: https://mcp.example
        to: ${victim.origin}
        mcp: { server: {} }
        policy: [{ allow: { and: [{ authenticated_user: true }] } }]
  `);
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
});

describe("an upstream's Set-Cookie", () => {
  test.each([
    ["by its name", "gateway_session=evil"],
    ["with the prefix of https hosts", "__Host-gateway_session=evil; Secure; Path=/"],
    ["with blanks around the name", " \tgateway_session\t =evil"],
    ["of a sign-in under way", "gateway_session_sign_in_12345678=evil"],
    ["without a value", "gateway_session"],
    // Browsers keep a cookie without a name and send its value alone: as "gateway_session=evil".
    ["hidden in a cookie without a name", "=gateway_session=evil"],
    ["hidden behind blanks", " = gateway_session=evil"],
    ["hidden behind two equals signs", "==gateway_session=evil"],
    ["with the prefix, hidden", "=__Host-gateway_session=evil"],
  ])("cannot plant our session cookie %s", async (_how, value) => {
    cookie = value;
    const answer = await sendRaw(pipeline.port, "GET / HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n");
    expect(answer.headers.get("set-cookie")).toEqual(["mine=1"]);
  });

  test.each(["set", "rewritten"])("cannot be planted by settings of a route either (%s)", async (host) => {
    const answer = await sendRaw(pipeline.port, `GET / HTTP/1.1\r\nHost: ${host}.example\r\nConnection: close\r\n\r\n`);
    expect(answer.headers.get("set-cookie")).toBeUndefined();
  });

  test("without a name passes if it is not one of ours", async () => {
    cookie = "=theirs";
    const answer = await sendRaw(pipeline.port, "GET / HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n");
    expect(answer.headers.get("set-cookie")).toEqual(["=theirs", "mine=1"]);
  });
});

describe("an MCP server's own challenge", () => {
  const EVIL = 'Bearer resource_metadata="https://evil.example/.well-known/oauth-protected-resource"';
  const ask = (): Promise<RawAnswer> =>
    sendRaw(
      pipeline.port,
      "GET / HTTP/1.1\r\nHost: mcp.example\r\nAuthorization: Bearer gwt_alice\r\nConnection: close\r\n\r\n",
    );

  // Clients look for their authorization server at the address it names, and some send their refresh token there.
  test.each([
    // A sign-in at the gateway cannot change the upstream's rejection: a 401 would cause a redirect loop.
    ["401 Unauthorized", EVIL, 502],
    ["401 Unauthorized", `Basic realm="x"\r\nwww-authenticate: ${EVIL}`, 502],
    ["403 Forbidden", `${EVIL}, error="insufficient_scope", scope="all"`, 403],
    ["200 OK", EVIL, 200],
  ])("never reaches the client: %s with %s is answered %i", async (line, value, seen) => {
    [status, challenge] = [line, value];
    const answer = await ask();
    expect(answer.status).toBe(seen);
    expect(answer.headers.has("www-authenticate")).toBe(false);
    expect(answer.text).not.toContain("evil.example");
  });

  test("of an ordinary route is between browser and application", async () => {
    [status, challenge] = ["401 Unauthorized", 'Basic realm="theirs"'];
    const answer = await sendRaw(pipeline.port, "GET / HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n");
    expect(answer.headers.get("www-authenticate")).toEqual(['Basic realm="theirs"']);
  });
});

describe("the request id of an answer", () => {
  const GET = "GET / HTTP/1.1\r\nHost: app.example\r\nConnection: close\r\n\r\n";

  test("is the one of the record, whatever id the upstream has", async () => {
    cookie = "a=b\r\nX-Request-Id: of-the-upstream\r\nx-request-id: another";
    const answer = await sendRaw(pipeline.port, GET);
    const [id] = answer.headers.get("x-request-id") ?? [];
    expect(answer.headers.get("x-request-id")).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/)]);
    expect(pipeline.records.at(-1)).toMatchObject({ "request-id": id });
    expect(victim.requests.at(-1)?.header("x-request-id")).toBe(id);
  });

  test.each([
    ["an event stream", "200 OK\r\ncontent-type: text/event-stream"],
    ["an answer without a body", "204 No Content"],
    ["a failure of the upstream's own", "500 Internal Server Error"],
  ])("is on %s", async (_case, head) => {
    status = head;
    const answer = await sendRaw(pipeline.port, GET);
    status = "200 OK";
    const [id] = answer.headers.get("x-request-id") ?? [];
    expect(pipeline.records.at(-1)).toMatchObject({ "request-id": id });
  });
});
