/**
 * How many connections a listener holds open, and how many of them one client.
 *
 * A client may have as many as are free: alone at most half of them, two clients a third each, and so on. So there is room for who
 * has few, however many somebody wants, and no number must be guessed for each installation.
 *
 * Untrusted input: connections before their first byte. One too many is closed; nothing of it is read.
 */
import type { Server, Socket } from "node:net";

import type { Log } from "../../shared/log.ts";
import { networkOf } from "../../shared/rate-limit.ts";
import { createEpisode } from "./episode.ts";
import { guardSocket, task } from "../../shared/faults/guard.ts";

export interface ConnectionBounds {
  /** Open ones; undefined: no limit but the system's. */
  readonly max: number | undefined;
  /** Each client's, too; false where proxies before us hold them for many. */
  readonly perClient: boolean;
  readonly log: Log;
}

/**
 * Takes the place of what the server does with a new connection, and does that where there is room. Call it when all listeners
 * for "connection" are there, and before `expectProxyHeaders()`, which tells whose they are.
 */
export function boundConnections(server: Server, { max, perClient, log }: ConnectionBounds): { close(): void } {
  const episode = createEpisode<{ reason: "all" | "client"; peer?: string | undefined }>({
    begins: (facts) => log.warn(facts, "connection limit reached, new connections closed"),
    isOver: ({ count: closed, seconds }) => log.info({ closed, seconds }, "connections accepted again"),
  });
  if (max === undefined) return episode;
  server.maxConnections = max;
  // A worker would give it back instead, and the supervisor to the next one, without end where all are full.
  (server as Server & { dropMaxConnection: boolean }).dropMaxConnection = true;
  server.on(
    "drop",
    task("the count of closed connections", () => episode.add({ reason: "all" })),
  );
  if (perClient) shareConnections(server, max, (peer) => episode.add({ reason: "client", peer }));
  return episode;
}

function shareConnections(server: Server, max: number, onFull: (peer: string) => void): void {
  const listeners = server.listeners("connection") as ((socket: Socket) => void)[];
  const held = new Map<string, number>();
  let all = 0;
  server.removeAllListeners("connection");
  server.on("connection", (socket: Socket) => guardSocket(socket, take)(socket));

  function take(socket: Socket): void {
    const peer = socket.remoteAddress ?? "";
    const client = networkOf(peer);
    const own = held.get(client) ?? 0;
    if (own >= max - all) {
      onFull(peer);
      socket.destroy();
      return;
    }
    held.set(client, own + 1);
    all += 1;
    socket.once(
      "close",
      guardSocket(socket, () => {
        all -= 1;
        const left = (held.get(client) ?? 0) - 1;
        if (left > 0) held.set(client, left);
        else held.delete(client);
      }),
    );
    for (const listener of listeners) listener.call(server, socket);
  }
}
