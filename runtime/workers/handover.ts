/**
 * Connections that a worker was given and did not take: it died before, or had closed its listener.
 *
 * Node's round robin keeps its end of a connection until the worker says that it took it. When the worker dies before,
 * Node forgets that end and leaves it open (nodejs/node-v0.x-archive#7006): the client would wait for ever. Nor does it
 * take such a worker off its lists, since a channel that waits for an answer never says "disconnect". And what the last one
 * that listened sends back, because it has just closed, Node puts into a queue from which nobody takes any more.
 *
 * The messages are Node's own and documented nowhere; the tests of workers and handover notice when they change.
 */
import type { Worker } from "node:cluster";
import { task } from "../shared/faults/guard.ts";

interface Handle {
  close(): void;
}

/** Of the messages between `cluster` and a worker. */
interface Message {
  readonly cmd?: string;
  readonly act?: string;
  /** Of the listener that it is about. */
  readonly key?: string;
  /** Of a connection that is handed over … */
  readonly seq?: number;
  /** … and of the answer to it, or to the wish to listen. */
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

/** @returns watches what one of the workers is handed, from its start on */
export function createHandover(): (worker: Worker) => void {
  /** Workers, by what they listen on. */
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
    // Hears of each message after Node, which gives back what was not accepted to those that listen.
    channel.on(
      "internalMessage",
      task("a connection that is handed over", ({ ack, accepted, act, key, cmd }) => {
        if (act === "close" && key !== undefined) listenersOn(key).delete(worker);
        const given = ack === undefined ? undefined : untaken.get(ack);
        if (given && ack !== undefined) {
          untaken.delete(ack);
          if (accepted === false && listenersOn(given.key).size === 0) given.handle.close();
        }
        // It had no descriptor left for the connection. Its channel stands still from here on, and it would get no other one, however
        // many descriptors it has later: it finishes what it has, and another worker takes its place.
        if (cmd === "NODE_HANDLE_NACK") worker.process.kill("SIGTERM");
      }),
    );
    // Nobody else may have them, since it may have read from one before it could say so.
    worker.once(
      "exit",
      task("the end of a worker", () => {
        for (const { handle } of untaken.values()) handle.close();
        untaken.clear();
        for (const each of listeners.values()) each.delete(worker);
        // Takes it off the lists.
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
