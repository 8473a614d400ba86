/** The validating in this very thread, for its other side as a thread of its own would be. */
import { EventEmitter } from "node:events";

import type { FromWorker, ToWorker } from "./protocol.ts";
import { createValidation, type ValidationSettings } from "./validation.ts";

/** What of a worker thread is used. */
export interface Thread {
  on(event: "message", listener: (message: FromWorker) => void): this;
  on(event: "error", listener: (error: Error) => void): this;
  on(event: "exit", listener: () => void): this;
  once(event: "error", listener: (error: Error) => void): this;
  once(event: "exit", listener: () => void): this;
  off(event: "message", listener: (message: FromWorker) => void): this;
  off(event: "error", listener: (error: Error) => void): this;
  off(event: "exit", listener: () => void): this;
  postMessage(message: ToWorker): void;
  terminate(): Promise<unknown>;
}

/** Nothing is copied on its way: both sides only read. */
export function validateHere(settings: ValidationSettings): Thread {
  const heard = new EventEmitter();
  let isOver = false;
  const receive = createValidation(settings, (message) => {
    // As from a thread: never before who asked has gone on.
    setImmediate(() => isOver || heard.emit("message", message));
  });
  return Object.assign(heard, {
    postMessage(message: ToWorker): void {
      receive(message).catch((error: unknown) => isOver || heard.emit("error", error));
    },
    terminate(): Promise<void> {
      isOver = true;
      heard.emit("exit");
      return Promise.resolve();
    },
  }) as Thread;
}
