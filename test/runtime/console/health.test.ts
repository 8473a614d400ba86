/** The screen of health: what is told of which state, and to whom. */
import { readFileSync } from "node:fs";

import { describe, expect, test } from "vitest";

import type { Snapshot } from "../../../runtime/config/snapshot.ts";
import { healthParts } from "../../../runtime/console/health/screen.ts";
import type { HealthReader } from "../../../runtime/health/health.ts";
import type { ProcessReport } from "../../../runtime/health/process-report.ts";
import type { Rollup } from "../../../runtime/health/rollup.ts";
import type { TrafficStep } from "../../../runtime/health/read-traffic.ts";
import { healthBody, type StateRow } from "../../../runtime/pages/console/health/health.ts";
import { pagesIn, readPage } from "../../support/page-blocks.ts";

const NOW = 1_800_000_000;
const good: ProcessReport = {
  id: "gw-1-100-abcd",
  version: "0.1.0",
  node: "v26.0.0",
  host: "gw-1",
  startedAt: NOW - 86_400,
  seen: NOW - 4,
  draining: false,
  storeAnswers: true,
  configuration: {
    digest: "3f9a1b2c4d5e6f70",
    generation: 4,
    loadedAt: NOW - 600,
    routes: 2,
    restartNeeded: false,
    degraded: [],
    moreDegraded: 0,
  },
  providers: [],
  loopMs: 3,
  memoryBytes: 100 * 1_048_576,
  openStreams: 1,
  connections: 2,
  upstreams: { known: 0, away: 0, shown: [] },
  certificates: [],
  refreshes: [],
  records: [],
};
const other: ProcessReport = { ...good, id: "gw-2-100-abce", host: "gw-2" };
const configuration = (more: Partial<ProcessReport["configuration"]>) => ({
  configuration: { ...good.configuration, ...more },
});
const upstream = (route: string, address: string, healthy: boolean) => ({
  route,
  upstream: address,
  healthy,
  checks: [{ kind: "http", healthy, last_error: healthy ? "" : "status 503" }],
  left_out_until: null,
  ejections: 0,
});
const sink = { name: "siem", kind: "otlp", isAway: false, waiting: 0, taken: 9, lost: 0 } as const;
const certificate = { listener: "public", names: ["app.example.com"], ends: NOW + 9 * 86_400, time: "ending" } as const;

describe("what is wrong", () => {
  test.each<readonly [what: string, report: Partial<ProcessReport>, tone: "bad" | "warn", text: string]>([
    ["the store", { storeAnswers: false }, "bad", "This process cannot reach the store"],
    ["a store that is full", { storeIsReadOnly: true }, "bad", "The store is read-only for this process"],
    [
      "a refused configuration",
      configuration({ lastError: { at: NOW, isPartial: false, problems: ["boot.yaml: x"], more: 3 } }),
      "bad",
      "Configuration rejected, previous version active",
    ],
    [
      "an owner on an older slice",
      configuration({ degraded: [{ owner: "team-b", standing: "kept", since: NOW, problems: ["b.yaml: y"] }] }),
      "bad",
      "team-b: new slice rejected, previous version active",
    ],
    ["boot settings", configuration({ restartNeeded: true }), "warn", "Static settings changed, restart required"],
    [
      "an upstream",
      {
        upstreams: {
          known: 2,
          away: 1,
          shown: [upstream("a/db", "http://db-1", false), upstream("a/db", "http://db-2", true)],
        },
      },
      "warn",
      "1 of 2 upstreams of a/db takes no requests",
    ],
    [
      "all upstreams of a route",
      { upstreams: { known: 1, away: 1, shown: [upstream("a/db", "http://db-1", false)] } },
      "bad",
      "No upstream of a/db takes requests",
    ],
    [
      "a certificate that ends",
      { certificates: [certificate] },
      "warn",
      "The certificate for app.example.com ends in 9 days",
    ],
    [
      "a certificate that has ended",
      { certificates: [{ ...certificate, ends: NOW - 90_000, time: "ended" }] },
      "bad",
      "The certificate for app.example.com ended 1 day ago",
    ],
    [
      "the identity provider",
      { providers: [{ name: "default", at: NOW, problem: "refused" }] },
      "bad",
      "Identity provider default does not answer",
    ],
    [
      "refreshes",
      { refreshes: [{ of: "upstream", result: "unavailable", count: 2, lastAt: NOW - 60 }] },
      "bad",
      "Fresh upstream tokens could not be asked for lately",
    ],
    ["a sink", { records: [{ ...sink, isAway: true, lastError: "refused" }] }, "bad", "“siem” takes no records"],
    ["lost records", { records: [{ ...sink, lost: 5 }] }, "warn", "“siem” has lost records"],
    [
      "the webhook",
      {
        webhook: {
          host: "h",
          waiting: 2,
          oldest_at: NOW,
          last_sent_at: null,
          last_failure: { at: NOW, reason: "500" },
          sent: 0,
          given_up: 0,
          dropped: 0,
        },
      },
      "warn",
      "The webhook endpoint rejects events",
    ],
    ["the event loop", { loopMs: 450 }, "warn", "Event loop lag: all requests are delayed"],
  ])("names %s", async (_, report, tone, text) => {
    const { problems } = await shown({ own: { ...good, ...report } });
    expect(problems.map((each) => [each.tone, each.text])).toEqual([[tone, text]]);
  });

  test("of processes: silent ones, and what they differ in", async () => {
    const silent = { ...other, seen: NOW - 60 };
    const ahead = { ...other, id: "gw-3-1-abcf", version: "0.2.0", ...configuration({ digest: "other" }) };
    const { problems } = await shown({ others: [silent, ahead] });
    expect(problems.map(({ text, where }) => [text, where])).toEqual([
      ["No heartbeat from a process for 30 seconds", ["gw-2"]],
      ["Processes run different configurations", []],
      ["Processes run different versions", []],
    ]);
  });

  test("the same of several processes is told once, with their names", async () => {
    const late = { loopMs: 450 };
    const { problems } = await shown({
      own: { ...good, ...late },
      others: [
        { ...other, ...late },
        { ...other, id: "gw-4-1-abcf" },
      ],
    });
    expect(problems).toHaveLength(1);
    expect(problems[0]?.where).toEqual(["gw-1", "gw-2"]);
  });

  test("nothing wrong is said, too", async () => {
    const parts = await shown({ others: [other] });
    expect(parts.problems).toEqual([]);
    expect(healthBody(parts).toString()).toContain("No problems detected.");
  });

  test("old refreshes are not a problem; they stay in the list", async () => {
    const refreshes = [{ of: "identity", result: "refused", count: 2, lastAt: NOW - 7200 } as const];
    const parts = await shown({ own: { ...good, refreshes } });
    expect(parts.problems).toEqual([]);
    expect(parts.dependencies.map(({ name, state }) => [name, state])).toContainEqual([
      "Refreshes of user tokens",
      "2 failed",
    ]);
  });

  test("every heading that is named is one of the documentation", () => {
    const sources = ["problems.ts", "problems-outside.ts"].map((file) =>
      readFileSync(new URL(`../../../runtime/console/health/${file}`, import.meta.url), "utf8"),
    );
    const named = new Set(
      [...sources.join("\n").matchAll(/\bread(?: =|:) "([^"]+)"/g)].map(([, heading = ""]) => heading),
    );
    const pages = [...pagesIn("runtime/operations"), ...pagesIn("runtime/reference"), "runtime/UPGRADING.md"];
    const headings = new Set(
      pages.flatMap((page) => [...readPage(page).matchAll(/^##? (.+)$/gm)].map(([, heading = ""]) => heading)),
    );
    expect(named.size).toBeGreaterThan(5);
    expect([...named].filter((heading) => !headings.has(heading))).toEqual([]);
  });
});

describe("upstreams", () => {
  const counts = (allowed: number, errors = 0) => ({
    counts: [allowed, 0, 0, 0, 0, 0, allowed - errors, 0, 0, errors],
    durations: [],
  });
  const scopes = {
    "route:team-a/db": counts(90),
    "route:team-b/wiki": counts(600, 30),
    "route:team-a/idle": counts(0),
  };
  const failures = [{ route: "team-b/wiki", upstream: "http://b-wiki", failure: "connect-timeout", count: 30 }];
  const step = rollup({ scopes, failures });
  const textOf = ({ text }: StateRow) => text.filter((part) => typeof part === "string").join(", ");
  const rowsOf = async (world: World, visit: VisitOf = {}) =>
    (await shown(world, visit)).upstreams.map((row) => [row.name, textOf(row), row.tone, row.state]);

  test("without checks show their rate and errors, those with errors first", async () => {
    expect(await rowsOf({ steps: [step] })).toEqual([
      [
        "team-b/wiki",
        "600 requests a minute, 30 errors (5.0 %), 30 × connect-timeout, no health check",
        "warn",
        "Errors",
      ],
      ["team-a/db", "90 requests a minute, no errors, no health check", "good", "Responds"],
    ]);
    expect(await rowsOf({ steps: [step] }, { owners: ["team-a"] })).toEqual([
      ["team-a/db", "90 requests a minute, no errors, no health check", "good", "Responds"],
    ]);
    // Of the last 15 minutes.
    const old = { start: NOW - 1800, rollup: { ...step.rollup, start: NOW - 1800, until: NOW - 1740 } } as TrafficStep;
    expect(await rowsOf({ steps: [old] })).toEqual([]);
  });

  test("with checks show their status instead, as most processes see it", async () => {
    const upstreams = {
      known: 3,
      away: 1,
      shown: [upstream("team-b/wiki", "http://b-1", false), upstream("team-b/wiki", "http://b-2", true)],
    };
    const own = { ...good, upstreams };
    expect(await rowsOf({ own, others: [other], steps: [step] })).toEqual([
      ["team-b/wiki", "http: status 503, reported by gw-1", "bad", "Unavailable"],
      ["team-a/db", "90 requests a minute, no errors, no health check", "good", "Responds"],
      ["2 available", "With health checks or several addresses", "good", "OK"],
    ]);
  });

  test("beyond the ten with most errors and requests are one row", async () => {
    const many = Object.fromEntries(
      Array.from({ length: 11 }, (_, index) => [`route:team-a/r${index}`, counts(11 - index)]),
    );
    const rows = await rowsOf({ steps: [rollup({ scopes: many })] });
    expect(rows).toHaveLength(11);
    expect(rows.at(-1)).toEqual([
      "1 more without health checks",
      "1 request in 15 minutes, no errors",
      "good",
      "Respond",
    ]);
  });
});

describe("a viewer of one owner", () => {
  const own: ProcessReport = {
    ...good,
    ...configuration({
      lastError: { at: NOW, isPartial: false, problems: ["secret-boot.yaml: x"], more: 0 },
      degraded: [
        { owner: "team-a", standing: "kept", since: NOW, problems: ["a.yaml: broken"] },
        { owner: "team-b", standing: "kept", since: NOW, problems: ["b.yaml: broken"] },
      ],
    }),
    providers: [{ name: "", at: NOW, problem: "idp.internal refused" }],
    upstreams: {
      known: 2,
      away: 2,
      shown: [upstream("team-a/db", "http://a-db", false), upstream("team-b/wiki", "http://b-wiki", false)],
    },
    certificates: [
      { ...certificate, owner: "team-a", names: ["a.example.com"] },
      { ...certificate, owner: "team-b", names: ["b.example.com"] },
      { ...certificate, names: ["gateway.example.com"] },
    ],
    refreshes: [
      { of: "upstream", result: "refused", count: 1, lastAt: NOW, route: "team-b/wiki" },
      { of: "identity", result: "unavailable", count: 1, lastAt: NOW },
    ],
    records: [{ ...sink, isAway: true, lastError: "siem.internal refused" }],
  };
  const failures = [
    { route: "team-a/db", upstream: "http://a-db", failure: "refused", count: 3 },
    { route: "team-b/wiki", upstream: "http://b-wiki", failure: "refused", count: 4 },
  ];
  const scopes = {
    all: { counts: [600], durations: [] },
    "owner:team-a": { counts: [60], durations: [] },
    "owner:team-b": { counts: [540], durations: [] },
    "route:team-a/db": { counts: [60], durations: [] },
    "route:team-b/wiki": { counts: [540], durations: [] },
  };
  const world = { own, steps: [rollup({ scopes, failures })] };

  test("sees nothing of others", async () => {
    const text = healthBody(await shown(world, { owners: ["team-a"] })).toString();
    for (const foreign of [
      "team-b",
      "b-wiki",
      "b.example.com",
      "gateway.example.com",
      "siem",
      "idp.internal",
      "secret-boot",
    ])
      expect(text, foreign).not.toContain(foreign);
    for (const seen of ["a.yaml: broken", "a.example.com", "gw-1", "upstream 1"]) expect(text, seen).toContain(seen);
  });

  test("sees where upstreams are as an operator alone, as on the pages of routes", async () => {
    const textFor = async (visit: VisitOf) => healthBody(await shown(world, visit)).toString();
    expect(await textFor({ owners: ["team-a"] })).not.toMatch(/a-db|status 503/);
    expect(await textFor({ isOperator: false })).not.toMatch(/a-db|b-wiki|status 503/);
    expect(await textFor({ owners: ["team-a"], isOperator: true })).toMatch(/http:\/\/a-db: [^]*status 503/);
  });

  test("has charts of that owner's routes, and of no other route by its name", async () => {
    const allowed = async (visit: VisitOf) =>
      (await shown(world, visit)).requests.series
        .find(({ name }) => name === "Allowed")
        ?.values.findLast((value) => value !== undefined);
    expect(await allowed({})).toBe(600);
    expect(await allowed({ owners: ["team-a"] })).toBe(60);
    expect(await allowed({ route: "team-b/wiki" })).toBe(540);
    expect(await allowed({ owners: ["team-a"], route: "team-b/wiki" })).toBe(60);
  });
});

describe("the store is away", () => {
  test("the page has what this process knows, and says what failed", async () => {
    const parts = await shown({ own: { ...good, storeAnswers: false }, isAway: true, steps: [rollup({})] });
    const text = healthBody(parts).toString();
    expect(parts.failed).toEqual(["The store"]);
    expect(parts.processes.map(({ name, isOwn }) => [name, isOwn])).toEqual([["gw-1", true]]);
    expect(text).toContain("The store is unavailable");
    expect(text).toContain("3f9a1b2c4d5e");
    expect(text).toContain("This process only");
  });
});

describe("what strangers wrote", () => {
  test("is shown as text, visible, and cut", async () => {
    const evil = `<img src=x onerror=alert(1)>\u202E${"x".repeat(8000)}`;
    const own: ProcessReport = {
      ...good,
      ...configuration({ degraded: [{ owner: evil, standing: "absent", since: NOW, problems: [evil] }] }),
      upstreams: { known: 1, away: 1, shown: [upstream(evil, evil, false)] },
      certificates: [{ ...certificate, names: [evil] }],
      records: [{ ...sink, name: evil, isAway: true, lastError: evil }],
    };
    const steps = [rollup({ scopes: { [`route:${evil}`]: { counts: [1], durations: [] } } })];
    // The value of a choice and the address of a link are shown by no browser.
    const text = healthBody(await shown({ own, steps }))
      .toString()
      .replace(/<option value="[^"]*"/g, "<option")
      .replace(/ href="[^"]*"/g, "");
    expect(text).not.toContain("<img");
    expect(text).not.toContain("\u202E");
    expect(text).toContain("more characters)");
    expect(text).not.toContain("x".repeat(500));
  });
});

interface World {
  readonly own?: ProcessReport;
  readonly others?: readonly ProcessReport[];
  readonly steps?: readonly TrafficStep[];
  readonly isAway?: boolean;
}

interface VisitOf {
  readonly owners?: readonly string[];
  readonly route?: string;
  /** Default: as who sees all. */
  readonly isOperator?: boolean;
}

function shown(
  { own = good, others = [], steps = [], isAway = false }: World,
  { owners, route, isOperator = owners === undefined }: VisitOf = {},
) {
  const fromStore = async <T>(value: T): Promise<T> => {
    if (isAway) throw new Error("store.unavailable");
    return value;
  };
  const health: HealthReader = {
    id: own.id,
    own: async () => own,
    processes: () => fromStore({ reports: [{ ...own, loopMs: 9999 }, ...others], others: [] }),
    traffic: () => fromStore(steps),
    ownTraffic: () => steps,
  };
  const routes = [
    { key: "team-a/db", owner: "team-a" },
    { key: "team-b/wiki", owner: "team-b" },
  ];
  return healthParts(health, {
    snapshot: { routes } as unknown as Snapshot,
    rights: { roles: new Set(), byOwner: new Map(), owners, may: () => isOperator },
    query: new Map(route === undefined ? [] : [["route", route]]),
    now: NOW * 1000,
  });
}

function rollup(more: Partial<Rollup>): TrafficStep {
  const start = NOW - 120;
  return { start, rollup: { start, until: start + 60, scopes: {}, failures: [], loopMs: {}, ...more } };
}
