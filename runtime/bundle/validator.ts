/** This side of the validating thread: asks for a load, takes chunks in, keeps the texts of all routes. */
import { extname } from "node:path";
import { Worker } from "node:worker_threads";

import { errorText, GatewayError } from "../errors.ts";
import type { CheckedSettings, Findings, FromWorker, RouteText, ToWorker } from "./protocol.ts";

export type Validation =
  | { readonly kind: "unchanged" }
  | ({ readonly kind: "bad" } & Findings)
  | ({ readonly kind: "good" } & Findings & CheckedSettings);

export interface Validator {
  /** Reads and judges the files; one call at a time. @throws GatewayError `bundle.validator`: the thread failed */
  load(): Promise<Validation>;
  /** Routes of the last good load, sorted by key; not to be read while a load is under way. */
  routes(): readonly RouteText[];
  close(): Promise<void>;
}

/** Far above what 100,000 routes take. */
const LOAD_TIMEOUT_MS = 120_000;
/** A slice made to exhaust memory ends the thread, not the process. */
const MAX_HEAP_MB = 2048;

export function createValidator(path: string): Validator {
  const texts = new Map<string, RouteText>();
  let sorted: readonly RouteText[] = [];
  let worker: Worker | undefined;
  let closed = false;

  return {
    load() {
      if (closed) return Promise.reject(new GatewayError("bundle.validator", "Cannot validate: it is closed"));
      const thread = (worker ??= start());
      return new Promise<Validation>((resolve, reject) => converse(thread, resolve, reject));
    },
    routes: () => sorted,
    async close() {
      closed = true;
      await worker?.terminate();
    },
  };

  function converse(thread: Worker, resolve: (result: Validation) => void, reject: (error: Error) => void): void {
    let good: Extract<FromWorker, { readonly type: "good" }> | undefined;
    const timer = setTimeout(() => fail(new Error("it takes too long")), LOAD_TIMEOUT_MS);
    thread.on("message", receive).once("error", fail).once("exit", exited);
    send(thread, { type: "load" });

    function receive(message: FromWorker): void {
      if (message.type === "chunk") {
        for (const route of message.changed) texts.set(route.key, route);
        for (const key of message.removed) texts.delete(key);
        send(thread, { type: "ack" });
      } else if (message.type === "good") {
        good = message;
        // A new thread knows nothing of what an earlier one has sent.
        if (message.fresh) texts.clear();
      } else {
        finish();
        if (message.type === "unchanged") resolve({ kind: "unchanged" });
        else if (message.type === "bad") resolve({ ...message, kind: "bad" });
        else if (good) {
          // Nearly sorted already, which makes sorting a single pass.
          sorted = [...texts.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
          resolve({ ...good, kind: "good" });
        }
      }
    }

    function exited(): void {
      fail(new Error("its thread ended"));
    }

    function fail(error: Error): void {
      finish();
      worker = undefined;
      void thread.terminate();
      reject(new GatewayError("bundle.validator", `Cannot validate: ${errorText(error)}`, { cause: error }));
    }

    function finish(): void {
      clearTimeout(timer);
      thread.off("message", receive).off("error", fail).off("exit", exited);
    }
  }

  function start(): Worker {
    // The published package has .js files beside each other, the source tree .ts files.
    const url = new URL(`./validate-worker${extname(import.meta.url)}`, import.meta.url);
    const resourceLimits = { maxOldGenerationSizeMb: MAX_HEAP_MB };
    const thread = new Worker(url, { workerData: { path }, name: "validate", resourceLimits });
    const gone = (): void => {
      if (worker === thread) worker = undefined;
    };
    // Between two loads nobody listens otherwise: an unheard error would end the process, and an ended thread be waited for.
    return thread.on("error", gone).on("exit", gone);
  }
}

function send(thread: Worker, message: ToWorker): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
  thread.postMessage(message);
}
