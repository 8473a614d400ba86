/** The first page of the console, and what the frame of each page shows of the same: to whom, how large, and without the store. */
import { beforeEach, describe, expect, test } from "vitest";

import { approvalKey, type ApprovalRecord } from "../../../runtime/approvals/approval-records.ts";
import { readFilters, toQuery } from "../../../runtime/console/decisions/filters.ts";
import { overviewScreen } from "../../../runtime/console/overview/overview.ts";
import type { ConsoleRights } from "../../../runtime/console/screen.ts";
import { createStatus } from "../../../runtime/console/overview/status.ts";
import type { HealthReader } from "../../../runtime/health/health.ts";
import type { ProcessReport } from "../../../runtime/health/process-report.ts";
import type { TrafficStep } from "../../../runtime/health/read-traffic.ts";
import { ALL, COUNTED, ownerScope, routeScope } from "../../../runtime/health/rollup.ts";
import { type Tier, TIERS } from "../../../runtime/health/tiers.ts";
import type { RankQuery, RecordReader } from "../../../runtime/record-store/record-reader.ts";
import type { StoredRecord } from "../../../runtime/store/store.ts";
import {
  type ConsoleWorld,
  openConsoleWorld,
  rightsTo,
  textOfMarkup,
  VIEWER,
  visitTo,
} from "../../support/console-world.ts";
import { createMemoryReader, keptDecision } from "../../support/record-reader.ts";
import { userId } from "../../support/users.ts";

const OF_TEAM_A = rightsTo([], { "team-a": ["viewer"] });
const APPROVER = rightsTo(["viewer", "approver"]);

let world: ConsoleWorld;
let calls: StoredRecord<ApprovalRecord>[];
let reports: Partial<ProcessReport>;
let isAway: boolean;
const records = createMemoryReader();

beforeEach(async () => {
  world = await openConsoleWorld(`
    routes:
      - { name: db, from: https://a.example, to: "http://127.0.0.1:9", policy: [] }
  `);
  calls = [];
  reports = {};
  isAway = false;
  records.records.length = 0;
  records.isAway = false;
});

const seconds = (): number => Math.floor(world.clock.now() / 1000);

/** Each step has 60 allowed and 4 denied requests of team-a, and ten times as many of team-b. */
function stepsOf(tier: Tier): readonly TrafficStep[] {
  const start = Math.floor(seconds() / tier.stepSeconds) * tier.stepSeconds - tier.steps * tier.stepSeconds;
  const counts = (times: number) => ({
    counts: [60 * times, 4 * times, times, times, 0, 0, 50, 0, 0, 2],
    durations: [9, 60 * times],
  });
  const scopes = {
    [ALL]: counts(11),
    [ownerScope("team-a")]: counts(1),
    [ownerScope("team-b")]: counts(10),
    [routeScope("team-a/db")]: counts(1),
    [routeScope("team-b/wiki")]: counts(10),
  };
  return Array.from({ length: tier.steps }, (_, index) => {
    const at = start + index * tier.stepSeconds;
    return { start: at, rollup: { start: at, until: at + tier.stepSeconds, scopes, failures: [], loopMs: {} } };
  });
}

function report(): ProcessReport {
  return {
    id: "gw-1-100-abcd",
    version: "0.1.0",
    node: "v26.0.0",
    host: "gw-1",
    startedAt: 0,
    seen: seconds(),
    draining: false,
    storeAnswers: true,
    configuration: {
      digest: "3f9a1b2c4d5e6f70",
      generation: 4,
      loadedAt: 0,
      routes: 2,
      restartNeeded: false,
      degraded: [],
      moreDegraded: 0,
    },
    providers: [],
    memoryBytes: 1,
    openStreams: 0,
    connections: 0,
    upstreams: { known: 0, away: 0, shown: [] },
    certificates: [],
    refreshes: [],
    records: [],
    ...reports,
  };
}

function parts(reader: Pick<RecordReader, "find" | "rank"> = records) {
  const orAway = async <T>(value: T): Promise<T> => {
    if (isAway) throw new Error("away");
    return value;
  };
  const health: HealthReader = {
    id: "gw-1-100-abcd",
    own: async () => report(),
    processes: () => orAway({ reports: [report()], others: [] }),
    traffic: (tier) => orAway(stepsOf(tier)),
    ownTraffic: () => [],
  };
  const { clock, toolLocks, store } = world;
  const approvals = { pageWaiting: () => orAway(calls) };
  const status = createStatus({ health, approvals, toolLocks, clock });
  return { status, screen: overviewScreen({ status, toolLocks, records: reader, store, clock }) };
}

function call(routeKey: string, userName = "Bob", minutes = 30): StoredRecord<ApprovalRecord> {
  const id = `${routeKey}-${minutes}`;
  const value: ApprovalRecord = {
    schema: 1,
    state: "waiting",
    userId: userId("bob"),
    userName,
    userEmail: "bob@example.com",
    clientId: "c",
    clientName: "c",
    routeKey,
    routeName: routeKey,
    server: "https://a.example",
    tool: "refund",
    given: "sealed-sentinel",
    approvers: [["platform"]],
    revocationKeys: [],
    askedAt: seconds() - 60,
  };
  return { key: approvalKey(id), value, version: 1, tags: [], expiresAt: seconds() + minutes * 60 };
}

async function page(address = "", rights: ConsoleRights = VIEWER) {
  const shown = await parts().screen.show(visitTo(world, address, rights));
  const markup = shown?.body.toString() ?? "";
  return { lead: shown?.lead ?? "", markup, text: textOfMarkup(markup) };
}

function deny(route: string, tool: string, subject: string, times: number): void {
  for (let count = 0; count < times; count += 1) {
    const timeMs = world.clock.now() - 60_000 - count;
    records.records.push(
      keptDecision({
        route,
        tool,
        outcome: "denied",
        timeMs,
        userId: subject,
        email: `${subject}@example.com`,
        value: { "mcp-tool-parameters": "argument-sentinel" },
      }),
    );
  }
}

describe("Overview", () => {
  test("says in its first line whether there is anything to do", async () => {
    expect((await page()).lead).toBe("No problems. Nothing waits for you.");
    reports = { storeAnswers: false };
    calls = [call("team-a/db")];
    expect((await page()).lead).toBe("2 items need attention.");
  });

  test("has the worst first, each with a link to the page that helps", async () => {
    calls = [call("team-a/db", "<b>Bob</b>", 14)];
    const upstream = { route: "team-a/db", upstream: "http://a-db", ejections: 0, left_out_until: null };
    reports = {
      loopMs: 450,
      upstreams: { known: 1, away: 1, shown: [{ ...upstream, healthy: false, checks: [] }] },
    };
    const { markup, text } = await page();
    const titles = [...markup.matchAll(/<h3><a class="plain" href="([^"]+)"\s*>([^<]+)/g)].map(([, href, title]) => [
      title,
      href,
    ]);
    expect(titles.slice(0, 3)).toEqual([
      ["No upstream of team-a/db takes requests", "/.gateway/console/servers/team-a/db"],
      ["1 call is pending approval", "/.gateway/console/approvals"],
      ["Event loop lag: all requests are delayed", "/.gateway/console/health#problems"],
    ]);
    expect(text).toContain("Expires in 14 min: refund, requested by <b>Bob</b>");
    expect(markup).not.toContain("<b>Bob");
    expect(markup).not.toContain("sealed-sentinel");
  });

  test("has the calls that the reader can decide about, for approvers", async () => {
    calls = [call("team-a/db")];
    expect((await page("", VIEWER)).text).not.toContain("Waiting for you");
    // The policy names the group "platform", in which the reader is not.
    expect((await page("", APPROVER)).text).toContain("No pending approvals");
  });

  test("has the most denied tools and users, and how many were active, of the shown time", async () => {
    deny("team-a/db", "drop_table", "mallory", 3);
    deny("team-b/wiki", "delete_page", "bob", 2);
    const { text, markup } = await page();
    expect(text).toMatch(/drop_table team-a\/db 3 .* delete_page team-b\/wiki 2 /);
    expect(text).toMatch(/mallory@example.com 3 .* bob@example.com 2 /);
    expect(text).toMatch(/Active users 2 /);
    expect(markup).toMatch(/decisions\?tool=drop_table&#38;outcome=denied&#38;since=/);
    expect(markup).not.toContain("argument-sentinel");
  });

  test("counts as not allowed the outcomes of the list that it links to, without failures", async () => {
    const { markup } = await page("?range=1h");
    const [, href = "", value] =
      /href="([^"]+)">\s*<span class="name">Not allowed<\/span>\s*<span class="value">([\d,]+)/.exec(markup) ?? [];
    const { searchParams } = new URL(href.replaceAll("&#38;", "&"), "https://auth.example.com");
    const asked = toQuery(readFilters(new Map(searchParams)), VIEWER, world.clock.now());
    const outcomes = "query" in asked ? (asked.query.outcomes ?? []) : [];
    const all = stepsOf(TIERS[0]).flatMap(({ rollup }) => rollup?.scopes[ALL]?.counts ?? []);
    const names = all.map((_, index) => COUNTED[index % 10]);
    const expected = all.reduce((sum, count, index) => {
      const name = names[index] === "5xx" ? "error" : names[index];
      return sum + (outcomes.some((each) => each === name) ? count : 0);
    }, 0);
    expect(expected).toBeGreaterThan(0);
    expect(value?.replaceAll(",", "")).toBe(String(expected));
  });

  test("names the last failed request, and the configuration where nothing was published", async () => {
    reports = { configuration: { ...report().configuration, loadedAt: seconds() - 90 } };
    const timeMs = world.clock.now() - 61_000;
    records.records.push(keptDecision({ route: "team-b/wiki", outcome: "error", timeMs }));
    const { text, markup } = await page();
    expect(text).toContain(`Last failed request: ${new Date(timeMs).toISOString().slice(0, 19).replace("T", " ")} UTC`);
    expect(markup).toContain(`/.gateway/console/decisions/${records.records[0]?.id}`);
    expect(text).toContain("Configuration 3f9a1b2c active");
    expect((await page("", OF_TEAM_A)).text).not.toContain("Last failed request");
  });

  test("counts what was allowed and then failed as failed", async () => {
    const { markup } = await page("?range=1h");
    const legend = textOfMarkup(/<ul class="legend">.*?<\/ul>/s.exec(markup)?.[0]).trim();
    expect(legend).toBe("Total Denied 2,640 Pending approval 660 Rate limited 660 Failed 120 Allowed 39,480");
  });

  test("shows a viewer of one owner that owner's numbers only", async () => {
    deny("team-a/db", "drop_table", "mallory", 1);
    deny("team-b/wiki", "delete_page", "bob", 5);
    calls = [call("team-b/wiki")];
    reports = { providers: [{ name: "corp", at: seconds(), problem: "refused" }] };
    const { text, lead } = await page("", rightsTo([], { "team-a": ["viewer"] }));
    expect(lead).toBe("No problems. Nothing waits for you.");
    expect(text).not.toMatch(/team-b|wiki|delete_page|bob|corp|Replicas/);
    // 66 requests in each of 72 steps.
    expect(text).toMatch(/Requests 4,752 /);
    expect(text).toMatch(/Active users 1 /);
  });

  test("shows what this process knows while the store or the record store is unavailable", async () => {
    isAway = true;
    records.isAway = true;
    const { text, lead } = await page();
    expect(lead).toBe("The store is unavailable. This page shows what this process knows.");
    expect(text).toContain("The record store is unavailable.");
    expect(text).toContain("No data in this period.");
  });

  test("stays below 40 KB with its frame, however much is wrong", async () => {
    const long = "x".repeat(100);
    reports = {
      configuration: {
        ...report().configuration,
        degraded: Array.from({ length: 40 }, (_, index) => ({
          owner: `team-${index}-${long}`,
          standing: "kept" as const,
          since: seconds(),
          problems: [long, long, long],
        })),
      },
    };
    calls = Array.from({ length: 50 }, (_, index) => call(`team-a/${long}`, long, index + 1));
    for (let index = 0; index < 9; index += 1)
      deny(`team-a/${long}`, `tool-${index}-${long}`, `user-${index}-${long}`, index + 1);
    for (const range of ["1h", "6h", "48h"]) {
      const { markup } = await page(`?range=${range}`, APPROVER);
      // The frame has 8 KB: icons, navigation, search box.
      expect(Buffer.byteLength(markup), range).toBeLessThan(32_000);
    }
  });

  test("asks the record store at most every ten seconds", async () => {
    let asked = 0;
    const counted = { ...records, rank: (query: RankQuery) => ((asked += 1), records.rank(query)) };
    const { screen } = parts(counted);
    for (let count = 0; count < 3; count += 1) await screen.show(visitTo(world, "", VIEWER));
    expect(asked).toBe(3);
    world.clock.advance(10_000);
    await screen.show(visitTo(world, "", VIEWER));
    expect(asked).toBe(6);
  });
});

describe("the frame's status", () => {
  test("counts what waits, of what the reader may see, and names the active configuration", async () => {
    calls = [call("team-a/db"), call("team-b/wiki")];
    reports = { loopMs: 450 };
    const { status } = parts();
    const whole = await status.frame(visitTo(world, "", VIEWER));
    expect([...(whole?.counts ?? [])]).toEqual([
      ["approvals", { count: 2, of: "pending", tone: "attn" }],
      ["health", { count: 1, of: "problems", tone: "attn" }],
    ]);
    expect(whole?.active).toEqual({ name: "Configuration 3f9a1b2c", same: 1, all: 1 });
    const ofTeam = await status.frame(visitTo(world, "", OF_TEAM_A));
    expect(ofTeam?.counts.get("approvals")?.count).toBe(1);
  });

  test("is there without the store", async () => {
    isAway = true;
    const shown = await parts().status.frame(visitTo(world, "", VIEWER));
    expect(shown?.counts.get("approvals")).toBeUndefined();
    expect(shown?.active?.same).toBe(1);
  });
});
