import { pino } from "pino";
import { describe, expect, test } from "vitest";

import { createSafeFetch, type SafeAnswer, type SafeFetch } from "../../../../../runtime/http/fetch/safe-fetch.ts";
import { boundIssuerKey } from "../../../../../runtime/oauth/client/connection-records.ts";
import { createBoundIssuers } from "../../../../../runtime/oauth/client/discovery/bound-issuer.ts";
import { systemClock } from "../../../../../runtime/shared/clock.ts";
import { createKeys } from "../../../../../runtime/shared/keys.ts";
import { createMemoryStore } from "../../../../../runtime/store/memory.ts";
import { discover, type DiscoverOptions } from "../../../../../runtime/oauth/client/discovery/discover.ts";
import {
  parseServerMetadata,
  resourceMetadataUrls,
  serverMetadataUrls,
} from "../../../../../runtime/oauth/client/discovery/metadata.ts";
import { canConnect, findTarget, type UpstreamTarget } from "../../../../../runtime/oauth/client/target.ts";
import { routeNamed, snapshotFrom } from "../../../../support/config.ts";
import { serverMetadata } from "../../../../support/upstream-service.ts";

const UPSTREAM = "https://api.example.com/v1/mcp";
const AS = "https://as.example.com/tenant";

interface World {
  readonly target: UpstreamTarget;
  readonly settings: ReturnType<typeof snapshotFrom>["settings"];
  readonly asked: string[];
  readonly fetch: SafeFetch;
}

/** Documents by URL; others are 404. The real guarded fetch checks first, and reaches nothing. */
function world(documents: Readonly<Record<string, unknown>>, more: { listed?: string; server?: string } = {}): World {
  const snapshot = snapshotFrom(`
runtime_flags: { mcp: true }
mcp_allowed_as_metadata_domains: ${more.listed ?? "[api.example.com, as.example.com]"}
routes:
  - name: server
    from: https://mcp.gateway.example
    to: https://api.example.com/v1
    mcp: { server: { path: /mcp${more.server ?? ""} } }
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`);
  const target = findTarget(routeNamed(snapshot, "server"));
  if (!target) throw new Error("no target");
  const asked: string[] = [];
  const guarded = createSafeFetch({ development: false, resolve: async () => [] });
  const fetch: SafeFetch = async (request): Promise<SafeAnswer> => {
    const refused = await guarded(request);
    if (!refused.ok && refused.reason !== "unresolved") return refused;
    asked.push(request.url);
    const document = documents[request.url];
    if (document instanceof Error) return { ok: false, reason: "unreachable", detail: document.message };
    if (typeof document === "number") return { ok: true, status: document, headers: {}, body: Buffer.from("") };
    if (document === undefined) return { ok: true, status: 404, headers: {}, body: Buffer.from("") };
    const text = typeof document === "string" ? document : JSON.stringify(document);
    return { ok: true, status: 200, headers: {}, body: Buffer.from(text) };
  };
  return { target, settings: snapshot.settings, asked, fetch };
}

const run = (given: World, options: Partial<DiscoverOptions> = {}) =>
  discover({ fetch: given.fetch, development: false }, given.target, given.settings, {
    isChallenged: true,
    ...options,
  });

const PRM_PATH = "https://api.example.com/.well-known/oauth-protected-resource/v1/mcp";
const PRM_ROOT = "https://api.example.com/.well-known/oauth-protected-resource";
const prm = (more: object = {}): object => ({ resource: UPSTREAM, authorization_servers: [AS], ...more });
const AS_OAUTH = "https://as.example.com/.well-known/oauth-authorization-server/tenant";
const AS_OPENID = "https://as.example.com/.well-known/openid-configuration/tenant";
const AS_OPENID_BELOW = "https://as.example.com/tenant/.well-known/openid-configuration";
const as = (more: object = {}): object => ({ ...serverMetadata(AS), ...more });

describe("discover(): the exact orders", () => {
  test("protected resource metadata: with the path, then at the root; server metadata: RFC 8414, OpenID, OpenID below", async () => {
    const given = world({ [PRM_ROOT]: prm(), [AS_OPENID_BELOW]: as() });
    expect(await run(given)).toMatchObject({ ok: true, value: { resource: UPSTREAM, server: { issuer: AS } } });
    expect(given.asked).toEqual([PRM_PATH, PRM_ROOT, AS_OAUTH, AS_OPENID, AS_OPENID_BELOW]);
  });

  test("the upstream's challenge says where first", async () => {
    const where = "https://api.example.com/elsewhere.json";
    const given = world({ [where]: prm(), [AS_OAUTH]: as() });
    expect(await run(given, { resourceMetadata: where })).toMatchObject({ ok: true });
    expect(given.asked).toEqual([where, AS_OAUTH]);
  });

  test("without a path there is one place each", () => {
    expect(resourceMetadataUrls("https://h/")).toEqual(["https://h/.well-known/oauth-protected-resource"]);
    expect(serverMetadataUrls("https://h")).toEqual([
      "https://h/.well-known/oauth-authorization-server",
      "https://h/.well-known/openid-configuration",
    ]);
  });

  test("authorization_server_url of the route is used if there is no protected resource metadata", async () => {
    const given = world({ [AS_OAUTH]: as() }, { server: `, authorization_server_url: "${AS}"` });
    expect(await run(given)).toMatchObject({ ok: true, value: { resource: UPSTREAM, server: { issuer: AS } } });
  });

  test("without any metadata, the upstream's own origin is requested, then its default endpoints are used, but only after a challenge", async () => {
    const given = world({});
    expect(await run(given)).toMatchObject({
      ok: true,
      value: { server: { authorizationEndpoint: "https://api.example.com/authorize" } },
    });
    expect(await run(world({}), { isChallenged: false })).toMatchObject({ ok: false, failure: "not-found" });
  });
});

describe("discover(): hostile documents", () => {
  test.each([
    ["a resource on another host", prm({ resource: "https://evil.example/v1/mcp" }), "invalid"],
    ["a resource on another port", prm({ resource: "https://api.example.com:8443/v1/mcp" }), "invalid"],
    ["a resource on another scheme", prm({ resource: "http://api.example.com/v1/mcp" }), "invalid"],
    ["a resource on another path", prm({ resource: "https://api.example.com/v2" }), "invalid"],
    ["a resource that is half a segment", prm({ resource: "https://api.example.com/v1/mc" }), "invalid"],
    ["a resource below", prm({ resource: `${UPSTREAM}/more` }), "invalid"],
    ["a resource with a fragment", prm({ resource: `${UPSTREAM}#x` }), "invalid"],
    ["a resource that is no text", prm({ resource: [UPSTREAM] }), "invalid"],
    ["no resource", { authorization_servers: [AS] }, "invalid"],
    ["no authorization server", prm({ authorization_servers: [] }), "invalid"],
    ["authorization servers that are no texts", prm({ authorization_servers: [1, {}] }), "invalid"],
    ["an unlisted authorization server", prm({ authorization_servers: ["https://evil.example"] }), "not-allowed"],
    ["a look-alike", prm({ authorization_servers: ["https://as.example.com.evil.example/tenant"] }), "not-allowed"],
    ["a user name for a host", prm({ authorization_servers: ["https://as.example.com@evil.example/"] }), "not-allowed"],
    ["an http authorization server", prm({ authorization_servers: ["http://as.example.com/tenant"] }), "not-allowed"],
    ["a script", prm({ authorization_servers: ["javascript:alert(1)"] }), "not-allowed"],
    ["a metadata address", prm({ authorization_servers: ["https://169.254.169.254/"] }), "not-allowed"],
  ])("protected resource metadata with %s is refused", async (_name, document, failure) => {
    const given = world({ [PRM_PATH]: document, [AS_OAUTH]: as() });
    expect(await run(given)).toMatchObject({ ok: false, failure });
    // Nothing that it names was contacted.
    expect(given.asked.every((url) => url.startsWith("https://api.example.com/"))).toBe(true);
  });

  test.each([
    ["another issuer", { issuer: "https://evil.example" }],
    ["an issuer that differs by a slash behind its path", { issuer: `${AS}/` }],
    ["an issuer in other case", { issuer: "https://AS.example.com/tenant" }],
    ["no issuer", { issuer: undefined }],
    ["no PKCE", { code_challenge_methods_supported: undefined }],
    ["PKCE without S256", { code_challenge_methods_supported: ["plain"] }],
    ["no authorization endpoint", { authorization_endpoint: undefined }],
    ["no token endpoint", { token_endpoint: undefined }],
    ["a script for an authorization endpoint", { authorization_endpoint: "javascript:alert(1)//" }],
    ["data for an authorization endpoint", { authorization_endpoint: "data:text/html,x" }],
    ["a fragment on the authorization endpoint", { authorization_endpoint: `${AS}/authorize#x` }],
    ["http for a token endpoint", { token_endpoint: "http://as.example.com/token" }],
    ["a user name on the token endpoint", { token_endpoint: "https://a:b@as.example.com/token" }],
    ["an object for a token endpoint", { token_endpoint: {} }],
    ["http for registration", { registration_endpoint: "http://as.example.com/register" }],
    ["no code flow", { response_types_supported: ["token"] }],
    ["no code grant", { grant_types_supported: ["client_credentials"] }],
  ])("server metadata with %s is refused", async (_name, more) => {
    const given = world({ [PRM_PATH]: prm(), [AS_OAUTH]: as(more) });
    expect(await run(given)).toMatchObject({ ok: false, failure: "invalid" });
  });

  test("no host is contacted that is not listed, the upstream's own included", async () => {
    const given = world({ [PRM_PATH]: prm() }, { listed: "[as.example.com]" });
    expect(await run(given)).toMatchObject({ ok: false, failure: "not-allowed" });
    expect(given.asked).toEqual([]);
    expect(canConnect(given.target, given.settings)).toBe(false);
  });

  test("a challenge cannot send us anywhere else", async () => {
    const given = world({ [PRM_PATH]: prm(), [AS_OAUTH]: as() });
    const hint = "https://evil.example/.well-known/oauth-protected-resource";
    expect(await run(given, { resourceMetadata: hint })).toMatchObject({ ok: true });
    expect(given.asked.some((url) => url.includes("evil.example"))).toBe(false);
  });

  test.each([
    ["does not answer", new Error("away")],
    ["answers 503", 503],
  ])("a host that %s does not count as one without metadata", async (_name, answer) => {
    expect(await run(world({ [PRM_PATH]: answer }))).toMatchObject({ ok: false, failure: "unavailable" });
    expect(await run(world({ [PRM_PATH]: prm(), [AS_OAUTH]: answer }))).toMatchObject({
      ok: false,
      failure: "unavailable",
    });
  });

  test.each<[string, unknown]>([
    ["null", null],
    ["text", '"fine"'],
    ["a number", 7],
    ["a list", []],
    ["a list of metadata", [prm()]],
    ["an empty object", {}],
    ["an error", { error: "not_found", message: "no route GET /.well-known/oauth-protected-resource" }],
    ["a JSON-RPC answer", { jsonrpc: "2.0", id: null, error: { code: -32600, message: "Bad Request" } }],
  ])("200 with other JSON than metadata is skipped like a 404: %s", async (_name, document) => {
    const json = typeof document === "number" ? "7" : document;
    const first = world({
      [PRM_PATH]: json,
      [PRM_ROOT]: prm(),
      [AS_OAUTH]: json,
      [AS_OPENID]: json,
      [AS_OPENID_BELOW]: as(),
    });
    expect(await run(first)).toMatchObject({ ok: true, value: { server: { issuer: AS } } });
    expect(first.asked).toEqual([PRM_PATH, PRM_ROOT, AS_OAUTH, AS_OPENID, AS_OPENID_BELOW]);
    // To the configured server, to the upstream's own origin, to its default endpoints.
    const configured = world(
      { [PRM_PATH]: json, [PRM_ROOT]: json, [AS_OAUTH]: as() },
      { server: `, authorization_server_url: "${AS}"` },
    );
    expect(await run(configured)).toMatchObject({ ok: true, value: { server: { issuer: AS } } });
    const bare = world({ [PRM_PATH]: json, [PRM_ROOT]: json });
    expect(await run(bare)).toMatchObject({
      ok: true,
      value: { server: { authorizationEndpoint: "https://api.example.com/authorize" } },
    });
    expect(await run(bare, { isChallenged: false })).toMatchObject({ ok: false, failure: "not-found" });
    // Where metadata must be, its absence is still a mistake.
    expect(await run(world({ [PRM_PATH]: prm(), [AS_OAUTH]: json }))).toMatchObject({ ok: false, failure: "invalid" });
  });

  test("a page for every path is no metadata", async () => {
    const given = world({ [PRM_PATH]: "<html>", [PRM_ROOT]: "<html>" });
    expect(await run(given, { isChallenged: false })).toMatchObject({ ok: false, failure: "not-found" });
  });
});

test("parseServerMetadata() takes the two spellings of a bare origin for one issuer", () => {
  const metadata = serverMetadata("https://h");
  expect(parseServerMetadata(metadata, "https://h/", false)).toMatchObject({
    ok: true,
    value: { issuer: "https://h" },
  });
});

describe("the issuer of a configured client", () => {
  const OTHER = "https://api.example.com";
  const documents = {
    [PRM_PATH]: prm({ authorization_servers: [OTHER] }),
    [AS_OAUTH]: as(),
    [`${OTHER}/.well-known/oauth-authorization-server`]: serverMetadata(OTHER),
  };

  test("metadata with another issuer are rejected, and that issuer is not requested", async () => {
    const given = world(documents);
    const found = await run(given, { issuer: AS });
    expect(found).toMatchObject({ ok: false, failure: "issuer-changed" });
    expect(given.asked).toEqual([PRM_PATH]);
  });

  test("of several issuers, it is the one that is used, at any position", async () => {
    const given = world({ ...documents, [PRM_PATH]: prm({ authorization_servers: [OTHER, AS] }) });
    expect(await run(given, { issuer: AS })).toMatchObject({ ok: true, value: { server: { issuer: AS } } });
  });

  test("without resource metadata it is requested, and not the upstream's own origin", async () => {
    const given = world({ [AS_OAUTH]: as() });
    expect(await run(given, { issuer: AS })).toMatchObject({ ok: true, value: { server: { issuer: AS } } });
  });

  test("authorization_server_url pins it, before anything was used and whatever was recorded", async () => {
    const secrets = ", upstream_oauth2: { client_id: ours, client_secret: secret }";
    const { target } = world({}, { server: `, authorization_server_url: "${AS}"${secrets}` });
    const store = createMemoryStore({ clock: systemClock });
    const keys = createKeys([Buffer.alloc(32, 1)]);
    const issuers = createBoundIssuers({ store, keys, clock: systemClock, log: pino({ level: "silent" }) });
    const { target: unpinned } = world({}, { server: secrets });
    expect(await issuers.bind(unpinned, OTHER)).toBe(OTHER);
    expect(await issuers.find(unpinned)).toBe(OTHER);
    expect(await issuers.find(target)).toBe(AS);
    expect(await issuers.bind(target, OTHER)).toBe(AS);
    // Another writer of the store cannot choose the issuer.
    const key = boundIssuerKey(unpinned);
    expect(JSON.stringify((await store.get(key))?.value)).not.toContain("example.com");
  });
});

describe("endpoints at another origin than their issuer's (mix-up, RFC 9700 §4.4)", () => {
  const elsewhere = { authorization_endpoint: "https://api.example.com/authorize" };

  test.each([elsewhere, { token_endpoint: "https://api.example.com/token" }])("%o is rejected", async (more) => {
    const found = await run(world({ [PRM_PATH]: prm(), [AS_OAUTH]: as(more) }));
    expect(found).toMatchObject({ ok: false, failure: "invalid" });
    expect(JSON.stringify(found)).toContain("authorization_server_url");
  });

  test("is accepted from a server that promises iss, whose absence is then rejected", async () => {
    const promise = { authorization_response_iss_parameter_supported: true };
    const given = world({ [PRM_PATH]: prm(), [AS_OAUTH]: as({ ...elsewhere, ...promise }) });
    expect(await run(given)).toMatchObject({ ok: true, value: { server: { sendsIssuer: true } } });
  });

  test("is accepted of the issuer that the route names", async () => {
    const documents = { [PRM_PATH]: prm(), [AS_OAUTH]: as(elsewhere) };
    expect(await run(world(documents, { server: `, authorization_server_url: "${AS}"` }))).toMatchObject({ ok: true });
    const another = `, authorization_server_url: "https://api.example.com/other"`;
    expect(await run(world(documents, { server: another }))).toMatchObject({ ok: false });
  });

  test("does not matter if no code is requested", async () => {
    const more = { token_endpoint: "https://api.example.com/token", grant_types_supported: ["client_credentials"] };
    const given = world({ [PRM_PATH]: prm(), [AS_OAUTH]: as(more) });
    expect(await run(given, { grantType: "client_credentials" })).toMatchObject({ ok: true });
  });
});
