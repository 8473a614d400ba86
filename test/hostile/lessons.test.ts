/**
 * Vulnerabilities of other gateways, and the tests that would fail if they existed here.
 *
 * The table lists each advisory with the titles of its tests; the test below it fails if a title is missing. Tests without
 * a better place are at the end of this file.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { describe, expect, test } from "vitest";

import { canonicalHost, matchesDomain, parseDomainPattern } from "../../runtime/settings/domains.ts";
import { parseUpstream } from "../../runtime/settings/values.ts";
import { readCookie, withoutCookies } from "../../runtime/http/cookies.ts";
import { foldHeaderName } from "../../runtime/shared/http/header-traits.ts";
import { parseQuery } from "../../runtime/shared/http/query.ts";
import { canonicalAuthority, canonicalPath, otherReadings } from "../../runtime/shared/http/target.ts";
import { matchesRedirectUri, redirectUriProblem } from "../../runtime/oauth/server/clients/redirect-uri.ts";
import { createKeys } from "../../runtime/shared/keys.ts";
import { parseMessage } from "../../runtime/mcp/message.ts";
import { readMessageHeaders } from "../../runtime/mcp/message-headers.ts";
import { escapeHtml } from "../../runtime/pages/html.ts";
import { emailAddress } from "../../runtime/policy/subjects.ts";
import { createExternalTokens } from "../../runtime/identity/external-token.ts";
import { isLocalPath } from "../../runtime/identity/sites.ts";
import { readChallenge } from "../../runtime/oauth/client/discovery/bearer-challenge.ts";
import { parseServerMetadata } from "../../runtime/oauth/client/discovery/metadata.ts";
import { upstreamTokenKey } from "../../runtime/oauth/client/connection-records.ts";
import type { UpstreamTarget } from "../../runtime/oauth/client/target.ts";
import { createFakeExchange } from "../support/fake-exchange.ts";
import { mayStall } from "../support/stall-limit.ts";

// Makes large inputs.
mayStall(1000);

const root = resolve(import.meta.dirname, "../..");

interface Lesson {
  readonly advisory: string;
  readonly happened: string;
  /** File below test/ → titles, or the part of a title before its first placeholder. */
  readonly tests: Readonly<Record<string, readonly string[]>>;
}

const lessons: readonly Lesson[] = [
  {
    advisory: "Pomerium CVE-2023-33189",
    happened: "crafted requests were decided as other requests than those forwarded",
    tests: { "hostile/same-request.test.ts": ["method, host and path in the record are those the victim received"] },
  },
  {
    advisory: "Pomerium CVE-2021-39206 (Envoy CVE-2021-32777, CVE-2021-32779)",
    happened: "prefix rules were confused by repeated headers and fragments",
    tests: {
      "hostile/targets.test.ts": ["fragment", "fragment in the query"],
      "hostile/whole-gateway.test.ts": ["%s leads alice nowhere near the route of bob"],
    },
  },
  {
    advisory: "Pomerium CVE-2021-41230",
    happened: "claims were not refreshed after sign-in",
    tests: { "runtime/identity/identities.test.ts": ["changes at the provider affect decisions"] },
  },
  {
    advisory: "Pomerium CVE-2022-24797",
    happened: "debug and metrics answered on a public listener",
    tests: { "hostile/whole-gateway.test.ts": ["%s is not found there"] },
  },
  {
    advisory: "Pomerium CVE-2024-39315",
    happened: "the user page gave OAuth tokens away",
    tests: {
      "hostile/whole-gateway.test.ts": [
        "the user's page and JSON hold none of them",
        "are in no log line and no record either",
      ],
      "flows/upstream-requests.test.ts": ["no Internal Token, code, verifier or client secret is in any response"],
    },
  },
  {
    advisory: "Pomerium CVE-2024-47616",
    happened: "a token of one kind opened another interface",
    tests: { "hostile/whole-gateway.test.ts": ["%s opens what it is for and nothing else"] },
  },
  {
    advisory: "Pomerium GO-2022-0783",
    happened: "an open redirect leaked tokens",
    tests: {
      "flows/upstream-connect.test.ts": ["of a foreign host", "of a foreign port"],
      "flows/issuer-authorize.test.ts": ["is a page that says where the way back leads"],
      "runtime/identity/sign-in/sign-in-attacks.test.ts": ["stays on the host"],
    },
  },
  {
    advisory: "Pomerium GO-2022-0827",
    happened: "a signature was not checked",
    tests: {
      "runtime/verify.test.ts": ["refuses a request without header, two different ones, text, and unsigned tokens"],
      "runtime/identity/sign-in/sign-in-attacks.test.ts": ["refuses another code, state or issuer"],
    },
  },
  {
    advisory: "oauth2-proxy CVE-2026-40575",
    happened: "a forged X-Forwarded-Uri chose the path that was judged",
    tests: { "hostile/whole-gateway.test.ts": ["a %s header grants nothing and identifies no user"] },
  },
  {
    advisory: "oauth2-proxy GHSA-5hvv-m4w4-gf6v",
    happened: "the user agent of a health checker passed without sign-in",
    tests: { "hostile/whole-gateway.test.ts": ["a User-Agent of %j decides nothing"] },
  },
  {
    advisory: "oauth2-proxy GHSA-pxq7-h93f-9jrg, GHSA-7rh7-c77v-6434",
    happened: "query and fragment took part in the match of routes",
    tests: { "hostile/targets.test.ts": ["fragment in the query", "a query never chooses the route"] },
  },
  {
    advisory: "oauth2-proxy GHSA-c5c4-8r6x-56w3",
    happened: "a domain rule was fooled by an address with several @",
    tests: { "runtime/policy/evaluate.test.ts": ["email and domain are undecidable for"] },
  },
  {
    advisory: "oauth2-proxy CVE-2025-64484",
    happened: "X_Forwarded_User reached upstreams that read it as X-Forwarded-User",
    tests: { "hostile/forged-headers.test.ts": ["a forged %s never arrives"] },
  },
  {
    advisory: "oauth2-proxy GHSA-f24x-5g9q-753f",
    happened: "an old session cookie stayed at the sign-in page",
    tests: { "runtime/identity/sign-in/sign-in.test.ts": ["clears an invalid session cookie"] },
  },
  {
    advisory: "Envoy CVE-2022-29226",
    happened: "any bearer passed for an authenticated one",
    tests: { "hostile/whole-gateway.test.ts": ["a random bearer is 401 at %s"] },
  },
  {
    advisory: "Envoy CVE-2021-29492, CVE-2019-9901; OPA-Envoy CVE-2026-26205",
    happened: "%2F, // and dot segments meant another path to the upstream than to the policy",
    tests: {
      "hostile/targets.test.ts": ["encoded slash", "empty segment", "encoded parent segment"],
      "runtime/shared/http/target.test.ts": [
        "returns a form that is its own canonical form and that URL parsers leave unchanged",
      ],
    },
  },
  {
    advisory: "Istio and Envoy RBAC CVE-2026-26308",
    happened: "of several values of a header only the first was judged",
    tests: {
      "hostile/lessons.test.ts": ["a duplicate security-relevant header is rejected: %s"],
      "hostile/targets.test.ts": ["the same Host twice"],
    },
  },
  {
    advisory: "LiteLLM CVE-2026-42271, Starlette CVE-2026-48710",
    happened: "a test endpoint ran commands of the caller; a Host trick took its sign-in away",
    tests: {
      "hostile/lessons.test.ts": ["no code that serves requests can start a program"],
      "hostile/whole-gateway.test.ts": ["Host %s serves nothing"],
    },
  },
  {
    advisory: "LiteLLM CVE-2026-12773",
    happened: "an exception in authentication became an anonymous identity",
    tests: { "runtime/proxy/access.test.ts": ["failing parts deny"] },
  },
  {
    advisory: "LiteLLM CVE-2026-12798, Azure MCP CVE-2026-26118",
    happened: "addresses from outside were fetched without judging where they lead",
    tests: {
      "runtime/http/fetch/safe-fetch.test.ts": [
        "does not look up or contact a host that is not listed",
        "connects to the address it checked: a changed DNS result has no effect",
        "does not follow a %i",
      ],
      "imports.test.ts": ["connections"],
    },
  },
  {
    advisory: "Kuadrant MCP gateway GHSA-g53w-w6mj-hrpp",
    happened: "an internal control header with a default key passed the session check",
    tests: {
      "hostile/whole-gateway.test.ts": ["a %s header grants nothing and identifies no user"],
      "hostile/lessons.test.ts": ["no key is made of a short or a missing secret"],
      "runtime/config/compile.test.ts": ["rejects a resolved secret that is too short, without naming it"],
    },
  },
  {
    advisory: "ContextForge issue 1078",
    happened: "a user's request went out with another user's upstream token",
    tests: {
      "hostile/lessons.test.ts": ["an upstream token is found by its own user, route, upstream and client only"],
      "hostile/many-clients.test.ts": ["each of 600 interleaved requests of four users gets its own answer"],
      "flows/issuer-gateway.test.ts": ["two users of one client are distinguished"],
    },
  },
  {
    advisory: "Kong 3.13 release notes",
    happened: "a list told of tools that a call would not allow",
    tests: {
      "flows/application-tokens.test.ts": ["lists the servers that the user could use, and no others"],
      "runtime/policy/reach.test.ts": ["a user whose facts cannot be checked reaches nothing"],
    },
  },
  {
    advisory: "mcp-remote CVE-2025-6514",
    happened: "an authorization endpoint from metadata reached a shell",
    tests: {
      "hostile/lessons.test.ts": [
        "an endpoint in metadata is an https address or the metadata is refused",
        "no code that serves requests can start a program",
      ],
    },
  },
  {
    advisory: "MCP Inspector CVE-2025-49596",
    happened: "a local listener without Host and Origin checks was reached by web pages",
    tests: {
      "runtime/admin-listener/admin.test.ts": ["the gate"],
      "hostile/mcp-messages.test.ts": ["a page of %s is 403"],
    },
  },
  {
    advisory: "MCP TypeScript SDK CVE-2026-0621, GHSA-w48q-cv73-mx4w",
    happened: "a backtracking expression hung on input; rebinding protection was off by default",
    tests: {
      "hostile/lessons.test.ts": ["%s takes hostile text of 64 KiB in its stride"],
      "runtime/features/headers/host-regex.test.ts": ["stays linear on input that makes backtracking engines hang"],
      "hostile/whole-gateway.test.ts": ["Host %s serves nothing"],
    },
  },
  {
    advisory: "MCP TypeScript SDK CVE-2026-25536",
    happened: "a shared transport gave one user's result to another",
    tests: { "hostile/many-clients.test.ts": ["each of 600 interleaved requests of four users gets its own answer"] },
  },
  {
    advisory: "MCP stdio CVE-2026-30623, CVE-2025-54136",
    happened: "configuration became a program to run; an approved server was swapped later",
    tests: {
      "hostile/lessons.test.ts": ["an upstream is an http address and nothing else"],
      "flows/issuer-consent.test.ts": [
        "changed document metadata need a new consent; a document with a loopback address always does (RFC 8252 §8.6)",
      ],
    },
  },
];

describe("lessons from others' advisories", () => {
  test.each(lessons)("$advisory: $happened", ({ tests }) => {
    for (const [file, titles] of Object.entries(tests)) {
      const text = readFileSync(join(root, "test", file), "utf8");
      for (const title of titles) expect([file, title, hasTitle(text, title)]).toEqual([file, title, true]);
    }
  });
});

/** Returns true if a string literal of the file is this title or starts with it, outside the table's own lines. */
function hasTitle(text: string, title: string): boolean {
  const tests = text.slice(text.lastIndexOf("\nconst lessons") === -1 ? 0 : text.indexOf("\ndescribe("));
  return tests.includes(title);
}

test.each([
  ["Authorization", "Bearer gwt_a"],
  ["Cookie", "gateway_session=a"],
  ["Host", "app.example"],
  ["Origin", "https://app.example"],
  ["Content-Type", "application/json"],
  ["Content-Length", "2"],
  ["Mcp-Session-Id", "a"],
  ["Mcp-Protocol-Version", "2025-11-25"],
  ["Mcp-Method", "ping"],
])("a duplicate security-relevant header is rejected: %s", async (name, value) => {
  const { createHttpServer } = await import("../../runtime/http/listener/server.ts");
  const { silentLog } = await import("../../runtime/shared/log.ts");
  const { sendRaw } = await import("../support/raw-client.ts");
  let reached = 0;
  const server = await createHttpServer({
    address: "127.0.0.1:0",
    insecure: true,
    log: silentLog(),
    handle: (exchange) => {
      reached += 1;
      exchange.respond(200, ["content-length", "0"]);
    },
  });
  const host = name === "Host" ? [] : ["Host: app.example"];
  for (const other of [value, `${value}x`]) {
    const lines = ["POST / HTTP/1.1", ...host, `${name}: ${value}`, `${name.toLowerCase()}: ${other}`, "", "{}"];
    const answer = await sendRaw(server.port, lines.join("\r\n"));
    expect(answer.status).toBe(400);
  }
  expect(reached).toBe(0);
  await server.close({ timeoutMs: 0 });
});

test("no code that serves requests can start a program", () => {
  const files = readdirSync(join(root, "runtime"), { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".ts"),
  );
  expect(files.length).toBeGreaterThan(100);
  const starting = files.filter((file) =>
    /\bfrom "(?:node:)?(?:child_process|vm|repl)"|\beval\(|\bnew Function\(|process\.binding/.test(
      readFileSync(join(root, "runtime", file), "utf8"),
    ),
  );
  // The scripts that build the published package run its tools; they are never published.
  expect(starting.filter((file) => !file.startsWith("package/"))).toEqual([]);
});

test.each(["stdio:npx", "file:///bin/sh", "unix:///tmp/s", "tcp://h:1", "javascript:1", "npx server", "ftp://h", ""])(
  "an upstream is an http address and nothing else: %j",
  (text) => {
    expect(parseUpstream(text).ok).toBe(false);
  },
);

test.each([
  "javascript:alert(1)",
  "file:///etc/passwd",
  "http://as.example/authorize",
  "https://user:secret@as.example/authorize",
  "https://as.example/authorize#x",
  "$(touch /tmp/x)",
  "-oProxyCommand=x",
  "//as.example",
  "",
])("an endpoint in metadata is an https address or the metadata is refused: %j", (address) => {
  const issuer = "https://as.example";
  const good = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    code_challenge_methods_supported: ["S256"],
  };
  expect(parseServerMetadata(good, issuer, false).ok).toBe(true);
  for (const name of ["authorization_endpoint", "token_endpoint", "registration_endpoint", "revocation_endpoint"]) {
    expect([name, parseServerMetadata({ ...good, [name]: address }, issuer, false).ok]).toEqual([name, false]);
  }
});

test("no key is made of a short or a missing secret", () => {
  expect(() => createKeys([])).toThrow(/shared_secret/);
  for (const length of [0, 1, 16, 31]) expect(() => createKeys([Buffer.alloc(length)])).toThrow(/32/);
});

test("an upstream token is found by its own user, route, upstream and client only", () => {
  const target = (key: string, url: string, generation: string): UpstreamTarget =>
    ({ route: { key }, url, generation }) as unknown as UpstreamTarget;
  const keys = [
    upstreamTokenKey("alice", target("default/a", "https://up.example", "1")),
    upstreamTokenKey("bob", target("default/a", "https://up.example", "1")),
    upstreamTokenKey("alice", target("default/b", "https://up.example", "1")),
    upstreamTokenKey("alice", target("default/a", "https://other.example", "1")),
    upstreamTokenKey("alice", target("default/a", "https://up.example", "2")),
    // Parts that run together would be the same text.
    upstreamTokenKey("alicedefault/a", target("", "https://up.example", "1")),
    upstreamTokenKey('alice","default/a', target("", "https://up.example", "1")),
  ];
  expect(new Set(keys).size).toBe(keys.length);
});

describe("readers of client and server input", () => {
  const exchangeWith = (cookie: string) => createFakeExchange({ headers: ["cookie", cookie] });
  const tokens = createExternalTokens({ keys: createKeys([Buffer.alloc(32)]), clock: { now: () => 0 } });
  const patterns = [parseDomainPattern("*.example.com")];
  const ignored = (read: (text: string) => unknown) => (text: string) => {
    try {
      read(text);
    } catch {
      // Refusing by throwing is fine; only the time counts.
    }
  };
  const readers: Readonly<Record<string, (text: string) => unknown>> = {
    "canonicalPath()": (text) => canonicalPath(`/${text}`),
    "canonicalAuthority()": (text) => canonicalAuthority(text, "443"),
    "otherReadings()": otherReadings,
    "parseQuery()": parseQuery,
    "readCookie()": (text) => readCookie(exchangeWith(`gateway_session${text}`), "gateway_session"),
    "withoutCookies()": (text) => withoutCookies(text, (name) => name === "x"),
    "foldHeaderName()": foldHeaderName,
    "canonicalHost()": canonicalHost,
    "matchesDomain()": (text) => matchesDomain(patterns, text),
    "redirectUriProblem()": (text) => redirectUriProblem(`https://${text}`, []),
    "matchesRedirectUri()": (text) => matchesRedirectUri(["http://127.0.0.1/cb"], `http://127.0.0.1${text}`),
    "isLocalPath()": (text) => isLocalPath(`/${text}`),
    "escapeHtml()": escapeHtml,
    "emailAddress()": emailAddress,
    "ExternalTokens.open()": (text) => tokens.open(`gwt_${text}`),
    "readChallenge()": (text) => readChallenge(`Bearer ${text}`),
    "parseMessage(), media type": (text) =>
      parseMessage(Buffer.from("{}"), readMessageHeaders(["content-type", `application/json${text}`])),
    "parseMessage(), key": (text) =>
      parseMessage(
        Buffer.from(JSON.stringify({ [text]: { [text]: text }, method: text })),
        readMessageHeaders(["content-type", "application/json", "mcp-method", text]),
      ),
    "readMessageHeaders()": (text) => readMessageHeaders(["content-type", text, "mcp-name", text]),
    "parseMessage()": (text) =>
      parseMessage(Buffer.from(text), readMessageHeaders(["content-type", "application/json"])),
  };
  const SIZE = 65_536;
  const hostile = [
    "a",
    " ",
    "\t ",
    ".",
    "a.",
    "-.",
    "=",
    '"',
    '\\"',
    "a=",
    "a=b;",
    "a=b&",
    "%2",
    "%41",
    "%3B",
    ";",
    "/;",
    "[",
    '{"a":',
    '{"a":1,',
    "@",
    "a@",
    ",",
    'a="b", ',
    "&lt;",
    "\u0130",
  ].flatMap((unit) => [
    unit.repeat(SIZE / unit.length),
    `${unit.repeat(SIZE / unit.length)}!`,
    `x${unit.repeat(SIZE / unit.length)}\u0000`,
  ]);

  test.each(Object.entries(readers))("%s takes hostile text of 64 KiB in its stride", (_name, read) => {
    const quiet = ignored(read);
    quiet("warm");
    for (const text of hostile) {
      const started = performance.now();
      quiet(text);
      // Backtracking takes minutes here; reading takes milliseconds, on a busy machine some more.
      expect([text.slice(0, 8), performance.now() - started < 1_000]).toEqual([text.slice(0, 8), true]);
    }
  });
});
