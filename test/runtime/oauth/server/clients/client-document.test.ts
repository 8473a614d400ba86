import { describe, expect, test } from "vitest";

import { parseDomainPattern } from "../../../../../runtime/settings/domains.ts";
import {
  isClientIdUrl,
  parseClientDocument,
  parseClientIdUrl,
} from "../../../../../runtime/oauth/server/clients/client-document.ts";
import { createClientDocuments } from "../../../../../runtime/oauth/server/clients/client-documents.ts";
import { createRemoteDocuments } from "../../../../../runtime/oauth/server/clients/remote-document.ts";
import { createTestClock } from "../../../../support/clock.ts";

const ID = "https://app.example.com/oauth/client.json";
const good = {
  client_id: ID,
  client_name: "App",
  redirect_uris: ["http://localhost/callback", "http://127.0.0.1/callback"],
};

describe("parseClientIdUrl()", () => {
  test.each([
    ID,
    "https://app.example.com/c?v=1",
    "https://app.example.com:8443/c",
    "https://app.example.com/a..b/c",
    "https://app.example.com//",
  ])("takes %s", (id) => {
    expect(parseClientIdUrl(id)).toEqual({ ok: true, host: "app.example.com" });
  });

  test.each([
    ["https://app.example.com", "path"],
    ["https://app.example.com/", "path"],
    ["https://app.example.com?x", "path"],
    ["https://app.example.com/a/../b", "dot-segment"],
    ["https://app.example.com/./b", "dot-segment"],
    ["https://app.example.com/%2e%2E/b", "dot-segment"],
    ["https://app.example.com/.", "dot-segment"],
    ["https://app.example.com/c#f", "fragment"],
    ["https://app.example.com/c#", "fragment"],
    ["https://user@app.example.com/c", "credentials"],
    ["https://:pw@app.example.com/c", "credentials"],
    ["https://app.example.com\\@evil.example/c", "malformed"],
    ["https://app.example.com/c d", "malformed"],
    ["https://app.example.com/\u00e9", "malformed"],
    ["https:///c", "malformed"],
    ["https://app.example.com:99999/c", "malformed"],
    [`https://app.example.com/${"c".repeat(600)}`, "too-long"],
  ])("refuses %s as %s", (id, reason) => {
    const result = parseClientIdUrl(id);
    expect(result.ok).toBe(false);
    // "https:///c" names a host to browsers and none to us; either refusal will do.
    if (!result.ok && id !== "https:///c") expect(result.reason).toBe(reason);
  });

  test("isClientIdUrl() is true for lower-case https only", () => {
    expect(["http://a.example/c", "HTTPS://a.example/c", "gwc_x", " https://a.example/c"].some(isClientIdUrl)).toBe(
      false,
    );
    expect(isClientIdUrl(ID)).toBe(true);
  });
});

const rules = { documentDomains: [parseDomainPattern("app.example.com")], allowedPrivateUris: [] };

describe("parseClientDocument()", () => {
  test("takes a document like Claude Code's: port-less loopback addresses, no application_type", () => {
    const result = parseClientDocument(ID, good, rules);
    expect(result).toMatchObject({
      ok: true,
      value: {
        redirect_uris: good.redirect_uris,
        token_endpoint_auth_method: "none",
        grant_types: ["authorization_code", "refresh_token"],
      },
    });
  });

  test("takes a document like ChatGPT's: prefers private_key_jwt, lists none", () => {
    const document = {
      ...good,
      token_endpoint_auth_method: "private_key_jwt",
      token_endpoint_auth_methods_supported: ["none", "private_key_jwt"],
    };
    expect(parseClientDocument(ID, document, rules)).toMatchObject({
      ok: true,
      value: { token_endpoint_auth_method: "none" },
    });
  });

  const jwks = { keys: [{ kty: "OKP", crv: "Ed25519", x: "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo", kid: "1" }] };

  test.each([
    ["keys in the document", { jwks }],
    ["an address of keys on an allowed domain", { jwks_uri: "https://app.example.com/keys.json" }],
  ])("takes private_key_jwt with %s", (_, keys) => {
    const document = { ...good, token_endpoint_auth_method: "private_key_jwt", ...keys };
    expect(parseClientDocument(ID, document, rules)).toMatchObject({
      ok: true,
      value: { token_endpoint_auth_method: "private_key_jwt", ...keys },
    });
  });

  test("drops an address of keys elsewhere where the client need not sign", () => {
    const document = { ...good, jwks_uri: "https://keys.example.net/keys.json" };
    const result = parseClientDocument(ID, document, rules);
    expect(result.ok && result.value).not.toHaveProperty("jwks_uri");
  });

  test.each([
    ["an array", [good]],
    ["text", JSON.stringify(good)],
    ["another client_id", { ...good, client_id: `${ID}?` }],
    ["client_id with another host case", { ...good, client_id: "https://APP.example.com/oauth/client.json" }],
    ["client_id with the default port", { ...good, client_id: "https://app.example.com:443/oauth/client.json" }],
    ["no client_id", { ...good, client_id: undefined }],
    ["no client_name", { ...good, client_name: undefined }],
    ["no redirect_uris", { ...good, redirect_uris: undefined }],
    ["no usable redirect_uris", { ...good, redirect_uris: ["http://app.example.com/cb"] }],
    ["a client_secret", { ...good, client_secret: "s" }],
    ["client_secret_expires_at", { ...good, client_secret_expires_at: 0 }],
    [
      "client_secret_post",
      { ...good, token_endpoint_auth_method: "client_secret_post", token_endpoint_auth_methods_supported: ["none"] },
    ],
    ["client_secret_jwt", { ...good, token_endpoint_auth_method: "client_secret_jwt" }],
    ["private_key_jwt without keys", { ...good, token_endpoint_auth_method: "private_key_jwt" }],
    [
      "keys on a domain that is not allowed",
      { ...good, token_endpoint_auth_method: "private_key_jwt", jwks_uri: "https://keys.example.net/keys.json" },
    ],
    [
      "keys over http",
      { ...good, token_endpoint_auth_method: "private_key_jwt", jwks_uri: "http://app.example.com/keys.json" },
    ],
    ["keys in two ways", { ...good, jwks, jwks_uri: "https://app.example.com/keys.json" }],
    ["a symmetric key", { ...good, jwks: { keys: [{ kty: "oct", k: "secret" }] } }],
    ["a private key", { ...good, jwks: { keys: [{ ...jwks.keys[0], d: "secret" }] } }],
    ["an empty key set", { ...good, jwks: { keys: [] } }],
    ["a method of another type", { ...good, token_endpoint_auth_method: 3 }],
  ])("refuses %s", (_, document) => {
    expect(parseClientDocument(ID, document, rules).ok).toBe(false);
  });
});

describe("createClientDocuments()", () => {
  function documents(answers: readonly object[]) {
    const clock = createTestClock();
    let fetches = 0;
    const fetch = async () => (answers[Math.min(fetches++, answers.length - 1)] ?? {}) as never;
    const read = createClientDocuments({ documents: createRemoteDocuments({ clock, fetch }) });
    return { clock, read: () => read.read(ID, rules), fetches: () => fetches };
  }

  test("reads once for several requests at a time and for as long as the document allows", async () => {
    const { clock, read, fetches } = documents([{ ok: true, document: good, maxAgeSeconds: 300 }]);
    const results = await Promise.all([read(), read(), read()]);
    expect(results.every((result) => result.ok)).toBe(true);
    clock.advance(299_000);
    await read();
    expect(fetches()).toBe(1);
    clock.advance(2_000);
    await read();
    expect(fetches()).toBe(2);
  });

  test("keeps a document at least a minute and at most a day", async () => {
    const short = documents([{ ok: true, document: good, maxAgeSeconds: 0 }]);
    await short.read();
    short.clock.advance(59_000);
    await short.read();
    expect(short.fetches()).toBe(1);
    const long = documents([{ ok: true, document: good, maxAgeSeconds: 1e9 }]);
    await long.read();
    long.clock.advance(24 * 3600_000 + 1);
    await long.read();
    expect(long.fetches()).toBe(2);
  });

  test("uses a cached document for a day while the host is unavailable, unless its headers forbid it", async () => {
    const away = { ok: false, reason: "unreachable", transient: true };
    const { clock, read } = documents([{ ok: true, document: good }, away]);
    await read();
    clock.advance(3600_000);
    expect((await read()).ok).toBe(true);
    clock.advance(24 * 3600_000);
    expect(await read()).toMatchObject({ ok: false, refusal: { error: "temporarily_unavailable" } });
    const strict = documents([{ ok: true, document: good, mustRevalidate: true }, away]);
    await strict.read();
    strict.clock.advance(61_000);
    expect((await strict.read()).ok).toBe(false);
  });

  test("drops a cached document once it is deleted", async () => {
    const gone = { ok: false, reason: "status 404" };
    const { clock, read } = documents([
      { ok: true, document: good },
      gone,
      { ok: false, reason: "x", transient: true },
    ]);
    await read();
    clock.advance(61_000);
    expect(await read()).toMatchObject({ ok: false, refusal: { error: "invalid_client" } });
    expect((await read()).ok).toBe(false);
  });

  test("limits requests per host, however many URLs are named, and reports a temporary error", async () => {
    const clock = createTestClock();
    let fetches = 0;
    const remote = createRemoteDocuments({ clock, fetch: async () => ({ ok: false, reason: `${(fetches += 1)}` }) });
    const request = { allowed: [], isValid: () => true };
    const ask = (index: number) => remote.read(`https://app.example.com/c?${index}`, request);
    for (let index = 0; index < 100; index += 1) await ask(index);
    expect(fetches).toBe(30);
    expect(await ask(200)).toMatchObject({ ok: false, refusal: { error: "temporarily_unavailable" } });
    await remote.read("https://other.example.com/c", request);
    expect(fetches).toBe(31);
    clock.advance(1000);
    expect(await ask(300)).toMatchObject({ ok: false, refusal: { error: "invalid_client" } });
  });

  test("never keeps failures and invalid documents", async () => {
    const { read, fetches } = documents([
      { ok: false, reason: "status-500" },
      { ok: true, document: { ...good, client_id: "https://evil.example/c" } },
      { ok: true, document: good },
    ]);
    expect((await read()).ok).toBe(false);
    expect((await read()).ok).toBe(false);
    expect((await read()).ok).toBe(true);
    expect(fetches()).toBe(3);
  });
});
