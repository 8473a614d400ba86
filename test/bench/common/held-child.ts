/**
 * Holds connections and event streams: `node held-child.ts JSON`. Told over IPC how many there shall be, it opens what is
 * missing and asks once on each; then, and whenever it is asked, it tells how many are open.
 */
import { connect } from "node:net";

import { AnswerReader } from "./answers.ts";

export interface HeldTask {
  readonly port: number;
  /** Whole requests, as Latin-1 text. */
  readonly request: string;
  /** Is over with its first bytes, and goes on. */
  readonly isStream: boolean;
}

/** Answered by a number. */
export type HeldQuestion = { readonly reach: number } | "tell";

const { port, request, isStream } = JSON.parse(process.argv[2] ?? "") as HeldTask;
const bytes = Buffer.from(request, "latin1");
/** As many as a listener lets wait. */
const AT_ONCE = 64;
const PATIENCE_MS = 5_000;
/** One address could hold half of the connections at most. */
const ADDRESSES = 250;
let opened = 0;
let open = 0;
let wanted = 0;

process.on("message", (question: HeldQuestion) => {
  if (question === "tell") process.send?.(open);
  else void reach(question.reach);
});

async function reach(count: number): Promise<void> {
  wanted = count;
  let begun = open;
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (begun < wanted) {
        begun += 1;
        await openOne();
      }
    }),
  );
  process.send?.(open);
}

/** Resolves with its answer, or with its first event. */
function openOne(): Promise<void> {
  return new Promise((resolve) => {
    const localAddress = `127.0.5.${(opened++ % ADDRESSES) + 1}`;
    const socket = connect({ port, host: "127.0.0.1", localAddress, noDelay: true });
    const answers = new AnswerReader();
    let isOpen = false;
    // Refused, or never answered: it is not open, which the caller sees from the count.
    const timer = setTimeout(() => socket.destroy(), PATIENCE_MS);
    socket.on("connect", () => socket.write(bytes));
    socket.on("data", (chunk: Buffer) => {
      if (!isOpen && /^HTTP\/1\.1 [345]/.test(chunk.toString("latin1"))) socket.destroy();
      if (isOpen || (isStream ? !chunk.includes("data:") : answers.push(chunk) !== true)) return;
      isOpen = true;
      clearTimeout(timer);
      open += 1;
      resolve();
    });
    socket.on("error", () => {});
    socket.on("close", () => {
      clearTimeout(timer);
      if (isOpen) open -= 1;
      resolve();
    });
  });
}
