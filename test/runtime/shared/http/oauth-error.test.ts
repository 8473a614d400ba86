/** What servers say in errors, as the log has it: bounded, harmless, and with what to change. */
import { describe, expect, test } from "vitest";

import {
  isPassingError,
  oauthErrorText,
  settingToChange,
  type OAuthErrorBody,
} from "../../../../runtime/shared/http/oauth-error.ts";

const SETTINGS = {
  client: "CLIENT",
  scopes: "SCOPES",
  parameters: "PARAMETERS",
  resource: "RESOURCE",
  redirectUri: "REDIRECT",
};

describe("oauthErrorText()", () => {
  test.each<readonly [string, OAuthErrorBody, string]>([
    ["both", { error: "invalid_scope", error_description: 'no "x"' }, String.raw`invalid_scope: "no \"x\""`],
    ["the error alone", { error: "invalid_client" }, "invalid_client"],
    ["none", {}, "an unknown error"],
    ["other types", { error: 7, error_description: { a: 1 } }, "an unknown error"],
  ])("has %s", (_what, body, text) => expect(oauthErrorText(body)).toBe(text));

  test("is bounded, on one line, and has nothing that a terminal obeys", () => {
    const text = oauthErrorText({
      error: "e".repeat(1e5),
      error_description: `\n\u001B[2J\u009B\u202E${"no ".repeat(1e5)}`,
    });
    expect(text.length).toBeLessThan(500);
    expect(text).toMatch(/^[\x20-\x7e…]*$/);
    expect(text).toContain(String.raw`\n\u001b[2J\u009b\u202e`);
  });

  test("has no secret: neither what was sent nor what looks like a token; ids of requests stay", () => {
    const id = "8f1c0a2e-1d3f-4a5b-8c9d-0123456789ab";
    const jwt = `${"eyJhbGciOiJSUzI1NiJ9".padEnd(36, "A")}.${"b".repeat(60)}.${"c".repeat(40)}`;
    const error_description = `code short-code-1 of client-secret-1, token ${jwt}. Trace ${id}`;
    const text = oauthErrorText({ error: "invalid_grant", error_description }, [
      "short-code-1",
      "client-secret-1",
      undefined,
      "",
    ]);
    expect(text).toBe(
      `invalid_grant: "code [redacted] of [redacted], token [redacted].[redacted].[redacted]. Trace ${id}"`,
    );
  });

  test.each([
    ["as in a form", "p%40ss%2Fw0rd+x%21y"],
    ["as in HTTP Basic", "p%40ss%2Fw0rd+x%21y-z"],
    ["as in HTTP Basic of the library", "p%40ss%2Fw0rd+x%21y%2Dz"],
    ["as in an address", "p%40ss%2Fw0rd%20x!y"],
  ])("has no secret either that is quoted %s", (_what, encoded) => {
    const secret = decodeURIComponent(encoded.replaceAll("+", " "));
    const basic = Buffer.from(`id?>:${encoded}`).toString("base64");
    for (const quoted of [encoded, encoded.replace("%2F", "%2f"), basic, basic.replaceAll("=", "")]) {
      const text = oauthErrorText({ error: "invalid_client", error_description: `got ${quoted} of ids` }, [secret]);
      expect(text).toBe('invalid_client: "got [redacted] of ids"');
    }
  });

  test("keeps words that are Base64 of nothing that was sent", () => {
    const error_description = "Basic authentication/authorization failed";
    expect(oauthErrorText({ error: "invalid_client", error_description }, ["client-secret-1"])).toBe(
      `invalid_client: "${error_description}"`,
    );
  });
});

/** As the servers word it. */
describe("settingToChange()", () => {
  test.each<readonly [string, string, string, string | undefined]>([
    [
      "oidc-provider, PAR",
      "invalid_request",
      "Pushed Authorization Request must be used",
      "pushed authorization requests",
    ],
    [
      "Keycloak, PAR",
      "invalid_request",
      "Pushed Authorization Request is only allowed.",
      "pushed authorization requests",
    ],
    ["Keycloak, DPoP", "invalid_request", "DPoP proof is missing", "do not require DPoP"],
    ["Keycloak, redirect URI", "invalid_grant", "Incorrect redirect_uri", "register REDIRECT"],
    ["registration, redirect URI", "invalid_redirect_uri", "", "register REDIRECT"],
    [
      "Keycloak, registration",
      "insufficient_scope",
      "Policy 'Trusted Hosts' rejected request to client-registration service. Details: Host not trusted.",
      "trusted hosts",
    ],
    ["method", "invalid_client", "client auth_method is not allowed", "client_secret_post"],
    [
      "Ory Hydra, secret, with the definition of the error",
      "invalid_client",
      "Client authentication failed (e.g., unknown client, no client authentication included, or unsupported authentication method).",
      "check CLIENT",
    ],
    ["Keycloak, secret", "unauthorized_client", "Invalid client or Invalid client credentials", "check CLIENT"],
    ["Entra, secret", "invalid_client", "AADSTS7000215: Invalid client secret provided.", "check CLIENT"],
    ["scopes", "invalid_scope", "Invalid scopes: openid groups", "check SCOPES"],
    ["no resources", "invalid_target", "", "set RESOURCE"],
    ["Entra, resources", "invalid_request", "AADSTS9010010: The resource parameter …", "set RESOURCE"],
    ["another parameter", "invalid_request", "invalid prompt", "check PARAMETERS"],
    ["a refusal", "access_denied", "The user said no", undefined],
  ])("%s", (_what, error, error_description, expected) => {
    const setting = settingToChange({ error, error_description }, SETTINGS);
    if (expected === undefined) expect(setting).toBeUndefined();
    else expect(setting).toContain(expected);
  });

  test("names the setting of the method where there is one", () => {
    // As Ory Hydra words it.
    const error_description =
      "Client authentication failed (e.g., unknown client, no client authentication included, or unsupported authentication method). The OAuth 2.0 Client supports client authentication method 'client_secret_post', but method 'client_secret_basic' was requested.";
    const refused = { error: "invalid_client", error_description };
    expect(settingToChange(refused, { ...SETTINGS, method: "METHOD" })).toBe("set METHOD");
  });
});

test("isPassingError() is true for what may work later", () => {
  expect(["server_error", "temporarily_unavailable", "slow_down"].map((error) => isPassingError(error))).toEqual([
    true,
    true,
    true,
  ]);
  expect([500, 503, 429, 408].map((status) => isPassingError("invalid_client", status))).toEqual([
    true,
    true,
    true,
    true,
  ]);
  expect([
    isPassingError("invalid_client", 401),
    isPassingError("access_denied"),
    isPassingError(undefined, 404),
  ]).toEqual([false, false, false]);
});
