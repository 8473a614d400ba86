/**
 * `node test/bench/federation.ts`: processor time of a federated route (`mcp.server.members`). A federated `tools/call` compared
 * with a direct one (at most 1.5 times), a list of 20 members with 50 tools each (at most 5 ms), `find_tools` in 2,000 tools (at most
 * 2 ms from the second query on), and memory after 10,000 sessions without a stream.
 *
 *   --rounds N (7)  --seconds S (2)  --connections C (32)  --only calls,lists,sessions  --profile DIR (V8's, of the gateway)
 */
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { type Child, startChild } from "./common/child.ts";
import { askInTurn } from "./common/closed-loop.ts";
import { residentKibibytes } from "./common/cpu.ts";
import { startGateway, tokenFor } from "./common/gateway.ts";
import { load } from "./common/load.ts";
import { type Case, measureRounds, type Samples } from "./common/rounds.ts";
import { pairedRatios } from "./common/statistics.ts";
import { formatTable, median } from "./common/table.ts";
import { federatedRoute, memberRequest, memberRoute } from "./federation/routes.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "7" },
    seconds: { type: "string", default: "2" },
    connections: { type: "string", default: "32" },
    only: { type: "string", default: "calls,lists,sessions" },
    profile: { type: "string" },
  },
});

const SESSIONS = 10_000;
/** V8 writes a profile at the end of a process that exits on its own. */
const EXIT = "data:text/javascript,process.on(%22SIGTERM%22,()=>process.exit())";
/** With 57 nested objects, as in the other benchmarks. */
const ITEMS = Array.from({ length: 57 }, (_, index) => ({
  id: index,
  name: `item ${index}`,
  tags: { a: "one", b: "two" },
}));
const LARGE = { repo: "gateway", items: ITEMS, text: "x".repeat(790) };

const CALLS = [
  { title: "4 KiB, JSON of 1 KB", member: "modern", args: LARGE },
  { title: "4 KiB, JSON of 1 KB, session", member: "sessions", args: LARGE },
  { title: "small, JSON of 1 KB", member: "modern", args: { size: 1_000 } },
  { title: "small, event of 1 KB", member: "events", args: { size: 1_000 } },
  { title: "small, JSON of 64 KB", member: "modern", args: { size: 64_000 } },
] as const;

const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
const children: Child[] = [];
const start = async (core: "target" | "rest", command: string, ...args: string[]): Promise<Child> => {
  const child = await startChild(core, command, args);
  children.push(child);
  return child;
};
const members = await start("rest", process.execPath, join(import.meta.dirname, "federation/members.ts"));
const origin = `http://127.0.0.1:${members.port}`;
if (values.profile !== undefined) await mkdir(values.profile, { recursive: true });
const gateway = await startGateway({
  directory,
  name: "gateway",
  upstream: origin,
  start,
  logLevel: "error",
  flags: values.profile === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${values.profile}`, "--import", EXIT],
  moreRoutes,
});
const { pid, port } = gateway.child;

try {
  const only = values.only.split(",");
  if (only.includes("calls")) await measureCalls();
  if (only.includes("lists")) await measureLists();
  if (only.includes("sessions")) await measureSessions();
} finally {
  for (const child of children.toReversed()) await child.stop();
  await gateway.close();
  await rm(directory, { recursive: true, force: true });
}

/** Of each kind of member, and the federated routes over them. */
function moreRoutes(own: number): string {
  const twenty = Array.from({ length: 20 }, (_, at) => `50-tools-${at}`);
  const single = ["modern", "events", "sessions"];
  return [
    ...[...single, "2000-tools", ...twenty].map((name) => memberRoute(own, origin, name)),
    ...single.map((name) => federatedRoute(own, `all-${name}`, [name])),
    federatedRoute(own, "twenty", twenty),
    federatedRoute(own, "search", ["2000-tools"], ", search_tools_above: 10"),
  ].join("");
}

async function sessionOf(path: string, token: string): Promise<string> {
  const response = await fetch(`http://localhost:${port}${path}`, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    },
    body: JSON.stringify({ jsonrpc: "2.0", id: 0, method: "initialize", params: initializeParams() }),
  });
  const session = response.headers.get("mcp-session-id");
  if (response.status !== 200 || session === null) throw new Error(`No session: ${await response.text()}`);
  return session;
}

function initializeParams(): Readonly<Record<string, unknown>> {
  return { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "bench", version: "1" } };
}

/** Microseconds of processor time, a value for each round. */
async function measure(requests: readonly (readonly [string, Buffer])[]): Promise<readonly Samples[]> {
  const connections = Number(values.connections);
  const cases = requests.map(([name, request]): Case => ({
    name,
    pid,
    run: (durationMs) => load({ port, request, connections, durationMs }),
  }));
  const options = {
    rounds: Number(values.rounds),
    durationMs: Number(values.seconds) * 1_000,
    warmUpMs: 3_000,
    isMirrored: true,
  };
  const measured = await measureRounds(cases, options);
  for (const { name, errors } of measured) if (errors > 0) throw new Error(`${errors} requests of "${name}" failed`);
  return measured;
}

async function measureCalls(): Promise<void> {
  const rows: string[][] = [];
  for (const { title, member, args } of CALLS) {
    const requests: [string, Buffer][] = [];
    for (const [path, name] of [
      [`/${member}/${member}`, "tool_1"],
      [`/all-${member}`, "m0__tool_1"],
    ] as const) {
      const token = await tokenFor(port, path);
      const session = member === "sessions" ? { session: await sessionOf(path, token) } : {};
      requests.push([
        path,
        memberRequest({ port, path, token, method: "tools/call", params: { name, arguments: args }, ...session }),
      ]);
    }
    const [direct, federated] = await measure(requests);
    const ratio = median(pairedRatios(federated?.cpuMicros ?? [], direct?.cpuMicros ?? []));
    rows.push([title, micros(direct), micros(federated), ratio.toFixed(2)]);
  }
  console.log(formatTable(["tools/call", "direct, CPU µs", "federated", "ratio (at most 1.5)"], rows));
}

async function measureLists(): Promise<void> {
  const found = { name: "find_tools", arguments: { query: "issues of a repository" } };
  const [twenty, search] = [await tokenFor(port, "/twenty"), await tokenFor(port, "/search")];
  const measured = await measure([
    [
      "20 members × 50 tools, kept",
      memberRequest({ port, path: "/twenty", token: twenty, method: "tools/list", params: {} }),
    ],
    [
      "find_tools in 2,000 tools",
      memberRequest({ port, path: "/search", token: search, method: "tools/call", params: found }),
    ],
  ]);
  console.log(
    formatTable(
      ["list", "CPU µs"],
      measured.map((each) => [each.name, micros(each)]),
    ),
  );
}

/** Memory that is held once the sessions are open, and nothing else of them. */
async function measureSessions(): Promise<void> {
  const path = "/all-sessions";
  const token = await tokenFor(port, path);
  const request = memberRequest({ port, path, token, method: "initialize", params: initializeParams(), session: "" });
  const open = async (requests: number): Promise<void> => {
    let failed = 0;
    await askInTurn({ port, request, requests, clients: 16 }, (status) => (failed += status === "200" ? 0 : 1));
    if (failed > 0) throw new Error(`${failed} sessions were not opened`);
  };
  const rows: string[][] = [];
  for (let opened = 0; opened <= 3 * SESSIONS; opened += SESSIONS) {
    if (opened > 0) await open(SESSIONS);
    rows.push([opened.toLocaleString("en"), (residentKibibytes(pid) / 1024).toFixed(1)]);
  }
  console.log(formatTable(["sessions opened", "resident MiB"], rows));
}

function micros(samples: Samples | undefined): string {
  return median(samples?.cpuMicros ?? []).toFixed(1);
}
