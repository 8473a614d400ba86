/** Connections that together reach every worker, and how long a change takes until all of them show it. */
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";

import { answerLength } from "../common/answers.ts";

const PAUSE_MS = 5;
/** More than any promise. */
const MOST_MS = 30_000;

export interface Probes {
  /**
   * Each connection repeats the request until its response is as expected.
   *
   * @param sinceMs as performance.now()
   * @returns milliseconds until the last of them had such a response, the time for the response included
   * @throws Error after 30 seconds
   */
  untilAll(request: Buffer, isExpected: (response: string) => boolean, sinceMs: number): Promise<number>;
  close(): void;
}

/** @throws Error if a worker has none of the connections */
export async function openProbes(port: number, workers: readonly number[], perWorker = 3): Promise<Probes> {
  const sockets: Socket[] = [];
  // One at a time: they are handed round.
  for (let count = 0; count < workers.length * perWorker; count += 1) sockets.push(await open(port));
  // The supervisor of one worker is that worker.
  for (const pid of workers)
    if (connectionsOf(pid, port) === 0) throw new Error(`Cannot observe worker ${pid}: no connection reached it`);
  return {
    async untilAll(request, isExpected, sinceMs) {
      const each = async (socket: Socket): Promise<void> => {
        while (!isExpected(await ask(socket, request))) {
          if (performance.now() - sinceMs > MOST_MS) throw new Error("A worker does not show the change");
          await delay(PAUSE_MS);
        }
      };
      await Promise.all(sockets.map(each));
      return performance.now() - sinceMs;
    },
    close: () => sockets.forEach((socket) => socket.destroy()),
  };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: "127.0.0.1", noDelay: true });
    socket.once("error", reject);
    // A worker accepts the connection before it responds.
    socket.once("connect", () => {
      const request = Buffer.from(`GET /.gateway/signed_out HTTP/1.1\r\nhost: localhost:${port}\r\n\r\n`);
      ask(socket, request).then(() => resolve(socket), reject);
    });
  });
}

/** @returns head and body */
function ask(socket: Socket, request: Buffer): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    const end = (then: () => void): void => {
      socket.off("data", read).off("close", closed);
      then();
    };
    const closed = (): void => end(() => reject(new Error(`The gateway closed a connection: ${text.slice(0, 200)}`)));
    const read = (chunk: Buffer): void => {
      text += chunk.toString("latin1");
      const length = answerLength(text);
      if (length !== undefined && text.length >= length) end(() => resolve(text));
    };
    socket.on("data", read).on("close", closed);
    socket.write(request);
  });
}

/** Established connections to a port that a process has open. */
function connectionsOf(pid: number, port: number): number {
  const local = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const inodes = new Set(
    ["tcp", "tcp6"].flatMap((file) =>
      readFileSync(`/proc/${pid}/net/${file}`, "utf8")
        .split("\n")
        .map((line) => line.trim().split(/\s+/))
        .filter(([, address = "", , state]) => address.endsWith(local) && state === "01")
        .map((fields) => `socket:[${fields[9]}]`),
    ),
  );
  const directory = `/proc/${pid}/fd`;
  return readdirSync(directory).filter((fd) => {
    try {
      return inodes.has(readlinkSync(`${directory}/${fd}`));
    } catch {
      // Closed meanwhile.
      return false;
    }
  }).length;
}
