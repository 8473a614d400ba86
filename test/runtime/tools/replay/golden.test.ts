/** What `gateway replay` prints: files in test/golden/replay/, a new configuration and records above, the report below. */
import { execFile } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { replayCommand } from "../../../../runtime/tools/replay/command.ts";
import { progressOn } from "../../../../runtime/tools/replay/progress.ts";
import { goldenPairs } from "../../../support/golden.ts";

const MAIN = new URL("../../../../runtime/main.ts", import.meta.url).pathname;

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "replay-"));
});
afterAll(() => rm(directory, { recursive: true }));

async function put(name: string, content: string | Buffer): Promise<string> {
  const file = join(directory, name);
  await writeFile(file, content);
  return file;
}

const EXIT: Readonly<Record<string, number>> = { "no-change": 0, changed: 3, undecidable: 3 };
const pairs = goldenPairs("replay");
const [changed] = pairs;

function sourceOf(name: string, file: string): string {
  return pairs.find((pair) => pair.name === name)?.sources.find((each) => each.file === file)?.text ?? "";
}

async function run(records: readonly string[], config: string, options = {}, env = {}) {
  const { text, exitCode } = await replayCommand({ records, config, ...options }, { env });
  return { exitCode, text: text.replaceAll(`${directory}/`, "") };
}

describe("gateway replay", () => {
  test.each(pairs)("prints of $name what it must", async ({ name, sources, expected, update }) => {
    expect(changed).toBeDefined();
    const files = await Promise.all(sources.map(({ file, text }) => put(file, text)));
    const { text, exitCode } = await run(files.slice(1), files[0] ?? "");
    expect({ exitCode, text: `${text}\n` }).toEqual({ exitCode: EXIT[name], text: update(text) || expected });
  });

  test("prints the same for programs, and of compressed records in several files", async () => {
    const config = await put("gateway.yaml", sourceOf("changed", "gateway.yaml"));
    const lines = sourceOf("changed", "records.log").split(/(?<=\n)/);
    const plain = await put("one.log", lines.slice(0, 5).join(""));
    // Two members of gzip, as log rotation leaves them that appends.
    const gz = [lines.slice(5, 8), lines.slice(8)].map((part) => gzipSync(part.join("")));
    const packed = await put("two.log.gz", Buffer.concat(gz));
    const { text, exitCode } = await run([plain, packed], config, { json: true });
    expect(exitCode).toBe(3);
    expect(JSON.parse(text)).toMatchObject({
      result: "changed",
      records: 9,
      counts: { same: 4, gains: 1, loses: 3, undecidable: 0, refused: 1 },
      shadow: { "default/tools policy[3]": { same: 5, loses: 2, gains: 0, undecidable: 0 } },
      groups: [
        { user: "alice@example.com", route: "default/tools", what: "delete_issue", counts: { loses: 2 } },
        { user: "bob@example.com", what: "delete_issue", counts: { loses: 1 } },
        { user: "carol@partner.example", what: "list_issues", counts: { gains: 1 } },
      ],
      otherLines: 1,
      broken: 0,
    });
  });

  test("prints no line that a caller has made up", async () => {
    const config = await put("gateway.yaml", sourceOf("changed", "gateway.yaml"));
    const records = sourceOf("changed", "records.log").replaceAll("bob@example.com", "bob\\n\\nno change\\u202e");
    const { text } = await run([await put("forged.log", records)], config);
    expect(text).toContain("bob??no change?");
    expect(text).not.toMatch(/^no change/m);
  });

  test("counts an unreadable line, reports it, and continues", async () => {
    const config = await put("gateway.yaml", sourceOf("no-change", "gateway.yaml"));
    const [first = "", second = ""] = sourceOf("no-change", "records.log").split(/(?<=\n)/);
    const replayOf = (text: string): string => second.replace(/"replay":.*/, `"replay":${text}}`);
    const bad = [
      "not a record at all\n",
      first,
      `${first.slice(0, 90)}\n`,
      replayOf('{"v":1,"http":["GET","/"]}'),
      replayOf('{"v":1,"http":["GET","/","tools.example.com","::1"],"mcp":{"method":"tools/call"}}'),
      replayOf('{"v":0}'),
      `{"pad":"${"x".repeat(2 << 20)}"}\n`,
      second.slice(0, -1),
    ];
    const file = await put(
      "bad.log",
      Buffer.concat([
        Buffer.from(bad.slice(0, 7).join("")),
        Buffer.from('{"a":"\xff"}\n', "latin1"),
        Buffer.from(bad[7] ?? ""),
      ]),
    );
    const { text, exitCode } = await run([file], config, { json: true });
    const report = JSON.parse(text) as { brokenLines: { line: number }[] };
    expect(report).toMatchObject({ records: 2, otherLines: 1, broken: 6, counts: { same: 2 }, result: "partly" });
    expect(report.brokenLines.map(({ line }) => line)).toEqual([3, 4, 5, 6, 7, 8]);
    expect(exitCode).toBe(4);
  });

  test("uses the key from elsewhere, and without one reports what it cannot compare", async () => {
    const yaml = sourceOf("undecidable", "gateway.yaml");
    const [, key = ""] = /authorize_log_key: (.*)/.exec(yaml) ?? [];
    const without = await put("gateway.yaml", yaml.replace(/authorize_log_key: .*/, "authorize_log_key_ref: env:KEY"));
    const records = await put("records.log", sourceOf("undecidable", "records.log"));
    const counts = async (options: object, env: object): Promise<unknown> =>
      (JSON.parse((await run([records], without, { json: true, ...options }, env)).text) as { counts: unknown }).counts;
    const full = await counts({}, { KEY: key });
    expect(full).toMatchObject({ same: 1, loses: 3, undecidable: 3 });
    expect(await counts({ key: "env:OTHER" }, { OTHER: key })).toEqual(full);
    expect(await counts({}, {})).toMatchObject({ same: 0, loses: 2, undecidable: 5 });
    expect((await run([records], without)).text).toContain(
      'note: digests in the records cannot be compared: Cannot read secret "env:KEY": the environment variable is not set',
    );
    await expect(run([records], without, { key: "env:OTHER" })).rejects.toThrow("OTHER");
  });

  test("G-19: facts that the new rules need and that 1,000 records lack are counted, and so are all records", async () => {
    const config = await put("gateway.yaml", sourceOf("undecidable", "gateway.yaml"));
    const [told = "", other = ""] = sourceOf("undecidable", "records.log").split(/(?<=\n)/);
    const file = await put("many.log", [...Array(600).fill(told), ...Array(400).fill(other)].join(""));
    const report = JSON.parse((await run([file], config, { json: true })).text) as Record<string, unknown>;
    expect(report).toMatchObject({
      records: 1000,
      // The other argument of the others decides, whatever the amount was.
      counts: { same: 0, gains: 0, loses: 400, undecidable: 600, refused: 0 },
      undecidable: { "the record does not have argument /amount of pay": 600 },
    });
  });

  test("keeps little of much: of long names a part, of many users and tools a number", async () => {
    const yaml = sourceOf("no-change", "gateway.yaml").replace(
      "[{ domain: example.com }]",
      "[{ domain: other.example }]",
    );
    const [line = ""] = sourceOf("no-change", "records.log").split(/(?<=\n)/);
    const lineOf = (tool: string): string => line.replaceAll("list_issues", tool);
    const lines = Array.from({ length: 10_050 }, (_, index) => lineOf(`tool_${index}`));
    const file = await put("many.log", [lineOf("a".repeat(5000)), ...lines].join(""));
    const { text } = await run([file], await put("gateway.yaml", yaml));
    expect(text).toContain("9980 more users, routes and tools");
    expect(text).toContain("51 changes of other users");
    expect(text).toContain(`${"a".repeat(200)}…`);
    expect(text.length).toBeLessThan(8_000);
  });

  test("is a command: records from standard input, the report to standard output, an exit status", async () => {
    const config = await put("gateway.yaml", sourceOf("changed", "gateway.yaml"));
    const command = execFile(process.execPath, [MAIN, "replay", "--records", "-", "--config", config]);
    const exited = once(command, "close");
    command.stdin?.end(sourceOf("changed", "records.log"));
    const out = (await command.stdout?.toArray())?.join("") ?? "";
    expect(await exited).toEqual([3, null]);
    expect(out).toMatch(/^9 records from .*\n[^]*\nchanged: 3 would lose, 1 would gain\n$/);
  });

  test("rejects files without records, missing files, and an invalid configuration", async () => {
    const config = await put("gateway.yaml", sourceOf("changed", "gateway.yaml"));
    const empty = await put("empty.log", "hello\n");
    await expect(run([empty], config)).rejects.toThrow("there is no authorization record, only 1 other lines");
    await expect(run([join(directory, "none.log")], config)).rejects.toThrow("Cannot read");
    const cut = await put("cut.log.gz", gzipSync("x".repeat(100_000)).subarray(0, 60));
    await expect(run([cut], config)).rejects.toThrow("Cannot read");
    await expect(run([empty], await put("bad.yaml", "routes: 1\n"))).rejects.toThrow("bad.yaml");
  });
});

test("progress is shown on a terminal, now and then, and nowhere else", () => {
  const written: string[] = [];
  const write = (text: string): boolean => written.push(text) > 0;
  let nowMs = 0;
  expect(progressOn({ write, isTTY: false })).toBeUndefined();
  const progress = progressOn({ write, isTTY: true }, () => nowMs);
  for (nowMs = 0; nowMs <= 500; nowMs += 100) progress?.show(nowMs * 10_000, 10_000_000);
  progress?.show(1, 0);
  progress?.end();
  expect(written).toEqual([
    "\r\u001b[K2.0 MB of 10.0 MB (20 %)",
    "\r\u001b[K4.0 MB of 10.0 MB (40 %)",
    "\r\u001b[K0.0 MB",
    "\r\u001b[K",
  ]);
});
