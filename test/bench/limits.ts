/**
 * What `rate_limits` cost a request, in CPU time: `node test/bench/limits.ts`. Exit code 1 above 2 µs, under one limit that
 * is counted for each user, client and tool, while the store is asked beside it.
 */
import { createRateLimits, type RateLimits } from "../../runtime/limits/rate-limits.ts";
import { silentLog } from "../../runtime/shared/log.ts";
import { systemClock } from "../../runtime/shared/clock.ts";
import { createMemoryStore } from "../../runtime/store/memory.ts";
import { limitedRoute, type LimitDoc, settle } from "../runtime/limits/limit-world.ts";
import { formatTable, median } from "./common/table.ts";

const ROUNDS = 15;
/** In one turn of the event loop, which a gateway under load has about so many requests in. */
const AT_ONCE = 200;
const TURNS = 500;
const USERS = 50;
const MAX_MICROS = 2;

const many = { requests: 1_000_000_000, window: "1h" };
const perAll: LimitDoc = { ...many, name: "all", per: ["user", "client", "tool"], tools: ["search", "create_issue"] };
const LIMITS: Readonly<Record<string, readonly LimitDoc[]>> = {
  "one limit per user, client and tool": [perAll],
  "three limits": [perAll, { ...many, name: "user", per: ["user"] }, { ...many, name: "route" }],
  "one limit of requests at a time": [{ name: "at-once", per: ["user"], concurrency: 1_000 }],
};

const store = createMemoryStore({ clock: systemClock });
const snapshots = { current: () => ({ routes: [] }) as never, subscribe: () => () => {} };
const deps = { store, snapshots, clock: systemClock, log: silentLog(), countProcesses: async () => 1 };
const users = Array.from({ length: USERS }, (_, index) => ({
  user: `0f8fad5b-d9cb-469f-a165-${index}`,
  client: "https://client.example.com/metadata.json",
  tool: index % 2 ? "search" : "create_issue",
}));

const micros = new Map<string, number>();
for (const [name, docs] of Object.entries(LIMITS)) {
  const limits = createRateLimits(deps);
  const route = limitedRoute(docs);
  const rounds: number[] = [];
  for (let round = 0; round < ROUNDS; round += 1) rounds.push(await roundOf(limits, route));
  await limits.close();
  // The first ones run before the compiler has done its work.
  micros.set(name, median(rounds.slice(5)));
}
console.log(
  formatTable(
    ["limits of a request", "µs"],
    [...micros].map(([name, each]) => [name, each.toFixed(2)]),
  ),
);
const [first = 0] = micros.values();
console.log(`one limit: ${first.toFixed(2)} µs (bound ${MAX_MICROS})`);
process.exitCode = first > MAX_MICROS ? 1 : 0;

/** CPU time of one request, what is asked of the store included. */
async function roundOf(limits: RateLimits, route: ReturnType<typeof limitedRoute>): Promise<number> {
  const before = process.cpuUsage();
  for (let turn = 0; turn < TURNS; turn += 1) {
    const waiting: Promise<unknown>[] = [];
    for (let index = 0; index < AT_ONCE; index += 1) {
      const facts = users[index % USERS];
      if (!facts) continue;
      const admission = limits.take(route, facts);
      if (admission instanceof Promise) waiting.push(admission.then((later) => later.ok && later.release?.()));
      else if (admission.ok) admission.release?.();
      else throw new Error("a request is over a limit that has room");
    }
    await Promise.all(waiting);
    await settle();
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / (TURNS * AT_ONCE);
}
