import { createServer } from "node:https";
import type { AddressInfo } from "node:net";

import { describe, expect, test } from "vitest";

import { parseDomainPattern } from "../../../../../runtime/settings/domains.ts";
import { createFetchDocument, freshness } from "../../../../../runtime/oauth/server/clients/fetch-document.ts";
import { createSafeFetch, type SafeAnswer, type SafeRequest } from "../../../../../runtime/http/fetch/safe-fetch.ts";
import { makeCertificate } from "../../../../../runtime/terraform/protocol/certificate.ts";

const URL = "https://app.example.com/client.json";

function fetching(answer: object) {
  const asked: SafeRequest[] = [];
  const fetch = createFetchDocument({
    fetch: async (request) => {
      asked.push(request);
      return answer as SafeAnswer;
    },
  });
  return { asked, read: () => fetch(URL, []) };
}

const answered = (parts: object) => ({
  ok: true,
  status: 200,
  headers: { "content-type": "application/json" },
  body: Buffer.from('{"a":1}'),
  ...parts,
});

describe("createFetchDocument()", () => {
  test("fetches by the rules for client documents: listed hosts, never a private address, 5 KiB", async () => {
    const { asked, read } = fetching(answered({}));
    expect(await read()).toEqual({ ok: true, document: { a: 1 } });
    expect(asked).toEqual([
      {
        url: URL,
        target: { kind: "listed", domains: [], private: "never" },
        headers: { accept: "application/json, application/jwk-set+json" },
        maxBytes: 5 * 1024,
      },
    ]);
  });

  test.each([
    ["status 404", answered({ status: 404 }), false],
    ["status 204", answered({ status: 204 }), false],
    ["status 500", answered({ status: 500 }), true],
    ["status 429", answered({ status: 429 }), true],
    ["HTML", answered({ headers: { "content-type": "text/html" } }), false],
    ["no content type", answered({ headers: {} }), false],
    [
      "a type that only contains json",
      answered({ headers: { "content-type": "text/plain; application/json" } }),
      false,
    ],
    ["text that is no JSON", answered({ body: Buffer.from("{") }), false],
    ["broken UTF-8", answered({ body: Buffer.from([0x22, 0xff, 0x22]) }), false],
    ["a redirect", { ok: false, reason: "redirect", detail: "d" }, false],
    ["a private address", { ok: false, reason: "forbidden-address", detail: "d" }, false],
    ["too many bytes", { ok: false, reason: "too-large", detail: "d" }, false],
    ["a host that is away", { ok: false, reason: "unreachable", detail: "d" }, true],
    ["silence", { ok: false, reason: "timeout", detail: "d" }, true],
  ])("refuses %s", async (_, answer, transient) => {
    const result = await fetching(answer).read();
    expect([result.ok, !result.ok && (result.transient ?? false)]).toEqual([false, transient]);
  });

  test("reports TLS and DNS errors of a host, but nothing of its content", async () => {
    const fetch = createSafeFetch({ development: true, resolve: async () => [{ address: "127.0.0.1", family: 4 }] });
    const { certificate, privateKey } = makeCertificate(Date.now());
    // No process here trusts it.
    const server = createServer({ cert: certificate, key: privateKey });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const url = `https://app.example.com:${(server.address() as AddressInfo).port}/client.json`;
    const domains = [parseDomainPattern("app.example.com")];
    const read = await createFetchDocument({ fetch })(url, domains);
    await new Promise((resolve) => server.close(resolve));
    expect(read).toMatchObject({
      ok: false,
      transient: true,
      reason: expect.stringMatching(
        /^unreachable: app\.example\.com:\d+: [A-Z_]*CERT[A-Z_]*; name the CA's PEM file in NODE_EXTRA_CA_CERTS$/,
      ) as string,
    });
    const unknown = createSafeFetch({
      development: true,
      resolve: async () => Promise.reject(new Error("getaddrinfo ENOTFOUND app.example.com")),
    });
    expect(await createFetchDocument({ fetch: unknown })(url, domains)).toMatchObject({
      reason: expect.stringContaining("getaddrinfo ENOTFOUND app.example.com") as string,
    });
  });

  test("takes +json types", async () => {
    const headers = { "content-type": "application/oauth-client+json; charset=utf-8" };
    expect((await fetching(answered({ headers })).read()).ok).toBe(true);
  });
});

describe("freshness()", () => {
  const date = "Fri, 20 Nov 2026 12:00:00 GMT";
  test.each([
    [{}, {}],
    [{ "cache-control": "max-age=300" }, { maxAgeSeconds: 300 }],
    [{ "cache-control": "public, MAX-AGE=300", age: "100" }, { maxAgeSeconds: 200 }],
    [{ "cache-control": "max-age=300", age: "400" }, { maxAgeSeconds: 0 }],
    [{ "cache-control": "no-store" }, { maxAgeSeconds: 0, mustRevalidate: true }],
    [{ "cache-control": "no-cache, max-age=300" }, { maxAgeSeconds: 0, mustRevalidate: true }],
    [{ "cache-control": "max-age=300, must-revalidate" }, { maxAgeSeconds: 300, mustRevalidate: true }],
    [{ expires: "Fri, 20 Nov 2026 12:10:00 GMT", date }, { maxAgeSeconds: 600 }],
    [{ expires: "Fri, 20 Nov 2026 12:10:00 GMT", date, age: "100" }, { maxAgeSeconds: 500 }],
    [{ expires: "0", date }, { maxAgeSeconds: 0 }],
    [{ "cache-control": "max-age=60", expires: "Fri, 20 Nov 2026 12:10:00 GMT", date }, { maxAgeSeconds: 60 }],
    [{ "cache-control": "max-age=abc" }, {}],
  ])("of %j is %j", (headers, expected) => {
    expect(freshness(headers as Record<string, string>)).toEqual(expected);
  });
});
