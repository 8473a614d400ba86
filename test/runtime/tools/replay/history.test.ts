/** History rules over recorded calls: `gateway replay`, `gateway explain --history`, and `gateway diff`. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterAll, beforeAll, expect, test } from "vitest";

import { createReplayWriter } from "../../../../runtime/audit/replay/write-facts.ts";
import { formatRecord } from "../../../../runtime/audit/record.ts";
import { formatOutcome } from "../../../../runtime/audit/outcome-record.ts";
import { evaluate, compilePolicy } from "../../../../runtime/policy/evaluate.ts";
import type { Facts } from "../../../../runtime/policy/facts.ts";
import { readArguments } from "../../../../runtime/policy/mcp/argument-values.ts";
import { toolDigest } from "../../../../runtime/features/mcp/tool-lock-file.ts";
import { parseExactJson } from "../../../../runtime/shared/json/exact-json.ts";
import { diffConfigurations } from "../../../../runtime/tools/diff/command.ts";
import { explainWithHistory } from "../../../../runtime/tools/replay/explain-history.ts";
import { replayCommand } from "../../../../runtime/tools/replay/command.ts";

const KEY = Buffer.alloc(32, 9);
const ALLOW = [{ allow: { and: [{ authenticated_user: true }] } }];

let folder = "";
beforeAll(async () => void (folder = await mkdtemp(join(tmpdir(), "gateway-history-"))));
afterAll(() => rm(folder, { recursive: true }));

const yamlOf = (rules: readonly string[]): string => `
runtime_flags: { mcp: true }
authorize_log_fields: [request-id, replay]
routes:
  - from: https://mcp.example
    to: http://mcp.internal
    name: tools
    policy: ${JSON.stringify(ALLOW)}
    mcp:
      server:
        record_arguments: { plain: { refund: [/amount] } }
        history_rules: [${rules.join(", ")}]
`;
const REVIEWED =
  "{ name: reviewed, calls: { or: [{ mcp_tool: publish }] }, after: { calls: { or: [{ mcp_tool: review }] }, within: 1h, same_argument: /document } }";
const REFUNDS =
  '{ name: refunds, calls: { or: [{ mcp_tool: refund }] }, total: { argument: /amount, limit: "10", within: 1d } }';
const FEW = "{ name: few, shadow: true, calls: { or: [{ mcp_tool: review }] }, at_most: { count: 1, within: 1d } }";

interface Recorded {
  readonly minute: number;
  readonly tool: string;
  readonly given?: object;
  readonly user?: string;
  /** Agent run. */
  readonly by?: string;
  /** Undefined: the outcome was not recorded. */
  readonly succeeded?: boolean;
}

const START = Date.now() - 3_600_000 / 2;

/** Lines as a gateway writes them. */
function linesOf(calls: readonly Recorded[]): string {
  const writer = createReplayWriter({ key: KEY, asksForCertificates: false });
  return calls
    .map(({ minute, tool, given = {}, user = "alice", by, succeeded }, index) => {
      const text = JSON.stringify(given);
      const facts: Facts = {
        user: {
          id: user,
          email: `${user}@example.com`,
          name: "",
          groups: [],
          claims: {},
          ...(by !== undefined && { actor: { id: "workload:pods/a", run: by, claims: {} } }),
        },
        http: { method: "POST", path: "/", host: "mcp.example", ip: "127.0.0.1" },
        mcp: { method: "tools/call", tool, arguments: readArguments(() => text) },
      };
      const timeMs = START + minute * 60_000;
      const requestId = `r${index}`;
      const decision = evaluate(compilePolicy(ALLOW), facts);
      const declared = { plain: { refund: ["/amount"] } };
      const record = formatRecord(["request-id", "replay"], {
        timeMs,
        decision,
        requestId,
        bundleDigest: "",
        http: facts.http,
        replay: () => writer.write({ facts, certificate: undefined, toolArguments: () => text, declared }),
      });
      if (succeeded === undefined) return record;
      const none = { failedBy: undefined, failure: undefined, lists: undefined };
      const outcome = { timeMs: timeMs + 5_000, of: index, requestId, status: 200, durationMs: 5_000, ...none };
      return record + formatOutcome({ ...outcome, hasSucceeded: succeeded });
    })
    .join("");
}

async function filesOf(rules: readonly string[], calls: readonly Recorded[]) {
  const config = join(folder, "gateway.yaml");
  const records = join(folder, "records.log");
  await writeFile(config, yamlOf(rules));
  await writeFile(records, linesOf(calls));
  const env = { KEY: KEY.toString("base64") };
  const run = async (): Promise<Record<string, unknown>> =>
    JSON.parse(
      (await replayCommand({ config, records: [records], key: "env:KEY", json: true }, { env })).text,
    ) as Record<string, unknown>;
  const explain = (tool: string, given: object, actor?: string) =>
    explainWithHistory(
      [{ file: config, text: yamlOf(rules), boot: true }],
      {
        route: "tools",
        user: "alice",
        email: "alice@example.com",
        groups: "",
        method: "POST",
        path: "/",
        tool,
        ...(actor !== undefined && { actor }),
        arguments: JSON.stringify(given),
        history: [records],
        key: "env:KEY",
      },
      { env },
    );
  return { run, explain };
}

test("replay says which recorded calls would be denied, in the order of their times, per user and argument", async () => {
  const { run } = await filesOf(
    [REVIEWED, REFUNDS, FEW],
    [
      // Out of order, as in files of several processes.
      { minute: 3, tool: "publish", given: { document: "d1" } },
      { minute: 1, tool: "review", given: { document: "d1" }, succeeded: true },
      { minute: 2, tool: "review", given: { document: "d2" }, succeeded: false },
      { minute: 4, tool: "publish", given: { document: "d2" } },
      { minute: 4, tool: "publish", given: { document: "d1" }, user: "bob" },
      { minute: 5, tool: "refund", given: { amount: 6.5 } },
      { minute: 6, tool: "refund", given: { amount: 3.5 } },
      { minute: 7, tool: "refund", given: { amount: 0.000001 } },
      { minute: 8, tool: "refund", given: { amount: 1 }, user: "bob" },
    ],
  );
  const report = await run();
  expect(report).toMatchObject({
    counts: { same: 6, loses: 3, gains: 0, undecidable: 0 },
    shadow: { "default/tools history_rules.few": { loses: 1 } },
  });
  const groups = report["groups"] as { what: string; user: string; examples: { loses?: { would: unknown } } }[];
  expect(groups.map(({ what, user, examples }) => [what, user, examples.loses?.would])).toEqual([
    ["publish", "alice@example.com", { outcome: "deny", reasons: ["history-after:reviewed"] }],
    ["publish", "bob@example.com", { outcome: "deny", reasons: ["history-after:reviewed"] }],
    ["refund", "alice@example.com", { outcome: "deny", reasons: ["history-total:refunds"] }],
  ]);
});

test("replay guesses neither an outcome that was not recorded nor an amount that was recorded as a digest", async () => {
  const { run } = await filesOf(
    [REVIEWED, REFUNDS.replaceAll("refund }", "pay }")],
    [
      { minute: 1, tool: "review", given: { document: "d1" } },
      { minute: 2, tool: "publish", given: { document: "d1" } },
      { minute: 3, tool: "publish", given: { document: "d2" } },
      { minute: 4, tool: "pay", given: { amount: 5 } },
    ],
  );
  expect(await run()).toMatchObject({ counts: { same: 1, loses: 1, undecidable: 2 } });
});

test("a rule per run decides recorded calls of runs, and is undecidable for a run that is unknown", async () => {
  const perRun = [REVIEWED, REFUNDS].map((rule) => rule.replace(", calls:", ", per: run, calls:"));
  const { run, explain } = await filesOf(perRun, [
    { minute: 1, tool: "review", given: { document: "d1" }, by: "r1", succeeded: true },
    { minute: 2, tool: "publish", given: { document: "d1" }, by: "r1" },
    { minute: 3, tool: "publish", given: { document: "d1" }, by: "r2" },
    { minute: 4, tool: "publish", given: { document: "d1" } },
    { minute: 5, tool: "refund", given: { amount: 9 }, by: "r1" },
    { minute: 6, tool: "refund", given: { amount: 9 }, by: "r2" },
    { minute: 7, tool: "refund", given: { amount: 9 }, by: "r2" },
  ]);
  expect(await run()).toMatchObject({ counts: { same: 5, loses: 2, undecidable: 0 } });
  const direct = await explain("publish", { document: "d1" });
  expect([direct.answer, direct.text.includes("applies")]).toEqual(["allowed", false]);
  for (const [tool, given] of [
    ["publish", { document: "d1" }],
    ["refund", { amount: 1 }],
  ] as const) {
    const unknown = await explain(tool, given, "workload:pods/a");
    expect(unknown.text, tool).toContain("in the same agent run");
    expect(unknown.text, tool).toContain("cannot be decided");
    expect(unknown.answer, tool).toBe("denied");
  }
});

test("explain --history decides after the recorded calls, and explains without them which rules apply", async () => {
  const { explain } = await filesOf(
    [REVIEWED, REFUNDS],
    [
      { minute: 1, tool: "review", given: { document: "d1" }, succeeded: true },
      { minute: 2, tool: "refund", given: { amount: 9 } },
    ],
  );
  const permitted = await explain("publish", { document: "d1" });
  expect(permitted.answer).toBe("allowed");
  expect(permitted.text).toContain(
    'note: history rule "reviewed" applies: only after a successful call with the same value of /document within 1h by the same user, when the tool is "review"',
  );
  expect(permitted.text).toContain("no history rule denies the call now");
  const denied = await explain("publish", { document: "d2" });
  expect(denied.answer).toBe("denied");
  expect(denied.text).toContain('history rule "reviewed": an earlier call that it requires has not succeeded');
  expect((await explain("refund", { amount: 1 })).answer).toBe("allowed");
  expect((await explain("refund", { amount: 1.01 })).answer).toBe("denied");
});

test("explain --history does not guess the client or grant of a call", async () => {
  const rules = ["client", "grant"].map((per) => FEW.replace("shadow: true,", `per: ${per},`));
  for (const rule of rules) {
    const { explain } = await filesOf([rule], [{ minute: 1, tool: "review", given: {} }]);
    const unknown = await explain("review", {});
    expect(unknown.answer, rule).toBe("denied");
    expect(unknown.text, rule).toContain("cannot be decided");
  }
});

test("diff says what a new, changed or removed rule means", async () => {
  const [old, next] = [join(folder, "old.yaml"), join(folder, "new.yaml")];
  await writeFile(old, yamlOf([REVIEWED, FEW]));
  await writeFile(next, yamlOf([REFUNDS, FEW.replace("shadow: true, ", "").replace("count: 1", "count: 2")]));
  const { text, answer } = await diffConfigurations(old, next, {});
  expect(answer).toBe("different");
  expect(text).toContain(
    [
      "History rules:",
      '  default/tools: history rule "few" changes: was at most 1 call within 1d by the same user, when the tool is "review" (in shadow); is at most 2 calls within 1d by the same user, when the tool is "review"',
      '  default/tools: history rule "refunds" is new: up to 10 of /amount in all within 1d by the same user, when the tool is "refund"',
      '  default/tools: history rule "reviewed" is removed: only after a successful call with the same value of /document within 1h by the same user, when the tool is "review", when the tool is "publish"',
    ].join("\n"),
  );
});

test("classes in a lock file decide in all three, and a file that cannot be read is reported", async () => {
  const lock = join(folder, "tools.lock.json");
  const rule =
    "{ name: no-leaks, calls: { or: [{ mcp_tool_class: external }] }, not_after: { calls: { or: [{ mcp_tool_class: untrusted }] }, within: 1h } }";
  const rules = [`${rule}]\n        tool_lock: { file: ${lock} }\n        labels: [a`];
  const classify = async (post: string): Promise<void> => {
    const classes = { browse: "untrusted", post };
    const tools = Object.entries(classes).map(([name, each]) => {
      const definition = { name, inputSchema: { type: "object" } };
      const digest = toolDigest(parseExactJson(JSON.stringify(definition)) ?? null);
      return { digest, definition, classes: [each] };
    });
    await writeFile(lock, JSON.stringify({ version: 1, servers: { "https://mcp.example": { tools } } }));
  };
  const calls = [
    { minute: 1, tool: "browse" },
    { minute: 2, tool: "post" },
  ];
  await classify("external");
  const { run, explain } = await filesOf(rules, calls);
  expect(await run()).toMatchObject({ counts: { same: 1, loses: 1 }, notes: [] });
  expect((await explain("post", {})).text).toContain('history rule "no-leaks"');
  await classify("read");
  expect(await run()).toMatchObject({ counts: { same: 2, loses: 0 } });
  expect((await explain("post", {})).answer).toBe("allowed");

  const [old, next] = [join(folder, "old.yaml"), join(folder, "new.yaml")];
  const denied = [...ALLOW, { deny: { or: [{ mcp_tool_class: "untrusted" }] } }];
  await writeFile(old, yamlOf(rules));
  await writeFile(next, yamlOf(rules).replace(JSON.stringify(ALLOW), JSON.stringify(denied)));
  const diff = async (): Promise<string> => (await diffConfigurations(old, next, {})).text;
  expect(await diff()).toContain("loses the tool browse and every other tool\n");
  await rm(lock);
  const why = /the tool classes of default\/tools are unknown: .*ENOENT/;
  expect(await diff()).toMatch(why);
  expect((await explain("post", {})).text).toMatch(why);
  expect(JSON.stringify((await run())["notes"])).toMatch(why);
});
