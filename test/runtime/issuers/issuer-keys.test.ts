/** Keys of trusted issuers: rarely read, whatever the requests; used while they cannot be read; separate per issuer. */
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";

import { afterEach, beforeAll, describe, expect, test } from "vitest";

import type { TrustedIssuer } from "../../../runtime/features/sign-in/trusted-issuers.ts";
import { createSafeFetch, type SafeRequest } from "../../../runtime/http/fetch/safe-fetch.ts";
import { createIssuerKeys, type SignatureResult } from "../../../runtime/issuers/issuer-keys.ts";
import { silentLog } from "../../../runtime/shared/log.ts";
import { makeSigningKey, type SigningKey } from "../../support/client-assertion.ts";
import { createTestClock } from "../../support/clock.ts";
import { fakeIssuer, IDP, signIdJag } from "../../support/id-jag.ts";

let one: SigningKey;
let two: SigningKey;
beforeAll(async () => {
  [one, two] = await Promise.all([makeSigningKey("ES256", "one"), makeSigningKey("ES256", "two")]);
});

const METADATA = `${IDP}/.well-known/openid-configuration`;
const KEYS = `${IDP}/keys`;
const MINUTE = 60_000;

function trusted(more: Partial<TrustedIssuer> = {}): TrustedIssuer {
  return {
    name: "idp",
    issuer: IDP,
    userIssuer: "idp",
    uses: new Set(["id_jag"]),
    keys: { kind: "discovery" },
    algorithms: ["ES256"],
    hosts: undefined,
    allowedClients: undefined,
    allowsPublicClients: false,
    maxAssertionAgeSeconds: { id_jag: 300, workload: 300, logout: 300 },
    audiences: undefined,
    allowsReplay: false,
    ignoresClientId: false,
    workloadRules: [],
    maxTokenLifetimeSeconds: undefined,
    emailDomains: new Set(),
    logoutAudiences: [],
    logoutEndsGrants: false,
    ...more,
  };
}

function setUp() {
  const idp = fakeIssuer({ [METADATA]: { issuer: IDP, jwks_uri: KEYS }, [KEYS]: { keys: [one.jwk] } });
  const clock = createTestClock();
  const keys = createIssuerKeys({ fetch: idp.fetch, clock, log: silentLog() });
  return { idp, clock, keys };
}

/** RFC 7517 §4.3: a list, of names that are compared as they are. */
const OTHER_OPERATIONS = [["encrypt"], ["sign"], ["Verify"], [["verify"]], [], "verify", { 0: "verify" }, null];
const doing = (operations: unknown): object => ({ ...one.jwk, key_ops: operations });

const signed = (by: SigningKey): Promise<string> => signIdJag({ sub: "alice" }, by);
const outcome = (result: SignatureResult): string => (result.ok ? "ok" : result.reason);

describe("createIssuerKeys()", () => {
  test("finds the keys by discovery and reads them again after five minutes", async () => {
    const { idp, clock, keys } = setUp();
    const token = await signed(one);
    expect(await keys.verify(trusted(), token)).toMatchObject({ ok: true, claims: { sub: "alice" } });
    clock.advance(5 * MINUTE - 1);
    expect(outcome(await keys.verify(trusted(), token))).toBe("ok");
    expect(idp.asked).toEqual([METADATA, KEYS]);
    clock.advance(1);
    // A withdrawn key is invalid.
    idp.documents.set(KEYS, { keys: [two.jwk] });
    expect(outcome(await keys.verify(trusted(), token))).toBe("bad");
    expect(idp.asked).toEqual([METADATA, KEYS, METADATA, KEYS]);
  });

  test("reads the keys again when due, also after a failure, if the clock was hours ahead", async () => {
    const { idp, clock, keys } = setUp();
    const token = await signed(one);
    expect(outcome(await keys.verify(trusted(), token))).toBe("ok");
    clock.advance(-180 * MINUTE);
    idp.documents.set(KEYS, { keys: [two.jwk] });
    expect(outcome(await keys.verify(trusted(), token))).toBe("ok");
    clock.advance(5 * MINUTE);
    expect(outcome(await keys.verify(trusted(), token))).toBe("bad");
  });

  test("sends one request for many concurrent tokens, and at most one per 30 seconds for unknown keys", async () => {
    const { idp, clock, keys } = setUp();
    const entry = trusted({ keys: { kind: "url", url: KEYS } });
    const invented = await Promise.all([...Array(20).keys()].map((n) => signIdJag({}, one, { kid: `k${n}` })));
    const all = async (): Promise<ReadonlySet<string>> =>
      new Set((await Promise.all(invented.map((token) => keys.verify(entry, token)))).map(outcome));
    expect(await all()).toEqual(new Set(["bad"]));
    expect(await all()).toEqual(new Set(["bad"]));
    expect(idp.asked).toHaveLength(1);

    // A new key is published immediately, and found after 30 seconds.
    idp.documents.set(KEYS, { keys: [one.jwk, two.jwk] });
    const token = await signed(two);
    clock.advance(29_999);
    expect(outcome(await keys.verify(entry, token))).toBe("bad");
    expect(idp.asked).toHaveLength(1);
    clock.advance(1);
    const both = await Promise.all([keys.verify(entry, token), keys.verify(entry, token)]);
    expect(both.map(outcome)).toEqual(["ok", "ok"]);
    expect(idp.asked).toHaveLength(2);
  });

  test("finds a key that took over the id of another one", async () => {
    const { idp, clock, keys } = setUp();
    const heir: SigningKey = { ...two, jwk: { ...two.jwk, kid: "one" } };
    expect(outcome(await keys.verify(trusted(), await signed(one)))).toBe("ok");
    idp.documents.set(KEYS, { keys: [heir.jwk] });
    clock.advance(30_000);
    expect(outcome(await keys.verify(trusted(), await signed(heir)))).toBe("ok");
    expect(outcome(await keys.verify(trusted(), await signed(one)))).toBe("bad");
  });

  test("uses its keys for a day, and retries an unavailable issuer every 30 seconds", async () => {
    const { idp, clock, keys } = setUp();
    const token = await signed(one);
    await keys.verify(trusted(), token);
    idp.documents.clear();
    clock.advance(24 * 60 * MINUTE - 1);
    expect(outcome(await keys.verify(trusted(), token))).toBe("ok");
    expect(outcome(await keys.verify(trusted(), token))).toBe("ok");
    expect(idp.asked).toEqual([METADATA, KEYS, METADATA]);
    clock.advance(1);
    expect(outcome(await keys.verify(trusted(), token))).toBe("unavailable");
    expect(idp.asked).toHaveLength(3);
  });

  test("a failure of one issuer does not affect others", async () => {
    const { idp, clock, keys } = setUp();
    const away = trusted({ name: "away", issuer: "https://away.example.net" });
    const token = await signed(one);
    expect(await keys.verify(away, token)).toMatchObject({ reason: "unavailable" });
    expect(await keys.verify(away, token)).toMatchObject({ reason: "unavailable" });
    expect(outcome(await keys.verify(trusted(), token))).toBe("ok");
    clock.advance(30_000);
    await keys.verify(away, token);
    expect(idp.asked.filter((url) => url.startsWith("https://away"))).toHaveLength(2);
  });

  test("does not take another entry's keys for the same address", async () => {
    const { idp, keys } = setUp();
    const url = { kind: "url", url: KEYS } as const;
    await keys.verify(trusted({ keys: url }), await signed(one));
    await keys.verify(trusted({ name: "second", issuer: "https://second.example.net", keys: url }), await signed(one));
    expect(idp.asked).toEqual([KEYS, KEYS]);
  });

  test("requests nothing for static keys", async () => {
    const { idp, keys } = setUp();
    const entry = trusted({ keys: { kind: "static", keys: { keys: [one.jwk] } } });
    expect(outcome(await keys.verify(entry, await signed(one)))).toBe("ok");
    expect(outcome(await keys.verify(entry, await signed(two)))).toBe("bad");
    expect(idp.asked).toEqual([]);
  });

  test.each<[string, unknown, RegExp]>([
    ["another issuer's metadata", { issuer: `${IDP}/`, jwks_uri: KEYS }, /of another issuer/],
    ["no address of keys", { issuer: IDP }, /names no keys/],
    ["a number as address", { issuer: IDP, jwks_uri: 7 }, /names no keys/],
    ["a list", [], /of another issuer/],
  ])("refuses %s", async (_, metadata, detail) => {
    const { idp, keys } = setUp();
    idp.documents.set(METADATA, metadata);
    expect(await keys.verify(trusted(), await signed(one))).toMatchObject({
      reason: "unavailable",
      detail: expect.stringMatching(detail),
    });
  });

  test.each<[string, unknown, RegExp]>([
    ["too many keys", () => ({ keys: Array.from({ length: 101 }, () => one.jwk) }), /101 keys, must have 1 to 100/],
    ["a private key", () => ({ keys: [{ ...one.jwk, d: "AA" }] }), /must be kept secret/],
    ["a shared secret", () => ({ keys: [{ kty: "oct", k: "AA" }] }), /must be kept secret/],
    ["keys for encryption alone", () => ({ keys: [{ ...one.jwk, use: "enc" }] }), /no key for signatures/],
    ["keys that verify nothing", () => ({ keys: OTHER_OPERATIONS.map(doing) }), /no key for signatures/],
    ["no set", () => ["x"], /must be a set/],
  ])("refuses %s", async (_, made, detail) => {
    const { idp, keys } = setUp();
    idp.documents.set(KEYS, (made as () => unknown)());
    expect(await keys.verify(trusted(), await signed(one))).toMatchObject({
      reason: "unavailable",
      detail: expect.stringMatching(detail),
    });
  });

  test("a key for another operation is ignored", async () => {
    const { idp, keys } = setUp();
    // Under the same id, so that the one for signatures would not be the only one that fits.
    idp.documents.set(KEYS, { keys: [{ ...two.jwk, kid: "one", key_ops: ["deriveKey"] }, doing(["verify"])] });
    expect(outcome(await keys.verify(trusted(), await signed(one)))).toBe("ok");
  });

  test("takes a set as large as the limit", async () => {
    const { idp, keys } = setUp();
    const others = Array.from({ length: 99 }, (__, n) => ({ ...two.jwk, kid: `other-${n}` }));
    idp.documents.set(KEYS, { keys: [...others, one.jwk] });
    expect(outcome(await keys.verify(trusted(), await signed(one)))).toBe("ok");
  });
});

describe("addresses of keys", () => {
  const servers: Server[] = [];
  afterEach(() => {
    for (const server of servers.splice(0)) server.close().closeAllConnections();
  });

  async function serve(answer: RequestListener): Promise<string> {
    const server = createServer(answer);
    servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  /** Uses the real fetch, outside development. */
  async function verifyAt(issuer: string, source: TrustedIssuer["keys"] = { kind: "discovery" }) {
    const asked: SafeRequest[] = [];
    const real = createSafeFetch({ development: false });
    const fetch = (request: SafeRequest) => {
      asked.push(request);
      return real(request);
    };
    const keys = createIssuerKeys({ fetch, clock: createTestClock(), log: silentLog() });
    return { result: await keys.verify(trusted({ issuer, keys: source }), await signed(one)), asked };
  }

  /** An issuer whose metadata names this address. */
  async function naming(address: (origin: string) => string): Promise<string> {
    const origin: string = await serve((request, response) => {
      const isMetadata = request.url === "/.well-known/openid-configuration";
      response.end(JSON.stringify(isMetadata ? { issuer: origin, jwks_uri: address(origin) } : { keys: [one.jwk] }));
    });
    return origin;
  }

  test("are requested with their own media type, without which a Kubernetes API server responds with 406", async () => {
    const issuer: string = await serve((request, response) => {
      const isMetadata = request.url === "/.well-known/openid-configuration";
      const type = isMetadata ? "application/json" : "application/jwk-set+json";
      if (request.headers.accept?.split(/, */).includes(type) !== true) return response.writeHead(406).end();
      return response.end(JSON.stringify(isMetadata ? { issuer, jwks_uri: `${issuer}/keys` } : { keys: [one.jwk] }));
    });
    expect((await verifyAt(issuer)).result).toMatchObject({ ok: true });
    expect((await verifyAt(issuer, { kind: "url", url: `${issuer}/keys` })).result).toMatchObject({ ok: true });
  });

  test("on the issuer's own origin are allowed, even on loopback", async () => {
    const issuer = await naming((origin) => `${origin}/keys`);
    expect((await verifyAt(issuer)).result.ok).toBe(true);
  });

  test.each<[string, (origin: string) => string, RegExp]>([
    ["another port of this machine", (origin) => `${origin.replace("http:", "https:")}/keys`, /forbidden-address/],
    ["a private network", () => "https://10.0.0.1/keys", /forbidden-address/],
    ["the metadata of a cloud", () => "https://169.254.169.254/keys", /forbidden-address/],
    ["a host without TLS", () => "http://keys.example.net/keys", /bad-url/],
    ["an address with a user name", (origin) => `${origin.replace("//", "//user:secret@")}/keys`, /bad-url/],
    ["a file", () => "file:///etc/passwd", /bad-url/],
  ])("that discovery leads to are refused: %s", async (_, address, detail) => {
    const { result } = await verifyAt(await naming(address));
    expect(result).toMatchObject({ ok: false, reason: "unavailable", detail: expect.stringMatching(detail) });
    expect(JSON.stringify(result)).not.toContain("secret@");
  });

  test.each<[string, RequestListener, RegExp]>([
    ["redirect", (_request, response) => void response.writeHead(302, { location: "/elsewhere" }).end(), /redirect/],
    [
      "answer more than a megabyte",
      (_request, response) => void response.end(" ".repeat(1024 * 1024 + 1)),
      /too-large/,
    ],
    ["answer with an error", (_request, response) => void response.writeHead(500).end("{}"), /answered 500/],
    ["answer with a page", (_request, response) => void response.end("<html>"), /no JSON/],
  ])("are rejected when they %s", async (_, answer, detail) => {
    const url = `${await serve(answer)}/keys`;
    const { result, asked } = await verifyAt(IDP, { kind: "url", url });
    expect(result).toMatchObject({ ok: false, reason: "unavailable", detail: expect.stringMatching(detail) });
    expect(asked.map((request) => request.url)).toEqual([url]);
  });
});
