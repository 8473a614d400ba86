/**
 * Limits on the open connections of a listener: in total, and per client.
 *
 * A client may use as many as are free: a single client at most half, two clients a third each, and so on. This leaves room
 * for clients with few connections, however many another one opens, and needs no number chosen for each installation.
 *
 * Untrusted input: connections before their first byte. A connection above the limit is closed unread.
 */
import type { Server, Socket } from "node:net";

import type { Log } from "../../shared/log.ts";
import { networkOf } from "../../shared/rate-limit.ts";
import { createEpisode } from "./episode.ts";
import { guardSocket, task } from "../../shared/faults/guard.ts";

export interface ConnectionBounds {
  /** Most open connections; undefined: only the system's limit. */
  readonly max: number | undefined;
  /** Also limits each client; false behind proxies, which hold connections for many clients. */
  readonly perClient: boolean;
  readonly log: Log;
}

/**
 * Replaces the server's handling of new connections: runs it only if there is room. Call it after all "connection" listeners
 * are added, and before `expectProxyHeaders()`, which provides the client address.
 */
export function boundConnections(server: Server, { max, perClient, log }: ConnectionBounds): { close(): void } {
  const episode = createEpisode<{ reason: "all" | "client"; peer?: string | undefined }>({
    begins: (facts) => log.warn(facts, "connection limit reached, new connections closed"),
    isOver: ({ count: closed, seconds }) => log.info({ closed, seconds }, "connections accepted again"),
  });
  if (max === undefined) return episode;
  server.maxConnections = max;
  // By default a worker returns the connection and the supervisor passes it to the next, forever if all are full.
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
