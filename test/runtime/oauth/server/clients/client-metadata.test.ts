import { describe, expect, test } from "vitest";

import { hashMetadata, parseClientMetadata } from "../../../../../runtime/oauth/server/clients/client-metadata.ts";

const rules = { allowedPrivateUris: [], documentDomains: [], defaultAuthMethod: "client_secret_basic" } as const;

function parsed(value: unknown) {
  const result = parseClientMetadata(value, rules);
  if (!result.ok) throw new Error(JSON.stringify(result.refusal));
  return result.value;
}

function refused(value: unknown) {
  const result = parseClientMetadata(value, rules);
  if (result.ok) throw new Error(`accepted: ${JSON.stringify(result.value)}`);
  return result.refusal.error;
}

const cb = "https://app.example.com/cb";

describe("parseClientMetadata()", () => {
  test("adds defaults: both grant types, code, the default scope", () => {
    expect(parsed({ redirect_uris: [cb] })).toEqual({
      redirect_uris: [cb],
      token_endpoint_auth_method: "client_secret_basic",
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      scope: "mcp",
    });
  });

  test("keeps the usable redirect URIs of a set like Cursor's", () => {
    const redirect_uris = [
      "cursor://anysphere.cursor-mcp/oauth/callback",
      "https://www.cursor.com/agents/mcp/oauth/callback",
      "http://localhost:8787/callback",
    ];
    expect(parsed({ redirect_uris }).redirect_uris).toEqual(redirect_uris.slice(1));
  });

  test("drops duplicates and members it does not know", () => {
    const metadata = parsed({
      redirect_uris: [cb, cb],
      software_statement: "x",
      require_auth_time: true,
      __proto__: 1,
    });
    expect(metadata.redirect_uris).toEqual([cb]);
    expect(Object.keys(metadata)).not.toContain("software_statement");
  });

  test("drops texts that could mislead on a page, and addresses that are none", () => {
    const metadata = parsed({
      redirect_uris: [cb],
      client_name: "Honest \u202etxe",
      client_uri: "javascript:alert(1)",
      logo_uri: "https://app.example.com/logo.png",
      contacts: ["a@example.com", 3],
      application_type: "desktop",
    });
    expect(metadata).not.toHaveProperty("client_name");
    expect(metadata).not.toHaveProperty("client_uri");
    expect(metadata).not.toHaveProperty("contacts");
    expect(metadata).not.toHaveProperty("application_type");
    expect(metadata.logo_uri).toBe("https://app.example.com/logo.png");
  });

  test.each([
    ["", false],
    ["x".repeat(255), true],
    ["x".repeat(256), false],
  ])("takes names of one character and more, as long as a page shows: %#", (name, isTaken) => {
    const metadata = parsed({ redirect_uris: [cb], client_name: name });
    expect(metadata.client_name).toBe(isTaken ? name : undefined);
  });

  test("keeps the known grant types of a list", () => {
    expect(parsed({ redirect_uris: [cb], grant_types: ["authorization_code", "urn:x"] }).grant_types).toEqual([
      "authorization_code",
    ]);
  });

  test.each([
    ["no object", [], "invalid_client_metadata"],
    ["null", null, "invalid_client_metadata"],
    ["no redirect_uris", {}, "invalid_redirect_uri"],
    ["empty redirect_uris", { redirect_uris: [] }, "invalid_redirect_uri"],
    ["redirect_uris of another type", { redirect_uris: cb }, "invalid_redirect_uri"],
    ["a number among redirect_uris", { redirect_uris: [cb, 3] }, "invalid_redirect_uri"],
    [
      "no usable redirect URI",
      { redirect_uris: ["http://app.example.com/cb", "javascript:1"] },
      "invalid_redirect_uri",
    ],
    [
      "too many redirect URIs",
      { redirect_uris: Array.from({ length: 33 }, (_, i) => `${cb}/${i}`) },
      "invalid_redirect_uri",
    ],
    [
      "an unknown method",
      { redirect_uris: [cb], token_endpoint_auth_method: "tls_client_auth" },
      "invalid_client_metadata",
    ],
    ["implicit only", { redirect_uris: [cb], grant_types: ["implicit"] }, "invalid_client_metadata"],
    ["token response type", { redirect_uris: [cb], response_types: ["token"] }, "invalid_client_metadata"],
  ])("refuses %s", (_, value, error) => {
    expect(refused(value)).toBe(error);
  });
});

describe("hashMetadata()", () => {
  test("changes with displayed values and destinations, not with the order of redirect URIs", () => {
    const base = parsed({ redirect_uris: [cb, "http://localhost/cb"], client_name: "A" });
    const same = parsed({ redirect_uris: ["http://localhost/cb", cb], client_name: "A", scope: "mcp" });
    expect(hashMetadata(same)).toBe(hashMetadata(base));
    expect(hashMetadata(parsed({ redirect_uris: [cb], client_name: "A" }))).not.toBe(hashMetadata(base));
    expect(hashMetadata(parsed({ redirect_uris: [cb, "http://localhost/cb"], client_name: "B" }))).not.toBe(
      hashMetadata(base),
    );
  });
});
