/**
 * Every place where a function is given to Node (listeners, timers, ticks): what it throws ends its owner alone, since it has a
 * guard (runtime/shared/faults/guard.ts), or it is listed here with the reason why it needs none.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

import { expect, test } from "vitest";

const root = new URL("../", import.meta.url).pathname;

/** Programs of their own, which serve nobody. */
const APART = /^runtime\/(?:terraform|kubernetes|tools|package|bin|pages)\//;
const HANDED =
  /(?:\.(?:on|once|addListener|prependListener|prependOnceListener)\(\s*(?:"[\w]+"|ready|event),|\b(?:setTimeout|setInterval|setImmediate|queueMicrotask|process\.nextTick)\()\s*/g;
const GUARDS = "(?:guard|guardEach|guardSocket|task)\\(";

/** @returns the beginnings of those without a guard, one a place */
function unguarded(text: string): string[] {
  return [...text.matchAll(HANDED)].flatMap((match) => {
    const given = text.slice(match.index + match[0].length, match.index + match[0].length + 300);
    if (new RegExp(`^(?:${GUARDS}|ignore\\b|resolve\\b|reject\\b|\\([^)]*\\)\\s*=>\\s*${GUARDS})`).test(given))
      return [];
    const name = /^(?:this\.)?(#?\w+)\b/.exec(given)?.[1];
    const isGuarded =
      name !== undefined && new RegExp(`(?:const|readonly) ${name}(?:: [^=]+)? =\\s*${GUARDS}`).test(text);
    return isGuarded ? [] : [given.split("\n")[0]?.slice(0, 60) ?? ""];
  });
}

const OF_A_PROMISE = "resolves or rejects a promise, whose owner waits for it";
const OWN_THREAD = "in a thread: what it throws ends that thread, and its owner in the main thread hears of it";
const SHARED = "one function for all sockets; what it calls is guarded";

/** By file: how many places have no guard of their own, and why. */
const WITHOUT: Readonly<Record<string, readonly [count: number, why: string]>> = {
  "runtime/approvals/approvals.ts": [1, OF_A_PROMISE],
  "runtime/admin-listener/listener.ts": [1, OF_A_PROMISE],
  "runtime/admin-listener/tls.ts": [
    1,
    "gives the listener on, which boundConnections() and expectProxyHeaders() guard",
  ],
  "runtime/records/entry-batches.ts": [
    1,
    "the process ends with the thread of records by design: nothing may go unrecorded",
  ],
  "runtime/records/records-thread.ts": [
    3,
    "the process ends with the thread of records by design: nothing may go unrecorded",
  ],
  "runtime/records/serve-records.ts": [2, OWN_THREAD],
  "runtime/bundle/validation/validate-worker.ts": [1, OWN_THREAD],
  "runtime/bundle/validation/validator.ts": [3, OF_A_PROMISE],
  "runtime/bundle/watch.ts": [1, "closes the watcher and logs; files are polled besides"],
  "runtime/simulation/draft-thread.ts": [2, OF_A_PROMISE],
  "runtime/simulation/draft-worker.ts": [1, OWN_THREAD],
  "runtime/health/keep-traffic.ts": [
    1,
    "in the process's own upkeep: starts a promise that is caught where it is written",
  ],
  "runtime/workers/fleet.ts": [4, "in the supervisor, which handles no request: logs, or resolves a promise"],
  "runtime/workers/last-resort.ts": [2, "what is behind it is the end of the process"],
  "runtime/workers/worker.ts": [2, "signals: one is ignored, the other ends the process"],
  "runtime/http/fetch/safe-fetch.ts": [1, "aborts a signal; whoever waits for it is told by a promise"],
  "runtime/http/http1-server/connections.ts": [5, SHARED],
  "runtime/http/listener/connections-h1.ts": [3, SHARED],
  "runtime/http/listener/listen.ts": [2, "of the listener before and after it listens: rejects a promise, or logs"],
  "runtime/http/listener/server-h2.ts": [
    2,
    "setTimeout() of a session, whose guard is its second argument; a stream whose errors are ignored, and then a guard",
  ],
  "runtime/proxy/forwarding/grpc-call.ts": [1, "guarded by the forwarding that gives it"],
  "runtime/proxy/forwarding/upgrade.ts": [1, "setTimeout() of a socket, whose guard is its second argument"],
  "runtime/record-sinks/delivery.ts": [1, "aborts a signal; whoever waits for it is told by a promise"],
  "runtime/record-sinks/senders/http-post.ts": [4, OWN_THREAD],
  "runtime/record-sinks/senders/syslog-sender.ts": [5, OWN_THREAD],
  "runtime/record-store/postgres/postgres-records.ts": [1, "does nothing: the pool opens another connection"],
  "runtime/record-store/sqlite/sqlite-reader-worker.ts": [1, OWN_THREAD],
  "runtime/record-store/sqlite/sqlite-reader.ts": [2, "rejects the promises of those who wait for the thread"],
  "runtime/run.ts": [1, "the end of the process"],
  "runtime/shared/clock.ts": [1, OF_A_PROMISE],
  "runtime/shared/thread.ts": [3, OF_A_PROMISE],
  "runtime/shared/net/name-lookup.ts": [1, "gives addresses to node:net, or resolves a promise"],
  "runtime/store/postgres/postgres-connection.ts": [4, "notes a connection that is gone, logs, or resolves a promise"],
  "runtime/store/sqlite/sqlite-thread.ts": [2, "rejects the promises of those who wait for the thread"],
  "runtime/store/sqlite/sqlite-worker.ts": [2, OWN_THREAD],
  "runtime/upstreams/deadline.ts": [1, "one function for all deadlines; what it calls is guarded by its owner"],
  "runtime/upstreams/http1/write-batching.ts": [1, "walks over writers, each of which it guards"],
  "runtime/upstreams/http2/reset.ts": [1, "walks over streams, each of which it guards"],
};

test("each function that is given to Node has a guard, or a reason to have none", () => {
  const found = readdirSync(join(root, "runtime"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length))
    .filter((file) => !APART.test(file))
    .map((file) => [file, unguarded(readFileSync(join(root, file), "utf8"))] as const)
    .filter(([, places]) => places.length > 0);
  expect(Object.fromEntries(found.map(([file, places]) => [file, places.length]))).toEqual(
    Object.fromEntries(Object.entries(WITHOUT).map(([file, [count]]) => [file, count])),
  );
  for (const [, why] of Object.values(WITHOUT)) expect(why.length).toBeGreaterThan(20);
});
