/** A client's own claims about its identity, location and route: the victim only gets the gateway's. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { sendRaw } from "../support/raw-client.ts";
import { startVictim, type Victim, type VictimRequest } from "../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline;

beforeAll(async () => {
  victim = await startVictim();
  pipeline = await startPipeline(`
    runtime_flags: { mcp: true }
    jwt_claims_headers: { X-Department: department, X-Manager: manager }
    routes:
      - from: https://app.example
        to: ${victim.origin}
        policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
      - from: https://quiet.example
        to: ${victim.origin}
        pass_identity_headers: false
        policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
      - from: https://client.example
        to: ${victim.origin}
        mcp: { client: {} }
        policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
      - from: https://mcp.example
        to: ${victim.origin}
        mcp: { server: {} }
        policy: [{ allow: { and: [{ domain: { is: example.com } }] } }]
  `);
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
});

async function send(headers: readonly string[], host = "app.example"): Promise<VictimRequest> {
  const count = victim.requests.length;
  const bytes = ["GET / HTTP/1.1", `Host: ${host}`, "Connection: close", ...headers, "", ""].join("\r\n");
  const answer = await sendRaw(pipeline.port, bytes);
  expect(answer.status).toBe(200);
  const request = victim.requests[count];
  if (!request) throw new Error("nothing reached the victim");
  return request;
}

const COOKIE = "Cookie: gateway_session=alice";
const FORGED = "forged-value";

describe("identity headers", () => {
  test.each([
    "X-Gateway-Assertion",
    "x-gateway-assertion",
    "X_Gateway_Assertion",
    "X-GATEWAY_ASSERTION",
    "X-Gateway-Jwt-Assertion",
    "X_Gateway-Jwt_Assertion",
    "X-Gateway-Claim-Email",
    "X_GATEWAY_USER",
    "X-Department",
    "X_Department",
    "x-manager",
    "X_MANAGER",
    "X.Manager",
    "X.Gateway.Assertion",
    "X-Gateway~Jwt~Assertion",
    "X.Forwarded.User",
    "X.Original.Url",
    "Content.Type",
    "X-Forwarded-For",
    "X_Forwarded_For",
    "X-Forwarded-Proto",
    "X-Forwarded-Host",
    "X-Forwarded-Uri",
    "X-Forwarded-User",
    "x_forwarded_email",
    "Forwarded",
    "X-Real-IP",
    "True-Client-IP",
    "X-Original-URL",
    "X-Rewrite-URL",
    "X_Original_Url",
    "X-HTTP-Method-Override",
    "X-Method-Override",
    "X-Request-Id",
    "Proxy-Authorization",
    "Content_Length",
    "Transfer_Encoding",
    "Content_Type",
    "TE",
    "Keep-Alive",
    "CF-Connecting-IP",
    "CF_Connecting_IP",
    "Cf-IPCountry",
    "Client-IP",
    "X-Client-IP",
    "Fastly-Client-IP",
    "WL-Proxy-Client-IP",
    "X-ProxyUser-Ip",
    "X-Original-Forwarded-For",
    "X-Envoy-External-Address",
    "X-Envoy-Upstream-Rq-Timeout-Ms",
    "X_Envoy_Internal",
    "X-Remote-User",
    "Remote-User",
    "REMOTE_USER",
    "X-Auth-Request-Email",
    "X-WebAuth-User",
    "X-Goog-IAP-JWT-Assertion",
    "X-Amzn-Oidc-Identity",
    "X-Ms-Client-Principal-Name",
    "X-SSL-Client-Verify",
    "X-SSL-Client-S-DN",
    "SSL_CLIENT_SUBJECT_DN",
    "X-Client-Cert-Dn",
    "X-Amzn-Mtls-Clientcert-Subject",
    "X-Authenticated-Userid",
    "X-Consumer-Username",
    "X-Vouch-User",
    "CloudFront-Viewer-Address",
    "Tailscale-User-Login",
    "Client-Cert",
    "Front-End-Https",
  ])("a forged %s never arrives", async (name) => {
    for (const host of ["app.example", "quiet.example"]) {
      const request = await send([COOKIE, `${name}: ${FORGED}`], host);
      expect([...request.headers.values()].flat()).not.toContain(FORGED);
      expect([...request.headers.keys()].filter((each) => each.includes("_"))).toEqual([]);
    }
  });

  test("are the gateway's own, under both names, once each", async () => {
    const request = await send([COOKIE, "x-gateway-assertion: a", "X-Gateway-Assertion: b"]);
    expect(request.header("x-gateway-assertion")).toBe("assertion.alice.app.example");
    expect(request.header("x-gateway-jwt-assertion")).toBe("assertion.alice.app.example");
  });

  test("are absent where pass_identity_headers is false", async () => {
    const request = await send([COOKIE], "quiet.example");
    expect([...request.headers.keys()].filter((name) => name.startsWith("x-gateway"))).toEqual([]);
    expect(request.headers.has("x-department")).toBe(false);
  });

  test("claims the user lacks are sent empty, so that nothing can fill them in", async () => {
    const request = await send([COOKIE, "X-Manager: boss"]);
    expect(request.header("x-department")).toBe("research");
    expect(request.header("x-manager")).toBe("");
  });

  test("survive a Connection header that names them", async () => {
    const request = await send([
      COOKIE,
      "Connection: close, X-Gateway-Assertion, X-Department, X-Forwarded-For, X-Mine",
      "X-Mine: 1",
    ]);
    expect(request.header("x-gateway-assertion")).toBe("assertion.alice.app.example");
    expect(request.header("x-department")).toBe("research");
    expect(request.header("x-forwarded-for")).toBe("127.0.0.1");
    expect(request.headers.has("x-mine")).toBe(false);
  });
});

describe("proxies' headers about their client", () => {
  let trusting: Pipeline;
  beforeAll(async () => {
    trusting = await startPipeline(
      `
    routes:
      - from: https://app.example
        to: ${victim.origin}
        set_request_headers: { X-Seen: '\${gateway.request.headers["CF-Connecting-IP"]}' }
        remove_request_headers: [X-Envoy-Internal]
        policy: [{ allow: { and: [{ accept: true }] } }]
      - from: https://host.example
        to: ${victim.origin}
        host_rewrite_header: X-Client-IP
        policy: [{ allow: { and: [{ accept: true }] } }]
    `,
      { trustedProxyHeaders: new Set(["cf-connecting-ip", "x-real-ip", "x-envoy-internal"]) },
    );
  });
  afterAll(() => trusting.close());

  async function sendTrusted(headers: readonly string[], host = "app.example"): Promise<VictimRequest> {
    const count = victim.requests.length;
    await sendRaw(
      trusting.port,
      ["GET / HTTP/1.1", `Host: ${host}`, "Connection: close", ...headers, "", ""].join("\r\n"),
    );
    return victim.requests[count] as VictimRequest;
  }

  test("are forwarded if an operator trusts them, only with that exact name", async () => {
    const request = await sendTrusted([
      "CF-Connecting-IP: 192.0.2.1",
      "CF_Connecting_IP: 192.0.2.2",
      "x-real-ip: 192.0.2.3",
      "True-Client-IP: 192.0.2.4",
      "X-Envoy-External-Address: 192.0.2.5",
      "X-Envoy-Internal: true",
    ]);
    expect(request.header("cf-connecting-ip")).toBe("192.0.2.1");
    expect(request.header("x-real-ip")).toBe("192.0.2.3");
    expect(request.header("x-seen")).toBe("192.0.2.1");
    expect([...request.headers.values()].flat().filter((value) => /192\.0\.2\.[245]|true/.test(value))).toEqual([]);
  });

  test("are visible only to settings that name them", async () => {
    const request = await sendTrusted(["X-Client-IP: seen.example"], "host.example");
    expect(request.header("host")).toBe("seen.example");
    expect(request.headers.has("x-client-ip")).toBe(false);
  });

  test("is not sent where the client's Connection header names it", async () => {
    const request = await sendTrusted(["Connection: CF-Connecting-IP", "CF-Connecting-IP: 192.0.2.1"]);
    expect(request.headers.has("cf-connecting-ip")).toBe(false);
  });
});

describe("credentials of ours", () => {
  test("the session cookie is cut out and the others keep their bytes", async () => {
    const request = await send(['Cookie: a=1; gateway_session=alice; b="2";c=3; gateway_session_sign_in_12345678=x']);
    expect(request.header("cookie")).toBe('a=1; b="2"; c=3');
    expect(victim.received).not.toContain("gateway_session=");
  });

  test("a Cookie header with nothing else is not sent", async () => {
    expect((await send([COOKIE])).headers.has("cookie")).toBe(false);
  });

  test("an External Token does not pass on an ordinary route, a foreign Authorization does", async () => {
    expect((await send([COOKIE, "Authorization: Bearer gwt_alice"])).headers.has("authorization")).toBe(false);
    expect((await send([COOKIE, "Authorization: Basic Zm9vOmJhcg=="])).header("authorization")).toBe(
      "Basic Zm9vOmJhcg==",
    );
  });

  test("an MCP server sees no Authorization", async () => {
    const request = await send(["Authorization: Bearer gwt_alice"], "mcp.example");
    expect(request.headers.has("authorization")).toBe(false);
    expect(request.header("x-gateway-assertion")).toBe("assertion.alice.mcp.example");
  });

  test("an MCP client route gets the application token in place of what the client sent", async () => {
    const request = await send([COOKIE, "Authorization: Bearer other"], "client.example");
    expect(request.header("authorization")).toBe("Bearer gwt_application_alice");
  });
});

describe("forwarding headers", () => {
  test("are set fresh", async () => {
    const request = await send([COOKIE, "X-Forwarded-For: 1.2.3.4", "X-Forwarded-Proto: gopher"]);
    expect(request.header("x-forwarded-for")).toBe("127.0.0.1");
    expect(request.header("x-forwarded-proto")).toBe("https");
    expect(request.header("x-forwarded-host")).toBe("app.example");
    expect(request.header("x-request-id")).toMatch(/^[0-9a-f]{32}$/);
  });
});
