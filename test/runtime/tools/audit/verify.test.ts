/** What `gateway audit verify` says of files that somebody, or a crash, has been at. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { afterAll, describe, expect, test } from "vitest";

import { readRecord } from "../../../../runtime/audit/replay/read-record.ts";
import { readLogLine } from "../../../../runtime/audit/log-line.ts";
import { AUDIT_KEY_NAME } from "../../../../runtime/audit/chain/checkpoint.ts";
import { createNoteSigner } from "../../../../runtime/audit/chain/signed-note.ts";
import { checkpointOfNote, verifyAudit } from "../../../../runtime/tools/audit/verify.ts";
import type { Finding, VerifyReport } from "../../../../runtime/tools/audit/findings.ts";
import { formatVerify } from "../../../../runtime/tools/audit/text.ts";
import { beginRun, SEGMENT, smallRun, verifiers, verifyBytes, writeRecords } from "../../../support/audit-run.ts";

const directory = mkdtempSync(join(tmpdir(), "audit-"));
afterAll(() => rmSync(directory, { recursive: true }));

let number = 0;

function file(text: string | Buffer, name = `${(number += 1)}.log`): string {
  const path = join(directory, name);
  writeFileSync(path, text);
  return path;
}

async function verify(...files: readonly (string | Buffer)[]): Promise<VerifyReport> {
  return verifyAudit({ files: files.map((each) => file(each)), verifiers, heads: [] });
}

/** "missing 3-5" */
function told({ kind, first, last }: Finding): string {
  return `${kind} ${first === last ? first : `${first ?? ""}-${last}`}`;
}

describe("a run that ended", () => {
  test("is whole, and nothing but whole", async () => {
    const lines = await smallRun();
    expect(lines).toHaveLength(8);
    const report = await verify(lines.join(""));
    expect(report).toMatchObject({ result: "whole", findings: [], torn: [], unchained: 0, otherLines: 0 });
    expect(report.runs).toMatchObject([{ first: 0, last: 7, isEnded: true, unsigned: 0 }]);
  });

  test("is not, after changing or removing any byte", async () => {
    const bytes = Buffer.from((await smallRun(2)).join(""));
    const lastLine = bytes.lastIndexOf(0x0a, -2);
    const unnoticed: string[] = [];
    for (let at = 0; at < bytes.length; at += 1) {
      const changed = Buffer.from(bytes);
      changed[at] = (changed[at] ?? 0) ^ (1 << (at % 8));
      const cut = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1)]);
      for (const each of [changed, cut]) {
        const { result } = verifyBytes(each);
        // A process that is killed while it writes the last line can leave that one so.
        if (result !== "found" && !(at > lastLine && result === "partly"))
          unnoticed.push(bytes.toString("latin1", at - 60, at));
      }
    }
    expect(unnoticed).toEqual([]);
  });

  test("is not, after removing, repeating or swapping any lines, and the report names them", async () => {
    const lines = await smallRun();
    for (let at = 0; at < lines.length; at += 1) {
      const without = lines.toSpliced(at, 1);
      const { result, findings, runs } = await verify(without.join(""));
      if (at === lines.length - 1) {
        // As if it had been killed: nothing but what others know of it can tell.
        expect([result, runs[0]?.unsigned]).toEqual(["partly", 5]);
      } else {
        expect(findings.map(told)).toContain(`missing ${at}`);
      }
      expect((await verify(lines.toSpliced(at, 0, lines[at] ?? "").join(""))).findings.map(told)).toContain(
        `repeated ${at}`,
      );
      for (let other = at + 1; other < lines.length; other += 1) {
        const swapped = lines.with(at, lines[other] ?? "").with(other, lines[at] ?? "");
        const found = (await verify(swapped.join(""))).findings;
        expect([at, other, found.map(told).filter((each) => !/^(moved|added|unproven)/.test(each))]).toEqual([
          at,
          other,
          [],
        ]);
        expect(found.some(({ kind, first = 0, last = 0 }) => kind === "moved" && first <= at && at <= last)).toBe(true);
        expect(found.every(({ kind }) => ["moved", "added", "unproven"].includes(kind))).toBe(true);
      }
    }
  });

  test("the one changed record is reported, with its position, and the others are valid", async () => {
    const run = beginRun("long");
    writeRecords(run, 3 * SEGMENT);
    await run.records.close();
    const at = SEGMENT + 100;
    const changed = run.lines.with(at, (run.lines[at] ?? "").replace('"info"', '"warn"'));
    const { findings, found } = await verify(changed.join(""));
    const offset = Buffer.byteLength(run.lines.slice(0, at).join(""));
    expect(found).toBe(1);
    expect(findings).toMatchObject([{ kind: "changed", first: at, last: at, place: { line: at + 1, offset } }]);
  });
});

describe("files", () => {
  test("may be rotated, compressed, in any order, of several processes at once", async () => {
    const [a, b] = [beginRun("a"), beginRun("b")];
    const all: string[] = [];
    const take = (): void => void all.push(...a.lines.splice(0), ...b.lines.splice(0));
    for (let round = 0; round < 20; round += 1) {
      writeRecords(a, 100);
      take();
      writeRecords(b, 150);
      take();
    }
    await Promise.all([a.records.close(), b.records.close()]);
    take();
    const third = Math.floor(all.length / 3);
    const parts = [all.slice(0, third), all.slice(third, 2 * third), all.slice(2 * third)].map((part) => part.join(""));
    const [one = "", two = "", three = ""] = parts;
    for (const files of [
      [one, two, three],
      [three, gzipSync(two), one],
      [two, three, gzipSync(one)],
    ]) {
      expect(await verify(...files)).toMatchObject({ result: "whole", found: 0 });
    }
    const partly = await verify(two, three);
    expect([partly.result, partly.notGiven.length]).toEqual(["partly", 2]);
    const hole = await verify(one, three);
    expect(hole.result).toBe("found");
    expect(hole.findings.every(({ kind }) => kind === "missing" || kind === "unproven")).toBe(true);
  });

  test("of a killed process can end anywhere, without a finding", async () => {
    const run = beginRun("killed");
    writeRecords(run, 40);
    await run.records.close();
    const text = run.lines.join("");
    const firstLines = (run.lines[0] ?? "").length + (run.lines[1] ?? "").length;
    for (let end = firstLines; end < text.length - (run.lines.at(-1) ?? "").length; end += 97) {
      const cut = text.slice(0, end);
      expect((await verify(cut)).result).not.toBe("found");
      // The next process begins a line of its own, another worker goes on in the same one.
      for (const end of ["\n", ""]) {
        const next = beginRun(`next-${(number += 1)}`);
        await next.records.close();
        const report = await verify(cut + end + next.lines.join(""));
        expect([cut.length, report.findings]).toEqual([cut.length, []]);
        expect(report.runs).toHaveLength(2);
      }
    }
  });

  test("with a truncated end are detected by the next run, and by any holder of the head", async () => {
    const first = beginRun("cut");
    writeRecords(first, 2 * SEGMENT);
    const [note = ""] = first.notes.slice(-1);
    const size = checkpointOfNote(note)?.size ?? 0;
    const next = beginRun("after", [note]);
    await next.records.close();
    const upTo = (seq: number): string => first.lines.slice(0, seq).join("");
    expect((await verify(upTo(size + 1), next.lines.join(""))).findings).toEqual([]);
    expect((await verify(upTo(size - 1), next.lines.join(""))).findings.map(told)).toEqual([`cut -${size - 1}`]);
    expect((await verify(next.lines.join(""))).notGiven).toEqual([{ instance: "cut", lines: size }]);
    const head = checkpointOfNote(note);
    const heads = head ? [head] : [];
    const against = async (text: string): Promise<string> =>
      (await verifyAudit({ files: [file(text)], verifiers, heads })).result;
    expect(await against(upTo(size + 1))).toBe("whole");
    expect(await against(upTo(size - 5))).toBe("found");
    expect(await against(next.lines.join(""))).toBe("found");
    // The same run written anew, by somebody who has the key.
    const forged = beginRun("cut");
    writeRecords(forged, 2 * SEGMENT);
    expect(await against(forged.lines.join(""))).toBe("found");
  });

  test("signed by another key prove nothing", async () => {
    const foreign = beginRun("foreign", [], createNoteSigner(AUDIT_KEY_NAME, Buffer.alloc(32, 8)));
    await foreign.records.close();
    expect((await verify(foreign.lines.join(""))).result).toBe("untold");
    expect((await verify("no log at all\n")).result).toBe("untold");
  });

  test("with records of no run, other logs and nonsense are read in bounded time", async () => {
    const lines = await smallRun();
    const record =
      '{"level":"info","time":"2026-01-01T00:00:00.000Z","service":"authorize","message":"authorize check"}\n';
    expect(await verify(`${record}hello\n\n${lines.join("")}`)).toMatchObject({
      result: "partly",
      unchained: 1,
      otherLines: 1,
    });
    const far = `{"level":"info","instance":"x","seq":999999999999999}\n{"level":"info","instance":"x","seq":1}\n`;
    expect((await verify(far + lines.join(""))).result).toBe("found");
    expect(formatVerify(await verify(far))).toContain("x");
  });
});

const FORGED = {
  "as a gateway writes it": `{"level":"info","time":"2026-01-01T00:00:00.000Z","service":"authorize","message":"authorize check"}`,
  "with the service far behind": `{"level":"info","pad":"${"x".repeat(300)}","service":"authorize","message":"authorize check"}`,
  "with an escape": `{"level":"info","service":"authori\\u007ae","message":"authorize check"}`,
  "with an escape in the name": `{"level":"info","serv\\u0069ce":"authorize","message":"authorize check"}`,
  "with blanks": `{"level":"info","service": "authorize" ,"message":"authorize check"}`,
  "after blanks": ` \t{"service":"authorize","message":"authorize check"}\r`,
  "after a byte order mark": `\ufeff{"service":"authorize","message":"authorize check"}`,
  "with the service twice": `{"service":"authorize","message":"authorize check","n":{"a":["}"]},"service":"other"}`,
  "with bytes that are not UTF-8": Buffer.from(
    `{"service":"authorize","message":"authorize check","n":"\xff"}`,
    "latin1",
  ),
};

test.each(Object.entries(FORGED))("a forged record %s is seen by verification and by replay", async (_, forged) => {
  const lines = await smallRun();
  const text = Buffer.concat([Buffer.from(lines.join("")), Buffer.from(forged), Buffer.from("\n")]);
  expect(await verify(text)).toMatchObject({ result: "partly", unchained: 1, otherLines: 0, findings: [] });
  expect(readLogLine(Buffer.from(forged))).toMatchObject({ kind: "record", message: "authorize check" });
  const joined = Buffer.concat([Buffer.from('{"level":"in'), Buffer.from(FORGED["as a gateway writes it"])]);
  expect(await verify(Buffer.concat([text, joined]))).toMatchObject({ unchained: 2 });
});

const TIME = "2026-01-01T00:00:00.000Z";
const CHECK = `"service":"authorize","message":"authorize check","time":"${TIME}","allow":true`;
test.each([
  ["allow", `{"allow":false,${CHECK}}`],
  ["allow", `{${CHECK},"n":"\\"\\\\","\\u0061llow":false}`],
  ["time", `{"time":"2027${TIME.slice(4)}",${CHECK}}`],
  ["message", `{"message":"x",${CHECK}}`],
  ["message", `{${CHECK},"message":"x"}`],
  ["tool", `{${CHECK},"replay":{"v":1,"mcp":[{"tool":"a","tool":"b"}]}}`],
])("a record with %s twice is ignored by all readers, since others use the other one", async (name, forged) => {
  const line = readLogLine(Buffer.from(forged));
  expect(readRecord(line)).toEqual({ kind: "broken", problem: `it has "${name}" twice` });
  expect((await verify(`${forged}\n${(await smallRun()).join("")}`)).unchained).toBe(1);
});

test("members of several objects may have one name, and another log may repeat its own", () => {
  const others = `{${CHECK}, "n":[{"a":1},{"a":{"allow":1}}],"x":"{\\"a\\":1,\\"a\\":2}"}`;
  expect(readRecord(readLogLine(Buffer.from(others)))).toMatchObject({ kind: "check" });
  expect(readLogLine(Buffer.from(`{"level":"info","level":"x"}`))).toMatchObject({ kind: "json" });
});

test.each([
  ["after another value", `{"a":1}{"service":"authorize","message":"authorize check"}`],
  ["after a number, with escapes", `7 {"servic\\u0065" : "\\u0061uthorize","message":"authorize check"}`],
  ["in a list", `[{"service":"authorize","message":"authorize check"}]`],
  ["after what is no JSON", `x\r{"service":"authorize","message":"authorize check"}`],
])(
  "a forged record %s on its line does not count as a line of another log: other readers may accept it",
  async (_, forged) => {
    const lines = await smallRun();
    expect(await verify(`${forged}\n${lines.join("")}`)).toMatchObject({
      result: "partly",
      unchained: 1,
      otherLines: 0,
    });
  },
);

test("lines of other logs are not records, whatever they quote", async () => {
  const lines = await smallRun();
  const others = [
    `{"level":"info","msg":"{\\"service\\":\\"authorize\\"}"}`,
    `{"level":"info","inner":{"service":"authorize","message":"authorize check"}}`,
    `["service","authorize"]`,
    `service=authorize`,
  ];
  const report = await verify(`${others.join("\n")}\n${lines.join("")}`);
  expect(report).toMatchObject({ result: "whole", unchained: 0, otherLines: others.length });
});

describe("a full disk", () => {
  test("cuts a line that is written again in full: nothing is lost, wherever it was cut", async () => {
    const lines = await smallRun();
    for (let at = 0; at < lines.length; at += 1) {
      const line = lines[at] ?? "";
      for (const length of [12, Math.floor(line.length / 2), line.length - 2]) {
        const torn = `${line.slice(0, length)}\n`;
        const twice = `${torn}${line.slice(0, 11)}\n${torn}`;
        for (const cut of [torn, twice]) {
          const report = await verify(lines.toSpliced(at, 0, cut).join(""));
          expect([at, length, report]).toEqual([at, length, expect.objectContaining({ result: "whole", torn: [] })]);
        }
      }
    }
  });

  test("cuts a line of one worker while another writes, and while the file is rotated", async () => {
    const lines = await smallRun();
    const other = await smallRun();
    const [line = ""] = lines.slice(3);
    const before = `${lines.slice(0, 3).join("")}${line.slice(0, 60)}`;
    const after = lines.slice(3).join("");
    expect(await verify(`${before}\n${other.join("")}${after}`)).toMatchObject({ result: "whole", torn: [] });
    expect(await verify(`${before}${other.join("")}${after}`)).toMatchObject({ result: "whole", torn: [] });
    expect(await verify(before, other.join("") + after)).toMatchObject({ result: "whole", torn: [] });
  });

  test("does not explain a line that nothing repeats, or that differs", async () => {
    const lines = await smallRun();
    const line = lines[3] ?? "";
    const torn = `${line.slice(0, 60).replace("info", "warn")}\n`;
    expect((await verify(lines.toSpliced(3, 0, torn).join(""))).findings).toMatchObject([{ kind: "broken" }]);
    // Behind the whole line it is no beginning of one.
    const behind = await verify(lines.toSpliced(4, 0, `${line.slice(0, -3)}\n`).join(""));
    expect(behind.findings).toMatchObject([{ kind: "broken" }]);
  });
});

test("forged partial lines cost no more than reading them", async () => {
  const lines = await smallRun();
  const forged = (seq: number): string => `{"level":"info","instance":"x","seq":${seq}}\n`;
  // Backwards in a beginning that is missing: each would tear another hole, and each search for one walks over all of them.
  const count = 3_000;
  const many = Array.from({ length: count }, (_, index) => forged(1_000_000 - 2 * index)).join("");
  const joined = `${'{"level":"'.repeat(50_000)}\n`;
  const report = await verify(many + joined + lines.join(""));
  expect(report.result).toBe("found");
  expect(report.findings.length).toBeLessThanOrEqual(100);
  // All but the first were moved, and the holes are missing: about 1,000, of which no more are kept.
  expect(report.found).toBeLessThan(count + 1_100);
}, 10_000);

test("an erased record leaves its digest, with which the tree continues", async () => {
  const lines = await smallRun();
  const { leafHash } = await import("../../../../runtime/audit/chain/merkle-tree.ts");
  const line = lines[3] ?? "";
  const leaf = leafHash(line.trimEnd());
  const [, tail = ""] = /(,"instance":"[^"]+","seq":3),"salt"/.exec(line) ?? [];
  const stub = `{"level":"info","service":"authorize","message":"erased record","leaf":"${leaf}"${tail}}\n`;
  const report = await verify(lines.with(3, stub).join(""));
  expect(report.findings.map(told)).toEqual(["erased 3"]);
  expect(report.runs).toMatchObject([{ signed: 7 }]);
  expect(line).toMatch(/"salt":"[\w-]{22}"\}\n$/);
  expect(readFileSync(file(stub), "utf8")).not.toContain('"n":');
});

test.each([
  ["lists", (levels: number) => `${"[".repeat(levels)}${"]".repeat(levels)}`],
  ["objects", (levels: number) => `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`],
])("a line of %s in each other is not read, and is named", async (_, nested) => {
  const line = (levels: number): string => `{"service":"authorize","a":${nested(levels - 1)}}`;
  const problem = "it is nested deeper than 128 levels";
  expect(readLogLine(Buffer.from(line(128)))).toMatchObject({ kind: "record" });
  expect(readLogLine(Buffer.from(line(129)))).toMatchObject({ kind: "broken", problem });
  // In a text it is no nesting.
  expect(readLogLine(Buffer.from(`{"service":"authorize","a":"\\"${"[".repeat(500)}"}`))).toMatchObject({
    kind: "record",
  });
  const { result, findings } = await verify(`${line(128)}\n${line(100_000)}\n`);
  expect([result, findings]).toMatchObject(["found", [{ kind: "broken", note: problem, place: { line: 2 } }]]);
});
