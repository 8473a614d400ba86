/**
 * Clients in a process of their own that hold what they have: `node held-clients.ts PORT HOST CONNECTIONS STREAMS`. Connections ask
 * now and then, since idle ones are closed after a minute; streams only listen. Tells what was lost when asked over IPC.
 */
import { connect, type Socket } from "node:net";

import { answerLength } from "../common/answers.ts";

export interface HeldResult {
  /** Open now. */
  readonly connections: number;
  readonly streams: number;
  /** Ended by somebody else, or answered other than 200. */
  readonly lost: number;
  /** Of streams, since the last question. */
  readonly events: number;
  readonly requests: number;
}

const [port, host = "", connections, streams] = [process.argv[2], process.argv[3], process.argv[4], process.argv[5]];
const ASK_EVERY_MS = 45_000;
/** So many open at a time, as many as a listener lets wait. */
const AT_ONCE = 100;
const ADDRESSES = 250;
const head = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: ${host}\r\nAccept: */*\r\n\r\n`;
const counts = { connections: 0, streams: 0, lost: 0, events: 0, requests: 0 };

await openAll(Number(connections), openIdle);
await openAll(Number(streams), openStream);
process.on("message", () => {
  process.send?.({ ...counts } satisfies HeldResult);
  counts.events = 0;
});
process.send?.("ready");

async function openAll(count: number, open: () => Promise<void>): Promise<void> {
  let left = count;
  const loop = async (): Promise<void> => {
    for (; left > 0; await open()) left -= 1;
  };
  await Promise.all(Array.from({ length: AT_ONCE }, loop));
}

/** Resolves with its first answer. */
function openIdle(): Promise<void> {
  return new Promise((resolve) => {
    let pending = "";
    const socket = connectTo("connections");
    const ask = (): void => void socket.write(head("/"));
    socket.on("connect", ask);
    socket.on("close", () => resolve());
    socket.on("data", (chunk) => {
      pending += chunk.toString("latin1");
      const length = answerLength(pending);
      if (length === undefined || pending.length < length) return;
      if (!pending.startsWith("HTTP/1.1 200")) counts.lost += 1;
      pending = pending.slice(length);
      counts.requests += 1;
      // Spread, so that what is measured is no burst.
      setTimeout(ask, ASK_EVERY_MS * (0.5 + Math.random() / 2));
      resolve();
    });
  });
}

/** Resolves with its first event. */
function openStream(): Promise<void> {
  return new Promise((resolve) => {
    const socket = connectTo("streams");
    socket.on("connect", () => void socket.write(head("/events")));
    socket.on("close", () => resolve());
    socket.on("data", (chunk) => {
      if (!chunk.includes("data:")) return;
      counts.events += 1;
      resolve();
    });
  });
}

function connectTo(what: "connections" | "streams"): Socket {
  // One address could hold half of the connections at most.
  const localAddress = `127.0.4.${((counts.connections + counts.streams) % ADDRESSES) + 1}`;
  const socket = connect({ port: Number(port), host: "127.0.0.1", localAddress, noDelay: true });
  counts[what] += 1;
  socket.on("error", () => {});
  socket.on("close", () => {
    counts[what] -= 1;
    counts.lost += 1;
  });
  return socket;
}
