/** Facts learned about an upstream, and dropped again, by several replicas and for all responses. */
import { beforeEach, expect, test } from "vitest";

import type { SafeAnswer, SafeFetch } from "../../../../runtime/http/fetch/safe-fetch.ts";
import { readChallenge, type ChallengeReading } from "../../../../runtime/oauth/client/discovery/bearer-challenge.ts";
import { listNeeds } from "../../../../runtime/oauth/client/learned-needs.ts";
import { createNeeds, type Needs } from "../../../../runtime/oauth/client/need.ts";
import { findTarget, type UpstreamTarget } from "../../../../runtime/oauth/client/target.ts";
import { silentLog } from "../../../../runtime/shared/log.ts";
import { createMemoryStore } from "../../../../runtime/store/memory.ts";
import { createTestClock, type TestClock } from "../../../support/clock.ts";
import { routeNamed, snapshotFrom } from "../../../support/config.ts";

import { serverMetadata } from "../../../support/upstream-service.ts";

const ORIGIN = "https://api.example.com";
const URL_OF = `${ORIGIN}/mcp`;
const WELL_KNOWN = `${ORIGIN}/.well-known/oauth-protected-resource/mcp`;
const RESOURCE = { resource: URL_OF, authorization_servers: [ORIGIN] };
const SERVER = { [`${ORIGIN}/.well-known/oauth-authorization-server`]: serverMetadata(ORIGIN) };

let clock: TestClock;
let target: UpstreamTarget;
let documents: Record<string, unknown>;
/** The upstream's response to a request without a token: its challenge; undefined: 200. */
let challenge: string | undefined;
let asked: string[];
let replica: () => Needs;
let needs: () => ReturnType<typeof listNeeds>;

beforeEach(() => {
  clock = createTestClock(1_000_000_000_000);
  const snapshot = snapshotFrom(`
runtime_flags: { mcp: true }
mcp_allowed_as_metadata_domains: [api.example.com, as.api.example.com]
routes:
  - name: server
    from: https://mcp.gateway.example
    to: ${ORIGIN}
    mcp: { server: { path: /mcp } }
    policy: [{ allow: { and: [{ authenticated_user: true }] } }]
`);
  target = findTarget(routeNamed(snapshot, "server")) as UpstreamTarget;
  documents = {};
  challenge = undefined;
  asked = [];
  const fetch: SafeFetch = async ({ url, method }): Promise<SafeAnswer> => {
    asked.push(url);
    const answer = (status: number, body = "", headers = {}): SafeAnswer => ({
      ok: true,
      status,
      headers,
      body: Buffer.from(body),
    });
    if (method === "POST")
      return challenge === undefined ? answer(200) : answer(401, "", { "www-authenticate": challenge });
    const document = documents[url];
    if (typeof document === "number") return answer(document);
    return document === undefined ? answer(404) : answer(200, JSON.stringify(document));
  };
  const store = createMemoryStore({ clock });
  const snapshots = { current: () => snapshot, subscribe: () => () => {} } as never;
  const issuers = { find: async () => undefined, bind: async () => undefined };
  replica = () => createNeeds({ issuers, store, snapshots, clock, log: silentLog(), fetch, development: false });
  needs = () => listNeeds(store);
});

const bearer = (named?: string): ChallengeReading =>
  readChallenge(named === undefined ? "Bearer" : `Bearer resource_metadata="${named}"`);
const BARE: ChallengeReading = { kind: "none" };

test("metadata that only a challenge names is found though another 401 named none", async () => {
  const named = `${ORIGIN}/elsewhere`;
  const other = "https://as.api.example.com";
  documents[named] = { resource: URL_OF, authorization_servers: [other] };
  documents[`${other}/.well-known/oauth-authorization-server`] = serverMetadata(other);
  const one = replica();
  expect(await one.confirm(target, BARE)).toBe("refuted");
  expect(await one.confirm(target, bearer(named))).toBe("confirmed");
});

test("different concurrent responses are evaluated separately", async () => {
  challenge = "Bearer";
  const one = replica();
  expect(await Promise.all([one.confirm(target, BARE), one.confirm(target, bearer())])).toEqual([
    "refuted",
    "confirmed",
  ]);
});

test("a server that names other metadata each time costs a few discoveries", async () => {
  const one = replica();
  for (let request = 0; request < 100; request += 1)
    expect(await one.confirm(target, bearer(`${ORIGIN}/metadata/${request}`))).toBe("refuted");
  expect(new Set(asked.filter((url) => url.includes("/metadata/"))).size).toBeLessThanOrEqual(4);
  clock.advance(10_000);
  Object.assign(documents, SERVER, { [WELL_KNOWN]: RESOURCE });
  expect(await one.confirm(target, BARE)).toBe("confirmed");
});

test("unreadable metadata are not requested for each rejected request, but again soon", async () => {
  documents[WELL_KNOWN] = 503;
  const one = replica();
  for (let request = 0; request < 100; request += 1) expect(await one.confirm(target, BARE)).toBe("unavailable");
  expect(asked.length).toBeLessThanOrEqual(2);
  Object.assign(documents, SERVER, { [WELL_KNOWN]: RESOURCE });
  clock.advance(1_000);
  expect(await one.confirm(target, BARE)).toBe("confirmed");
});

test("names that alternate cost no discovery each once a sign-in is known to help", async () => {
  Object.assign(documents, SERVER, { [WELL_KNOWN]: RESOURCE });
  for (const name of ["a", "b"]) documents[`${ORIGIN}/${name}`] = RESOURCE;
  const one = replica();
  for (let request = 0; request < 50; request += 1)
    expect(await one.confirm(target, bearer(`${ORIGIN}/${request % 2 === 0 ? "a" : "b"}`))).toBe("confirmed");
  expect(asked.filter((url) => url === `${ORIGIN}/a` || url === `${ORIGIN}/b`).length).toBeLessThanOrEqual(4);
});

test("a replica's old doubt does not delete a newer proof of another", async () => {
  challenge = "Bearer";
  const [one, other] = [replica(), replica()];
  expect(await one.confirm(target, bearer())).toBe("confirmed");
  expect(await other.look(target)).toBe("needed");
  one.passed(target.route);
  await expect.poll(needs).toEqual([]);
  Object.assign(documents, SERVER, { [WELL_KNOWN]: RESOURCE });
  expect(await one.confirm(target, bearer())).toBe("confirmed");
  other.passed(target.route);
  const before = asked.length;
  // The change in the memory store completes before the next step.
  for (let look = 0; look < 10; look += 1) expect(await other.look(target)).toBe("needed");
  expect(asked.length).toBe(before);
  expect(await needs()).toMatchObject([{ needed: true, proof: "metadata" }]);
});

test("a response without a token where only a challenge was known ends that, also when it is the gateway's own question", async () => {
  challenge = "Bearer";
  const one = replica();
  expect(await one.confirm(target, bearer())).toBe("confirmed");
  await one.send("alice", target, undefined);
  challenge = undefined;
  expect(await one.discover(target, {})).toMatchObject({ ok: false, failure: "not-found" });
  expect(await needs()).toEqual([]);
  expect(await one.wasSent("alice", target)).toBeUndefined();
});
