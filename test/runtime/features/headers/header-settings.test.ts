/** The nine header settings of a route, each on the wire. @see requirements, "Header settings (per route)" */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../../../support/pipeline.ts";
import { sendRaw, type RawAnswer } from "../../../support/raw-client.ts";
import { startVictim, type Victim, type VictimRequest } from "../../../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline | undefined;

beforeAll(async () => {
  victim = await startVictim((_request, socket) => {
    socket.write(
      [
        "HTTP/1.1 200 OK",
        "content-length: 2",
        "Location: http://internal.example:8080/next",
        "X-Powered-By: upstream",
        "X-Frame-Options: ALLOWALL",
        "Link: <http://internal.example:8080/a>",
        "Set-Cookie: theme=dark; Path=/",
        "Set-Cookie: gateway_session=stolen; Path=/",
        "Set-Cookie: __Host-gateway_session=stolen; Path=/; Secure",
        "Set-Cookie: =gateway_session=nameless",
        "Set-Cookie:  = gateway_session=nameless",
        "Set-Cookie: gateway_session",
        "Set-Cookie: gateway_session ; Path=/",
        "Set-Cookie: lang=en",
        "Connection: keep-alive, X-Hop",
        "X-Hop: 1",
        "Keep-Alive: timeout=5",
        'Alt-Svc: h3=":443"',
        "",
        "ok",
      ].join("\r\n"),
    );
  });
});
afterAll(async () => {
  await pipeline?.close();
  await victim.close();
});

interface Exchanged {
  readonly request: VictimRequest;
  readonly answer: RawAnswer;
}

/** One request through a route with these settings. */
async function through(
  settings: string,
  headers: readonly string[] = [],
  path = "/a/b?c=d",
  globals = "",
): Promise<Exchanged> {
  await pipeline?.close();
  pipeline = await startPipeline(
    `${globals}\nroutes:\n  - from: https://app.example\n    to: ${victim.origin}/base\n    policy: [{ allow: { and: [{ authenticated_user: true }] } }]\n${settings
      .split("\n")
      .map((line) => `    ${line}`)
      .join("\n")}\n`,
  );
  const count = victim.requests.length;
  const answer = await sendRaw(
    pipeline.port,
    [
      `GET ${path} HTTP/1.1`,
      "Host: app.example",
      "Cookie: gateway_session=alice",
      "Connection: close",
      ...headers,
      "",
      "",
    ].join("\r\n"),
  );
  const request = victim.requests[count];
  if (!request) throw new Error(`nothing reached the upstream: ${answer.text}`);
  return { request, answer };
}

describe("Host", () => {
  const toHost = (): string => victim.origin.slice("http://".length);

  test("is the host of `to` by default", async () => {
    const { request } = await through("");
    expect(request.header("host")).toBe(toHost());
    expect(request.target).toBe("/base/a/b?c=d");
  });

  test("preserve_host_header passes the incoming one", async () => {
    expect((await through("preserve_host_header: true")).request.header("host")).toBe("app.example");
    expect((await through("preserve_host_header: false")).request.header("host")).toBe(toHost());
  });

  test("host_rewrite sets a fixed value", async () => {
    expect((await through("host_rewrite: inner.example:8080")).request.header("host")).toBe("inner.example:8080");
  });

  test("host_rewrite_header takes the value of the named header", async () => {
    const { request } = await through("host_rewrite_header: X-Virtual-Host", ["X-Virtual-Host: tenant-a.example"]);
    expect(request.header("host")).toBe("tenant-a.example");
  });

  test.each([
    ["missing", []],
    ["empty", ["X-Virtual-Host:"]],
    ["no host", ["X-Virtual-Host: a/b"]],
    ["a list", ["X-Virtual-Host: a.example, b.example"]],
    ["with user info", ["X-Virtual-Host: x@a.example"]],
    ["with spaces", ["X-Virtual-Host: a b"]],
    ["with a bad port", ["X-Virtual-Host: a.example:99999"]],
    ["twice with two values", ["X-Virtual-Host: a.example", "X-Virtual-Host: b.example"]],
  ])("host_rewrite_header falls back on `to` when the header is %s", async (_name, headers) => {
    expect((await through("host_rewrite_header: X-Virtual-Host", headers)).request.header("host")).toBe(toHost());
  });

  const REGEX = "host_path_regex_rewrite_pattern: ^/(.+)/.+$\nhost_path_regex_rewrite_substitution: '\\1'";

  test("host_path_regex_rewrite_pattern and host_path_regex_rewrite_substitution derive it from the path", async () => {
    const { request } = await through(REGEX, [], "/tenant.example/rest?x=/y/z");
    expect(request.header("host")).toBe("tenant.example");
    expect(request.target).toBe("/base/tenant.example/rest?x=/y/z");
  });

  test.each([
    ["does not match", "/only"],
    ["gives no host", "/a/b/c"],
  ])("host_path_regex_rewrite_pattern falls back on `to` when it %s", async (_name, path) => {
    expect((await through(REGEX, [], path)).request.header("host")).toBe(toHost());
  });
});

describe("set_request_headers", () => {
  test("sets headers and overwrites the client's, in any form", async () => {
    const { request } = await through('set_request_headers: { X-Team: research, X-Price: "5$$" }', [
      "x-team: forged",
      "X_Team: forged",
      "X-Other: kept",
    ]);
    expect(request.header("x-team")).toBe("research");
    expect(request.header("x-price")).toBe("5$");
    expect(request.header("x-other")).toBe("kept");
    expect([...request.headers.values()].flat()).not.toContain("forged");
  });

  test("replaces its substitutions, once", async () => {
    const { request } = await through(
      [
        "set_request_headers:",
        '  X-Access: "Bearer ${gateway.access_token}"',
        '  X-Id: "${gateway.id_token}"',
        '  X-Jwt: "${gateway.jwt}"',
        '  X-Cert: "[${gateway.client_cert_fingerprint}]"',
        '  X-Echo: "<${gateway.request.headers[\\"X-In\\"]}>"',
        '  X-In: "${gateway.request.headers[\\"X-In\\"]}!"',
        '  X-Missing: "${gateway.request.headers[\\"X-Nothing\\"]}"',
      ].join("\n"),
      ["x-in: ${gateway.jwt}"],
    );
    expect(request.header("x-access")).toBe("Bearer access-alice");
    expect(request.header("x-id")).toBe("id-alice");
    expect(request.header("x-jwt")).toBe(request.header("x-gateway-jwt-assertion"));
    expect(request.header("x-cert")).toBe("[]");
    expect(request.header("x-echo")).toBe("<${gateway.jwt}>");
    expect(request.header("x-in")).toBe("${gateway.jwt}!");
    expect(request.header("x-missing")).toBe("");
  });

  test("substitutions see neither our credentials nor forged identity", async () => {
    const { request } = await through(
      [
        "set_request_headers:",
        '  X-Cookie: "${gateway.request.headers[\\"Cookie\\"]}"',
        '  X-Auth: "${gateway.request.headers[\\"Authorization\\"]}"',
        '  X-Forged: "${gateway.request.headers[\\"X-Gateway-Assertion\\"]}"',
        '  X-Hop: "${gateway.request.headers[\\"X-Listed\\"]}"',
      ].join("\n"),
      ["Authorization: Bearer gwt_alice", "X-Gateway-Assertion: forged", "Connection: X-Listed", "X-Listed: 1"],
    );
    for (const name of ["x-cookie", "x-auth", "x-forged", "x-hop"]) expect(request.header(name)).toBe("");
  });
});

describe("remove_request_headers", () => {
  test("removes headers, and wins over set_request_headers and over our own", async () => {
    const { request } = await through(
      "remove_request_headers: [X-Drop, X-Both, X-Forwarded-Host, X-Gateway-Assertion]\nset_request_headers: { X-Both: set, X-Kept: set }",
      ["x-drop: 1", "X_Drop: 2", "X-Both: 3"],
    );
    for (const name of ["x-drop", "x_drop", "x-both", "x-forwarded-host", "x-gateway-assertion"]) {
      expect(request.headers.has(name)).toBe(false);
    }
    expect(request.header("x-kept")).toBe("set");
    expect(request.header("x-gateway-jwt-assertion")).toBe("assertion.alice.app.example");
  });
});

describe("add_request_headers", () => {
  test("sends them next to the client's; remove_request_headers wins", async () => {
    const { request } = await through(
      'add_request_headers: { X-Add: "b$$", X-Alone: c, X-Both: d }\nremove_request_headers: [X-Both]',
      ["x-add: a", "x-both: a"],
    );
    expect(request.headers.get("x-add")).toEqual(["a", "b$"]);
    expect(request.headers.get("x-alone")).toEqual(["c"]);
    expect(request.headers.has("x-both")).toBe(false);
  });

  test.each([
    ["add_request_headers: { Cookie: a=b }", "has one value"],
    ["add_request_headers: { X-Gateway-Assertion: a }", "is an identity header"],
    ["add_request_headers: { X-A: a, x-a: b }", "must be written once"],
    ["add_response_headers: { Content-Length: a }", "frames the message"],
    ["remove_response_headers: [Content-Encoding]", "describes the body"],
  ])("%s is rejected", async (settings, problem) => {
    await expect(through(settings)).rejects.toThrow(problem);
  });
});

describe("add_response_headers and remove_response_headers", () => {
  test("change the upstream's headers; a removed one can be added again", async () => {
    const { answer } = await through(
      "add_response_headers: { X-Powered-By: gateway, X-Frame-Options: DENY, Set-Cookie: gateway_session=x }\nremove_response_headers: [x-frame-options, Location]",
    );
    expect(answer.headers.get("x-powered-by")).toEqual(["upstream", "gateway"]);
    expect(answer.headers.get("x-frame-options")).toEqual(["DENY"]);
    expect(answer.headers.has("location")).toBe(false);
    expect(answer.headers.get("set-cookie")).toEqual(["theme=dark; Path=/", "lang=en"]);
  });
});

describe("set_response_headers", () => {
  test("replaces the upstream's, the route's before the global ones, whatever their case", async () => {
    const { answer } = await through(
      'set_response_headers: { x-frame-options: DENY, X-Price: "5$$" }',
      [],
      "/",
      "set_response_headers: { X-Frame-Options: SAMEORIGIN, X-Global: yes-please }",
    );
    expect(answer.headers.get("x-frame-options")).toEqual(["DENY"]);
    expect(answer.headers.get("x-global")).toEqual(["yes-please"]);
    expect(answer.headers.get("x-price")).toEqual(["5$"]);
    expect(answer.headers.get("x-powered-by")).toEqual(["upstream"]);
  });

  test("adds nothing if it is not set", async () => {
    const { answer } = await through("");
    expect(answer.headers.get("x-frame-options")).toEqual(["ALLOWALL"]);
    expect(answer.headers.has("strict-transport-security")).toBe(false);
  });
});

describe("rewrite_response_headers", () => {
  test("replaces a prefix of any header, rule by rule, and leaves other values unchanged", async () => {
    const { answer } = await through(
      [
        "rewrite_response_headers:",
        "  - { header: location, prefix: 'http://internal.example:8080/', value: 'https://app.example/' }",
        "  - { header: Location, prefix: 'https://app.example/next', value: 'https://app.example/last' }",
        "  - { header: Link, prefix: 'http://', value: 'https://' }",
        "  - { header: X-Absent, prefix: a, value: b }",
        "  - { header: X-Set, prefix: one, value: two }",
        "set_response_headers: { X-Set: one-more }",
      ].join("\n"),
    );
    expect(answer.headers.get("location")).toEqual(["https://app.example/last"]);
    expect(answer.headers.get("link")).toEqual(["<http://internal.example:8080/a>"]);
    expect(answer.headers.has("x-absent")).toBe(false);
    expect(answer.headers.get("x-set")).toEqual(["two-more"]);
  });

  test("cannot set a cookie of ours", async () => {
    const { answer } = await through(
      "rewrite_response_headers:\n  - { header: Set-Cookie, prefix: theme, value: gateway_session }",
    );
    expect(answer.headers.get("set-cookie")).toEqual(["lang=en"]);
  });
});

describe("the upstream's own headers", () => {
  test("of the connection, of other services, and cookies under our names do not reach the client", async () => {
    const { answer } = await through("");
    expect(answer.headers.get("set-cookie")).toEqual(["theme=dark; Path=/", "lang=en"]);
    expect(answer.headers.has("x-hop")).toBe(false);
    expect(answer.headers.has("alt-svc")).toBe(false);
    expect(answer.headers.get("connection")).toEqual(["close"]);
  });
});
