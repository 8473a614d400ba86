/**
 * Connections that were sent to a worker that did not accept them: it died before, or had closed its listener.
 *
 * Node's round robin holds its end of a connection until the worker confirms that it accepted it. When the worker dies
 * before, Node drops that end without closing it (nodejs/node-v0.x-archive#7006): the client would wait forever. Node
 * does not remove such a worker from its lists either, since a channel that waits for an answer never emits
 * "disconnect". And a connection returned by the last listening worker, which has just closed, goes into a queue that
 * Node no longer reads.
 *
 * The messages are internal to Node and undocumented; the tests of workers and handover notice when they change.
 */
import type { Worker } from "node:cluster";
import { task } from "../shared/faults/guard.ts";

interface Handle {
  close(): void;
}

/** A message between `cluster` and a worker. */
interface Message {
  readonly cmd?: string;
  readonly act?: string;
  /** Key of the listener. */
  readonly key?: string;
  /** Number of a connection that is handed over … */
  readonly seq?: number;
  /** … and of the response to it, or to a request to listen. */
  readonly ack?: number;
  readonly accepted?: boolean;
  readonly errno?: number;
}

/** A worker's process, as `cluster` uses it. */
interface Channel {
  send: (message: Message, handle?: Handle, ...rest: unknown[]) => boolean;
  on(event: "internalMessage", listener: (message: Message) => void): void;
}

interface Untaken {
  readonly handle: Handle;
  readonly key: string;
}

/** @returns a function that watches the connections sent to a worker, from its start on */
export function createHandover(): (worker: Worker) => void {
  /** Workers, by the listener they use. */
  const listeners = new Map<string, Set<Worker>>();

  return (worker) => {
    const untaken = new Map<number, Untaken>();
    const channel = worker.process as unknown as Channel;
    const send = channel.send.bind(channel);
    channel.send = (message, handle, ...rest) => {
      const { act, key, seq, ack, errno } = message;
      if (act === "newconn" && key !== undefined && seq !== undefined && handle) untaken.set(seq, { handle, key });
      else if (act === undefined && key !== undefined && ack !== undefined && !errno) listenersOn(key).add(worker);
      return send(message, handle, ...rest);
    };
    // Runs for each message after Node, which first offers rejected connections to other listening workers.
    channel.on(
      "internalMessage",
      task("a connection that is handed over", ({ ack, accepted, act, key, cmd }) => {
        if (act === "close" && key !== undefined) listenersOn(key).delete(worker);
        const pending = ack === undefined ? undefined : untaken.get(ack);
        if (pending && ack !== undefined) {
          untaken.delete(ack);
          if (accepted === false && listenersOn(pending.key).size === 0) pending.handle.close();
        }
        // It had no descriptor left for the connection. Its channel is stuck from here on, and it would get no other
        // one, however many descriptors it has later. It finishes its requests, and another worker replaces it.
        if (cmd === "NODE_HANDLE_NACK") worker.process.kill("SIGTERM");
      }),
    );
    // Other workers must not get them, since it may have read from one before it could report it.
    worker.once(
      "exit",
      task("the end of a worker", () => {
        for (const { handle } of untaken.values()) handle.close();
        untaken.clear();
        for (const each of listeners.values()) each.delete(worker);
        // Removes it from Node's lists.
        worker.disconnect();
      }),
    );
  };

  function listenersOn(key: string): Set<Worker> {
    const known = listeners.get(key) ?? new Set();
    listeners.set(key, known);
    return known;
  }
}
