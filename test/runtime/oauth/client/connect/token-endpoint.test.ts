import { expect, test } from "vitest";

import type { SafeRequest } from "../../../../../runtime/http/fetch/safe-fetch.ts";
import type { ClientReference } from "../../../../../runtime/oauth/client/connection-records.ts";
import {
  exchangeCode,
  exchangeRefreshToken,
  revokeToken,
} from "../../../../../runtime/oauth/client/connect/token-endpoint.ts";
import { systemClock } from "../../../../../runtime/shared/clock.ts";
import { snapshotFrom } from "../../../../support/config.ts";

const settings = snapshotFrom("development: true\nroutes: []").settings;

/** Exchanges a code and returns the request to the token endpoint. */
async function sentBy(authMethod: ClientReference["authMethod"], clientSecret: string | undefined) {
  const sent: SafeRequest[] = [];
  const result = await exchangeCode(
    {
      clock: systemClock,
      fetch: async (request) => {
        sent.push(request);
        const body = Buffer.from('{"access_token":"token","token_type":"Bearer","expires_in":60}');
        return { ok: true, status: 200, headers: { "content-type": "application/json" }, body };
      },
    },
    {
      server: { tokenEndpoint: "https://auth.example.com/token" },
      client: { kind: "route", clientId: "our-client", authMethod },
      clientSecret,
      boundIssuer: undefined,
      resource: "https://mcp.example.com/mcp",
      upstreamUrl: "https://mcp.example.com/mcp",
      settings,
    },
    { code: "code", redirectUri: "https://gateway.example.com/callback", verifier: "v".repeat(43) },
  );
  expect(result.ok).toBe(true);
  const headers = Object.fromEntries(
    Object.entries(sent[0]?.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]),
  );
  return { authorization: headers["authorization"], form: new URLSearchParams(sent[0]?.body) };
}

test("auth_style header sends the client's credentials as Basic, and not in the body", async () => {
  const { authorization, form } = await sentBy("client_secret_basic", "our-secret");
  expect(authorization).toBe(`Basic ${Buffer.from("our-client:our-secret").toString("base64")}`);
  expect(form.has("client_secret")).toBe(false);
});

test("auth_style params sends the client's credentials in the body, and no header", async () => {
  const { authorization, form } = await sentBy("client_secret_post", "our-secret");
  expect(authorization).toBeUndefined();
  expect(Object.fromEntries(form)).toMatchObject({ client_id: "our-client", client_secret: "our-secret" });
});

test("a public client sends its id without credentials", async () => {
  const { authorization, form } = await sentBy("none", undefined);
  expect(authorization).toBeUndefined();
  expect(form.get("client_id")).toBe("our-client");
  expect(form.has("client_secret")).toBe(false);
});

/** Classification of a token endpoint's error. */
async function failed(status: number, answer: object) {
  const result = await exchangeCode(
    {
      clock: systemClock,
      fetch: async () => ({
        ok: true,
        status,
        headers: { "content-type": "application/json", "www-authenticate": "Basic" },
        body: Buffer.from(JSON.stringify(answer)),
      }),
    },
    {
      server: { tokenEndpoint: "https://auth.example.com/token" },
      client: { kind: "route", clientId: "our-client", authMethod: "client_secret_basic" },
      clientSecret: "our-secret",
      boundIssuer: undefined,
      resource: "https://mcp.example.com/mcp",
      upstreamUrl: "https://mcp.example.com/mcp",
      settings,
    },
    { code: "the-code-of-the-user", redirectUri: "https://gateway.example.com/callback", verifier: "v".repeat(43) },
  );
  return result.ok ? undefined : result;
}

test.each([
  [401, "invalid_client", "client-refused"],
  [400, "unauthorized_client", "client-refused"],
  [400, "invalid_grant", "refused"],
  [400, "invalid_request", "answered-error"],
  [400, "not_known", "unavailable"],
  [400, "temporarily_unavailable", "unavailable"],
  [429, "invalid_client", "unavailable"],
])("%i %s is %s", async (status, error, failure) => {
  expect(await failed(status, { error })).toMatchObject({ failure, code: error });
});

test("an error has the server's message and the setting for the log, without sent secrets", async () => {
  const description = "our-secret does not match\u001B for the-code-of-the-user";
  const result = await failed(401, { error: "invalid_client", error_description: description });
  expect(result?.detail).toBe(
    String.raw`answered 401 invalid_client: "[redacted] does not match\u001b for [redacted]"; check client_id and client_secret in upstream_oauth2`,
  );
});

test("an error of a failing server does not concern the client", async () => {
  expect(await failed(503, { error: "invalid_client" })).toMatchObject({ failure: "unavailable" });
});

test.each([
  ["another issuer", "https://other.example.com"],
  ["no issuer", undefined],
])("credentials that are bound to %s are not sent: neither for a token nor to revoke one", async (_, boundIssuer) => {
  const deps = {
    clock: systemClock,
    fetch: () => Promise.reject(new Error("nothing may be sent")),
  };
  const listed = snapshotFrom('mcp_allowed_as_metadata_domains: ["auth.example.com", "other.example.com"]\nroutes: []');
  const asking = {
    server: {
      issuer: "https://auth.example.com",
      tokenEndpoint: "https://auth.example.com/token",
      revocationEndpoint: "https://auth.example.com/revoke",
    },
    client: { kind: "route", clientId: "our-client", authMethod: "client_secret_basic" },
    clientSecret: "our-secret",
    boundIssuer,
    resource: "https://mcp.example.com/mcp",
    upstreamUrl: "https://mcp.example.com/mcp",
    settings: listed.settings,
  } as const;
  expect(await exchangeRefreshToken(deps, asking, "refresh")).toEqual({
    ok: false,
    failure: "refused",
    detail: "the client belongs to another issuer",
  });
  expect(await revokeToken(deps, asking, { value: "refresh", hint: "refresh_token" })).toBe(false);
});

test.each([
  ["elsewhere", "https://auth.example.com/revoke", "named"],
  ["at another port of the upstream", "https://mcp.example.com:9901/revoke", "named"],
  ["of another scheme there", "http://mcp.example.com/revoke", "named"],
  ["at the upstream", "https://mcp.example.com/revoke", "upstream"],
])("a revocation endpoint %s is checked by its own URL, not by that of the token endpoint", async (_, url, kind) => {
  const issuer = "https://mcp.example.com";
  const sent: SafeRequest[] = [];
  const deps = {
    clock: systemClock,
    fetch: async (request: SafeRequest) => {
      sent.push(request);
      return { ok: true, status: 200, headers: {}, body: Buffer.alloc(0) } as const;
    },
  };
  const revoked = await revokeToken(
    deps,
    {
      server: { issuer, tokenEndpoint: `${issuer}/token`, revocationEndpoint: url },
      client: { kind: "document", clientId: "https://gateway.example.com/client", authMethod: "none" },
      clientSecret: undefined,
      boundIssuer: issuer,
      resource: `${issuer}/mcp`,
      upstreamUrl: `${issuer}/mcp`,
      settings: snapshotFrom('mcp_allowed_as_metadata_domains: ["mcp.example.com"]\nroutes: []').settings,
    },
    { value: "refresh", hint: "refresh_token" },
  );
  expect([revoked, sent.map((each) => [each.url, each.target.kind])]).toEqual([true, [[url, kind]]]);
});
