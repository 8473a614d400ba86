/** How clients find the authorization server, in every address form that real clients try. Labels: see issuer.test.ts. */
import { describe, expect, test } from "vitest";

import { ONE_SERVER, ORIGIN, RESOURCE, useIssuers } from "../support/issuer.ts";

const start = useIssuers();

const policy = "policy: [{ allow: { and: [authenticated_user: true] } }]";
const MANY = `
runtime_flags: { mcp: true }
routes:
  - { name: github, from: https://mcp.example.com, prefix: /github, to: http://127.0.0.1:9, ${policy}, mcp: { server: { path: /mcp } } }
  - { name: jira, from: https://mcp.example.com, prefix: /jira, to: http://127.0.0.1:9, ${policy}, mcp: { server: {} } }
  - { name: app, from: https://app.example.com, to: http://127.0.0.1:9, ${policy}, mcp: { client: {} } }
`;

const WELL_KNOWN = "/.well-known/";

describe("authorization server metadata (RFC 8414)", () => {
  test("names everything a client needs, and the issuer byte for byte", async () => {
    const { send } = await start();
    const answer = await send({ method: "GET", url: `${ORIGIN}${WELL_KNOWN}oauth-authorization-server` });
    expect(answer.status).toBe(200);
    expect(answer.headers["content-type"]).toBe("application/json");
    expect(answer.json()).toEqual({
      issuer: ORIGIN,
      authorization_endpoint: `${ORIGIN}/.gateway/mcp/authorize`,
      token_endpoint: `${ORIGIN}/.gateway/mcp/token`,
      registration_endpoint: `${ORIGIN}/.gateway/mcp/register`,
      revocation_endpoint: `${ORIGIN}/.gateway/mcp/revoke`,
      introspection_endpoint: `${ORIGIN}/.gateway/mcp/introspect`,
      scopes_supported: ["mcp"],
      response_types_supported: ["code"],
      response_modes_supported: ["query"],
      grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
      token_endpoint_auth_methods_supported: ["none", "client_secret_basic", "client_secret_post", "private_key_jwt"],
      token_endpoint_auth_signing_alg_values_supported: ["ES256", "ES384", "EdDSA", "PS256", "RS256"],
      revocation_endpoint_auth_methods_supported: [
        "none",
        "client_secret_basic",
        "client_secret_post",
        "private_key_jwt",
      ],
      revocation_endpoint_auth_signing_alg_values_supported: ["ES256", "ES384", "EdDSA", "PS256", "RS256"],
      introspection_endpoint_auth_methods_supported: ["client_secret_basic", "client_secret_post", "private_key_jwt"],
      introspection_endpoint_auth_signing_alg_values_supported: ["ES256", "ES384", "EdDSA", "PS256", "RS256"],
      code_challenge_methods_supported: ["S256"],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: false,
    });
  });

  test.each([
    "oauth-authorization-server",
    "oauth-authorization-server/",
    "oauth-authorization-server/github/mcp",
    "oauth-authorization-server/github",
    "oauth-authorization-server/jira/",
    "openid-configuration",
    "openid-configuration/github/mcp",
  ])("is at /.well-known/%s", async (name) => {
    const { send } = await start({ yaml: MANY });
    const answer = await send({ method: "GET", url: `${ORIGIN}${WELL_KNOWN}${name}` });
    expect(answer.status).toBe(200);
    expect(answer.json()["issuer"]).toBe(ORIGIN);
  });

  test.each(["/github/mcp", "/github", "/jira"])("is below the route's path %s", async (path) => {
    const { send } = await start({ yaml: MANY });
    const answer = await send({ method: "GET", url: `${ORIGIN}${path}${WELL_KNOWN}openid-configuration` });
    expect(answer.status).toBe(200);
    expect(answer.json()).toMatchObject({ issuer: ORIGIN, subject_types_supported: ["public"] });
  });

  test("under the OpenID name has the members that OpenID clients insist on", async () => {
    const { send } = await start();
    const answer = await send({ method: "GET", url: `${ORIGIN}${WELL_KNOWN}openid-configuration` });
    expect(answer.json()).toMatchObject({
      jwks_uri: `${ORIGIN}/.well-known/gateway/jwks.json`,
      subject_types_supported: ["public"],
      id_token_signing_alg_values_supported: ["ES256"],
    });
  });

  test.each([
    ["an unknown path", "https://mcp.example.com/.well-known/oauth-authorization-server/other"],
    ["a path that only begins like a route", "https://mcp.example.com/.well-known/oauth-authorization-server/githubx"],
    ["a host of an MCP client route", "https://app.example.com/.well-known/oauth-authorization-server"],
    ["an unknown host", "https://evil.example.com/.well-known/oauth-authorization-server"],
  ])("is 404 for %s", async (_, url) => {
    const { send } = await start({ yaml: MANY });
    expect((await send({ method: "GET", url })).status).toBe(404);
  });

  test("is 404 while the flag is off, like every endpoint of the issuer (D4)", async () => {
    const { send } = await start({ yaml: ONE_SERVER.replace("mcp: true", "mcp: false") });
    for (const path of [
      "/.well-known/oauth-authorization-server",
      "/.well-known/oauth-protected-resource/mcp",
      "/.gateway/mcp/authorize",
    ]) {
      expect((await send({ method: "GET", url: ORIGIN + path })).status).toBe(404);
    }
    for (const path of [
      "/.gateway/mcp/register",
      "/.gateway/mcp/token",
      "/.gateway/mcp/revoke",
      "/.gateway/mcp/introspect",
      "/.gateway/mcp/consent",
    ]) {
      expect((await send({ method: "POST", url: ORIGIN + path })).status).toBe(404);
    }
  });

  test("follows the active configuration", async () => {
    const gateway = await start();
    gateway.reconfigure(ONE_SERVER.replaceAll("mcp.example.com", "new.example.com"));
    expect(
      (await gateway.send({ method: "GET", url: `${ORIGIN}${WELL_KNOWN}oauth-authorization-server` })).status,
    ).toBe(404);
    const moved = await gateway.send({
      method: "GET",
      url: `https://new.example.com${WELL_KNOWN}oauth-authorization-server`,
    });
    expect(moved.json()["issuer"]).toBe("https://new.example.com");
  });

  test("A3: offers client ID metadata documents only where they can be read and a domain is allowed", async () => {
    const fetchClientDocument = async () => ({ ok: false, reason: "unused" }) as const;
    const flag = async (options: Parameters<typeof start>[0]) => {
      const { send } = await start(options);
      return (await send({ method: "GET", url: `${ORIGIN}${WELL_KNOWN}oauth-authorization-server` })).json()[
        "client_id_metadata_document_supported"
      ];
    };
    const listed = `mcp_allowed_client_id_domains: ["*.example.org"]\n${ONE_SERVER}`;
    expect(await flag({ yaml: listed, fetchClientDocument })).toBe(true);
    expect(await flag({ yaml: listed })).toBe(false);
    expect(await flag({ fetchClientDocument })).toBe(false);
  });
});

describe("protected resource metadata (RFC 9728)", () => {
  test.each([
    ["/github/mcp", "github", "https://mcp.example.com/github/mcp"],
    ["/github", "github", "https://mcp.example.com/github"],
    ["/jira", "jira", "https://mcp.example.com/jira"],
  ])("R3: the resource at %s is the identifier that the address was made from", async (path, name, resource) => {
    const { send } = await start({ yaml: MANY });
    const answer = await send({ method: "GET", url: `${ORIGIN}${WELL_KNOWN}oauth-protected-resource${path}` });
    expect(answer.status).toBe(200);
    expect(answer.json()).toEqual({
      resource,
      resource_name: name,
      authorization_servers: [ORIGIN],
      bearer_methods_supported: ["header"],
      scopes_supported: ["mcp"],
    });
  });

  test("R2: is also at the root if one route is the whole host", async () => {
    const { send } = await start();
    const root = await send({ method: "GET", url: `${ORIGIN}${WELL_KNOWN}oauth-protected-resource` });
    expect(root.json()).toMatchObject({ resource: ORIGIN, authorization_servers: [ORIGIN] });
    const inside = await send({ method: "GET", url: `${ORIGIN}${WELL_KNOWN}oauth-protected-resource/mcp` });
    expect(inside.json()).toMatchObject({ resource: RESOURCE });
  });

  test.each(["", "/", "/other", "/github/mcp/more", "/GITHUB/mcp"])(
    "is 404 for %j, which is no route",
    async (path) => {
      const { send } = await start({ yaml: MANY });
      expect((await send({ method: "GET", url: `${ORIGIN}${WELL_KNOWN}oauth-protected-resource${path}` })).status).toBe(
        404,
      );
    },
  );

  test("R8: mentions offline_access nowhere", async () => {
    const { send, issuer } = await start();
    const answers = await Promise.all(
      ["oauth-protected-resource/mcp", "oauth-authorization-server", "openid-configuration"].map((name) =>
        send({ method: "GET", url: `${ORIGIN}${WELL_KNOWN}${name}` }),
      ),
    );
    expect(answers.map((answer) => answer.text).join("")).not.toContain("offline_access");
    expect(issuer.endpoints.length).toBeGreaterThan(0);
  });
});

describe("CORS", () => {
  const open = [
    ["GET", "/.well-known/oauth-authorization-server"],
    ["GET", "/.well-known/openid-configuration"],
    ["GET", "/.well-known/oauth-protected-resource/mcp"],
    ["POST", "/.gateway/mcp/register"],
    ["POST", "/.gateway/mcp/token"],
    ["POST", "/.gateway/mcp/revoke"],
    ["POST", "/.gateway/mcp/introspect"],
  ] as const;

  test.each(open)("%s %s may be called by any page, without credentials", async (method, path) => {
    const { send } = await start();
    const headers = { origin: "https://inspector.example", "access-control-request-method": method };
    const preflight = await send({ method: "OPTIONS", url: ORIGIN + path, headers });
    expect(preflight.status).toBe(204);
    const answer = await send({ method, url: ORIGIN + path, headers: { origin: "https://inspector.example" } });
    for (const each of [preflight, answer]) {
      expect(each.headers["access-control-allow-origin"]).toBe("*");
      expect(each.headers).not.toHaveProperty("access-control-allow-credentials");
    }
    expect(preflight.headers["access-control-allow-headers"]).toContain("mcp-protocol-version");
  });

  test.each(["/.gateway/mcp/authorize", "/.gateway/mcp/consent"])("%s is for users only", async (path) => {
    const { send } = await start();
    const answer = await send({ method: "GET", url: ORIGIN + path, headers: { origin: "https://inspector.example" } });
    expect(answer.headers).not.toHaveProperty("access-control-allow-origin");
    const preflight = await send({
      method: "OPTIONS",
      url: ORIGIN + path,
      headers: { origin: "https://inspector.example", "access-control-request-method": "GET" },
    });
    expect(preflight.status).toBe(405);
    expect(preflight.headers).not.toHaveProperty("access-control-allow-origin");
  });
});
