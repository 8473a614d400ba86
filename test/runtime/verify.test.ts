import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { createServer, request as httpRequest, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";

import { SignJWT } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { AssertionError, verifyAssertion, type AssertionFailure } from "../../runtime/verify.ts";

const ours = generateKeyPairSync("ec", { namedCurve: "P-256" });
const foreign = generateKeyPairSync("ec", { namedCurve: "P-256" });
const server = createServer((request, response) => {
  const jwk = { ...ours.publicKey.export({ format: "jwk" }), kid: "one", alg: "ES256", use: "sig" };
  const isKeys = request.url === "/.well-known/gateway/jwks.json";
  response.writeHead(isKeys ? 200 : 404, { "content-type": "application/jwk-set+json" });
  response.end(JSON.stringify({ keys: [jwk] }));
});
let gateway = "";
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  gateway = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => new Promise((resolve) => server.close(resolve)));

const CLAIMS = { user: "u-1", email: "a@example.com", name: "A", groups: ["x"], sid: "s" };

interface Forgery {
  readonly key?: KeyObject;
  readonly alg?: string;
  readonly kid?: string;
  readonly iss?: string;
  readonly aud?: string;
  readonly exp?: number;
  readonly claims?: Record<string, unknown>;
}

function assertion(forgery: Forgery = {}): Promise<string> {
  return new SignJWT({ ...CLAIMS, ...forgery.claims })
    .setProtectedHeader({ alg: forgery.alg ?? "ES256", kid: forgery.kid ?? "one", typ: "JWT" })
    .setSubject("u-1")
    .setIssuer(forgery.iss ?? "127.0.0.1")
    .setAudience(forgery.aud ?? "127.0.0.1")
    .setIssuedAt()
    .setExpirationTime(forgery.exp ?? Math.floor(Date.now() / 1000) + 300)
    .sign(forgery.key ?? ours.privateKey);
}

async function reasonOf(promise: Promise<unknown>): Promise<AssertionFailure> {
  const error = await promise.then(
    () => undefined,
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(AssertionError);
  return (error as AssertionError).reason;
}

describe("verifyAssertion()", () => {
  it("returns the typed claims of a good assertion", async () => {
    const headers = { "x-gateway-assertion": await assertion() };
    const claims = await verifyAssertion({ headers }, { gateway });
    expect(claims).toMatchObject({ sub: "u-1", iss: "127.0.0.1", aud: "127.0.0.1", ...CLAIMS });
  });

  it("distinguishes the identity provider's claims from the gateway's own", async () => {
    const headers = {
      "x-gateway-assertion": await assertion({ claims: { gateway_route: "team/app", hd: "example.com" } }),
    };
    const { claims, gateway_route } = await verifyAssertion({ headers }, { gateway });
    expect([gateway_route, claims]).toEqual(["team/app", { hd: "example.com" }]);
  });

  it("takes a Fetch request, a Node request, and headers in any case, under both names", async () => {
    const token = await assertion();
    const expected = { audience: "127.0.0.1", jwksUrl: `${gateway}/.well-known/gateway/jwks.json` };
    const fetched = new Request("http://x/", { headers: { "X-Gateway-Assertion": token } });
    expect((await verifyAssertion(fetched, expected)).sub).toBe("u-1");
    expect((await verifyAssertion({ headers: { "X-Gateway-Jwt-Assertion": token } }, expected)).sub).toBe("u-1");
    const app = createServer();
    const received = new Promise<IncomingMessage>((resolve) => {
      app.on("request", (request, response) => {
        response.end();
        resolve(request);
      });
    });
    await new Promise<void>((resolve) => app.listen(0, "127.0.0.1", resolve));
    const { port } = app.address() as AddressInfo;
    httpRequest({ host: "127.0.0.1", port, headers: { "x-gateway-assertion": token }, agent: false }).end();
    expect((await verifyAssertion(await received, expected)).email).toBe("a@example.com");
    await new Promise((resolve) => app.close(resolve));
  });

  it.each<[string, AssertionFailure, Forgery]>([
    ["another key", "bad-signature", { key: foreign.privateKey }],
    ["an unknown key id", "bad-signature", { kid: "two" }],
    ["another host", "wrong-audience", { aud: "other.example.com" }],
    ["another issuer", "wrong-audience", { iss: "other.example.com" }],
    ["the past", "expired", { exp: Math.floor(Date.now() / 1000) - 60 }],
  ])("refuses an assertion made with %s: %s", async (_what, reason, forgery) => {
    const headers = { "x-gateway-assertion": await assertion(forgery) };
    expect(await reasonOf(verifyAssertion({ headers }, { gateway }))).toBe(reason);
  });

  it("refuses a request without header, two different ones, text, and unsigned tokens", async () => {
    const token = await assertion();
    const [, payload = ""] = token.split(".");
    const none = `${Buffer.from('{"alg":"none"}').toString("base64url")}.${payload}.`;
    const cases: [AssertionFailure, Record<string, string>][] = [
      ["missing", {}],
      ["missing", { "x-gateway-assertion": "" }],
      ["malformed", { "x-gateway-assertion": token, "x-gateway-jwt-assertion": await assertion({ aud: "b" }) }],
      ["malformed", { "x-gateway-assertion": "not a token" }],
      ["malformed", { "x-gateway-assertion": none }],
    ];
    for (const [reason, headers] of cases) {
      expect(await reasonOf(verifyAssertion({ headers }, { gateway }))).toBe(reason);
    }
  });

  it("refuses a symmetric signature made with the public key", async () => {
    const secret = Buffer.from(ours.publicKey.export({ format: "pem", type: "spki" }));
    const token = await new SignJWT(CLAIMS)
      .setProtectedHeader({ alg: "HS256", kid: "one" })
      .setSubject("u-1")
      .sign(secret);
    expect(await reasonOf(verifyAssertion({ headers: { "x-gateway-assertion": token } }, { gateway }))).toBe(
      "malformed",
    );
  });

  it("says when the keys cannot be fetched, and never repeats the token", async () => {
    const token = await assertion();
    const error = await verifyAssertion(
      { headers: { "x-gateway-assertion": token } },
      { audience: "127.0.0.1", jwksUrl: `${gateway}/nothing-here` },
    ).catch((caught: unknown) => caught);
    expect((error as AssertionError).reason).toBe("keys-unavailable");
    expect(String(error)).not.toContain(token.slice(0, 20));
  });
});
