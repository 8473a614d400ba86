import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { runCli } from "../../../../runtime/cli.ts";
import { CLIENTS, needsOf } from "../../../../runtime/tools/doctor/clients.ts";
import { examine, type DoctorReport } from "../../../../runtime/tools/doctor/doctor.ts";
import { formatDoctorReport } from "../../../../runtime/tools/doctor/text.ts";
import {
  startDoctorFixture,
  type Bend,
  type FixtureAnswer,
  type FixtureRequest,
} from "../../../support/doctor-fixture.ts";
import { startMcpGateway, type McpGateway } from "../../../support/mcp-gateway.ts";

async function examineBent(bend?: Bend): Promise<DoctorReport> {
  const fixture = await startDoctorFixture(bend);
  try {
    return await examine(fixture.url);
  } finally {
    await fixture.close();
  }
}

/** Ids of rules with this outcome, sorted, each once. */
function rulesOf(report: DoctorReport, outcome: string): readonly string[] {
  const results = report.clients.flatMap(({ needs, wants }) => [...needs, ...wants]);
  return [...new Set(results.filter(({ verdict }) => verdict.outcome === outcome).map(({ rule }) => rule))].sort();
}

const isPost = ({ method, path }: FixtureRequest): boolean => method === "POST" && path === "/mcp";
const has = (request: FixtureRequest, text: string): boolean => request.body.includes(text);

/** Changes members of the JSON of answers at these addresses. */
const edit =
  (where: (path: string) => boolean, change: Readonly<Record<string, unknown>>): Bend =>
  (request, answer) =>
    request.method !== "OPTIONS" && where(request.path) && typeof answer.body === "object"
      ? { ...answer, body: { ...answer.body, ...change } }
      : answer;
const isServerMetadata = (path: string): boolean => /oauth-authorization-server|openid-configuration/.test(path);
const isResourceMetadata = (path: string): boolean => path.includes("oauth-protected-resource");

/** Answers differently when `matches`. */
const instead =
  (matches: (request: FixtureRequest) => boolean, other: FixtureAnswer): Bend =>
  (request, answer) =>
    matches(request) ? other : answer;

const header =
  (matches: (request: FixtureRequest) => boolean, name: string, change: (value: string) => string | undefined): Bend =>
  (request, answer) => {
    if (!matches(request)) return answer;
    const { [name]: value = "", ...others } = answer.headers ?? {};
    const changed = change(value);
    return { ...answer, headers: changed === undefined ? others : { ...others, [name]: changed } };
  };

const isAuthorize = (parameter: string, test: (value: string | null) => boolean) => (request: FixtureRequest) =>
  request.path === "/authorize" && test(request.query.get(parameter));
const pageOf400: FixtureAnswer = { status: 400, body: "<html>no</html>" };
const noDocuments = { client_id_metadata_document_supported: false };
const both =
  (first: Bend, second: Bend): Bend =>
  (request, answer, origin) =>
    second(request, first(request, answer, origin), origin);
/** Clients with a document register only where documents are off. */
const withoutDocuments = (bend: Bend): Bend => both(edit(isServerMetadata, noDocuments), bend);
const registration = (request: FixtureRequest, text: string): boolean =>
  request.method === "POST" && request.path === "/register" && has(request, text);

/** One defect each: what is bent, the rules that must be broken, and no others. */
const defects: readonly (readonly [defect: string, broken: readonly string[], bend: Bend])[] = [
  [
    "a login page instead of 401",
    ["initialize-challenged"],
    (request, answer) =>
      isPost(request) &&
      has(request, '"initialize"') &&
      request.header("authorization") === undefined &&
      request.body.length < 9999 &&
      request.header("origin") === undefined
        ? { status: 302, headers: { location: "/login" } }
        : answer,
  ],
  [
    "400 to unknown methods before the token",
    ["discover-challenged"],
    instead((request) => isPost(request) && has(request, "server/discover"), { status: 400 }),
  ],
  [
    "405 to GET before the token",
    ["get-challenged"],
    instead(({ method, path }) => method === "GET" && path === "/mcp", { status: 405 }),
  ],
  [
    "413 before the token",
    ["large-body-challenged"],
    instead((request) => isPost(request) && request.body.length > 9999, { status: 413 }),
  ],
  [
    "403 to a bad token",
    ["bad-token-challenged"],
    instead((request) => isPost(request) && request.header("authorization") !== undefined, { status: 403 }),
  ],
  [
    "a bad token is not named",
    ["bad-token-challenged"],
    header(
      (request) => request.header("authorization") !== undefined,
      "www-authenticate",
      (value) => value.replace('error="invalid_token", ', ""),
    ),
  ],
  [
    "Basic comes first",
    ["challenge-names-metadata"],
    header(
      (request) => request.path === "/mcp" && request.header("authorization") === undefined,
      "www-authenticate",
      (value) => `Basic realm="x", ${value}`,
    ),
  ],
  [
    "a challenge without metadata",
    ["challenge-names-metadata"],
    header(
      (request) => request.path === "/mcp" && request.header("authorization") === undefined,
      "www-authenticate",
      () => 'Bearer realm="x"',
    ),
  ],
  [
    "an error without a token",
    ["challenge-reads-plainly"],
    header(
      (request) => request.path === "/mcp" && request.header("authorization") === undefined,
      "www-authenticate",
      (value) => `${value}, error="invalid_token"`,
    ),
  ],
  [
    "a parameter that ends in scope",
    ["challenge-reads-plainly"],
    header(
      (request) => request.path === "/mcp",
      "www-authenticate",
      (value) => `${value}, old_scope="x"`,
    ),
  ],
  [
    "no authorization server is named",
    ["resource-metadata-found"],
    edit(isResourceMetadata, { authorization_servers: [] }),
  ],
  [
    "metadata of another resource",
    ["resource-matches"],
    (request, answer, origin) => edit(isResourceMetadata, { resource: `${origin}/other` })(request, answer, origin),
  ],
  [
    "no metadata at the path",
    ["resource-metadata-at-path"],
    both(
      header(
        ({ path }) => path === "/mcp",
        "www-authenticate",
        (value) => value.replace("oauth-protected-resource/mcp", "oauth-protected-resource"),
      ),
      (request, answer, origin) =>
        request.path === "/.well-known/oauth-protected-resource/mcp"
          ? { status: 404 }
          : request.path === "/.well-known/oauth-protected-resource" && request.method === "GET"
            ? {
                status: 200,
                headers: { "access-control-allow-origin": "*" },
                body: { resource: `${origin}/mcp`, authorization_servers: [origin] },
              }
            : answer,
    ),
  ],
  [
    "500 at the root metadata",
    ["resource-metadata-at-root"],
    instead(({ path }) => path === "/.well-known/oauth-protected-resource", { status: 500 }),
  ],
  [
    "the resource asks for offline_access",
    ["no-offline-access"],
    edit(isResourceMetadata, { scopes_supported: ["mcp", "offline_access"] }),
  ],
  [
    "metadata under the OpenID name only",
    ["metadata-on-host", "server-metadata-found"],
    instead(({ path }) => path === "/.well-known/oauth-authorization-server", { status: 404 }),
  ],
  [
    "a page at the OpenID address",
    ["openid-metadata-found"],
    instead(({ path }) => path === "/.well-known/openid-configuration", { status: 200, body: "<html>" }),
  ],
  [
    "500 at a path form",
    ["path-forms-answered"],
    instead(({ path }) => path === "/mcp/.well-known/openid-configuration", { status: 500 }),
  ],
  [
    "another issuer at a path form",
    ["path-forms-answered"],
    edit((path) => path === "/.well-known/openid-configuration/mcp", { issuer: "https://other.example" }),
  ],
  [
    "another issuer",
    ["answers-carry-iss", "issuer-matches"],
    (request, answer, origin) => edit(isServerMetadata, { issuer: `${origin}/` })(request, answer, origin),
  ],
  [
    "plain http elsewhere",
    ["endpoints-secure"],
    edit(isServerMetadata, { revocation_endpoint: "http://auth.example/revoke" }),
  ],
  ["no code flow", ["endpoints-named"], edit(isServerMetadata, { response_types_supported: ["token"] })],
  [
    "no refresh tokens",
    ["refresh-advertised"],
    edit(isServerMetadata, {
      grant_types_supported: ["authorization_code", "urn:ietf:params:oauth:grant-type:jwt-bearer"],
    }),
  ],
  ["no S256", ["pkce-advertised"], edit(isServerMetadata, { code_challenge_methods_supported: undefined })],
  [
    "no public clients",
    ["documents-advertised", "public-clients-advertised"],
    edit(isServerMetadata, { token_endpoint_auth_methods_supported: ["client_secret_basic"] }),
  ],
  ["no iss", ["iss-advertised"], edit(isServerMetadata, { authorization_response_iss_parameter_supported: undefined })],
  ["no documents", ["documents-advertised"], edit(isServerMetadata, noDocuments)],
  ["no registration", ["registration-advertised"], edit(isServerMetadata, { registration_endpoint: undefined })],
  [
    "registration refuses 127.0.0.1",
    ["registers-loopback"],
    instead(
      (request) =>
        registration(
          request,
          `["http://127.0.0.1:33418/callback"],"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],"response_types":["code"]}`,
        ),
      { status: 400, body: { error: "invalid_redirect_uri" } },
    ),
  ],
  [
    "registration refuses localhost",
    ["registers-localhost"],
    instead((request) => registration(request, "localhost:33418"), {
      status: 400,
      body: { error: "invalid_redirect_uri" },
    }),
  ],
  [
    "registration hands out secrets unasked",
    ["registers-public"],
    edit((path) => path === "/register", { client_secret: "s" }),
  ],
  [
    "registration changes the method",
    ["registers-public"],
    edit((path) => path === "/register", { token_endpoint_auth_method: "client_secret_basic" }),
  ],
  [
    "registration refuses unknown members",
    ["registers-native"],
    instead((request) => registration(request, "gateway-doctor-unknown"), {
      status: 400,
      body: { error: "invalid_client_metadata" },
    }),
  ],
  [
    "registration refuses a set with a custom scheme",
    ["keeps-custom-scheme", "registers-custom-scheme-among-others"],
    instead((request) => registration(request, "cursor://"), { status: 400, body: { error: "invalid_redirect_uri" } }),
  ],
  [
    "registration drops the custom scheme",
    ["keeps-custom-scheme"],
    (request, answer) =>
      registration(request, "cursor://") && typeof answer.body === "object"
        ? { ...answer, body: { ...answer.body, redirect_uris: (answer.body["redirect_uris"] as string[]).slice(1) } }
        : answer,
  ],
  [
    "registration drops a trailing slash",
    ["documents-advertised", "registers-several-redirects"],
    withoutDocuments((request, answer) =>
      registration(request, "vscode.dev") && typeof answer.body === "object"
        ? {
            ...answer,
            body: {
              ...answer.body,
              redirect_uris: (answer.body["redirect_uris"] as string[]).map((uri) => uri.replace(/\/$/, "")),
            },
          }
        : answer,
    ),
  ],
  [
    "registration refuses https",
    ["registers-web-redirect"],
    instead((request) => registration(request, "claude.ai"), { status: 400, body: { error: "invalid_redirect_uri" } }),
  ],
  [
    "no sign-in begins",
    [
      "accepts-document-of-claude-ai",
      "accepts-document-of-claude-code",
      "accepts-document-of-codex",
      "accepts-document-of-copilot-cli",
      "accepts-document-of-vs-code",
      "any-loopback-port",
      "authorize-begins",
      "exact-redirect",
      "no-resource",
      "slashed-resource",
      "unknown-scopes",
    ],
    instead(
      (request) =>
        request.path === "/authorize" &&
        request.query.get("response_type") === "code" &&
        request.query.has("code_challenge"),
      { status: 500 },
    ),
  ],
  [
    "loopback ports are compared",
    ["any-loopback-port"],
    instead(
      (request) => isAuthorize("redirect_uri", (value) => value?.includes("127.0.0.1:51123") ?? false)(request),
      pageOf400,
    ),
  ],
  [
    "unknown scopes are refused",
    ["unknown-scopes"],
    instead(
      isAuthorize("scope", (value) => value?.includes("openid") ?? false),
      { status: 302, headers: { location: "http://127.0.0.1:33418/callback?error=invalid_scope" } },
    ),
  ],
  [
    "resource is demanded",
    ["no-resource"],
    instead((request) => isAuthorize("resource", (value) => value === null)(request), pageOf400),
  ],
  [
    "resource is compared as text",
    ["slashed-resource"],
    instead(
      isAuthorize("resource", (value) => value?.endsWith("/") ?? false),
      { status: 302, headers: { location: "http://127.0.0.1:33418/callback?error=invalid_target" } },
    ),
  ],
  [
    "documents of one product are refused",
    ["accepts-document-of-claude-code"],
    instead(
      isAuthorize("client_id", (value) => value?.includes("claude-code") ?? false),
      { status: 403, body: { error: "client_id_domain_not_allowed" } },
    ),
  ],
  [
    "documents of VS Code are refused",
    ["accepts-document-of-vs-code"],
    instead(
      isAuthorize("client_id", (value) => value?.includes("vscode") ?? false),
      pageOf400,
    ),
  ],
  [
    "documents of Codex are refused",
    ["accepts-document-of-codex"],
    instead(
      isAuthorize("client_id", (value) => value?.includes("codex") ?? false),
      pageOf400,
    ),
  ],
  [
    "documents of Copilot CLI are refused",
    ["accepts-document-of-copilot-cli"],
    instead(
      isAuthorize("client_id", (value) => value?.includes("copilot") ?? false),
      pageOf400,
    ),
  ],
  [
    "documents of Claude are refused",
    ["accepts-document-of-claude-ai"],
    instead(
      isAuthorize("client_id", (value) => value?.includes("mcp-oauth-client") ?? false),
      pageOf400,
    ),
  ],
  [
    "redirects are compared by prefix",
    ["exact-redirect"],
    instead(
      isAuthorize("redirect_uri", (value) => value?.endsWith("/other") ?? false),
      { status: 302, headers: { location: "/login" } },
    ),
  ],
  [
    "PKCE is optional",
    ["pkce-required"],
    instead(
      isAuthorize("code_challenge", (value) => value === null),
      { status: 302, headers: { location: "/login" } },
    ),
  ],
  [
    "errors come without iss",
    ["answers-carry-iss"],
    header(
      isAuthorize("response_type", (value) => value === "token"),
      "location",
      (value) => value.replace(/&iss=.*/, ""),
    ),
  ],
  [
    "errors come without state",
    ["answers-carry-iss"],
    header(
      isAuthorize("response_type", (value) => value === "token"),
      "location",
      (value) => value.replace(/&state=[^&]*/, ""),
    ),
  ],
  [
    "a wrong code is 401",
    ["token-takes-public-clients"],
    instead(({ path, body }) => path === "/token" && body.includes("authorization_code"), {
      status: 401,
      headers: { "access-control-allow-origin": "*", "cache-control": "no-store" },
      body: { error: "invalid_client" },
    }),
  ],
  [
    "a wrong refresh token is 500",
    ["refresh-refused-cleanly"],
    instead(({ path, body }) => path === "/token" && body.includes("client_id") && body.includes("refresh_token"), {
      status: 500,
    }),
  ],
  [
    "token answers may be cached",
    ["token-not-cached"],
    header(
      ({ path }) => path === "/token",
      "cache-control",
      () => undefined,
    ),
  ],
  [
    "preflight needs a token",
    ["preflight-route"],
    instead(({ method, path }) => method === "OPTIONS" && path === "/mcp", { status: 401 }),
  ],
  [
    "preflight lacks a header",
    ["preflight-route"],
    header(
      ({ method, path }) => method === "OPTIONS" && path === "/mcp",
      "access-control-allow-headers",
      () => "content-type",
    ),
  ],
  [
    "the challenge is not exposed",
    ["challenge-exposed"],
    header(
      ({ path }) => path === "/mcp",
      "access-control-expose-headers",
      () => undefined,
    ),
  ],
  [
    "metadata without CORS",
    ["metadata-readable"],
    header(
      ({ path, method }) => method === "GET" && isServerMetadata(path),
      "access-control-allow-origin",
      () => undefined,
    ),
  ],
  [
    "token endpoint without preflight",
    ["token-reachable"],
    instead(({ method, path }) => method === "OPTIONS" && path === "/token", { status: 405 }),
  ],
  [
    "registration without preflight",
    ["registration-reachable"],
    instead(({ method, path }) => method === "OPTIONS" && path === "/register", { status: 405 }),
  ],
  [
    "the ID-JAG profile under one name only",
    ["id-jag-agreed"],
    edit((path) => path.startsWith("/.well-known/openid"), { authorization_grant_profiles_supported: [] }),
  ],
  [
    "other grants under the other name",
    ["id-jag-agreed"],
    edit((path) => path.startsWith("/.well-known/openid"), {
      grant_types_supported: ["authorization_code", "refresh_token"],
    }),
  ],
  [
    "the ID-JAG profile without its grant",
    ["id-jag-grant-advertised"],
    edit(isServerMetadata, { grant_types_supported: ["authorization_code", "refresh_token"] }),
  ],
  [
    "no method for clients that prove themselves",
    ["proven-clients-advertised"],
    edit(isServerMetadata, { token_endpoint_auth_methods_supported: ["none"] }),
  ],
  [
    "a grant that is named and not known",
    ["assertion-judged"],
    instead(({ path, body }) => path === "/token" && body.includes("jwt-bearer"), {
      status: 400,
      body: { error: "unsupported_grant_type" },
    }),
  ],
  [
    "introspection without a proof",
    ["introspection-guarded"],
    instead(({ path }) => path === "/introspect", { status: 200, body: { active: false } }),
  ],
  [
    "introspection for public clients",
    ["introspection-guarded"],
    edit(isServerMetadata, { introspection_endpoint_auth_methods_supported: ["none"] }),
  ],
  [
    "foreign pages are heard",
    ["foreign-origin-refused"],
    instead((request) => isPost(request) && (request.header("origin")?.includes("invalid") ?? false), { status: 401 }),
  ],
];

describe("examine()", () => {
  test("finds nothing wrong with a server that does everything right", async () => {
    const report = await examineBent();
    expect(rulesOf(report, "broken")).toEqual([]);
    expect(rulesOf(report, "unknown")).toEqual([]);
    expect(report.clients.map(({ client, outcome }) => `${client} ${outcome}`)).toEqual(
      CLIENTS.map(({ id }) => `${id} works`),
    );
    expect(report.ok).toBe(true);
  });

  test.each(defects)("notices one defect and only that: %s", async (_, broken, bend) => {
    expect(rulesOf(await examineBent(bend), "broken")).toEqual(broken);
  });

  test("every rule has a defect here that breaks it", () => {
    const rules = CLIENTS.flatMap((client) => [...needsOf(client, true), ...needsOf(client, false), ...client.wants]);
    const tested = new Set(defects.flatMap(([, broken]) => broken));
    expect([...new Set(rules.map(({ id }) => id))].filter((id) => !tested.has(id))).toEqual([]);
  });

  test("reports that enterprise clients are not supported, and the fix, without calling it a failure", async () => {
    const report = await examineBent(
      edit(isServerMetadata, { authorization_grant_profiles_supported: undefined, introspection_endpoint: undefined }),
    );
    expect(report.ok).toBe(true);
    expect(rulesOf(report, "broken")).toEqual([]);
    expect(report.clients.find(({ client }) => client === "enterprise")?.outcome).toBe("not-offered");
    const text = formatDoctorReport(report);
    expect(text).toMatch(/^ {2}Clients by the company's identity provider \(ID-JAG\) +is not offered here$/m);
    expect(text).toMatch(/^ {2}enterprise: .*identity_issuers.*id_jag/m);
  });

  test("names the setting for too long messages: a file of 6 KB is often the first thing that users send", async () => {
    const text = formatDoctorReport(await examineBent());
    expect(text).toMatch(/4 KiB.+file of 6 KB.+413.+mcp\.server\.max_request_bytes/);
  });

  test("reports for each client whether it connects", async () => {
    const report = await examineBent(
      instead(({ path, method }) => path === "/mcp" && method === "GET", { status: 405 }),
    );
    expect(report.ok).toBe(false);
    expect(report.clients.filter(({ outcome }) => outcome === "fails").map(({ client }) => client)).toEqual([
      "mcp-remote",
    ]);
    const text = formatDoctorReport(report);
    expect(text).toMatch(/^ {2}mcp-remote +does not connect$/m);
    expect(text).toMatch(/^ {2}Cursor +connects$/m);
    expect(text).toMatch(
      /get-challenged: GET without a token is answered 401\n {4}seen: 405\n {4}fix: {2}.+\n {4}for: {2}mcp-remote/,
    );
  });

  test("reports in one line that nothing responds, and sends nothing else", async () => {
    const fixture = await startDoctorFixture();
    await fixture.close();
    const report = await examine(fixture.url);
    expect(report.ok).toBe(false);
    expect(report.clients.filter(({ outcome }) => outcome === "works")).toEqual([]);
    const text = formatDoctorReport(report);
    expect(text).toMatch(/^no response from http:\/\/127\.0\.0\.1:\d+\/mcp: .*ECONNREFUSED/);
    expect(text).not.toContain("\n");
  });

  test("a document that the gateway cannot fetch is named, with what lets it", async () => {
    const report = await examineBent(
      instead(
        isAuthorize("client_id", (value) => value?.startsWith("https://claude.ai/") ?? false),
        { status: 503, body: { error: "temporarily_unavailable" } },
      ),
    );
    const text = formatDoctorReport(report);
    expect(text).toMatch(
      /fix: {2}the gateway cannot fetch https:\/\/claude\.ai\/\S+: allow egress to claude\.ai, port 443/,
    );
    expect(text).not.toContain("add claude.ai");
  });

  test("is not led astray by hostile answers", async () => {
    const evil = "\u001b[2Jx".repeat(200);
    const report = await examineBent((request, answer) =>
      request.path === "/authorize"
        ? { status: 302, headers: { location: "http://[" } }
        : isServerMetadata(request.path)
          ? {
              ...answer,
              body: {
                issuer: evil,
                authorization_endpoint: "file:///etc/passwd",
                token_endpoint: "http://[",
                registration_endpoint: evil,
                introspection_endpoint: "http://[",
                grant_types_supported: evil,
                authorization_grant_profiles_supported: ["urn:ietf:params:oauth:grant-profile:id-jag", evil],
              },
            }
          : answer,
    );
    expect(report.ok).toBe(false);
    expect(formatDoctorReport(report)).not.toContain("\u001b");
  });

  test("sends each request once, with no credentials but made-up ones", async () => {
    const fixture = await startDoctorFixture();
    try {
      await examine(fixture.url);
      const asked = fixture.requests.map((request) =>
        JSON.stringify([
          request.method,
          request.path,
          request.query.toString(),
          request.body,
          request.header("origin"),
          request.header("authorization"),
          request.header("access-control-request-method"),
          request.header("mcp-protocol-version"),
        ]),
      );
      expect(asked.length).toBe(new Set(asked).size);
      expect(asked.length).toBeLessThan(60);
      const tokens = new Set(fixture.requests.map((request) => request.header("authorization")));
      expect(tokens).toEqual(new Set([undefined, "Bearer gateway-doctor-no-token"]));
      expect(fixture.requests.every((request) => request.header("cookie") === undefined)).toBe(true);
    } finally {
      await fixture.close();
    }
  });

  test.each(["ftp://example.com/", "mcp.example.com/mcp", ""])(
    "rejects %j, which is not an address",
    async (address) => {
      await expect(examine(address)).rejects.toThrow(/must be an http or https address/);
    },
  );
});

describe("gateway doctor against this gateway", () => {
  let world: McpGateway;

  beforeAll(async () => {
    world = await startMcpGateway({
      settings:
        'mcp_allowed_client_id_domains: [clients.example]\nmcp_allowed_private_redirect_uris: ["cursor://anysphere.cursor-mcp/oauth/callback"]',
    });
  });

  afterAll(async () => {
    await world?.close();
  });

  test("every rule is met; documents of domains that are not allowed are named", async () => {
    const report = await examine(world.resource);
    expect(rulesOf(report, "broken")).toEqual([
      "accepts-document-of-claude-ai",
      "accepts-document-of-claude-code",
      "accepts-document-of-codex",
      "accepts-document-of-copilot-cli",
      "accepts-document-of-vs-code",
    ]);
    expect(rulesOf(report, "unknown")).toEqual([]);
    expect(formatDoctorReport(report)).toContain("add claude.ai to mcp_allowed_client_id_domains");
  });

  test("every client connects where documents are off", async () => {
    const plain = await startMcpGateway({
      settings: 'mcp_allowed_private_redirect_uris: ["cursor://anysphere.cursor-mcp/oauth/callback"]',
    });
    try {
      const report = await examine(plain.resource);
      expect(rulesOf(report, "broken")).toEqual(["documents-advertised"]);
      expect(rulesOf(report, "unknown")).toEqual([]);
      expect(report.ok).toBe(true);
      // The base of the route is an address that users type too.
      const base = await examine(plain.resource.replace(/\/mcp$/, ""));
      expect(rulesOf(base, "broken")).toEqual(["documents-advertised"]);
      // Not served; the report says which address is.
      const below = await examine(`${plain.resource}/below`);
      expect(rulesOf(below, "broken")).toContain("resource-matches");
      expect(formatDoctorReport(below)).toContain(`resource is "${plain.resource}"`);
    } finally {
      await plain.close();
    }
  });

  test("enterprise clients find what they need where an issuer counts on the host", async () => {
    expect((await examine(world.resource)).clients.find(({ client }) => client === "enterprise")?.outcome).toBe(
      "not-offered",
    );
    const issuer = 'https://idp.example.com", uses: [id_jag], jwks_url: "https://idp.example.com/keys';
    const settings = `mcp_dynamic_registration: false\nidentity_issuers: { company: { issuer: "${issuer}" } }`;
    const served = await startMcpGateway({ settings });
    try {
      const report = await examine(served.resource);
      expect(report.clients.find(({ client }) => client === "enterprise")?.outcome).toBe("works");
    } finally {
      await served.close();
    }
  });

  test("the command prints the report, and answers 1 where a client fails", async () => {
    const printed: string[] = [];
    const log = console.log;
    console.log = (text: string) => void printed.push(text);
    try {
      expect(await runCli(["doctor", world.resource])).toBe(1);
      expect(await runCli(["doctor", "--json", world.resource])).toBe(1);
    } finally {
      console.log = log;
    }
    expect(printed[0]).toContain("accepts-document-of-claude-code");
    expect((JSON.parse(printed[1] ?? "") as DoctorReport).clients).toHaveLength(CLIENTS.length);
  });
});
