import { createPublicKey, generateKeyPairSync, randomUUID, verify } from "node:crypto";

import { calculateJwkThumbprint, importJWK, jwtVerify } from "jose";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { createKeys } from "../../../../runtime/shared/keys.ts";
import { loadAssertionKeys } from "../../../../runtime/identity/tokens/assertion-keys.ts";
import { createAssertions, renderJwks } from "../../../../runtime/identity/tokens/assertion.ts";
import type { Principal, User } from "../../../../runtime/identity/principal.ts";
import { verifyAssertion } from "../../../../runtime/verify.ts";
import { createTestClock } from "../../../support/clock.ts";
import { routeNamed } from "../../../support/config.ts";
import { APP, startSessionBench, type SessionBench } from "../../../support/session-bench.ts";
import { userId } from "../../../support/users.ts";

let bench: SessionBench;
beforeAll(async () => {
  bench = await startSessionBench();
});
afterAll(() => bench.close());

const clock = createTestClock();
const keys = loadAssertionKeys([], createKeys([Buffer.alloc(32, 1)]));
const assertions = createAssertions({ keys, clock });

function principal(version = 1, groups: readonly string[] = []): Principal {
  return {
    kind: "session",
    user: { id: userId("u-1"), email: "a@example.com", name: 'Ä "quoted"', groups, claims: { secret: "x" }, version },
    sid: "s-1",
    sessionId: "s-1",
    expiresAt: 9_999_999_999,
    revocationKeys: ["session:s-1"],
  };
}
const payloadOf = (jwt: string): Record<string, unknown> =>
  JSON.parse(Buffer.from(jwt.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;

describe("Assertions.sign()", () => {
  it("is for the requested host on a wildcard route, and caches only a few", () => {
    const [who, app] = [principal(), routeNamed(bench.snapshot(), "app")];
    const one = assertions.sign(who, app, "one.example.com");
    expect(payloadOf(one)).toMatchObject({ iss: "one.example.com", aud: "one.example.com" });
    expect(assertions.sign(who, app, "one.example.com")).toBe(one);
    for (let index = 0; index < 300; index += 1) assertions.sign(who, app, `h${index}.example.com`);
    expect(payloadOf(assertions.sign(who, app, "one.example.com"))["aud"]).toBe("one.example.com");
    expect(payloadOf(assertions.sign(who, app))["aud"]).toBe("app.example.com");
  });

  it("omits groups that are unknown, and those that are too many for a header, wherever they come from", () => {
    const app = routeNamed(bench.snapshot(), "app");
    const claimsOf = (groups: readonly string[], leftOut: NonNullable<User["leftOut"]>) => {
      const who = principal(1, groups);
      return payloadOf(assertions.sign({ ...who, user: { ...who.user, leftOut } }, app));
    };
    const known = { groups: false, claims: ["groups"], resolver: "answered" } as const;
    const ids = (count: number): string[] => Array.from({ length: count }, () => randomUUID());
    const [few, many] = [ids(210), ids(211)];
    expect(claimsOf(few, known)["groups"]).toEqual(few);
    expect(claimsOf(few, known)).not.toHaveProperty("groups_omitted");
    const unknown = claimsOf([], { ...known, groups: true, resolver: "failed" });
    const provided = payloadOf(assertions.sign(principal(1, many), app));
    for (const claims of [claimsOf(many, known), unknown, provided]) {
      expect(claims).not.toHaveProperty("groups");
      expect(claims["groups_omitted"]).toBe(true);
    }
    expect(claimsOf([], known)["groups"]).toEqual([]);
    expect(payloadOf(assertions.sign(principal(1, few), app))["groups"]).toEqual(few);
  });

  it("counts omitted groups once per JWT", () => {
    const omitted: string[] = [];
    const counting = createAssertions({ keys, clock, onGroupsOmitted: (why) => void omitted.push(why) });
    const app = routeNamed(bench.snapshot(), "app");
    const many = principal(
      1,
      Array.from({ length: 500 }, () => randomUUID()),
    );
    counting.sign(many, app);
    counting.sign(many, app);
    counting.sign(principal(), app);
    expect(omitted).toEqual(["too-many"]);
  });

  it("makes an ES256 JWT with exactly the promised claims", async () => {
    const jwt = assertions.sign(principal(), routeNamed(bench.snapshot(), "app"));
    const key = await importJWK(keys[0]?.publicJwk ?? {}, "ES256");
    const { payload, protectedHeader } = await jwtVerify(jwt, key, { currentDate: new Date(clock.now()) });
    expect(protectedHeader).toEqual({ alg: "ES256", typ: "JWT", kid: keys[0]?.kid });
    expect(payload).toEqual({
      iss: "app.example.com",
      aud: "app.example.com",
      sub: "u-1",
      user: "u-1",
      email: "a@example.com",
      name: 'Ä "quoted"',
      groups: [],
      sid: "s-1",
      gateway_route: "default/app",
      iat: clock.now() / 1000,
      exp: clock.now() / 1000 + 300,
    });
  });

  it("has the configured claims, never replaces its own, and stays within the size limit", () => {
    let claimHeaders: ReadonlyMap<string, string> = new Map([
      ["X-Role", "role"],
      ["X-Sub", "sub"],
      ["X-Email", "email"],
      ["X-Exp", "exp"],
      ["X-Big", "big"],
      ["X-Level", "level"],
    ]);
    const claims = { role: ["a,b"], sub: "forged", email: "forged", exp: 1, big: "x".repeat(4096), level: 3, more: 1 };
    const named = createAssertions({ keys, clock, claimHeaders: () => claimHeaders });
    const who = { ...principal(), user: { ...principal().user, claims } };
    const app = routeNamed(bench.snapshot(), "app");
    const payload = payloadOf(named.sign(who, app));
    expect(payload).toMatchObject({ sub: "u-1", email: "a@example.com", role: ["a,b"], level: 3 });
    for (const absent of ["big", "more"]) expect(payload).not.toHaveProperty(absent);
    expect(payload["exp"]).not.toBe(1);
    claimHeaders = new Map();
    expect(payloadOf(named.sign(who, app))).not.toHaveProperty("role");
  });

  it("marks groups as omitted if the provider omitted them", () => {
    const user = { ...principal().user, leftOut: { groups: true, claims: ["groups"] } };
    const jwt = assertions.sign({ ...principal(), user }, routeNamed(bench.snapshot(), "app"));
    expect(payloadOf(jwt)).not.toHaveProperty("groups");
  });

  it("names its route, so that an upstream cannot pass as the gateway at another one of the host", async () => {
    const who = principal();
    const [app, wiki] = [routeNamed(bench.snapshot(), "app"), routeNamed(bench.snapshot(), "wiki")];
    const neighbour = { ...wiki, hostname: app.hostname, key: "default/neighbour" };
    const verify = (jwt: string, route?: string) =>
      verifyAssertion(
        { headers: { "x-gateway-assertion": jwt } },
        {
          audience: "app.example.com",
          jwksUrl: `http://127.0.0.1:${bench.firstPort}/.well-known/gateway/jwks.json`,
          currentDate: new Date(bench.clock.now()),
          ...(route === undefined ? {} : { route }),
        },
      );
    const { assertions: ours } = bench.session;

    expect(payloadOf(ours.sign(who, neighbour))["gateway_route"]).toBe("default/neighbour");
    expect(payloadOf(ours.sign(who, app))["gateway_route"]).toBe("default/app");
    await expect(verify(ours.sign(who, neighbour), "default/app")).rejects.toMatchObject({ reason: "wrong-route" });
    expect(await verify(ours.sign(who, app), "default/app")).toMatchObject({ gateway_route: "default/app" });
    expect(await verify(ours.sign(who, neighbour))).toMatchObject({ gateway_route: "default/neighbour" });
  });

  it("remembers few of them for a principal, the newest", () => {
    const who = principal();
    const app = routeNamed(bench.snapshot(), "app");
    const routes = Array.from({ length: 300 }, (_, index) => ({ ...app, key: `default/r${index}` }));
    const jwts = routes.map((route) => assertions.sign(who, route));
    expect(assertions.sign(who, routes[299]!)).toBe(jwts[299]);
    expect(assertions.sign(who, routes[44]!)).toBe(jwts[44]);
    expect(assertions.sign(who, routes[43]!)).not.toBe(jwts[43]);
  });

  it("is reused for a minute, per principal and host", () => {
    const who = principal();
    const [app, wiki] = [routeNamed(bench.snapshot(), "app"), routeNamed(bench.snapshot(), "wiki")];
    const first = assertions.sign(who, app);
    clock.advance(59_999);
    expect(assertions.sign(who, app)).toBe(first);
    expect(payloadOf(assertions.sign(who, wiki))["aud"]).toBe("wiki.example.com");
    clock.advance(1);
    expect(assertions.sign(who, app)).not.toBe(first);
    // Changed claims create another principal, so the JWT changes immediately.
    expect(payloadOf(assertions.sign(principal(2, ["new"]), app))["groups"]).toEqual(["new"]);
  });
});

describe("loadAssertionKeys()", () => {
  const pem = (): string =>
    generateKeyPairSync("ec", {
      namedCurve: "P-256",
      privateKeyEncoding: { type: "pkcs8", format: "pem" },
      publicKeyEncoding: { type: "spki", format: "pem" },
    }).privateKey;

  it("derives the same key from the same secret, everywhere", () => {
    const again = loadAssertionKeys([], createKeys([Buffer.alloc(32, 1)]));
    expect(again[0]?.kid).toBe(keys[0]?.kid);
    const other = loadAssertionKeys([], createKeys([Buffer.alloc(32, 2)]));
    expect(other[0]?.kid).not.toBe(keys[0]?.kid);
  });

  it("keeps publishing the keys of earlier secrets", () => {
    const rotated = loadAssertionKeys([], createKeys([Buffer.alloc(32, 2), Buffer.alloc(32, 1)]));
    expect(rotated.map(({ kid }) => kid)).toContain(keys[0]?.kid);
    expect(rotated[0]?.kid).not.toBe(keys[0]?.kid);
  });

  it("takes configured keys, the first signs, and names each by its thumbprint", async () => {
    const loaded = loadAssertionKeys([pem(), pem()], createKeys([Buffer.alloc(32, 1)]));
    expect(loaded).toHaveLength(2);
    for (const { kid, publicJwk } of loaded) {
      expect(kid).toBe(
        await calculateJwkThumbprint({ kty: "EC", crv: "P-256", x: String(publicJwk["x"]), y: String(publicJwk["y"]) }),
      );
      expect(Object.keys(publicJwk)).not.toContain("d");
    }
    const jwt = createAssertions({ keys: loaded, clock }).sign(principal(), routeNamed(bench.snapshot(), "app"));
    const [header = "", payload = "", signature = ""] = jwt.split(".");
    const key = createPublicKey({ key: { ...loaded[0]?.publicJwk }, format: "jwk" });
    const isGood = verify(
      "sha256",
      Buffer.from(`${header}.${payload}`),
      { key, dsaEncoding: "ieee-p1363" },
      Buffer.from(signature, "base64url"),
    );
    expect(isGood).toBe(true);
  });

  it.each([
    ["text", "this is certainly not a private key at all, whatever it says"],
    [
      "an RSA key",
      generateKeyPairSync("rsa", { modulusLength: 2048 }).privateKey.export({ type: "pkcs8", format: "pem" }),
    ],
    [
      "another curve",
      generateKeyPairSync("ec", { namedCurve: "P-384" }).privateKey.export({ type: "pkcs8", format: "pem" }),
    ],
    [
      "a public key",
      generateKeyPairSync("ec", { namedCurve: "P-256" }).publicKey.export({ type: "spki", format: "pem" }),
    ],
  ])("refuses %s without repeating it", (_what, text) => {
    const load = () => loadAssertionKeys([text], createKeys([Buffer.alloc(32, 1)]));
    expect(load).toThrow(/signing_key 1/);
    expect(load).not.toThrow(new RegExp(text.slice(30, 60).replace(/[^\w]/g, ".")));
  });
});

describe("/.well-known/gateway/jwks.json", () => {
  it("is public, cacheable, the same on every host, and has no private part", async () => {
    const browser = bench.browser();
    const answers = await Promise.all(
      [APP, "https://auth.example.com"].map((origin) =>
        browser.open(`${origin}/.well-known/gateway/jwks.json`, { mode: "cors" }),
      ),
    );
    expect(answers[0]?.text).toBe(answers[1]?.text);
    const [answer] = answers;
    expect(answer?.headers).toMatchObject({
      "access-control-allow-origin": "*",
      "cache-control": "public, max-age=60",
    });
    const parsed = JSON.parse(answer?.text ?? "") as { keys: Record<string, unknown>[] };
    expect(parsed.keys.map((key) => Object.keys(key).sort())).toEqual([["alg", "crv", "kid", "kty", "use", "x", "y"]]);
    const again = await browser.open(`${APP}/.well-known/gateway/jwks.json`, {
      headers: { "if-none-match": String(answer?.headers.etag) },
    });
    expect(again.status).toBe(304);
    expect(renderJwks(keys).etag).not.toBe(answer?.headers.etag);
  });

  it("works with verifyAssertion()", async () => {
    const browser = bench.browser();
    await browser.signIn(`${APP}/`, "alice@example.com");
    const cookie = browser.jar.header(new URL(APP), { crossSite: false, topLevelGet: true }) ?? "";
    const exchange = { host: "app.example.com", headerValues: (name: string) => (name === "cookie" ? [cookie] : []) };
    const found = await bench.session.authenticator.cookie(exchange as never);
    if (!found.ok) throw new Error(found.reason);
    const jwt = bench.session.assertions.sign(found.principal, routeNamed(bench.snapshot(), "app"));
    const claims = await verifyAssertion(
      { headers: { "x-gateway-assertion": jwt } },
      { audience: "app.example.com", jwksUrl: `http://127.0.0.1:${bench.firstPort}/.well-known/gateway/jwks.json` },
    );
    expect(claims).toMatchObject({ sub: "u-alice", email: "alice@example.com", groups: ["admins", "engineering"] });
  });
});
