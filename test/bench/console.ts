/**
 * What the console costs while it is looked at: `node test/bench/console.ts`. Exit code 1 above a bound.
 *
 * One gateway gets 1,000 requests a second, in turn alone and with five people who hold the stream of decisions open and
 * load Health anew every five seconds. What counts is the processor time of the whole process: the console may take 5 % of
 * a core. Beside it how large each screen is, compressed, and how long the server takes for it.
 *
 *   --rounds N (6)  --seconds S (10)  --rate R (1000)  --people P (5)
 */
import { mkdtemp, rm } from "node:fs/promises";
import { request } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { gzipSync } from "node:zlib";

import { type Child, startChild } from "./common/child.ts";
import { fillStore } from "./parts/console-store.ts";
import { load } from "./common/load.ts";
import { formatTable, median } from "./common/table.ts";
import { startGateway } from "./common/gateway.ts";
import { webRequest } from "./common/requests.ts";
import { threadTimes } from "./common/threads.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "6" },
    seconds: { type: "string", default: "10" },
    rate: { type: "string", default: "1000" },
    people: { type: "string", default: "5" },
  },
});
const rounds = Number(values.rounds);
const durationMs = Number(values.seconds) * 1000;
const people = Number(values.people);
/** One request in flight each, every 20 ms. */
const pauseMs = 19;
const connections = Math.round((Number(values.rate) * (pauseMs + 1)) / 1000);

const MAX_CORE = 0.05;
const RELOAD_MS = 5_000;
const MAX_BYTES = 100 * 1024;
const MAX_SCREEN_MS = 200;
const SCREENS = ["health", "health?range=48h", "decisions", "servers", "people", "clients", "approvals", "blocks"];

interface Sample {
  /** Share of one. */
  readonly core: number;
  /** Requests a second. */
  readonly rate: number;
}

interface Loaded {
  readonly status: number;
  readonly body: Buffer;
  readonly ms: number;
}

const directory = await mkdtemp(join(tmpdir(), "bench-console-"));
const opened: (() => Promise<unknown>)[] = [];
try {
  const start = async (core: "target" | "rest", command: string, ...args: string[]): Promise<Child> => {
    const child = await startChild(core, command, args);
    opened.push(() => child.stop());
    return child;
  };
  const upstream = await start("rest", process.execPath, join(import.meta.dirname, "common/upstream.ts"));
  const storage = `sqlite:${join(directory, "console.db")}`;
  await fillStore(storage);
  const gateway = await startGateway({
    directory,
    name: "console",
    upstream: `http://127.0.0.1:${upstream.port}`,
    start,
    storage,
    settings: "record_store: {}\n",
    hasConsole: true,
  });
  opened.push(gateway.close);
  const isWithin = [await measureProcessor(gateway), await measureScreens(gateway)];
  process.exitCode = isWithin.every(Boolean) ? 0 : 1;
} finally {
  for (const close of opened.toReversed()) await close();
  await rm(directory, { recursive: true, force: true });
}

type Gateway = Awaited<ReturnType<typeof startGateway>>;

async function measureProcessor(gateway: Gateway): Promise<boolean> {
  const alone: Sample[] = [];
  const watched: Sample[] = [];
  let streams = 0;
  for (let round = -1; round < rounds; round += 1) {
    // Each is first as often as last.
    for (const isWatched of round % 2 === 0 ? [false, true] : [true, false]) {
      const visitors = isWatched ? Array.from({ length: people }, (_, index) => look(gateway, index)) : [];
      const before = threadTimes(gateway.child.pid);
      const began = performance.now();
      const found = await load({
        port: gateway.child.port,
        request: webRequest(gateway.child.port, gateway.cookie),
        connections,
        durationMs,
        pauseMs,
      });
      const seconds = (performance.now() - began) / 1000;
      const after = threadTimes(gateway.child.pid);
      for (const visitor of visitors) streams = Math.max(streams, (await visitor.leave()) ? people : 0);
      if (found.errors > 0) throw new Error(`${found.errors} requests failed`);
      if (round < 0) continue; // warm-up
      const taken = after.first + after.others - before.first - before.others;
      (isWatched ? watched : alone).push({ core: taken / 1e9 / seconds, rate: found.requests / seconds });
    }
  }
  // As many requests as there were while nobody looked: a busy machine gives neither the whole rate.
  const more = watched.map(({ core, rate }, index) => {
    const without = alone[index] as Sample;
    return core - (without.core * rate) / without.rate;
  });
  const core = median(more);
  const rate = Math.round(median([...alone, ...watched].map((each) => each.rate)));
  console.log(
    `${rate} requests a second take ${percent(median(alone.map((each) => each.core)))} of a core; ${people} people in the ` +
      `console, ${streams} of them with a stream, take ${percent(core)} (bound ${percent(MAX_CORE)})`,
  );
  return core <= MAX_CORE;
}

/** One person with two tabs. */
function look(gateway: Gateway, index: number): { leave(): Promise<boolean> } {
  let hasStream = false;
  let loading: Promise<unknown> = Promise.resolve();
  const stream = request({
    port: gateway.child.port,
    path: "/.gateway/console/decisions/stream",
    headers: headersOf(gateway, { accept: "text/event-stream", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }),
  });
  stream.on("response", (answer) => {
    hasStream = answer.headers["content-type"]?.startsWith("text/event-stream") === true;
    answer.resume();
  });
  stream.on("error", () => {});
  stream.end();
  const reload = (): void => {
    loading = loadScreen(gateway, "health").then(({ status }) => {
      if (status !== 200) throw new Error(`Health answers ${status}`);
    });
  };
  // Not all at the same moment.
  let timer = setTimeout(
    function again() {
      reload();
      timer = setTimeout(again, RELOAD_MS);
    },
    (index * RELOAD_MS) / people,
  );
  return {
    async leave() {
      clearTimeout(timer);
      await loading;
      stream.destroy();
      return hasStream;
    },
  };
}

async function measureScreens(gateway: Gateway): Promise<boolean> {
  const rows: string[][] = [];
  let isWithin = true;
  for (const path of SCREENS) {
    const loads: Loaded[] = [];
    for (let index = 0; index < 7; index += 1) loads.push(await loadScreen(gateway, path));
    const { status, body } = loads[0] as Loaded;
    if (status === 404) {
      rows.push([path, "not here", "", ""]);
      continue;
    }
    if (status !== 200) throw new Error(`${path} answers ${status}`);
    const bytes = gzipSync(body).length;
    const ms = median(loads.map((each) => each.ms));
    isWithin &&= bytes <= MAX_BYTES && ms <= MAX_SCREEN_MS;
    rows.push([path, `${(body.length / 1024).toFixed(0)} KiB`, `${(bytes / 1024).toFixed(1)} KiB`, ms.toFixed(1)]);
  }
  console.log(
    formatTable(["screen", "size", `compressed (bound ${MAX_BYTES / 1024} KiB)`, `ms (bound ${MAX_SCREEN_MS})`], rows),
  );
  return isWithin;
}

function loadScreen(gateway: Gateway, path: string): Promise<Loaded> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const sent = request({
      port: gateway.child.port,
      path: `/.gateway/console/${path}`,
      headers: headersOf(gateway, { accept: "text/html", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }),
    });
    sent.on("error", reject);
    sent.on("response", (answer) => {
      const chunks: Buffer[] = [];
      answer.on("data", (chunk: Buffer) => chunks.push(chunk));
      answer.on("end", () =>
        resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(chunks), ms: performance.now() - began }),
      );
    });
    sent.end();
  });
}

function headersOf({ child, pagesCookie }: Gateway, more: Readonly<Record<string, string>>): Record<string, string> {
  return { host: `127.0.0.1:${child.port}`, cookie: pagesCookie, "sec-fetch-site": "same-origin", ...more };
}

function percent(share: number): string {
  return `${(share * 100).toFixed(1)} %`;
}
