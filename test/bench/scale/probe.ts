/** A client in a process of its own: asks once a millisecond over one connection and tells how long the slowest answer took. */
import { connect } from "node:net";

import { answerLength } from "../common/answers.ts";

export interface ProbeResult {
  readonly slowestMs: number;
  readonly requests: number;
}

const [origin = "", host = ""] = process.argv.slice(2);
const socket = connect({ port: Number(new URL(origin).port), host: "127.0.0.1", noDelay: true });
const request = `GET / HTTP/1.1\r\nHost: ${host}\r\n\r\n`;
let [sentAtMs, slowestMs, requests] = [0, 0, 0];
let isFirst = true;
let pending = "";

socket.on("connect", send);
socket.on("data", (chunk) => {
  pending += chunk.toString("latin1");
  const length = answerLength(pending);
  if (length === undefined || pending.length < length) return;
  if (!pending.startsWith("HTTP/1.1 200")) throw new Error(`Answered: ${pending.slice(0, 200)}`);
  pending = pending.slice(length);
  requests += 1;
  // The first opens the connection to the upstream.
  if (isFirst) process.send?.("ready");
  else slowestMs = Math.max(slowestMs, performance.now() - sentAtMs);
  isFirst = false;
  setTimeout(send, 1);
});
process.on("message", () => {
  process.send?.({ slowestMs, requests } satisfies ProbeResult, () => process.exit());
});

function send(): void {
  sentAtMs = performance.now();
  socket.write(request);
}
