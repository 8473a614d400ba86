/** DPoP proofs: each rule of RFC 9449 §4.3, and what attackers try instead. Names of checks are those of SEP-1932. */
import { createHash, createHmac } from "node:crypto";

import { calculateJwkThumbprint, SignJWT } from "jose";
import { beforeAll, describe, expect, test } from "vitest";

import { createProofNonces } from "../../../runtime/identity/dpop/nonces.ts";
import {
  checkProof,
  createProofKeys,
  PROOF_ALGORITHMS,
  type ProofResult,
} from "../../../runtime/identity/dpop/proof.ts";
import { createKeys } from "../../../runtime/shared/keys.ts";
import { makeSigningKey, type SigningKey } from "../../support/client-assertion.ts";
import { createTestClock } from "../../support/clock.ts";

const NOW = 1_800_000_000;
const TOKEN = "gwt_token";
const REQUEST = { method: "POST", origin: "https://mcp.example.com", path: "/tools/mcp", accessToken: TOKEN, now: NOW };
const ATH = createHash("sha256").update(TOKEN).digest("base64url");

let key: SigningKey;
beforeAll(async () => {
  key = await makeSigningKey("ES256");
});

type Members = Readonly<Record<string, unknown>>;

function defined(members: Members): Record<string, unknown> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined));
}

/** A valid proof, with these members instead; undefined leaves one out. */
function prove(claims: Members = {}, header: Members = {}, by = key): Promise<string> {
  const all = { jti: "1", htm: "POST", htu: "https://mcp.example.com/tools/mcp", iat: NOW, ath: ATH, ...claims };
  return new SignJWT(defined(all))
    .setProtectedHeader(defined({ typ: "dpop+jwt", alg: by.alg, jwk: by.jwk, ...header }) as { alg: string })
    .sign(by.privateKey);
}

const check = (...headers: readonly string[]): ProofResult => checkProof(headers, REQUEST);

const outcome = (result: ProofResult): string => (result.ok ? "ok" : result.problem);

describe("sep-1932-server-validate-proof", () => {
  test("names the key by its thumbprint, for each algorithm", async () => {
    for (const alg of PROOF_ALGORITHMS) {
      const other = await makeSigningKey(alg);
      const thumbprint = await calculateJwkThumbprint(other.jwk);
      expect(check(await prove({}, {}, other))).toEqual({ ok: true, thumbprint, nonce: undefined });
    }
  });

  test.each<[string, Members, Members]>([
    ["typ is not dpop+jwt", {}, { typ: "JWT" }],
    ["typ is not dpop+jwt", {}, { typ: undefined }],
    ["jwk is missing", {}, { jwk: undefined }],
    ["jwk is not a usable public key", {}, { jwk: { kty: "oct", k: "AAAA" } }],
    ["jwk is not a usable public key", {}, { jwk: { kty: "EC", crv: "P-256", x: "AA", y: "AA" } }],
    ["jti is missing or too long", { jti: undefined }, {}],
    ["jti is missing or too long", { jti: "" }, {}],
    ["jti is missing or too long", { jti: "j".repeat(513) }, {}],
    ["htm is not the method of the request", { htm: "GET" }, {}],
    ["htm is not the method of the request", { htm: "post" }, {}],
    ["htm is not the method of the request", { htm: ["POST"] }, {}],
    ["htu is not the address of the request", { htu: undefined }, {}],
    ["htu is not the address of the request", { htu: "https://mcp.example.com/tools" }, {}],
    ["htu is not the address of the request", { htu: "https://mcp.example.com/tools/mcp/" }, {}],
    ["htu is not the address of the request", { htu: "http://mcp.example.com/tools/mcp" }, {}],
    ["htu is not the address of the request", { htu: "https://mcp.example.com:8443/tools/mcp" }, {}],
    ["htu is not the address of the request", { htu: "https://x@mcp.example.com/tools/mcp" }, {}],
    ["htu is not the address of the request", { htu: "https://mcp.example.com.evil.example/tools/mcp" }, {}],
    ["htu is not the address of the request", { htu: "/tools/mcp" }, {}],
    ["iat is not within 5 minutes of now", { iat: undefined }, {}],
    ["iat is not within 5 minutes of now", { iat: NOW - 301 }, {}],
    ["iat is not within 5 minutes of now", { iat: NOW + 301 }, {}],
    ["iat is not within 5 minutes of now", { iat: String(NOW) }, {}],
    ["it has expired", { exp: NOW }, {}],
    ["nbf is in the future", { nbf: NOW + 301 }, {}],
    ["ath is not the hash of the access token", { ath: undefined }, {}],
    ["ath is not the hash of the access token", { ath: createHash("sha256").update("gwt_x").digest("base64url") }, {}],
  ])("%s: %j %j", async (problem, claims, header) => {
    expect(outcome(check(await prove(claims, header)))).toBe(problem);
  });

  test.each([
    "https://mcp.example.com/tools/mcp?x=1",
    "https://mcp.example.com/tools/mcp#top",
    "https://MCP.example.com:443/tools/mcp",
    "https://mcp.example.com/tools/%6dcp",
  ])("another spelling of the address is the same: %s", async (htu) => {
    expect(outcome(check(await prove({ htu })))).toBe("ok");
  });

  test("sep-1932-server-iat-window: five minutes on either side", async () => {
    expect(outcome(check(await prove({ iat: NOW - 300 })))).toBe("ok");
    expect(outcome(check(await prove({ iat: NOW + 300 })))).toBe("ok");
  });

  test("sep-1932-asymmetric-alg-only: no signature, a symmetric one, one of another type of key", async () => {
    const part = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = part({ jti: "1", htm: "POST", htu: REQUEST.origin + REQUEST.path, iat: NOW, ath: ATH });
    const unsigned = `${part({ typ: "dpop+jwt", alg: "none", jwk: key.jwk })}.${claims}`;
    expect(outcome(check(`${unsigned}.`))).toBe("it is not a compact JWS");
    expect(outcome(check(`${unsigned}.AA`))).toBe("its alg is not allowed");
    const keyed = `${part({ typ: "dpop+jwt", alg: "HS256", jwk: key.jwk })}.${claims}`;
    const mac = createHmac("sha256", JSON.stringify(key.jwk)).update(keyed).digest("base64url");
    expect(outcome(check(`${keyed}.${mac}`))).toBe("its alg is not allowed");
    const [head = "", body = "", signature = ""] = (await prove()).split(".");
    const rsa = await makeSigningKey("RS256");
    const swapped = part({ typ: "dpop+jwt", alg: "ES256", jwk: rsa.jwk });
    expect(outcome(check(`${swapped}.${body}.${signature}`))).toBe("alg does not fit jwk");
    expect(outcome(check(`${head}.${body}.${signature.slice(0, -4)}`))).toBe("its signature is not valid");
  });

  test("private keys, two headers, extensions and long texts are refused", async () => {
    const proof = await prove();
    expect(outcome(check())).toBe("there is no DPoP header");
    expect(outcome(check(proof, proof))).toBe("there are several DPoP headers");
    expect(outcome(check(`${proof}, ${proof}`))).toBe("it is not a compact JWS");
    expect(outcome(check(await prove({ pad: "x".repeat(9_000) })))).toBe("it is not a compact JWS");
    expect(outcome(check(await prove({}, { jwk: { ...key.jwk, d: "AAAA" } })))).toBe("jwk is not a usable public key");
    const [, body = "", signature = ""] = proof.split(".");
    const crit = Buffer.from(JSON.stringify({ typ: "dpop+jwt", alg: "ES256", jwk: key.jwk, crit: ["x"], x: 1 }));
    expect(outcome(check(`${crit.toString("base64url")}.${body}.${signature}`))).toBe("crit is not supported");
  });

  test("a key that is known is not trusted for another signature", async () => {
    const keys = createProofKeys();
    const proof = await prove();
    expect(checkProof([proof], REQUEST, keys).ok).toBe(true);
    expect(keys.size).toBe(1);
    const [head = "", , signature = ""] = proof.split(".");
    const other = Buffer.from(JSON.stringify({ jti: "2", htm: "POST" })).toString("base64url");
    expect(checkProof([`${head}.${other}.${signature}`], REQUEST, keys).ok).toBe(false);
    expect(checkProof([await prove({ jti: "2" })], REQUEST, keys).ok).toBe(true);
  });
});

test("sep-1932-server-nonce: replicas with clocks 90 seconds apart know each other's nonces, for two minutes", () => {
  const keys = createKeys([Buffer.alloc(32, 1)]);
  const [here, there] = [createTestClock(), createTestClock()];
  const [mine, others] = [createProofNonces({ keys, clock: here }), createProofNonces({ keys, clock: there })];
  there.advance(90_000);
  expect(mine.isValid(others.current())).toBe(true);
  expect(others.isValid(mine.current())).toBe(true);
  const old = mine.current();
  here.advance(180_000);
  expect(mine.isValid(old)).toBe(false);
  expect(mine.isValid(undefined)).toBe(false);
  expect(mine.isValid("")).toBe(false);
});
