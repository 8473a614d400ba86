/** Many idle connections and event streams are held while the configuration is changed again and again: memory must stay. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { median } from "../common/table.ts";
import type { HeldResult } from "./held-clients.ts";
import { manyRoutes } from "./routes.ts";
import { memoryOf, startWatched } from "./watched.ts";

export interface HeldFigure {
  readonly connections: number;
  readonly streams: number;
  readonly reloads: number;
  readonly seconds: number;
  /** Ended by somebody else than the client, or not answered by 200. */
  readonly lost: number;
  /** That reached clients. */
  readonly events: number;
  /** Resident with everything open before the first reload, and after each; MiB. */
  readonly residentMebibytes: readonly number[];
  /** Median of the last quarter over that of the second one: how much it still grows once it has been changed a few times. */
  readonly growth: number;
  /** Of the serving process, see loop-watch.ts. */
  readonly stallMs: number;
  readonly busyMs: number;
}

export interface HeldOptions {
  readonly connections: number;
  readonly streams: number;
  readonly reloads: number;
  readonly minutes: number;
  /** That each reload changes. */
  readonly routes: number;
}

const EVENT_EVERY_MS = 2_000;

export async function benchHeld(options: HeldOptions): Promise<HeldFigure> {
  const { connections, streams, reloads, minutes, routes } = options;
  const upstream = await startEvents();
  const watched = await startWatched({
    boot: { log_level: "warn", max_connections: connections + streams + 100 },
  });
  const { gateway } = watched;
  const [pid = 0] = watched.pids;
  const port = new URL(gateway.origin).port;
  const publish = async (mark: string, expected?: string): Promise<void> => {
    const answer = await gateway.admin.publish("bench", manyRoutes("bench", mark, upstream.origin, routes), expected);
    if (answer.body["live"] !== true) throw new Error(`Not live: ${answer.text.slice(0, 1_000)}`);
  };
  const program = new URL("./held-clients.ts", import.meta.url).pathname;
  let clients: ReturnType<typeof fork> | undefined;
  try {
    await publish("first");
    clients = fork(program, [port, "bench-0.example.com", String(connections), String(streams)]);
    await once(clients, "message");
    const startedMs = performance.now();
    const resident = [memoryOf(pid).resident];
    await watched.window();
    let [lost, events] = [0, 0];
    for (let reload = 1; reload <= reloads; reload += 1) {
      await delay(Math.max(0, startedMs + (reload * minutes * 60_000) / reloads - performance.now()));
      await publish(`reload ${reload}`, "*");
      clients.send("tell");
      const [seen] = (await once(clients, "message")) as [HeldResult];
      lost = Math.max(lost, seen.lost);
      events += seen.events;
      resident.push(memoryOf(pid).resident);
    }
    const { stallMs, busyMs } = await watched.window();
    const quarter = Math.max(1, Math.floor(resident.length / 4));
    const growth = median(resident.slice(-quarter)) / median(resident.slice(quarter, 2 * quarter));
    const seconds = (performance.now() - startedMs) / 1000;
    return {
      connections,
      streams,
      reloads,
      seconds,
      lost,
      events,
      residentMebibytes: resident,
      growth,
      stallMs,
      busyMs,
    };
  } finally {
    clients?.kill();
    await watched.close();
    await upstream.close();
  }
}

/** Answers `/events` with a stream without end, everything else at once. */
async function startEvents(): Promise<{ readonly origin: string; close(): Promise<void> }> {
  const open = new Set<ServerResponse>();
  const server = createServer((request, response) => {
    if (request.url !== "/events") {
      response.end("ok");
      return;
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("data: hello\n\n");
    open.add(response);
    response.on("close", () => open.delete(response));
  });
  const timer = setInterval(() => {
    for (const response of open) response.write("data: tick\n\n");
  }, EVENT_EVERY_MS);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      clearInterval(timer);
      server.closeAllConnections();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
