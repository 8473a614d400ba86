/** So many requests from so many clients on raw sockets, each of which sends its next one when its last one was answered. */
import { connect } from "node:net";

import { answerLength } from "./answers.ts";

export interface ClosedLoop {
  readonly port: number;
  /** The whole request, head and body. */
  readonly request: Buffer;
  readonly requests: number;
  readonly clients: number;
}

/**
 * A client has a new connection when its old one was closed.
 *
 * @param onEnd gets each request's status, undefined for a connection that was closed instead, and how many were sent by then
 */
export async function askInTurn(
  { port, request, requests, clients }: ClosedLoop,
  onEnd: (status: string | undefined, sent: number) => void,
): Promise<void> {
  const count = { sent: 0 };
  const connection = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = connect({ port, host: "127.0.0.1", noDelay: true });
      let [pending, isAsking] = ["", false];
      const next = (): void => {
        if (count.sent >= requests) return void socket.end();
        count.sent += 1;
        isAsking = true;
        socket.write(request);
      };
      socket.on("connect", next);
      socket.on("data", (chunk) => {
        pending += chunk.toString("latin1");
        const length = answerLength(pending);
        if (length === undefined || pending.length < length) return;
        const closes = /^connection: close\r$/im.test(pending.slice(0, length));
        onEnd(pending.slice("HTTP/1.1 ".length, "HTTP/1.1 200".length), count.sent);
        pending = pending.slice(length);
        isAsking = false;
        if (closes) socket.end();
        else next();
      });
      socket.on("error", () => socket.destroy());
      socket.once("close", () => {
        if (isAsking) onEnd(undefined, count.sent);
        resolve();
      });
    });
  const client = async (): Promise<void> => {
    while (count.sent < requests) await connection();
  };
  await Promise.all(Array.from({ length: clients }, client));
}
