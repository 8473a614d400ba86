/**
 * Connections that a worker was given and had not taken when it died.
 *
 * Node's round robin keeps its end of a connection until the worker says that it took it. When the worker dies before,
 * Node forgets that end and leaves it open (nodejs/node-v0.x-archive#7006): the client would wait for ever. Nor does it
 * take such a worker off its lists, since a channel that waits for an answer never says "disconnect".
 *
 * The messages are Node's own and documented nowhere; test/runtime/control/workers/workers.test.ts notices when they change.
 */
import type { Worker } from "node:cluster";

interface Handle {
  close(): void;
}

/** Of the messages between `cluster` and a worker. */
interface Message {
  readonly cmd?: string;
  readonly act?: string;
  /** Of a connection that is handed over … */
  readonly seq?: number;
  /** … and of the answer to it. */
  readonly ack?: number;
}

/** A worker's process, as `cluster` uses it. */
interface Channel {
  send: (message: Message, handle?: Handle, ...rest: unknown[]) => boolean;
  on(event: "internalMessage", listener: (message: Message) => void): void;
}

/** Closes them when this worker ends: nobody else may have them, since it may have read from one before it could say so. */
export function closeUntaken(worker: Worker): void {
  const untaken = new Map<number, Handle>();
  const channel = worker.process as unknown as Channel;
  const send = channel.send.bind(channel);
  channel.send = (message, handle, ...rest) => {
    if (message.act === "newconn" && message.seq !== undefined && handle) untaken.set(message.seq, handle);
    return send(message, handle, ...rest);
  };
  channel.on("internalMessage", ({ ack, cmd }) => {
    if (ack !== undefined) untaken.delete(ack);
    // It had no descriptor left for the connection. Its channel stands still from here on, and it would get no other one, however
    // many descriptors it has later: it finishes what it has, and another worker takes its place.
    if (cmd === "NODE_HANDLE_NACK") worker.process.kill("SIGTERM");
  });
  worker.once("exit", () => {
    for (const handle of untaken.values()) handle.close();
    untaken.clear();
    // Takes it off the lists.
    worker.disconnect();
  });
}
