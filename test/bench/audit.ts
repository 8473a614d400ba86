/**
 * What `audit` costs: `node test/bench/audit.ts`. Exit code 1 above a bound.
 *
 * Whole gateways, which differ in that setting alone, get the same GETs in turn, many short rounds, so that a slow minute
 * of the machine hits all alike. What counts is the time of the thread that handles requests, as a share of what it takes
 * without: 5 % for `audit`, 5 % more for `record_store`. The thread of the records runs on the other core, beside load and
 * upstream: on one core each would empty the other's caches. What all other threads take is printed beside it, and is no
 * less real. Verifying takes six times the parsing of the lines at most.
 *
 * Connections pause between an answer and the next request, so that no core is full: where load, upstream and records
 * share one that is, requests come in smaller bunches, each costs the first thread more wake-ups, and these would be
 * counted as the records' cost (10 % each on two cores with `--pause 0`).
 *
 *   --rounds N (60)  --seconds S (0.25)  --connections C (64)  --pause MS (4)
 */
import { readFileSync, rmSync, statSync } from "node:fs";
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { AUDIT_KEY_NAME } from "../../runtime/audit/chain/checkpoint.ts";
import { createNoteSigner, parseVerifierKey } from "../../runtime/audit/chain/signed-note.ts";
import { DEFAULT_RECORD_FIELDS, formatRecord } from "../../runtime/audit/record.ts";
import { startRecordThread } from "../../runtime/records/records-thread.ts";
import { compilePolicy, evaluate } from "../../runtime/policy/evaluate.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { verifyAudit } from "../../runtime/tools/audit/verify.ts";
import { alice, asAlice } from "../support/facts.ts";
import { type Child, REST_CORE, startChild } from "./common/child.ts";
import { load } from "./common/load.ts";
import { formatTable, median } from "./common/table.ts";
import { startGateway } from "./common/gateway.ts";
import { webRequest } from "./common/requests.ts";
import { moveThread, threadTimes } from "./common/threads.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "60" },
    seconds: { type: "string", default: "0.25" },
    connections: { type: "string", default: "64" },
    pause: { type: "string", default: "4" },
  },
});
const rounds = Number(values.rounds);
const durationMs = Number(values.seconds) * 1000;
const connections = Number(values.connections);
const pauseMs = Number(values.pause);

interface Variant {
  readonly name: string;
  readonly settings: string;
  /** Beside which one, and how much more it may take of the thread that handles requests. */
  readonly beside?: { readonly name: string; readonly maxShare: number };
}

const VARIANTS: readonly Variant[] = [
  { name: "without", settings: "" },
  { name: "audit", settings: "audit: true\n", beside: { name: "without", maxShare: 0.05 } },
  {
    name: "audit and record_store",
    settings: "audit: true\nrecord_store: {}\n",
    beside: { name: "audit", maxShare: 0.05 },
  },
];

const MAX_TIMES_PARSING = 6;
const VERIFIED = 20_000;
const VERIFY_ROUNDS = 7;

interface Sample {
  readonly firstMicros: number;
  readonly othersMicros: number;
}

const directory = await mkdtemp(join(tmpdir(), "bench-audit-"));
const opened: (() => Promise<unknown>)[] = [];
try {
  const isWithin = [await measureGateways(), await measureVerifying()];
  process.exitCode = isWithin.every(Boolean) ? 0 : 1;
} finally {
  for (const close of opened.toReversed()) await close();
  rmSync(directory, { recursive: true });
}

async function measureGateways(): Promise<boolean> {
  const start = async (core: "target" | "rest", command: string, ...args: string[]): Promise<Child> => {
    const child = await startChild(core, command, args);
    opened.push(() => child.stop());
    return child;
  };
  const upstream = await start("rest", process.execPath, join(import.meta.dirname, "common/upstream.ts"));
  const gateways: (Variant & Awaited<ReturnType<typeof startGateway>> & { readonly samples: Sample[] })[] = [];
  for (const variant of VARIANTS) {
    const origin = `http://127.0.0.1:${upstream.port}`;
    const gateway = await startGateway({ ...variant, directory, upstream: origin, start });
    opened.push(gateway.close);
    moveThread(gateway.child.pid, "records", REST_CORE);
    gateways.push({ ...variant, ...gateway, samples: [] });
  }
  for (let round = -2; round < rounds; round += 1) {
    // Each is first as often as last.
    for (const { child, cookie, samples } of round % 2 === 0 ? gateways : gateways.toReversed()) {
      const before = threadTimes(child.pid);
      const request = webRequest(child.port, cookie);
      const { requests, errors } = await load({
        port: child.port,
        request,
        connections,
        durationMs,
        ...(pauseMs > 0 && { pauseMs }),
      });
      const after = threadTimes(child.pid);
      if (errors > 0) throw new Error(`${errors} requests failed`);
      if (round < 0) continue; // warm-up
      samples.push({
        firstMicros: (after.first - before.first) / 1000 / requests,
        othersMicros: (after.others - before.others) / 1000 / requests,
      });
    }
  }
  const found = gateways.map(({ name, samples, beside }) => {
    const base = gateways.find((gateway) => gateway.name === beside?.name)?.samples;
    const more = base && median(samples.map((sample, at) => sample.firstMicros / (base[at] as Sample).firstMicros)) - 1;
    const isWithin = more === undefined || more <= (beside?.maxShare ?? 0);
    const first = median(samples.map(({ firstMicros }) => firstMicros));
    const others = median(samples.map(({ othersMicros }) => othersMicros));
    const said =
      more === undefined ? "" : `${(more * 100).toFixed(1)} % (bound ${((beside?.maxShare ?? 0) * 100).toFixed(0)})`;
    return { isWithin, row: [name, first.toFixed(1), said, others.toFixed(1), (first + others).toFixed(1)] };
  });
  const header = ["a GET", "requests' thread µs", "more", "other threads µs", "in all µs"];
  console.log(
    formatTable(
      header,
      found.map(({ row }) => row),
    ),
  );
  return found.every(({ isWithin }) => isWithin);
}

async function measureVerifying(): Promise<boolean> {
  const file = join(directory, "verified.log");
  const seed = Buffer.alloc(32, 1);
  const fail = (error: Error): never => {
    throw error;
  };
  const records = await startRecordThread(
    { instance: "verified", destination: file, closeTimeoutMs: 5_000, audit: { seed, seen: [] } },
    { log: silentLog(), onError: fail, onDeath: fail, onCheckpoint: () => {} },
  );
  const decision = evaluate(compilePolicy([{ allow: { and: [{ domain: "example.com" }] } }]), asAlice({}));
  for (let index = 0; index < VERIFIED; index += 1) {
    await records.write(
      formatRecord(DEFAULT_RECORD_FIELDS, {
        timeMs: Date.now(),
        decision,
        requestId: `33b650891a4666f2a1e1d67b${String(index).padStart(8, "0")}`,
        bundleDigest: "d",
        route: "team/github",
        http: { method: "POST", path: "/mcp", host: "github.example.com", ip: "192.0.2.1" },
        user: alice,
        mcp: { method: "tools/call", tool: "create_issue" },
        rule: "/0/allow/and",
      }),
    );
  }
  await records.close();
  const verifier = parseVerifierKey(createNoteSigner(AUDIT_KEY_NAME, seed).verifierKey);
  const verifiers = verifier ? [verifier] : [];
  const lines = readFileSync(file, "utf8").trimEnd().split("\n");
  const parsing: number[] = [];
  const verifying: number[] = [];
  for (let round = 0; round <= VERIFY_ROUNDS; round += 1) {
    parsing.push(await micros(async () => lines.forEach((line) => void JSON.parse(line)), lines.length));
    verifying.push(
      await micros(async () => {
        const { result } = await verifyAudit({ files: [file], verifiers, heads: [] });
        if (result !== "whole") throw new Error(`the audit is ${result}`);
      }, lines.length),
    );
  }
  const [parsed, verified] = [median(parsing.slice(1)), median(verifying.slice(1))];
  const times = verified / parsed;
  console.log(
    `verify: ${verified.toFixed(2)} µs a line, ${times.toFixed(2)} times parsing (bound ${MAX_TIMES_PARSING}), ${(statSync(file).size / lines.length).toFixed(0)} bytes a line`,
  );
  return times <= MAX_TIMES_PARSING;
}

async function micros(work: () => Promise<unknown>, each: number): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / each;
}
