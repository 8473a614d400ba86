import { getHeapStatistics, setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

import { beforeEach, describe, expect, test } from "vitest";

import type { Principal } from "../../../../runtime/identity/principal.ts";
import type { StreamEnd } from "../../../../runtime/proxy/answers/answer-ended.ts";
import { type OpenStream, Streams } from "../../../../runtime/proxy/forwarding/streams.ts";
import { createTestClock, type TestClock } from "../../../support/clock.ts";
import { snapshotFrom } from "../../../support/config.ts";
import { createTestRevocations, testPrincipal, type TestRevocations } from "../../../support/pipeline.ts";

const config = (domain: string) =>
  snapshotFrom(
    `routes: [{ name: a, from: "https://a.example", to: "http://127.0.0.1:1", policy: [{ allow: { and: [{ domain: { is: ${domain} } }] } }] }]`,
  );
const snapshot = config("example.com");

let clock: TestClock;
let revocations: TestRevocations;
let streams: Streams;
let ended: string[];
let reasons: StreamEnd[];

beforeEach(() => {
  clock = createTestClock();
  revocations = createTestRevocations();
  streams = new Streams({ revocations, clock });
  ended = [];
  reasons = [];
  return () => streams.close();
});

function stream(name: string, seconds: number, overrides: Partial<OpenStream> = {}): OpenStream {
  const principal = testPrincipal(name, clock.now() / 1000 + seconds);
  const self: OpenStream = {
    routeKey: snapshot.routes[0]?.key ?? "",
    snapshot,
    principal,
    facts: { user: principal.user, http: { method: "GET", path: "/", host: "a.example", ip: "127.0.0.1" } },
    isEndless: true,
    endsWithCredential: true,
    end: (why) => {
      ended.push(name);
      reasons.push(why);
      streams.remove(self);
    },
    ...overrides,
  };
  return self;
}

describe("Streams", () => {
  test("ends a stream in the second its credential ends, not before", () => {
    expect(streams.add(stream("alice", 10))).toBe(true);
    expect(streams.add(stream("bob", 12))).toBe(true);
    clock.advance(9_999);
    streams.endExpired();
    expect(ended).toEqual([]);
    clock.advance(1);
    streams.endExpired();
    expect(ended).toEqual(["alice"]);
    expect(streams.size).toBe(1);
  });

  test("ends all that is due after a long pause of the process", () => {
    for (let seconds = 1; seconds <= 50; seconds += 1) streams.add(stream(`user${seconds}`, seconds));
    clock.advance(100_000_000);
    streams.endExpired();
    expect(ended).toHaveLength(50);
    expect(streams.size).toBe(0);
  });

  test("ends a stream in its second where the clock was hours ahead before", () => {
    clock.advance(3 * 3600_000);
    streams.endExpired();
    clock.advance(-3 * 3600_000);
    streams.add(stream("alice", 10));
    streams.endExpired();
    streams.add(stream("bob", 10));
    clock.advance(9_999);
    streams.endExpired();
    expect(ended).toEqual([]);
    clock.advance(1);
    streams.endExpired();
    expect(ended).toEqual(["alice", "bob"]);
  });

  test("lets a call continue after expiry up to `expiry_grace`, and no longer", () => {
    const call = stream("alice", 10, { isEndless: false, endsWithCredential: false });
    const late = stream("bob", 0, { isEndless: false, endsWithCredential: false });
    expect([streams.add(call), streams.add(late)]).toEqual([true, true]);
    clock.advance(3_599_999);
    streams.endExpired();
    expect(ended).toEqual([]);
    clock.advance(1);
    streams.endExpired();
    expect(ended).toEqual(["bob"]);
    clock.advance(9_999);
    expect(streams.isGood(call)).toBe(true);
    clock.advance(1);
    expect(streams.isGood(call)).toBe(false);
    streams.endExpired();
    expect(ended).toEqual(["bob", "alice"]);
    expect(reasons).toEqual(["expired", "expired"]);
    expect(streams.add(call)).toBe(false);
  });

  test("ends a stream that expired before its response at the next tick, and rejects a revoked one", () => {
    expect(streams.add(stream("alice", 0))).toBe(true);
    streams.endExpired();
    expect(ended).toEqual(["alice"]);
    revocations.revokeNow("user:bob");
    expect(streams.add(stream("bob", 10))).toBe(false);
    expect(streams.size).toBe(0);
  });

  test("ends a request without response once its user is revoked", () => {
    const call = stream("alice", 10, { isEndless: false, endsWithCredential: false });
    const short = stream("alice", 10, { isEndless: false, endsWithCredential: false });
    for (const each of [call, short]) streams.sent(each);
    streams.remove(short);
    expect(streams.size).toBe(0);
    streams.endExpired();
    expect(streams.size).toBe(1);
    clock.advance(20_000);
    streams.endExpired();
    revocations.revokeNow("user:alice");
    expect([ended, reasons]).toEqual([["alice"], ["access"]]);
    const late = stream("bob", 10);
    streams.sent(late);
    revocations.revokeNow("user:bob");
    streams.endExpired();
    expect(ended).toEqual(["alice", "bob"]);
    expect(streams.size).toBe(0);
  });

  test("keeps nothing of finished requests in V8's old space, where it would stay for seconds", () => {
    setFlagsFromString("--expose-gc");
    const gc = runInNewContext("gc") as (options: { type: "minor" }) => void;
    const call = stream("alice", 10, { isEndless: false, endsWithCredential: false });
    const open: OpenStream[] = [];
    const afterThousand = (): number => {
      for (let index = 0; index < 1_000; index += 1) {
        const facts = { held: Array.from({ length: 100 }, () => index) } as unknown as OpenStream["facts"];
        const next = { ...call, facts };
        streams.sent(next);
        const over = open[index % 64];
        if (over) streams.remove(over);
        open[index % 64] = next;
      }
      gc({ type: "minor" });
      return getHeapStatistics().used_heap_size;
    };
    // Their shared objects are old by then.
    for (let round = 0; round < 4; round += 1) afterThousand();
    for (let times = 0; times < 3; times += 1) gc({ type: "minor" });
    const before = afterThousand();
    for (let round = 0; round < 20; round += 1) afterThousand();
    // 64 of each thousand are open while the table of a Set changes: 20 MB.
    expect(afterThousand() - before).toBeLessThan(4_000_000);
  });

  test("ends a call by revocation also after expiry, and forgets one whose kind changed since it was added", () => {
    streams.add(stream("alice", 10, { isEndless: false, endsWithCredential: false }));
    clock.advance(20_000);
    streams.endExpired();
    revocations.revokeNow("user:alice");
    expect([ended, reasons]).toEqual([["alice"], ["access"]]);
    let endsWithCredential = false;
    const self = stream("bob", 10);
    const upload = Object.defineProperty({ ...self }, "endsWithCredential", { get: () => endsWithCredential });
    streams.add(upload);
    endsWithCredential = true;
    streams.remove(upload);
    clock.advance(4_000_000);
    streams.endExpired();
    expect(ended).toEqual(["alice"]);
  });

  test("rejects a stream that an interim configuration denies", () => {
    streams.reconsider(config("elsewhere.example"));
    expect(streams.add(stream("alice", 10))).toBe(false);
    streams.reconsider(config("example.com"));
    expect(streams.add(stream("alice", 10))).toBe(true);
  });

  test("ends streams by revocation of any of their keys, once, and no others", () => {
    streams.add(stream("alice", 10));
    streams.add(stream("bob", 10));
    revocations.revokeNow("session:session-alice");
    revocations.revokeNow("user:alice");
    expect(ended).toEqual(["alice"]);
    expect(streams.size).toBe(1);
  });

  test("forgets removed streams", () => {
    const alice = stream("alice", 10);
    streams.add(alice);
    streams.remove(alice);
    revocations.revokeNow("user:alice");
    clock.advance(20_000);
    streams.endExpired();
    expect(ended).toEqual([]);
  });

  test("reconsider() ends streams that the policy denies, or whose route is gone", () => {
    streams.add(stream("alice", 10));
    streams.reconsider(config("example.com"));
    expect(ended).toEqual([]);
    streams.reconsider(config("elsewhere.example"));
    expect(ended).toEqual(["alice"]);
    streams.add(stream("bob", 10, { snapshot: config("elsewhere.example"), facts: undefined }));
    expect(streams.size).toBe(0);
  });

  test("endAll() ends those that are asked for", () => {
    streams.add(stream("alice", 10));
    streams.add(stream("bob", 10, { isEndless: false }));
    streams.endAll((each) => each.isEndless);
    expect(ended).toEqual(["alice"]);
  });
});

describe("recheck()", () => {
  const changed = (domain: string) => (principal: Principal) =>
    Promise.resolve({ ...principal, user: { ...principal.user, email: `x@${domain}`, version: 2 } });
  const withCurrent = (current: (principal: Principal) => Promise<Principal | undefined>): Streams => {
    streams.close();
    streams = new Streams({ revocations, clock, current });
    return streams;
  };

  test("ends the streams of a user whose changed claims the policy denies", async () => {
    withCurrent(changed("example.org")).add(stream("alice", 100));
    await streams.recheck();
    expect(ended).toEqual(["alice"]);
    expect(streams.size).toBe(0);
  });

  test("ends the streams of a deleted user", async () => {
    withCurrent(() => Promise.resolve(undefined)).add(stream("alice", 100));
    await streams.recheck();
    expect(ended).toEqual(["alice"]);
  });

  test("keeps streams after other changes of claims, and decides later by the new claims", async () => {
    const moved = snapshotFrom(
      `routes: [{ name: a, from: "https://a.example", to: "http://127.0.0.1:1", policy: [{ allow: { and: [{ email: { is: alice@example.com } }] } }] }]`,
    );
    withCurrent(changed("example.com")).add(stream("alice", 100));
    await streams.recheck();
    expect(ended).toEqual([]);
    // The new address is x@example.com, by which this policy must decide.
    streams.reconsider(moved);
    expect(ended).toEqual(["alice"]);
  });

  test("ends neither streams with unknown users during an outage, nor anonymous ones", async () => {
    withCurrent(() => Promise.reject(new Error("the store is away"))).add(stream("alice", 100));
    streams.add(stream("nobody", 100, { principal: undefined }));
    await streams.recheck();
    expect(ended).toEqual([]);
  });

  test("asks once about a principal with many streams, and not twice at a time", async () => {
    let asked = 0;
    withCurrent((principal) => {
      asked += 1;
      return Promise.resolve(principal);
    });
    const principal = testPrincipal("alice", clock.now() / 1000 + 100);
    for (let each = 0; each < 5; each += 1) streams.add(stream("alice", 100, { principal }));
    await Promise.all([streams.recheck(), streams.recheck()]);
    expect(asked).toBe(1);
  });
});
