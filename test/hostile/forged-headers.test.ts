/** Whatever a client says about who, where and how it is: the victim only hears what the gateway says. */
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
