import { gzipSync } from "node:zlib";

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { parseDomainPattern } from "../../../../runtime/settings/domains.ts";
import {
  createSafeFetch,
  type FetchTarget,
  type Resolve,
  type SafeRequest,
} from "../../../../runtime/http/fetch/safe-fetch.ts";
import { startHostileServer, type HostileServer } from "../../../support/hostile-server.ts";

let server: HostileServer;
let port = 0;

beforeAll(async () => {
  server = await startHostileServer();
  port = server.port;
});
beforeEach(() => server.answer((_request, response) => void response.end('{"a":1}')));
afterAll(() => server.close());

const listed = (...domains: string[]): FetchTarget => ({
  kind: "listed",
  domains: domains.map(parseDomainPattern),
  private: "exact",
});

/** A resolver that gives these answers in turn and counts the questions. */
function resolver(...answers: readonly (readonly string[])[]): Resolve & { asked: string[] } {
  const asked: string[] = [];
  const resolve: Resolve = async (hostname) => {
    const answer = answers[Math.min(asked.length, answers.length - 1)] ?? [];
    asked.push(hostname);
    return answer.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
  };
  return Object.assign(resolve, { asked });
}

const request = (url: string, target: FetchTarget, more: Partial<SafeRequest> = {}): SafeRequest => ({
  url,
  target,
  maxBytes: 1000,
  timeoutMs: 2000,
  ...more,
});

describe("safeFetch() before the network", () => {
  test("does not look up or contact a host that is not listed", async () => {
    const resolve = resolver(["127.0.0.1"]);
    const fetch = createSafeFetch({ development: true, resolve });
    const before = server.seen.length;
    const answer = await fetch(request(`http://evil.example:${port}/`, listed("good.example", "*.good.example")));
    expect(answer).toMatchObject({ ok: false, reason: "not-listed" });
    expect(resolve.asked).toEqual([]);
    expect(server.seen.length).toBe(before);
  });

  test.each([
    ["a wildcard does not cover the bare domain", "https://good.example/", "not-listed", ["*.good.example"]],
    ["a suffix without a dot is another domain", "https://notgood.example/", "not-listed", ["good.example"]],
    ["the port does not belong to the host", "https://evil.example:443/", "not-listed", ["good.example"]],
    ["a user name does not hide the host", "https://good.example@evil.example/", "bad-url", ["good.example"]],
    ["a user name is refused before anything", "https://user:pass@good.example/", "bad-url", ["good.example"]],
    ["http is no address for what is learnt", "http://good.example/", "bad-url", ["good.example"]],
    ["javascript: is no address", "javascript:alert(1)", "bad-url", ["good.example"]],
    ["file: is no address", "file:///etc/passwd", "bad-url", ["good.example"]],
    ["text is no address", "good.example", "bad-url", ["good.example"]],
  ])("%s", async (_name, url, reason, domains) => {
    const resolve = resolver(["93.184.216.34"]);
    const answer = await createSafeFetch({ development: false, resolve })(request(url, listed(...domains)));
    expect(answer).toMatchObject({ ok: false, reason });
    expect(resolve.asked).toEqual([]);
  });

  test("compares hosts in lower case and without the trailing dot", async () => {
    const resolve = resolver(["127.0.0.1"]);
    const fetch = createSafeFetch({ development: true, resolve });
    expect(await fetch(request(`http://GOOD.example.:${port}/`, listed("good.example")))).toMatchObject({ ok: true });
  });
});

describe("safeFetch() checks addresses", () => {
  test.each([
    ["127.0.0.1"],
    ["2130706433"],
    ["0x7f000001"],
    ["0177.0.0.1"],
    ["127.1"],
    ["[::1]"],
    ["[::ffff:127.0.0.1]"],
    ["[::ffff:7f00:1]"],
    ["0.0.0.0"],
    ["[::]"],
    ["169.254.169.254"],
    ["[fd00:ec2::254]"],
    ["[64:ff9b::a9fe:a9fe]"],
  ])("never connects to the literal address %s, listed or not", async (host) => {
    const before = server.seen.length;
    const fetch = createSafeFetch({ development: false });
    const { hostname } = new URL(`https://${host}/`);
    const answer = await fetch(request(`https://${host}:${port}/`, listed(hostname)));
    expect(answer).toMatchObject({ ok: false, reason: "forbidden-address" });
    expect(await fetch(request(`https://${host}:${port}/`, { kind: "named", domains: [] }))).toMatchObject({
      reason: "forbidden-address",
    });
    expect(server.seen.length).toBe(before);
  });

  test.each([["127.0.0.1"], ["::1"], ["::ffff:127.0.0.1"], ["169.254.169.254"], ["fe80::1"], ["0.0.0.0"]])(
    "does not connect to a listed name that resolves to %s",
    async (address) => {
      const fetch = createSafeFetch({ development: false, resolve: resolver([address]) });
      const answer = await fetch(request(`https://good.example:${port}/`, listed("good.example")));
      expect(answer).toMatchObject({ ok: false, reason: "forbidden-address" });
    },
  );

  test("refuses a name with one bad address among good ones", async () => {
    const resolve = resolver(["93.184.216.34", "169.254.169.254"]);
    const answer = await createSafeFetch({ development: false, resolve })(
      request("https://good.example/", listed("good.example")),
    );
    expect(answer).toMatchObject({ ok: false, reason: "forbidden-address" });
  });

  test("an exactly listed name may be in a private network, a wildcard match may not", async () => {
    const fetch = createSafeFetch({ development: false, resolve: resolver(["10.255.255.1"]) });
    const exact = await fetch(request("https://as.good.example/", listed("as.good.example"), { timeoutMs: 100 }));
    expect(exact).toMatchObject({ ok: false, reason: expect.stringMatching(/^(timeout|unreachable)$/) });
    const wildcard = await fetch(request("https://as.good.example/", listed("*.good.example")));
    expect(wildcard).toMatchObject({ ok: false, reason: "forbidden-address" });
  });

  test("a client document's host may never be in a private network", async () => {
    const fetch = createSafeFetch({ development: false, resolve: resolver(["10.0.0.1"]) });
    const target: FetchTarget = { kind: "listed", domains: [parseDomainPattern("good.example")], private: "never" };
    expect(await fetch(request("https://good.example/", target))).toMatchObject({ reason: "forbidden-address" });
  });

  test("the host of a route's `to` may be loopback over http, but must be listed", async () => {
    const fetch = createSafeFetch({ development: false });
    const domains = [parseDomainPattern("127.0.0.1")];
    expect(await fetch(request(`${server.origin}/`, { kind: "upstream", domains }))).toMatchObject({ ok: true });
    expect(await fetch(request(`${server.origin}/`, { kind: "upstream", domains: [] }))).toMatchObject({
      reason: "not-listed",
    });
  });

  test("connects to the address it checked: a changed DNS result has no effect", async () => {
    const resolve = resolver(["127.0.0.1"], ["169.254.169.254"]);
    const fetch = createSafeFetch({ development: true, resolve });
    const answer = await fetch(request(`http://good.example:${port}/x?y=1`, listed("good.example")));
    expect(answer).toMatchObject({ ok: true, status: 200 });
    expect(resolve.asked).toEqual(["good.example"]);
    expect(server.seen.at(-1)).toMatchObject({ url: "/x?y=1", headers: { host: `good.example:${port}` } });
  });

  test("checks the name again at each fetch", async () => {
    const fetch = createSafeFetch({ development: true, resolve: resolver(["127.0.0.1"], ["169.254.169.254"]) });
    const url = `http://good.example:${port}/`;
    expect(await fetch(request(url, listed("good.example")))).toMatchObject({ ok: true });
    expect(await fetch(request(url, listed("good.example")))).toMatchObject({ reason: "forbidden-address" });
  });

  test("says so when a name has no address", async () => {
    const fetch = createSafeFetch({ development: false, resolve: () => Promise.reject(new Error("ENOTFOUND")) });
    expect(await fetch(request("https://good.example/", listed("good.example")))).toMatchObject({
      reason: "unresolved",
    });
  });
});

describe("safeFetch() and the answer", () => {
  const fetch = createSafeFetch({ development: true });
  const get = (more: Partial<SafeRequest> = {}) => fetch(request(`${server.origin}/`, listed("127.0.0.1"), more));

  test("sends no cookie, no user agent of a browser, and asks for no coding", async () => {
    await get({ headers: { "accept-encoding": "gzip" } });
    const headers = server.seen.at(-1)?.headers;
    expect(headers).toMatchObject({ "accept-encoding": "identity" });
    expect(Object.keys(headers ?? {}).sort()).toEqual(["accept", "accept-encoding", "connection", "host"]);
  });

  test.each([301, 302, 303, 307, 308])("does not follow a %i", async (status) => {
    server.answer(
      (_request, response) => void response.writeHead(status, { location: `${server.origin}/inside` }).end(),
    );
    const before = server.seen.length;
    expect(await get()).toMatchObject({ ok: false, reason: "redirect" });
    expect(server.seen.length).toBe(before + 1);
  });

  test("stops reading a body past the cap, declared or not", async () => {
    server.answer((_request, response) => void response.end(Buffer.alloc(1001)));
    expect(await get()).toMatchObject({ ok: false, reason: "too-large" });
    server.answer((_request, response) => {
      const write = (): void => {
        while (response.write(Buffer.alloc(65_536)));
      };
      response.on("drain", write);
      write();
    });
    expect(await get()).toMatchObject({ ok: false, reason: "too-large" });
    server.answer((_request, response) => void response.end(Buffer.alloc(1000)));
    expect(await get()).toMatchObject({ ok: true });
  });

  test("does not unfold a compressed body", async () => {
    server.answer((_request, response) =>
      response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(Buffer.alloc(10_000_000))),
    );
    expect(await get({ maxBytes: 100_000 })).toMatchObject({ ok: false, reason: "content-coding" });
  });

  test("gives up a server that drips, and one that says nothing", async () => {
    server.answer((_request, response) => {
      const timer = setInterval(() => response.write(" "), 20);
      response.on("close", () => clearInterval(timer));
    });
    expect(await get({ timeoutMs: 200 })).toMatchObject({ ok: false, reason: "timeout" });
    server.answer(() => {});
    expect(await get({ timeoutMs: 100 })).toMatchObject({ ok: false, reason: "timeout" });
  });

  test("gives up a resolver that does not answer", async () => {
    const slow = createSafeFetch({ development: true, resolve: () => new Promise(() => {}) });
    const answer = await slow(request("https://good.example/", listed("good.example"), { timeoutMs: 50 }));
    expect(answer).toMatchObject({ ok: false, reason: "timeout" });
  });

  test("never quotes the answer", async () => {
    server.answer(
      (_request, response) => void response.writeHead(302, { location: "http://secret.internal/" }).end("SECRET"),
    );
    expect(JSON.stringify(await get())).not.toMatch(/secret/i);
  });

  test("sends a form as it is", async () => {
    await get({ method: "POST", body: "a=b", headers: { "content-type": "application/x-www-form-urlencoded" } });
    expect(server.seen.at(-1)).toMatchObject({ method: "POST", body: "a=b" });
  });
});

test("requests that clients cause, to however many hosts, leave half of the connections to others", async () => {
  const fetch = createSafeFetch({ development: true, resolve: resolver(["127.0.0.1"]), atOnce: 8 });
  const target: FetchTarget = { kind: "configured" };
  const leaving = new AbortController();
  let hanging = 0;
  const arrived: (() => void)[] = [];
  server.answer(({ url }, response) => {
    if (url === "/quick") response.end('{"a":1}');
    else {
      hanging += 1;
      arrived.pop()?.();
    }
  });
  const three = Promise.all([1, 2, 3].map(() => new Promise<void>((resolve) => arrived.push(resolve))));
  const slow = Array.from({ length: 40 }, (_, index) =>
    fetch(
      request(`http://h${index}.example:${port}/slow`, target, {
        party: `owner ${index < 30 ? "a" : "b"}`,
        timeoutMs: 20_000,
        signal: leaving.signal,
      }),
    ),
  );
  await three;
  const others = await Promise.all(
    [1, 2, 3, 4].map((n) => fetch(request(`http://keys${n}.example:${port}/quick`, target, { timeoutMs: 10_000 }))),
  );
  expect(others).toEqual(Array.from({ length: 4 }, () => expect.objectContaining({ ok: true, status: 200 })));
  expect(hanging).toBeLessThanOrEqual(4);
  leaving.abort();
  expect((await Promise.all(slow)).every(({ ok }) => !ok)).toBe(true);
});
