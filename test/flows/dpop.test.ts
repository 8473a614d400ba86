/**
 * Tokens that are bound to a client's key (DPoP, RFC 9449): a whole gateway, SDK v2, and what thieves of tokens try.
 * Names of checks are those of SEP-1932.
 */
import { Client, DpopSession, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { calculateJwkThumbprint } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Answer } from "../support/browser.ts";
import { createSend } from "../support/browser.ts";
import { makeSigningKey, type SigningKey } from "../support/client-assertion.ts";
import { dpopProof, type DpopProof } from "../support/dpop.ts";
import { ORIGIN, RESOURCE, startIssuer } from "../support/issuer.ts";
import { startMcpGateway, type McpGateway } from "../support/mcp-gateway.ts";
import { clientProof, createOAuthClient, type SignedInClient } from "../support/oauth-client.ts";
import { createSdkProvider } from "../support/sdk-provider.ts";

let world: McpGateway;
let strict: McpGateway;
let key: SigningKey;

beforeAll(async () => {
  [world, strict] = await Promise.all([
    startMcpGateway({ federated: true, server: "dpop: allowed" }),
    startMcpGateway({ federated: true, server: "dpop: required, dpop_nonce: true" }),
  ]);
  key = await makeSigningKey("ES256");
});

afterAll(async () => {
  await Promise.all([world?.close(), strict?.close()]);
});

const send = createSend();

type Proof = Partial<DpopProof>;

const prove = (url: string, proof: Proof = {}): Promise<string> => dpopProof(url, { by: key, ...proof });

const signInBound = (gateway: McpGateway, more: object = {}): Promise<SignedInClient> =>
  gateway.signIn({ tokenHeaders: async (url) => ({ dpop: await prove(url) }), ...more });

const list = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list", params: {} });

function call(url: string, headers: Readonly<Record<string, string>>): Promise<Answer> {
  return send({
    method: "POST",
    url,
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      "mcp-protocol-version": "2025-06-18",
      ...headers,
    },
    body: list,
  });
}

async function callWith(url: string, token: string, proof: Proof = {}): Promise<Answer> {
  return call(url, { authorization: `DPoP ${token}`, dpop: await prove(url, { token, ...proof }) });
}

const said = ({ status, headers }: Answer): string => {
  const challenge = headers["www-authenticate"] ?? "";
  const error = /error="(\w+)"/.exec(challenge)?.[1];
  return [status, challenge.split(" ")[0], error].filter((part) => part !== undefined && part !== "").join(" ");
};

describe("allowed", () => {
  test("sep-1932-as-metadata-alg-values, sep-1932-as-no-none-alg", async () => {
    const metadata = await (await world.signIn()).oauth.discover();
    const algorithms = metadata["dpop_signing_alg_values_supported"] as readonly string[];
    expect(algorithms).toContain("ES256");
    expect(algorithms.filter((alg) => alg === "none" || alg.startsWith("HS"))).toEqual([]);
  });

  test("sep-1932-as-token-binding: token_type DPoP, and cnf at introspection", async () => {
    const metadata = { token_endpoint_auth_method: "client_secret_post" };
    const client = await signInBound(world, { metadata });
    expect(client.tokens.token_type).toBe("DPoP");
    const described = await client.oauth.sendIntrospection({
      token: client.tokens.access_token,
      ...clientProof(client.registration),
    });
    expect(described.json()).toMatchObject({
      active: true,
      token_type: "DPoP",
      cnf: { jkt: await calculateJwkThumbprint(key.jwk) },
    });
  });

  test("sep-1932-server-reject-401: a bound token is valid only with a proof of its key for this request", async () => {
    const { tokens } = await signInBound(world);
    const token = tokens.access_token;
    const url = world.resource;
    expect(said(await callWith(url, token))).toBe("200");
    const proof = (more: Proof = {}): Promise<string> => prove(url, { token, ...more });
    const attempts: Record<string, Readonly<Record<string, string>>> = {
      "as Bearer": { authorization: `Bearer ${token}` },
      "as Bearer with a proof": { authorization: `Bearer ${token}`, dpop: await proof() },
      "without a proof": { authorization: `DPoP ${token}` },
      "by another key": { authorization: `DPoP ${token}`, dpop: await proof({ by: await makeSigningKey("ES256") }) },
      "for another method": { authorization: `DPoP ${token}`, dpop: await proof({ method: "GET" }) },
      "for another address": { authorization: `DPoP ${token}`, dpop: await prove(world.otherResource, { token }) },
      "for another token": { authorization: `DPoP ${token}`, dpop: await proof({ token: `${token}x` }) },
      "for no token": { authorization: `DPoP ${token}`, dpop: await prove(url) },
    };
    const results: Record<string, string> = {};
    for (const [name, headers] of Object.entries(attempts)) results[name] = said(await call(url, headers));
    const invalidProof = "401 DPoP invalid_dpop_proof";
    expect(results).toEqual({
      "as Bearer": "401 DPoP invalid_token",
      "as Bearer with a proof": "401 DPoP invalid_token",
      "without a proof": invalidProof,
      "by another key": invalidProof,
      "for another method": invalidProof,
      "for another address": invalidProof,
      "for another token": invalidProof,
      "for no token": invalidProof,
    });
  });

  test("sep-1932-server-audience-validation: a token for another server is refused, with a valid proof", async () => {
    const { tokens } = await signInBound(world);
    expect(said(await callWith(world.otherResource, tokens.access_token))).toBe("401 Bearer invalid_token");
  });

  test("a token without a key remains a Bearer token, and is none with the DPoP scheme", async () => {
    const { tokens } = await world.signIn();
    expect(tokens.token_type).toBe("Bearer");
    expect(said(await call(world.resource, { authorization: `Bearer ${tokens.access_token}` }))).toBe("200");
    expect(said(await callWith(world.resource, tokens.access_token))).toBe("401 Bearer invalid_token");
  });

  test("refresh tokens of public clients are bound; a thief's attempt ends nothing", async () => {
    const client = await signInBound(world);
    const form = {
      grant_type: "refresh_token",
      refresh_token: client.tokens.refresh_token ?? "",
      ...clientProof(client.registration),
    };
    const { token_endpoint: url } = await client.oauth.discover();
    const stolen = await makeSigningKey("ES256");
    for (const headers of [{}, { dpop: await prove(url, { by: stolen }) }]) {
      const answer = await client.oauth.sendToken(form, headers);
      expect([answer.status, answer.json()["error"]]).toEqual([400, "invalid_dpop_proof"]);
    }
    const old = client.tokens.refresh_token;
    await client.refresh();
    expect(client.tokens).toMatchObject({ token_type: "DPoP" });
    expect(client.tokens.refresh_token).not.toBe(old);
    expect(said(await callWith(world.resource, client.tokens.access_token))).toBe("200");
    // The response of the rotation is repeated to its key only.
    const again = await client.oauth.sendToken(form, { dpop: await prove(url, { by: stolen }) });
    expect(again.json()["error"]).toBe("invalid_dpop_proof");
    expect((await client.oauth.sendToken(form, { dpop: await prove(url) })).status).toBe(200);
  });

  test("sep-1932-as-dpop-bound-enforcement: a client that is registered for it never gets other tokens", async () => {
    const metadata = { dpop_bound_access_tokens: true };
    await expect(world.signIn({ metadata })).rejects.toThrow(/invalid_dpop_proof/);
    const client = await signInBound(world, { metadata });
    expect(client.registration["dpop_bound_access_tokens"]).toBe(true);
    expect(client.tokens.token_type).toBe("DPoP");
  });

  test("dpop_jkt: a code is exchanged with the key that the request named", async () => {
    const parameters = { dpop_jkt: await calculateJwkThumbprint(key.jwk) };
    const other = await makeSigningKey("ES256");
    const byOther = async (url: string) => ({ dpop: await prove(url, { by: other }) });
    await expect(world.signIn({ parameters })).rejects.toThrow(/invalid_grant/);
    await expect(world.signIn({ parameters, tokenHeaders: byOther })).rejects.toThrow(/invalid_grant/);
    expect((await signInBound(world, { parameters })).tokens.token_type).toBe("DPoP");
    await expect(world.signIn({ parameters: { dpop_jkt: "short" } })).rejects.toThrow(/dpop_jkt/);
  });
});

describe("required, with nonces", () => {
  test("sep-1932-server-nonce: a proof without a nonce is answered with one, at both endpoints", async () => {
    const nonces: string[] = [];
    const signIn = (): Promise<SignedInClient> =>
      strict.signIn({
        tokenHeaders: async (url) => ({ dpop: await prove(url, nonces[0] ? { nonce: nonces[0] } : {}) }),
      });
    await expect(signIn()).rejects.toThrow(/use_dpop_nonce/);
    const { token_endpoint: url } = await createOAuthClient({ resource: strict.resource }).discover();
    const { client_id } = await createOAuthClient({ resource: strict.resource }).register();
    const refused = await send({
      method: "POST",
      url,
      headers: { "content-type": "application/x-www-form-urlencoded", dpop: await prove(url) },
      body: new URLSearchParams({ grant_type: "authorization_code", code: "x", client_id }).toString(),
    });
    nonces.push(refused.headers["dpop-nonce"] ?? "");
    const token = (await signIn()).tokens.access_token;
    const first = await callWith(strict.resource, token);
    expect(said(first)).toBe("401 DPoP use_dpop_nonce");
    const nonce = first.headers["dpop-nonce"] ?? "";
    expect(said(await callWith(strict.resource, token, { nonce }))).toBe("200");
    expect(said(await callWith(strict.resource, token, { nonce: "invented" }))).toBe("401 DPoP use_dpop_nonce");
    // The same through a federated route, which has no such setting itself.
    const { tokens } = await strict.signIn({
      resource: strict.federatedResource,
      tokenHeaders: async (url) => ({ dpop: await prove(url, { nonce }) }),
    });
    const federated = (proof: Proof): Promise<Answer> => callWith(strict.federatedResource, tokens.access_token, proof);
    expect([said(await federated({})), said(await federated({ nonce }))]).toEqual(["401 DPoP use_dpop_nonce", "200"]);
  });

  test("tokens without a key are refused, directly and through a federated route", async () => {
    const bearer = async (resource: string): Promise<Answer> => {
      const { tokens } = await strict.signIn({ resource });
      return call(resource, { authorization: `Bearer ${tokens.access_token}` });
    };
    expect(said(await bearer(strict.resource))).toBe("401 DPoP invalid_token");
    const listed = await bearer(strict.federatedResource);
    expect(listed.status).toBe(200);
    const names = [...listed.text.matchAll(/"name":"(\w+)"/g)].map(([, name = ""]) => name);
    expect(names.filter((name) => name.startsWith("n__")).length).toBeGreaterThan(0);
    expect(names.filter((name) => name.startsWith("t__"))).toEqual([]);
  });
});

test("only who checks proofs accepts a bound token", async () => {
  const issuer = await startIssuer();
  try {
    const { tokens } = await issuer.signIn();
    const opened = issuer.externalTokens.open(tokens.access_token);
    if (!opened.ok) throw new Error(opened.reason);
    const bound = issuer.externalTokens.mint({ ...opened.claims, keyThumbprint: "k" });
    const audience = { resource: RESOURCE, origin: ORIGIN };
    // Twice: from the records, and from the cache.
    for (let count = 0; count < 2; count += 1) {
      expect(await issuer.callers.bearer(bound, audience)).toEqual({ ok: false, reason: "proof-missing" });
      const { principal } = {
        principal: undefined,
        ...(await issuer.callers.bearer(bound, { ...audience, checksProof: true })),
      };
      expect(principal).toMatchObject({ keyThumbprint: "k" });
    }
  } finally {
    await issuer.close();
  }
});

// sep-1932-client-token-request-proof, -as-nonce, -rs-nonce, -dpop-auth-scheme (this route accepts nothing less), -fresh-proof.
test("SDK v2 finds, signs in, gets nonces, calls, and refreshes unaided", async () => {
  const { provider, kept, callback } = createSdkProvider("alice@example.com");
  const session = await DpopSession.create();
  const proofs: (string | null)[] = [];
  const options = {
    authProvider: { ...provider, dpop: () => session },
    fetch: (to: string | URL, init?: RequestInit) => {
      if (to.toString() === strict.resource) proofs.push(new Headers(init?.headers).get("dpop"));
      return fetch(to, init);
    },
  };
  const url = new URL(strict.resource);
  const first = new StreamableHTTPClientTransport(url, options);
  await expect(new Client({ name: "v2", version: "1" }).connect(first)).rejects.toThrow();
  await first.finishAuth(callback());
  const client = new Client({ name: "v2", version: "1" });
  await client.connect(new StreamableHTTPClientTransport(url, options));
  expect(kept.get("tokens")).toMatchObject({ token_type: "DPoP" });
  const result = await client.callTool({ name: "list_repos", arguments: {} });
  expect(JSON.stringify(result.content)).toContain("gateway");
  const tokens = kept.get("tokens") as Record<string, unknown>;
  kept.set("tokens", { ...tokens, access_token: "gwt_expired" });
  expect((await client.listTools()).tools.length).toBeGreaterThan(0);
  expect((kept.get("tokens") as Record<string, unknown>)["refresh_token"]).not.toBe(tokens["refresh_token"]);
  await client.close();
  const sent = proofs.filter((proof) => proof !== null);
  expect(sent.length).toBeGreaterThan(3);
  expect(new Set(sent).size).toBe(sent.length);
});
