/**
 * `node test/bench/kept-connections.ts`: POSTs that are lost because the upstream closes kept connections without saying so,
 * behind the gateway, nginx and HAProxy (each where it is installed), at their defaults, before the same upstream.
 *
 *   --posts N (50000; of each proxy in each case)  --clients C (64)  --every 1,10,100  --after 0,1,5  --only NAME,…
 *
 * A case is an upstream that closes each connection behind every n-th answer, so many milliseconds later; each has an upstream
 * and proxies of its own, so that nothing learnt in one helps in the next. No proxy may send a POST again that the upstream may have
 * taken (RFC 9110 §9.2.2), so one that was written to a closing connection is lost: answered with 502, or by a closed
 * connection (as HAProxy does).
 */
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { type Child, startChild } from "./common/child.ts";
import { HAPROXY, startHaproxy } from "./peers/haproxy.ts";
import { askInTurn } from "./common/closed-loop.ts";
import { NGINX, startNginx } from "./peers/nginx.ts";
import { formatTable } from "./common/table.ts";
import { startGateway } from "./common/gateway.ts";
import { messageRequest } from "./common/requests.ts";

const { values } = parseArgs({
  options: {
    posts: { type: "string", default: "50000" },
    clients: { type: "string", default: "64" },
    every: { type: "string", default: "1,10,100" },
    after: { type: "string", default: "0,1,5" },
    only: { type: "string", default: "gateway,nginx,haproxy" },
  },
});
const posts = Number(values.posts);
const clients = Number(values.clients);
const names = values.only.split(",");
const MILLION = 1_000_000;

interface Counts {
  /** Answers other than 200, by status; mostly 502. */
  readonly refused: Map<string, number>;
  /** Connections that were closed instead of an answer. */
  unanswered: number;
  /** Which POST was the last one of these: what an upstream is like may be learnt. */
  last: number;
  seconds: number;
}

for (const [name, path] of [
  ["nginx", NGINX],
  ["haproxy", HAPROXY],
] as const) {
  if (names.includes(name) && !existsSync(path)) console.log(`${name} is left out: there is no ${path}`);
}
const rows: string[][] = [];
for (const every of values.every.split(",").map(Number)) {
  for (const afterMs of values.after.split(",").map(Number)) rows.push(...(await measureCase(every, afterMs)));
}
const header = [
  "closes behind answer",
  "after",
  "proxy",
  "refused",
  "unanswered",
  "lost per million",
  "last lost",
  "POST/s",
  "",
];
console.log(`\nPOSTs lost per million, ${clients} clients, ${posts} POSTs in each line\n${formatTable(header, rows)}`);

async function measureCase(every: number, afterMs: number): Promise<string[][]> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  const closers: (() => Promise<unknown>)[] = [() => rm(directory, { recursive: true, force: true })];
  const start = async (core: "target" | "rest", command: string, ...args: string[]): Promise<Child> => {
    const child = await startChild(core, command, args);
    closers.unshift(() => child.stop());
    return child;
  };
  try {
    const program = join(import.meta.dirname, "parts/closing-upstream.ts");
    const upstream = await start("rest", process.execPath, program, String(every), String(afterMs));
    const found: string[][] = [];
    for (const name of names) {
      const target = await startTarget(name, directory, upstream.port, start, closers);
      if (target === undefined) continue;
      const counts = await send(target.port, target.request);
      const perMillion = (count: number): string => Math.round((count / posts) * MILLION).toString();
      const rate = Math.round(posts / counts.seconds).toString();
      const refused = [...counts.refused.values()].reduce((sum, count) => sum + count, 0);
      const lost = [refused, counts.unanswered, refused + counts.unanswered].map(perMillion);
      const statuses = [...counts.refused].map(([status, count]) => `${count} × ${status}`).join(", ");
      const row = [`${every}`, `${afterMs} ms`, name, ...lost, `${counts.last}`, rate, statuses];
      console.log(row.join("  "));
      found.push(row);
    }
    return found;
  } finally {
    for (const close of closers) await close();
  }
}

async function startTarget(
  name: string,
  directory: string,
  upstream: number,
  start: (core: "target" | "rest", command: string, ...args: string[]) => Promise<Child>,
  closers: (() => Promise<unknown>)[],
): Promise<{ readonly port: number; readonly request: Buffer } | undefined> {
  if (name === "gateway") {
    // Each lost POST would be a line.
    const logLevel = "error";
    const gateway = await startGateway({ directory, name, upstream: `http://127.0.0.1:${upstream}`, start, logLevel });
    closers.unshift(gateway.close);
    const { port } = gateway.child;
    return { port, request: messageRequest(port, gateway.bearer) };
  }
  if (!existsSync(name === "nginx" ? NGINX : HAPROXY)) return undefined;
  const { port } = await (name === "nginx" ? startNginx : startHaproxy)(directory, upstream, start);
  return { port, request: messageRequest(port, "Bearer none") };
}

async function send(port: number, request: Buffer): Promise<Counts> {
  const counts: Counts = { refused: new Map(), unanswered: 0, last: 0, seconds: 0 };
  const started = performance.now();
  await askInTurn({ port, request, requests: posts, clients }, (status, sent) => {
    if (status === "200") return;
    if (status === undefined) counts.unanswered += 1;
    else counts.refused.set(status, (counts.refused.get(status) ?? 0) + 1);
    counts.last = sent;
  });
  counts.seconds = (performance.now() - started) / 1000;
  return counts;
}
