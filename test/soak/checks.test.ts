/** Each check of a soak, on the smallest histories: what must pass passes, what must not is found. */
import { describe, expect, test } from "vitest";

import { BUNDLES } from "./checks/bundles.ts";
import { ENDED_RIGHTS } from "./checks/ended-rights.ts";
import { type Check, type Evidence, knownBy } from "./checks/evidence.ts";
import { NOTHING_LOST } from "./checks/nothing-lost.ts";
import { ONE_RECORD } from "./checks/records.ts";
import { REDEEMED_ONCE } from "./checks/redeemed-once.ts";
import type { Disturbance, FaultSpan, Kind, Operation, Outcome } from "./history/history.ts";

/** "began-ended" (milliseconds) or "began-" for one without an answer; kind; facts; outcome. */
type Line = readonly [time: string, kind: Kind, facts: object, outcome?: Outcome];

type Faults = readonly FaultSpan[];

/** Rows of a table, of which some have faults. */
const cases = (all: readonly (readonly [string, readonly Line[], Faults?])[]): [string, readonly Line[], Faults][] =>
  all.map(([name, lines, faults = []]) => [name, lines, faults]);

const evidence = (lines: readonly Line[], more: Partial<Evidence> = {}): Evidence => ({
  operations: lines.map(([time, kind, facts, outcome = "ok"], id) => {
    const [began = "", ended = ""] = time.split("-");
    const isOpen = ended === "";
    const common = { id, kind, actor: "a", replica: "r1", facts, outcome: isOpen ? "unknown" : outcome };
    return { ...common, began: Number(began), ended: isOpen ? Infinity : Number(ended) } as Operation;
  }),
  faults: [],
  records: [],
  calls: [],
  sessionSeconds: 600,
  ...more,
});

const fault = (time: string, disturbs: Disturbance, replica = "r1"): FaultSpan => {
  const [began = 0, ended = 0] = time.split("-").map(Number);
  return { id: 0, family: disturbs, disturbs: [disturbs], replicas: [replica], began, ended };
};

const found = (check: Check, lines: readonly Line[], more?: Partial<Evidence>): readonly string[] =>
  check.find(evidence(lines, more)).map(({ text }) => text);

describe("redeemed-once", () => {
  const redeem = (what: string, more: object = {}): object => ({ what, value: "v", ...more });
  const passes: Readonly<Record<string, readonly Line[]>> = {
    "a code once, its double refused": [
      ["0-5", "redeem", redeem("code")],
      ["1-6", "redeem", redeem("code"), "refused"],
    ],
    "a code once, and perhaps before": [
      ["0-", "redeem", redeem("code")],
      ["9-10", "redeem", redeem("code")],
    ],
    "the same new refresh token to both": [
      ["0-5", "redeem", redeem("refresh-token", { made: "next" })],
      ["9-20", "redeem", redeem("refresh-token", { made: "next" })],
    ],
    "one approval, one call": [["0-5", "approve", { key: "k", by: "u" }]],
    "an approval that may have been given": [["0-", "approve", { key: "k", by: "u" }]],
  };
  test.each(Object.entries(passes))("lets pass: %s", (_, lines) => {
    const calls = [{ tool: "delete_it", key: "k" }];
    expect(found(REDEEMED_ONCE, lines, { calls: lines[0]?.[1] === "approve" ? calls : [] })).toEqual([]);
  });
  const fails: Readonly<Record<string, readonly Line[]>> = {
    "a code twice": [
      ["0-5", "redeem", redeem("code")],
      ["1-6", "redeem", redeem("code")],
    ],
    "an assertion twice": [
      ["0-5", "redeem", redeem("assertion")],
      ["1-6", "redeem", redeem("assertion")],
    ],
    "two new refresh tokens for one": [
      ["0-5", "redeem", redeem("refresh-token", { made: "next" })],
      ["1-6", "redeem", redeem("refresh-token", { made: "other" })],
    ],
    "the same answer after its 30 s": [
      ["0-5", "redeem", redeem("refresh-token", { made: "next" })],
      ["40000-40006", "redeem", redeem("refresh-token", { made: "next" })],
    ],
    "one approval, two calls": [["0-5", "approve", { key: "k", by: "u" }]],
    "a refused approval, and a call": [["0-5", "approve", { key: "k", by: "u" }, "refused"]],
  };
  test.each(Object.entries(fails))("finds: %s", (_, lines) => {
    const call = { tool: "delete_it", key: "k" };
    const calls = lines[0]?.[1] === "approve" ? [call, call] : [];
    expect(found(REDEEMED_ONCE, lines, { calls })).toHaveLength(1);
  });
  test("allows the same answer later by a process that stood still", () => {
    const lines = fails["the same answer after its 30 s"] ?? [];
    expect(found(REDEEMED_ONCE, lines, { faults: [fault("2000-35000", "stopped")] })).toEqual([]);
  });
});

describe("ended-rights", () => {
  const request = (more: object): object => ({ tag: "t", route: "web", how: "page", status: 200, ...more });
  const revoked: Line = ["0-100", "revoke", { right: "session", target: "s" }];
  const grantOfU: Line = ["0-10", "redeem", { what: "code", value: "c", grant: "g", user: "u" }];
  test.each(
    cases([
      ["a request within 2 s", [revoked, ["2050-2060", "request", request({ session: "s" })]]],
      ["a refused one later", [revoked, ["3000-3060", "request", request({ session: "s" }), "refused"]]],
      ["another session", [revoked, ["3000-3060", "request", request({ session: "t" })]]],
      [
        "no acknowledgement",
        [
          ["0-", "revoke", { right: "session", target: "s" }],
          ["3000-3060", "request", request({ session: "s" })],
        ],
      ],
      [
        "a store that is away",
        [revoked, ["3000-3060", "request", request({ session: "s" })]],
        [fault("1000-9000", "store")],
      ],
      [
        "what came while all of the user's was ended",
        [
          ["0-100", "revoke", { right: "user", target: "u" }],
          grantOfU,
          ["3000-3060", "request", request({ grant: "g", user: "u" })],
        ],
      ],
      [
        "a block that may have been lifted",
        [
          ["0-100", "block", { user: "u" }],
          ["200-", "unblock", { user: "u" }],
          ["9000-9001", "request", request({ user: "u" })],
        ],
      ],
      [
        "a sign-in that lasted until the block was lifted",
        [
          ["0-100", "block", { user: "u" }],
          ["3000-9000", "sign-in", { user: "u", session: "s" }],
          ["8000-8100", "unblock", { user: "u" }],
        ],
      ],
    ]),
  )("lets pass: %s", (_, lines, faults) => {
    expect(found(ENDED_RIGHTS, lines, { faults })).toEqual([]);
  });
  test.each(
    cases([
      ["a revoked session", [revoked, ["2200-2300", "request", request({ session: "s" })]]],
      [
        "a signed-out session",
        [
          ["0-100", "sign-out", { session: "s", user: "u" }],
          ["2200-2300", "request", request({ session: "s" })],
        ],
      ],
      [
        "a stream that goes on",
        [revoked, ["0-9000", "stream", { tag: "t", route: "web", session: "s", lastByteAt: 5000 }]],
      ],
      [
        "a refresh token of a revoked grant",
        [
          ["0-100", "revoke", { right: "grant", target: "g" }],
          ["2200-2300", "redeem", { what: "refresh-token", value: "v", grant: "g" }],
        ],
      ],
      [
        "all of a user's",
        [
          grantOfU,
          ["50-100", "revoke", { right: "user", target: "u" }],
          ["2200-2300", "request", request({ grant: "g", user: "u" })],
        ],
      ],
      [
        "a blocked user who signs in",
        [
          ["0-100", "block", { user: "u" }],
          ["2200-2300", "sign-in", { user: "u", session: "s" }],
        ],
      ],
      [
        "a fault at another replica",
        [revoked, ["2200-2300", "request", request({ session: "s" })]],
        [fault("0-9000", "store", "r2")],
      ],
      [
        "a fault long over",
        [revoked, ["32000-32001", "request", request({ session: "s" })]],
        [fault("1000-9000", "store")],
      ],
    ]),
  )("finds: %s", (_, lines, faults) => {
    expect(found(ENDED_RIGHTS, lines, { faults })).toHaveLength(1);
  });
  test("knownBy() waits for the store, for faults in a row, and never longer than 5 minutes and a reading", () => {
    expect(knownBy([], "r1", 50)).toBe(2_050);
    expect(knownBy([fault("5000-9000", "store")], "r1", 50)).toBe(2_050);
    expect(knownBy([fault("1000-9000", "store"), fault("12000-20000", "stopped")], "r1", 50)).toBe(42_000);
    expect(knownBy([fault("1000-999000", "store")], "r1", 50)).toBe(322_050);
  });
});

describe("nothing-lost", () => {
  const signIn: Line = ["0-10", "sign-in", { user: "u", session: "s" }];
  const code: Line = ["0-10", "redeem", { what: "code", value: "c", grant: "g", user: "u", status: 200 }];
  const look = (what: string, id: string, isThere: boolean): Line => [
    "90000-90010",
    "look",
    { what, id, found: isThere },
  ];
  test.each<readonly [string, readonly Line[]]>([
    ["a session", [signIn, look("session", "s", true)]],
    ["a signed-out session", [signIn, ["20-30", "sign-out", { session: "s" }], look("session", "s", false)]],
    ["a sign-out without an answer", [signIn, ["20-", "sign-out", { session: "s" }], look("session", "s", true)]],
    ["a grant", [code, look("grant", "g", true)]],
    [
      "a grant whose refresh had no answer",
      [code, ["20-", "redeem", { what: "refresh-token", value: "v", grant: "g" }], look("grant", "g", false)],
    ],
    ["a lifted block", [["0-1", "block", { user: "u" }], ["2-3", "unblock", { user: "u" }], look("block", "u", false)]],
    [
      "a consent withdrawn with a grant",
      [
        ["0-1", "consent", { user: "u", client: "c" }],
        ["2-3", "revoke", { right: "grant", target: "g", withdraws: "u c" }],
        look("consent", "u c", false),
      ],
    ],
  ])("lets pass: %s", (_, lines) => {
    expect(found(NOTHING_LOST, lines)).toEqual([]);
  });
  test.each<readonly [string, readonly Line[]]>([
    ["a lost session", [signIn, look("session", "s", false)]],
    ["a session after its sign-out", [signIn, ["20-30", "sign-out", { session: "s" }], look("session", "s", true)]],
    ["a lost grant", [code, look("grant", "g", false)]],
    [
      "a grant after all of the user's were revoked",
      [code, ["20-30", "revoke", { right: "user", target: "u" }], look("grant", "g", true)],
    ],
    ["a lost block", [["0-1", "block", { user: "u" }], look("block", "u", false)]],
    ["a lost consent", [["0-1", "consent", { user: "u", client: "c" }], look("consent", "u c", false)]],
    ["a lost connection", [["0-1", "connect", { user: "u", route: "r" }], look("connection", "u r", false)]],
    ["a look without an answer", [["90-", "look", { what: "session", id: "s" }]]],
  ])("finds: %s", (_, lines) => {
    expect(found(NOTHING_LOST, lines)).toHaveLength(1);
  });
  test("a grant refreshed while a clock was stepped may have ended, where replicas have clocks of their own", () => {
    const again: Line = ["20-30", "redeem", { what: "refresh-token", value: "v", grant: "g" }];
    const faults = [fault("15-40", "clock")];
    const lines = [code, again, look("grant", "g", false)];
    expect(found(NOTHING_LOST, lines, { faults })).toHaveLength(1);
    expect(found(NOTHING_LOST, lines, { faults, hasOneClock: false })).toEqual([]);
    const before = [fault("70000-80000", "clock")];
    expect(found(NOTHING_LOST, lines, { faults: before, hasOneClock: false })).toHaveLength(1);
  });
  test("what was ended may be there until it must be known, and no longer", () => {
    const early: Line = ["1500-1510", "look", { what: "session", id: "s", found: true }];
    const lines = [signIn, ["20-30", "sign-out", { session: "s" }], early] as const;
    expect(found(NOTHING_LOST, lines)).toEqual([]);
    const late: Line = ["2100-2110", "look", { what: "session", id: "s", found: true }];
    expect(found(NOTHING_LOST, [...lines.slice(0, 2), late])).toHaveLength(1);
    expect(found(NOTHING_LOST, [...lines.slice(0, 2), late], { slackMs: 1_000 })).toEqual([]);
  });
});

describe("bundles", () => {
  const publish = (time: string, number: number, more: object = {}, outcome?: Outcome): Line =>
    [
      time,
      "publish",
      { owner: "versions", number, ...(time.endsWith("-") ? {} : { status: 200, generation: number + 10 }), ...more },
      ...(outcome === undefined ? [] : [outcome]),
    ] as unknown as Line;
  const answer = (time: string, bundle: number): Line => [
    time,
    "request",
    { tag: "t", route: "versions", status: 200, bundle },
  ];
  const served = (bundle: number): Line => [
    "90000-90001",
    "look",
    { what: "publish", id: "versions", found: true, bundle },
  ];
  test.each(
    cases([
      ["the newest", [publish("0-5", 1), publish("10-20", 2), answer("21-22", 2), served(2)]],
      [
        "the one before, while the newest is put in force",
        [publish("0-5", 1), publish("10-20", 2), answer("15-30", 1)],
      ],
      [
        "one that had no answer",
        [publish("0-5", 1), publish("10-", 2), answer("21-22", 2), answer("23-24", 1), served(2)],
      ],
      [
        "an older one, by a replica that was stopped",
        [publish("0-5", 1), publish("10-20", 2), answer("21-22", 1)],
        [fault("8-30", "stopped")],
      ],
      [
        "not yet live everywhere",
        [publish("0-5", 1), publish("10-20", 2, { status: 202 }), answer("21-22", 1), served(2)],
      ],
    ]),
  )("lets pass: %s", (_, lines, faults) => {
    expect(found(BUNDLES, lines, { faults })).toEqual([]);
  });
  test.each<readonly [string, readonly Line[]]>([
    ["an older one", [publish("0-5", 1), publish("10-20", 2), answer("21-22", 1)]],
    ["a refused one", [publish("0-5", 1), publish("10-20", 2, { status: 412 }, "refused"), answer("21-22", 2)]],
    ["a lost one", [publish("0-5", 1), publish("10-20", 2), served(1)]],
    ["two with one generation", [publish("0-5", 1), publish("3-8", 2, { generation: 11 })]],
    ["replicas that differ", [publish("0-5", 1), publish("10-", 2), served(1), served(2)]],
  ])("finds: %s", (_, lines) => {
    expect(found(BUNDLES, lines)).toHaveLength(1);
  });
});

describe("one-record", () => {
  const request = (time: string, tag: string): Line => [
    time,
    "request",
    { tag, route: "web", how: "page", status: 200 },
  ];
  const recorded = (...tags: string[]): Partial<Evidence> => ({ records: tags.map((tag) => ({ replica: "r1", tag })) });
  test.each<readonly [string, readonly Line[], Partial<Evidence>]>([
    ["one each", [request("0-5", "a"), request("0-5", "b")], recorded("b", "a")],
    ["none of one without an answer", [request("0-", "a")], {}],
    ["two requests with one tag", [request("0-5", "a"), request("6-9", "a")], recorded("a", "a")],
    ["none right before a kill", [request("0-500", "a")], { faults: [fault("550-600", "killed")] }],
    [
      "none while none could be written",
      [request("0-500", "a")],
      { faults: [fault("400-9000", "records"), fault("8000-9000", "killed")] },
    ],
  ])("lets pass: %s", (_, lines, more) => {
    expect(found(ONE_RECORD, lines, more)).toEqual([]);
  });
  test.each<readonly [string, readonly Line[], Partial<Evidence>]>([
    ["none", [request("0-5", "a")], {}],
    ["two", [request("0-5", "a")], recorded("a", "a")],
    ["two of one without an answer", [request("0-", "a")], recorded("a", "a")],
    ["none long before a kill", [request("0-500", "a")], { faults: [fault("1550-1600", "killed")] }],
    ["none before another one's kill", [request("0-500", "a")], { faults: [fault("550-600", "killed", "r2")] }],
  ])("finds: %s", (_, lines, more) => {
    expect(found(ONE_RECORD, lines, more)).toHaveLength(1);
  });
});
