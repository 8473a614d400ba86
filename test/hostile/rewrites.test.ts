/** Rewrites and redirects against their operator: rules whose result no client may send, and paths crafted for them. */
import * as fc from "fast-check";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";

import { canonicalPath, otherReadings } from "../../runtime/shared/http/target.ts";
import { startPipeline, type Pipeline } from "../support/pipeline.ts";
import { sendRaw, type RawAnswer } from "../support/raw-client.ts";
import { startVictim, type Victim } from "../support/victim.ts";

let victim: Victim;
let pipeline: Pipeline;
let heardBefore = 0;

/** Rules of which each can make a path with two readings out of one without. */
const RULES: Readonly<Record<string, readonly [pattern: string, substitution: string]>> = {
  "/twice": ["^/twice/([^/]*)/(.*)$", String.raw`/\1/\2`],
  "/bare": ["^/bare/?", ""],
  "/dots": ["^/dots/([^/]+)/(.*)$", String.raw`/.\1/\2`],
  "/escape": ["25|3", ""],
  "/slash": ["-", "/"],
  "/dot": ["d", "."],
  "/cut": ["^/cut/[^;]*;", "/"],
  "/drop": ["x", ""],
  "/grow": ["(.)", String.raw`\1\1\1\1\1\1\1\1\1`],
  "/param": ["_", ";"],
};

const yaml = (to: string): string => `
    authorize_log_fields: [path, route]
    routes:
      - { from: "https://app.example", to: "${to}", prefix: /plain, policy: [{ allow: { and: [{ accept: true }] } }] }
      - { from: "https://app.example", prefix: /leave, redirect: { prefix_rewrite: / }, policy: [{ allow: { and: [{ accept: true }] } }] }
      - { from: "https://*.wild.example", prefix: /leave, redirect: { prefix_rewrite: /to }, policy: [{ allow: { and: [{ accept: true }] } }] }
${Object.entries(RULES)
  .map(
    ([prefix, [pattern, substitution]]) =>
      `      - { from: "https://app.example", to: "${to}", prefix: ${prefix}, regex_rewrite_pattern: '${pattern}', regex_rewrite_substitution: '${substitution}', policy: [{ allow: { and: [{ accept: true }] } }] }`,
  )
  .join("\n")}
`;

beforeAll(async () => {
  victim = await startVictim();
  pipeline = await startPipeline(yaml(victim.origin));
});
afterAll(async () => {
  await pipeline.close();
  await victim.close();
});
beforeEach(() => {
  heardBefore = victim.requests.length;
});

const get = (target: string, host = "app.example"): Promise<RawAnswer> =>
  sendRaw(pipeline.port, `GET ${target} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`, 60);

describe("a rewrite with an ambiguous result is rejected, and never reaches the upstream", () => {
  test.each([
    ["an empty segment", "/slash/a--b"],
    ["an empty segment at the beginning", "/twice//x"],
    ["a path that does not begin with a slash", "/bare"],
    ["a host in place of a path", "/bare/@evil.example"],
    ["dot segments", "/dots/./x"],
    ["dot segments of two characters", "/dot/dd/x"],
    ["a dot segment at the end", "/dot/d"],
    ["an encoded slash", "/escape/%252Fadmin"],
    ["an encoded slash in lower case", "/escape/%252fadmin"],
    ["an encoded NUL", "/escape/%2500"],
    ["an encoded line feed", "/escape/%250A"],
    ["an escape of a plain character", "/escape/%2541"],
    ["half an escape", "/escape/%25z"],
    ["an escape cut in two", "/escape/%C3%A4"],
    ["a dot segment that was hidden by letters", "/drop/.x./admin"],
    ["an empty segment that was hidden by letters", "/drop/x/admin"],
    ["a result past the longest target", `/grow/${"a".repeat(1500)}`],
    ["a path past the longest that is rewritten", `/drop/${"a".repeat(2100)}`],
    ["a parameter that the judged path does not have", "/param/a_v=1/b"],
    ["a segment that is only a parameter", "/param/_x/admin"],
    ["a dot segment with a parameter", "/param/.._x/admin"],
    ["what a server that cuts parameters off would read otherwise", "/cut/a;b"],
  ])("%s: %s", async (_name, target) => {
    const answer = await get(target);
    expect(answer.status).toBe(400);
    expect(victim.requests.length).toBe(heardBefore);
  });

  test.each([
    ["/slash/a-b", "/slash/a/b"],
    ["/drop/a/x1", "/drop/a/1"],
    ["/escape/a3%E2%82%AC", "/escape/a%E2%82%AC"],
  ])("a rewrite with a plain result passes: %s", async (target, sent) => {
    expect((await get(target)).status).toBe(200);
    expect(victim.requests.at(-1)?.target).toBe(sent);
  });
});

const piece = fc.constantFrom(
  ..."/ /a /. .. . - -- d dd x _ __ ; ;x %2e %2F %5C %00 %41 %7e %C3%A4 %25 %x2F @ : // \\ ~ & =".split(" "),
);

test("whatever reaches the upstream is canonical, with and without its parameters", async () => {
  let passed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...Object.keys(RULES), "/plain"),
      fc.array(piece, { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      async (prefix, pieces, slash) => {
        const heard = victim.requests.length;
        const recorded = pipeline.records.length;
        const answer = await get(prefix + (slash ? "/" : "") + pieces.join(""));
        if (answer.status !== 200) {
          expect([400, 404, 414]).toContain(answer.status);
          expect(victim.requests.length).toBe(heard);
          return;
        }
        passed += 1;
        const sent = victim.requests[heard]?.target ?? "";
        expect(canonicalPath(sent)).toEqual({ ok: true, path: sent });
        for (const other of otherReadings(sent) ?? []) expect(canonicalPath(other).ok).toBe(true);
        // The decision used the path that the client meant, which is also unambiguous.
        const decided = String(pipeline.records[recorded]?.["path"]);
        expect(canonicalPath(decided)).toEqual({ ok: true, path: decided });
      },
    ),
    { numRuns: 250 },
  );
  expect(passed).toBeGreaterThan(10);
});

test("whatever a redirect answers leads to a host of the configuration and is one header", async () => {
  const nasty = fc.constantFrom(
    ..."/ // \\ @ evil.example :443 %0d%0a %0D%0AX-Y:z ?next=//evil.example #f ;x . .. %2e%2e %2F ?a?b ?\t ?%0a javascript: http://evil.example".split(
      " ",
    ),
  );
  await fc.assert(
    fc.asyncProperty(
      fc.array(nasty, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(
        "app.example",
        "a.wild.example",
        "evil.example",
        "a.wild.example@evil.example",
        "x\\.wild.example",
      ),
      async (pieces, host) => {
        const answer = await get(`/leave${pieces.join("")}`, host);
        const locations = answer.headers.get("location") ?? [];
        expect(answer.headers.has("x-y")).toBe(false);
        if (answer.status !== 301) {
          expect(locations).toEqual([]);
          return;
        }
        expect(locations).toHaveLength(1);
        const url = new URL(locations[0] ?? "");
        expect(url.origin).toBe(host === "app.example" ? "https://app.example" : "https://a.wild.example");
        expect(url.pathname.startsWith("//")).toBe(false);
      },
    ),
    { numRuns: 150 },
  );
});
