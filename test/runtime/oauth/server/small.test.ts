/** The small pure parts: PKCE, scope, challenge. */
import { compileToolScopes } from "../../../../runtime/features/mcp/tool-scopes.ts";
import type { McpServer } from "../../../../runtime/features/mcp/compiled.ts";
import { describe, expect, test } from "vitest";

import { challenge } from "../../../../runtime/oauth/server/challenge.ts";
import { isCodeChallenge, isCodeVerifier, matchesChallenge } from "../../../../runtime/oauth/server/authorize/pkce.ts";
import { coversScope, grantedScope, joinScopes, scopesSupported } from "../../../../runtime/oauth/server/scope.ts";
import { routeNamed, snapshotFrom } from "../../../support/config.ts";

describe("PKCE", () => {
  // RFC 7636, Appendix B.
  const verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk";
  const s256 = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM";

  test("matchesChallenge() agrees with the example of the RFC", () => {
    expect(matchesChallenge(verifier, s256)).toBe(true);
    expect(matchesChallenge(`${verifier}x`, s256)).toBe(false);
    expect(matchesChallenge(s256, s256)).toBe(false);
  });

  test.each(["", s256.slice(1), `${s256}A`, `${s256.slice(1)}=`, `${s256.slice(1)}+`])(
    "isCodeChallenge() refuses %j",
    (text) => {
      expect(isCodeChallenge(text)).toBe(false);
    },
  );

  test("isCodeVerifier() wants 43 to 128 unreserved characters", () => {
    expect([43, 128].every((length) => isCodeVerifier("~".repeat(length)))).toBe(true);
    expect([42, 129].some((length) => isCodeVerifier("a".repeat(length)))).toBe(false);
    expect(isCodeVerifier(`${"a".repeat(43)} `)).toBe(false);
    expect(isCodeVerifier(`${"a".repeat(43)}\n`)).toBe(false);
  });
});

describe("scope", () => {
  test.each([
    [undefined, "mcp"],
    ["", "mcp"],
    ["openid email profile", "mcp"],
    ["mcp offline_access", "mcp"],
    ["mcp mcp", "mcp"],
  ])("grantedScope(%j) is %j", (requested, granted) => {
    expect(grantedScope(requested, [])).toBe(granted);
  });

  test("grantedScope() returns mcp and the requested tool scopes", () => {
    const toolScopes = compileToolScopes({ add: ["write"], "delete_*": ["write", "admin"] });
    const routes = [{ mcp: { toolScopes } as McpServer }];
    expect(scopesSupported(routes)).toEqual(["mcp", "admin", "write"]);
    expect(grantedScope("write openid", routes)).toBe("mcp write");
    expect(grantedScope(undefined, routes)).toBe("mcp");
    expect(joinScopes("mcp write", "mcp admin")).toBe("mcp write admin");
  });

  test("coversScope() wants every token", () => {
    expect(coversScope("mcp", "mcp")).toBe(true);
    expect(coversScope("mcp", "mcp admin")).toBe(false);
  });
});

describe("challenge()", () => {
  const snapshot = snapshotFrom(`
runtime_flags: { mcp: true }
routes:
  - { name: tools, from: https://mcp.example.com, prefix: /tools, to: http://127.0.0.1:9, mcp: { server: { path: /mcp } } }
  - { name: root, from: https://root.example.com, to: http://127.0.0.1:9, mcp: { server: {} } }
`);
  const tools = routeNamed(snapshot, "tools");
  const metadata = "https://mcp.example.com/.well-known/oauth-protected-resource";

  test("says where to sign in, without an error when no token was sent (RFC 6750 §3.1)", () => {
    expect(challenge(tools, tools.origin, "missing")).toBe(
      `Bearer resource_metadata="${metadata}/tools/mcp", scope="mcp"`,
    );
  });

  test.each(["malformed", "expired", "revoked", "wrong-audience", "wrong-kind", "unknown-user"] as const)(
    "says invalid_token for %s",
    (reason) => {
      expect(challenge(tools, tools.origin, reason)).toMatch(
        /^Bearer error="invalid_token", error_description="[^"\\]+", resource_metadata="/,
      );
    },
  );

  test("names metadata about the base to a client configured with the base", () => {
    expect(challenge(tools, tools.origin, "missing", "/tools")).toContain(`"${metadata}/tools"`);
    expect(challenge(tools, tools.origin, "missing", "/tools/")).toContain(`"${metadata}/tools"`);
    expect(challenge(tools, tools.origin, "missing", "/tools/mcp/x")).toContain(`"${metadata}/tools/mcp"`);
  });

  test("adds no path for a route that is its whole host", () => {
    const root = routeNamed(snapshot, "root");
    expect(challenge(root, root.origin, "missing", "/")).toContain(
      '"https://root.example.com/.well-known/oauth-protected-resource"',
    );
  });
});
