/**
 * Worker threads: how to start one, and two ways to query it. Calls are answered by their number, in any order. A
 * conversation has the thread to itself until its response is complete.
 *
 * Promise: every caller gets a response or an error, also when a response cannot be read.
 */
import { extname } from "node:path";
import { Worker, type WorkerOptions } from "node:worker_threads";

import { guard } from "./faults/guard.ts";

/** The used part of a worker thread, or of its replacement. */
export interface Thread<To, From> {
  on(event: "message", listener: (message: From) => void): this;
  on(event: "error", listener: (error: Error) => void): this;
  on(event: "exit", listener: () => void): this;
  once(event: "error", listener: (error: Error) => void): this;
  once(event: "exit", listener: () => void): this;
  off(event: "message", listener: (message: From) => void): this;
  off(event: "error", listener: (error: Error) => void): this;
  off(event: "exit", listener: () => void): this;
  postMessage(message: To): void;
  terminate(): Promise<unknown>;
}

/**
 * Address of a program next to the caller's file. @param caller `import.meta.url` @param name without `.ts` or, in the
 * published package, `.js`
 */
export function programUrl(caller: string, name: string): URL {
  return new URL(`./${name}${extname(caller)}`, caller);
}

/** Starts a program next to the caller's file, see `programUrl()`. */
export function startThread(caller: string, name: string, options: WorkerOptions): Worker {
  return new Worker(programUrl(caller, name), options);
}

export function send<To>(to: { postMessage(message: To): void }, message: To): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  to.postMessage(message);
}

/**
 * Sends a question, and passes each message to `receive` until it returns the answer. After an error the thread may
 * still be working on the question: the caller must end it.
 *
 * @throws Error when the thread fails, ends or times out, and errors of `receive`
 */
export function converse<To, From, T>(
  thread: Thread<To, From>,
  question: To,
  limitMs: number,
  receive: (message: From) => T | undefined,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const timer = setTimeout(() => failed(new Error("it takes too long")), limitMs);
    const listen = guard({ broke: failed }, (message: From) => {
      const answer = receive(message);
      if (answer === undefined) return;
      finish();
      resolve(answer);
    });
    thread.on("message", listen).once("error", failed).once("exit", exited);
    try {
      send(thread, question);
    } catch (error) {
      failed(error);
    }

    function exited(): void {
      failed(new Error("its thread ended"));
    }

    function failed(error: unknown): void {
      finish();
      reject(error);
    }

    function finish(): void {
      clearTimeout(timer);
      thread.off("message", listen).off("error", failed).off("exit", exited);
    }
  });
}

/** Calls to a thread that answers each by its number. */
export class ThreadCalls<Answer extends { readonly id: number }> {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, PromiseWithResolvers<Answer>>();
  #lastId = 0;

  /** @param broke an answer could not be read, and its call is unknown: `rejectAll()` must follow */
  constructor(worker: Worker, broke: (error: unknown) => void) {
    this.#worker = worker;
    worker.on(
      "message",
      guard({ broke }, (answer: Answer) => {
        const waiting = this.#waiting.get(answer.id);
        this.#waiting.delete(answer.id);
        waiting?.resolve(answer);
      }),
    );
  }

  /** Calls that wait. */
  count(): number {
    return this.#waiting.size;
  }

  /** @throws DataCloneError for values that cannot be cloned */
  call(content: object): Promise<Answer> {
    this.#lastId += 1;
    // Sent first: a message that cannot be sent is not waited for.
    send(this.#worker, { id: this.#lastId, ...content });
    return this.answerTo(this.#lastId);
  }

  /** @param id 0 for what the thread reports on its own after it started */
  answerTo(id: number): Promise<Answer> {
    const waiting = Promise.withResolvers<Answer>();
    this.#waiting.set(id, waiting);
    return waiting.promise;
  }

  rejectAll(error: Error): void {
    for (const waiting of this.#waiting.values()) waiting.reject(error);
    this.#waiting.clear();
  }
}
