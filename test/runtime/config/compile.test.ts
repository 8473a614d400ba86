import { generateKeyPairSync } from "node:crypto";

import { describe, expect, test } from "vitest";

import { compileBoot, compileRoute, compileSettings } from "../../../runtime/config/compile-settings.ts";
import { clientIdsAt } from "../../../runtime/features/sign-in/providers.ts";
import { loadSlices } from "../../../runtime/config/load.ts";
import { formatPath } from "../../../runtime/settings/problem.ts";
import { bootFrom, checkedFrom, routeNamed, secretsFrom, snapshotFrom } from "../../support/config.ts";
import { logoutAudiences } from "../../../runtime/identity/logout/back-channel.ts";

/** One route with these settings below it. */
function routeFrom(lines: string, settings = "") {
  const indented = lines
    .trim()
    .split("\n")
    .map((line) => `    ${line}`);
  const head = ["routes:", "  - name: app", "    from: https://app.example.com"];
  return routeNamed(snapshotFrom([settings, ...head, ...indented].join("\n")), "app");
}

describe("compileRoute()", () => {
  test("prefers the route's audiences of access tokens to the settings'", () => {
    const settings =
      "idp_provider_url: https://login.example.com\nidp_client_id: x\nidp_access_token_allowed_audiences: [all]";
    const format = "to: http://app.internal:8080\nbearer_token_format: idp_access_token";
    expect(routeFrom(format, settings).accessTokenAudiences).toEqual(["all"]);
    const own = `${format}\nidp_access_token_allowed_audiences: [own]`;
    expect(routeFrom(own, settings).accessTokenAudiences).toEqual(["own"]);
  });

  test("fills in every default", () => {
    const route = routeFrom("to: http://app.internal:8080");

    expect(route).toMatchObject({
      key: "default/app",
      origin: "https://app.example.com",
      host: "app.example.com",
      hostname: "app.example.com",
      match: { kind: "prefix", prefix: "/" },
      base: "",
      to: [
        { origin: "http://app.internal:8080", host: "app.internal:8080", basePath: "", weight: 1, owner: "default" },
      ],
      allowsAnonymous: false,
      hostRule: { kind: "to" },
      requestHeaders: { set: [] },
      responseHeaders: { set: [], rewrite: [] },
      passIdentityHeaders: true,
      timeoutMs: 30_000,
      mcp: undefined,
    });
    expect(route.requestHeaders.remove.size).toBe(0);
  });

  // A route without an upstream, or without a time limit, would be served as if somebody had written that.
  test.each([
    ["from", { from: "app.example.com" }],
    ["to", { to: ["http://user@app.internal"] }],
    ["timeout", { timeout: "soon" }],
    ["host_rewrite", { host_rewrite: "a b" }],
    ["set_request_headers", { set_request_headers: { "X-A": "$" } }],
  ])("throws for a value of %s that loading should have refused", (_, member) => {
    const { settings, routes } = checkedFrom(
      'routes: [{ from: "https://app.example.com", to: "http://app.internal" }]',
    );
    const secrets = secretsFrom({});
    const [route] = routes;
    const compile = (doc: object) =>
      compileRoute({ ...route!, doc: { ...route!.doc, ...doc } }, compileSettings(settings, secrets), secrets);
    expect(compile({}).to).toHaveLength(1);
    expect(() => compile(member)).toThrow(TypeError);
  });

  test.each([
    ["prefix: /a", "/a", { kind: "prefix", prefix: "/a" }],
    ["prefix: /a/", "/a", { kind: "prefix", prefix: "/a" }],
    ["prefix: /", "", { kind: "prefix", prefix: "/" }],
    ["path: /a", "/a", { kind: "exact", path: "/a" }],
    ["path: /a/", "/a", { kind: "exact", path: "/a/" }],
  ])("%s has the base %j", (line, base, match) => {
    expect(routeFrom(`to: http://a\n${line}`)).toMatchObject({ base, match });
  });

  test.each([
    ["preserve_host_header: true", { kind: "preserve" }],
    ["preserve_host_header: false", { kind: "to" }],
    ["host_rewrite: Other.Internal:8080", { kind: "fixed", value: "other.internal:8080" }],
    ["host_rewrite_header: X-Upstream-Host", { kind: "header", name: "x-upstream-host" }],
  ])("%s chooses Host by %j", (line, rule) => {
    expect(routeFrom(`to: http://a\n${line}`).hostRule).toEqual(rule);
  });

  test("derives Host from the path with the regex pair", () => {
    const { hostRule } = routeFrom(
      "to: http://a\nhost_path_regex_rewrite_pattern: ^/(.+)/.+$\nhost_path_regex_rewrite_substitution: \\1",
    );

    expect(hostRule.kind === "path-regex" && hostRule.apply("/host.internal/rest")).toBe("host.internal");
  });

  test("lets a route's response headers replace global ones in any case, and keeps the others", () => {
    const route = routeFrom(
      "to: http://a\nset_response_headers: { x-frame-options: SAMEORIGIN, X-Own: $$5 }",
      "set_response_headers: { X-Frame-Options: DENY, X-Global: '1' }",
    );

    expect(route.responseHeaders.set).toEqual([
      { name: "X-Global", lower: "x-global", value: "1" },
      { name: "x-frame-options", lower: "x-frame-options", value: "SAMEORIGIN" },
      { name: "X-Own", lower: "x-own", value: "$5" },
    ]);
  });

  test("keeps rewrite rules in list order", () => {
    const { responseHeaders } = routeFrom(
      "to: http://a\nrewrite_response_headers:\n  - { header: Location, prefix: b, value: c }\n  - { header: LOCATION, prefix: a, value: $$ }",
    );

    expect(responseHeaders.rewrite).toEqual([
      { lower: "location", prefix: "b", value: "c" },
      { lower: "location", prefix: "a", value: "$" },
    ]);
  });

  test.each([
    ["", "", 30_000],
    ["timeout: 5s", "", 5000],
    ["timeout: 0s", "", 0],
    ["", "default_upstream_timeout: 1m", 60_000],
    ["mcp: { server: {} }", "default_upstream_timeout: 1m", 0],
    ["mcp: { server: {} }\ntimeout: 5s", "", 5000],
    ["mcp: { client: {} }", "", 30_000],
  ])("route %j with settings %j waits %i ms", (line, settings, timeoutMs) => {
    expect(routeFrom(`to: http://a\n${line}`, settings).timeoutMs).toBe(timeoutMs);
  });

  test.each([
    ["", "", true],
    ["pass_identity_headers: false", "", false],
    ["", "pass_identity_headers: false", false],
    ["pass_identity_headers: true", "pass_identity_headers: false", true],
  ])("route %j with settings %j passes identity headers: %s", (line, settings, expected) => {
    expect(routeFrom(`to: http://a\n${line}`, settings).passIdentityHeaders).toBe(expected);
  });

  test("distinguishes an empty client block from an absent one", () => {
    expect(routeFrom("to: http://a\nmcp: { client: {} }").mcp).toEqual({ kind: "client" });
  });

  test.each([
    ["mcp: { server: {} }", "https://app.example.com", ""],
    ["mcp: { server: { path: / } }", "https://app.example.com", ""],
    ["mcp: { server: { path: /mcp } }", "https://app.example.com/mcp", "/mcp"],
    ["mcp: { server: { path: /mcp/ } }", "https://app.example.com/mcp", "/mcp"],
    ["prefix: /a\nmcp: { server: { path: /mcp } }", "https://app.example.com/a/mcp", "/mcp"],
    ["path: /a\nmcp: { server: {} }", "https://app.example.com/a", ""],
  ])("%s is the resource %s", (lines, resource, path) => {
    expect(routeFrom(`to: http://a\n${lines}`).mcp).toMatchObject({
      kind: "server",
      resource,
      path,
      maxRequestBytes: 4096,
    });
  });

  test("resolves the client secret each time, with the given source", () => {
    const { routes, settings: doc } = checkedFrom(`
      routes:
        - from: https://app.example.com
          to: http://app.internal
          mcp: { server: { upstream_oauth2: { client_id: tools, client_secret_ref: env:TOOLS } } }
    `);
    const [route] = routes;
    const settings = compileSettings(doc, secretsFrom({}));
    const compile = (secret: string) => compileRoute(route!, settings, secretsFrom({ "env:TOOLS": secret })).mcp;

    expect(compile("one")).toMatchObject({ upstreamOAuth: { clientId: "tools", clientSecret: "one" } });
    expect(compile("two")).toMatchObject({ upstreamOAuth: { clientSecret: "two" } });
    expect(() => compile("")).toThrow(expect.objectContaining({ code: "config.secret" }) as Error);
  });

  test("reads weights of several upstreams", () => {
    expect(routeFrom('to: ["http://a:1,3", "http://b:2/base/"]').to).toEqual([
      { origin: "http://a:1", host: "a:1", basePath: "", weight: 3, owner: "default" },
      { origin: "http://b:2", host: "b:2", basePath: "/base", weight: 1, owner: "default" },
    ]);
  });
});

describe("compileSettings()", () => {
  test("fills in every default", () => {
    expect(snapshotFrom("routes: []").settings).toEqual({
      mcpEnabled: false,
      mcpAllowedClientIdDomains: [],
      mcpAllowedAsMetadataDomains: [],
      mcpAllowedOrigins: [],
      mcpCatalog: undefined,
      mcpDynamicRegistration: true,
      mcpAllowedPrivateRedirectUris: [],
      authorizeLogFields: ["request-id", "user", "email", "mcp-method", "mcp-tool"],
      authenticateServiceUrl: undefined,
      signOutRedirectUrl: undefined,
      bearerTokenFormat: "default",
      accessTokenAudiences: [],
      programmaticRedirectDomains: undefined,
      idp: undefined,
      providers: [],
      identityIssuers: [],
      directories: [],
      cookie: { name: "gateway_session", expirationSeconds: 50_400, sameSite: "lax" },
      lifetimes: { accessToken: 900, clientRouteToken: 300, refreshToken: 7_776_000, authorizationCode: 60 },
      passIdentityHeaders: true,
      jwtClaimsHeaders: new Map(),
      setResponseHeaders: [],
      defaultUpstreamTimeoutMs: 30_000,
      maxStreamsPerUser: 250,
      expiryGraceSeconds: 3_600,
      unconfirmedUserSeconds: 3_600,
    });
  });

  test("reads the identity provider with its secret", () => {
    const { settings } = snapshotFrom(
      `
        idp_provider_url: https://login.example.com
        idp_client_id: gateway
        idp_client_secret_sealed: c2VhbGVk
        idp_groups_claim: roles
        idp_request_params: { prompt: login }
        authenticate_service_url: https://Auth.example.com:443/
      `,
      { secrets: { c2VhbGVk: "opened" } },
    );

    expect(settings.authenticateServiceUrl).toBe("https://auth.example.com");
    expect(settings.providers).toEqual([settings.idp]);
    expect(settings.idp).toEqual({
      label: "login.example.com",
      providerUrl: "https://login.example.com",
      clientId: "gateway",
      clientSecret: "opened",
      scopes: undefined,
      groupsClaim: "roles",
      requireEmailVerified: false,
      pushesRequests: false,
      provesToEndpoint: false,
      requestParams: new Map([["prompt", "login"]]),
      requiredClaims: new Map(),
    });
  });

  test("reads the providers of identity_issuers after the default one", () => {
    const { settings } = snapshotFrom(
      `
        idp_provider_url: https://login.example.com
        idp_client_id: gateway
        idp_label: Staff
        identity_issuers:
          agents: { issuer: "https://agents.example", uses: [id_jag] }
          partner:
            issuer: https://login.partner.example/
            uses: [sign_in]
            email_domains: [partner.example]
            sign_in:
              client_id: from-partner
              client_secret_ref: env:PARTNER
              scopes: [openid]
              required_claims: { tid: t1 }
          other: { issuer: "https://other.example", uses: [logout, sign_in], sign_in: { client_id: o, label: Others } }
      `,
      { secrets: { "env:PARTNER": "known" } },
    );

    expect(settings.providers.map(({ issuerName, label }) => [issuerName, label])).toEqual([
      [undefined, "Staff"],
      ["partner", "partner"],
      ["other", "Others"],
    ]);
    expect(settings.providers[1]).toEqual({
      issuerName: "partner",
      label: "partner",
      providerUrl: "https://login.partner.example/",
      clientId: "from-partner",
      clientSecret: "known",
      scopes: ["openid"],
      groupsClaim: "groups",
      requireEmailVerified: false,
      pushesRequests: false,
      provesToEndpoint: false,
      emailDomains: new Set(["partner.example"]),
      requestParams: new Map(),
      requiredClaims: new Map([["tid", "t1"]]),
    });
    const clientIds = settings.identityIssuers.map((issuer) => clientIdsAt(settings, issuer));
    expect(clientIds).toEqual([[], ["from-partner"], ["o"]]);
    // Its logout tokens are for that client.
    const other = settings.identityIssuers.find(({ name }) => name === "other");
    expect(other && [...logoutAudiences(other, settings)]).toEqual(["o"]);
  });

  test("distinguishes an empty authorize_log_fields from an absent one", () => {
    expect(snapshotFrom("authorize_log_fields: []").settings.authorizeLogFields).toEqual([]);
  });
});

describe("compileBoot()", () => {
  const secret = (fill: number) => Buffer.alloc(32, fill).toString("base64");

  test.each([
    ["insecure_server: true", ":8080"],
    ["insecure_server: false", ":443"],
    ["development: true", "127.0.0.1:8080"],
    ["address: localhost:1234", "localhost:1234"],
  ])("%s listens on %s", (text, address) => {
    expect(bootFrom(text).address).toBe(address);
  });

  test("puts the current shared secret before previous ones", () => {
    const boot = bootFrom(`shared_secret: "${secret(1)}"\nprevious_shared_secret: ["${secret(2)}", "${secret(3)}"]`);

    expect(boot.sharedSecrets.map((bytes) => bytes[0])).toEqual([1, 2, 3]);
  });

  test("generates a current secret if only previous ones are configured", () => {
    const { sharedSecrets } = compileBoot({ previous_shared_secret: secret(2) }, secretsFrom({}));

    expect(sharedSecrets).toHaveLength(2);
    expect(sharedSecrets[0]).not.toEqual(Buffer.alloc(32, 2));
  });

  test("rejects a resolved secret that is too short, without naming it", () => {
    const compile = () => compileBoot({ shared_secret_ref: "env:S" }, secretsFrom({ "env:S": "hunter2" }));

    expect(compile).toThrow(expect.objectContaining({ code: "config.secret" }) as Error);
    expect(compile).not.toThrow("hunter2");
  });

  test.each([
    ["short", "hunter2", "must have at least 20 characters"],
    ["not sendable", "a token with many words in it", "must be printable ASCII without spaces"],
  ])("refuses an admin token that is %s, wherever it comes from, and never quotes it", (_name, token, expected) => {
    for (const [doc, values] of [
      [{ admin_token: token }, {}],
      [{ admin_token_ref: "env:T" }, { "env:T": token }],
    ] as const) {
      const compile = () => compileBoot(doc, secretsFrom(values));
      expect(compile).toThrow(`Cannot use "admin_token": it ${expected}`);
      expect(compile).not.toThrow(token);
    }
    const { problems } = loadSlices([{ file: "gateway.yaml", text: `admin_token: "${token}"`, boot: true }]);
    expect(problems.map(({ path, message }) => `${formatPath(path)} ${message}`).join()).toContain(
      `admin_token ${expected}`,
    );
  });

  test("reads signing keys as PEM and as base64 of PEM, and rejects other keys", () => {
    const pem = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });
    const other = generateKeyPairSync("ed25519").privateKey.export({ type: "pkcs8", format: "pem" });
    const compile = (value: string) => compileBoot({ signing_key: value }, secretsFrom({})).signingKeys;

    expect(compile(pem)).toEqual([pem]);
    expect(compile(Buffer.from(pem).toString("base64"))).toEqual([pem]);
    for (const bad of [other, "nonsense", Buffer.from("nonsense").toString("base64")]) {
      expect(() => compile(bad)).toThrow(expect.objectContaining({ code: "config.secret" }) as Error);
    }
  });
});
