/**
 * What `audit` costs a request, in CPU time of its process: its place, salt and hash, the line of its outcome with the same,
 * and its share of the checkpoints; and what `gateway audit verify` takes: `node test/bench/audit.ts`. Exit code 1 above a
 * bound: 9 µs a request (of two lines), verifying six times the parsing of the lines.
 */
import { mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { AUDIT_KEY_NAME } from "../../runtime/audit/chain/checkpoint.ts";
import { chainRecords } from "../../runtime/audit/chain/chain-writer.ts";
import { createNoteSigner, parseVerifierKey } from "../../runtime/audit/chain/signed-note.ts";
import { formatOutcome } from "../../runtime/audit/outcome-record.ts";
import { DEFAULT_RECORD_FIELDS, formatRecord } from "../../runtime/audit/record.ts";
import { createRecordWriter, type RecordWriter } from "../../runtime/audit/record-writer.ts";
import { compilePolicy, evaluate } from "../../runtime/policy/evaluate.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { verifyAudit } from "../../runtime/tools/audit/verify.ts";
import { alice, asAlice } from "../support/facts.ts";
import { formatTable, median } from "./table.ts";

const ROUNDS = 7;
const REQUESTS = 20_000;
const MAX_MICROS = 9;
const MAX_TIMES_PARSING = 6;

const directory = mkdtempSync(join(tmpdir(), "bench-audit-"));
const signer = createNoteSigner(AUDIT_KEY_NAME, Buffer.alloc(32, 1));
const decision = evaluate(compilePolicy([{ allow: { and: [{ domain: "example.com" }] } }]), asAlice({}));

function writer(destination: string): RecordWriter {
  const onError = (error: Error): never => {
    throw error;
  };
  return createRecordWriter({ destination: openSync(destination, "a"), onError });
}

function chained(lines: RecordWriter, instance: string): RecordWriter {
  return chainRecords(lines, { instance, signer, clock: systemClock, seen: [], version: "1" });
}

/** Requests in bunches, between which the event loop goes on, as it does in a gateway. */
async function requests(records: RecordWriter): Promise<void> {
  for (let index = 0; index < REQUESTS; index += 1) {
    const requestId = `33b650891a4666f2a1e1d67b${String(index).padStart(8, "0")}`;
    const timeMs = Date.now();
    const room = records.write(
      formatRecord(DEFAULT_RECORD_FIELDS, {
        timeMs,
        decision,
        requestId,
        bundleDigest: "d",
        route: "team/github",
        http: { method: "POST", path: "/mcp", host: "github.example.com", ip: "192.0.2.1" },
        user: alice,
        mcp: { method: "tools/call", tool: "create_issue" },
        rule: records.lastSeq === undefined ? undefined : "/0/allow/and",
      }),
    );
    const of = records.lastSeq;
    if (of !== undefined) {
      void records.write(
        formatOutcome({
          timeMs,
          of,
          requestId,
          status: 200,
          failedBy: undefined,
          failure: undefined,
          durationMs: 12.345,
          lists: undefined,
        }),
      );
    }
    if (room) await room;
    else if (index % 8 === 0) await new Promise(setImmediate);
  }
}

async function micros(work: () => Promise<unknown>, each: number): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / each;
}

const off: number[] = [];
const on: number[] = [];
for (let round = 0; round <= ROUNDS; round += 1) {
  const plain = writer("/dev/null");
  off.push(await micros(() => requests(plain), REQUESTS));
  await plain.close();
  const audited = chained(writer("/dev/null"), `round-${round}`);
  on.push(await micros(() => requests(audited), REQUESTS));
  await audited.close();
}

const file = join(directory, "records.log");
writeFileSync(file, "");
const kept = chained(writer(file), "kept");
await requests(kept);
await kept.close();
const verifier = parseVerifierKey(signer.verifierKey);
const verifiers = verifier ? [verifier] : [];
const lines = readFileSync(file, "utf8").trimEnd().split("\n");
const parsing: number[] = [];
const verifying: number[] = [];
for (let round = 0; round <= ROUNDS; round += 1) {
  parsing.push(await micros(async () => lines.forEach((line) => void JSON.parse(line)), lines.length));
  verifying.push(
    await micros(async () => {
      const { result } = await verifyAudit({ files: [file], verifiers, heads: [] });
      if (result !== "whole") throw new Error(`the audit is ${result}`);
    }, lines.length),
  );
}
const bytes = statSync(file).size;
rmSync(directory, { recursive: true });

const cost = median(on.slice(1)) - median(off.slice(1));
const times = median(verifying.slice(1)) / median(parsing.slice(1));
console.log(
  formatTable(
    ["", "µs"],
    [
      ["a request without audit", median(off.slice(1)).toFixed(2)],
      ["a request with audit", median(on.slice(1)).toFixed(2)],
      ["parsing a line", median(parsing.slice(1)).toFixed(2)],
      ["verifying a line", median(verifying.slice(1)).toFixed(2)],
    ],
  ),
);
console.log(`audit: ${cost.toFixed(2)} µs a request (bound ${MAX_MICROS})`);
console.log(
  `verify: ${times.toFixed(2)} times parsing (bound ${MAX_TIMES_PARSING}), ${(bytes / lines.length).toFixed(0)} bytes a line`,
);
process.exitCode = cost > MAX_MICROS || times > MAX_TIMES_PARSING ? 1 : 0;
