/**
 * Main thread's side of validation: requests a load, receives chunks, stores the texts of all routes.
 *
 * The first load of a process, or a supervisor's first validation, runs in the main thread, because no request is served
 * yet: a thread would repeat the load and keep its memory. Later loads and everything that others send run in a thread.
 */
import { EventEmitter } from "node:events";
import { randomBytes } from "node:crypto";

import { errorText, GatewayError } from "../../shared/errors.ts";
import { task } from "../../shared/faults/guard.ts";
import { converse, send, startThread, type Thread } from "../../shared/thread.ts";
import {
  type CheckedSettings,
  type ValidationReport,
  type FromValidator,
  type CandidateReport,
  type PreviousSliceChanges,
  type ParsedChanges,
  type ParsedSlice,
  type PublishedSources,
  type Refusals,
  type RouteText,
  type SealedSlice,
  signatureWith,
  type ToValidator,
} from "./protocol.ts";
import { readSignature } from "../sources.ts";
import { heapLimits } from "./heap-limits.ts";
import { createTurns } from "./turns.ts";
import { type ValidationSettings, createValidation } from "./validation.ts";

export type Validation =
  | { readonly kind: "unchanged" }
  | ({ readonly kind: "bad" } & ValidationReport)
  | ({ readonly kind: "good" } & ValidationReport & CheckedSettings);

/** Far above the time for 100,000 routes. */
const LOAD_TIMEOUT_MS = 120_000;
/**
 * Limit for an owner's request, with all published slices: far above the time for 20,000 routes. After it other owners
 * get their turn.
 */
const OWNER_TIMEOUT_MS = 30_000;
/** First in the queue: publications take effect for all. */
const OPERATOR = "";

type ValidatingThread = Thread<ToValidator, FromValidator>;

export interface ValidatorDeps {
  /** Keys that seal previous slices: 32 bytes each, current first. Default: random, readable by this process only. */
  readonly sealKeys?: readonly Uint8Array[] | undefined;
  /** Previous slices from before this process started. */
  readonly kept?: readonly SealedSlice[];
  readonly idleMs?: number;
}

/** After it the thread ends, which holds a copy of the configuration. The next change is loaded as the first after a start. */
const IDLE_MS = 120_000;

const NO_REFUSALS: Refusals = { key: 0, list: [] };

/**
 * Answers one request at a time, with a fair turn for each owner. All methods throw GatewayError `bundle.validator` if
 * the thread failed.
 */
export class Validator {
  readonly #settings: ValidationSettings;
  /** Previous slices for a new thread. */
  readonly #previous: Map<string, SealedSlice>;
  #hasPrevious = false;
  readonly #texts = new Map<string, RouteText>();
  #sorted: readonly RouteText[] = [];
  #worker: ValidatingThread | undefined;
  /** No request was sent yet. */
  #isFirst = true;
  /** The current request runs in the main thread. */
  #isMainThread = false;
  /** Signature of the last load. */
  #signature: string | undefined;
  /** Key of the published slices that the thread has. */
  #sentKey = "";
  readonly #turns = createTurns();
  readonly #idleMs: number;
  #idle: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(path: string, { sealKeys = [randomBytes(32)], kept = [], idleMs = IDLE_MS }: ValidatorDeps = {}) {
    this.#settings = { path, sealKeys };
    this.#idleMs = idleMs;
    this.#previous = new Map(kept.map((slice) => [slice.owner, slice]));
  }

  /** Reads and validates the files and these published slices. */
  async load(published?: PublishedSources, refusals = NO_REFUSALS): Promise<Validation> {
    // Most checks of the files find no change, which needs no thread.
    if (published && this.#signature !== undefined) {
      const read = { signature: signatureWith(await readSignature(this.#settings.path), published) };
      if (signatureWith(read, refusals) === this.#signature) return { kind: "unchanged" };
    }
    const question = (): ToValidator => {
      // Megabytes of text, which the thread needs only once.
      const update = published && published.key !== this.#sentKey ? { published } : {};
      this.#sentKey = published?.key ?? this.#sentKey;
      return { type: "load", refusals, ...update, ...this.#previousOnce() };
    };
    return this.#ask(OPERATOR, "load", question, (thread) => this.#loading(thread));
  }

  /**
   * Problems that publishing these slices would cause; changes nothing.
   *
   * @param candidates owners whose slices are to be published or removed
   * @param sealed previous slices, for a validator that never loads
   */
  validate(
    published: PublishedSources,
    candidates: readonly string[],
    sealed?: readonly SealedSlice[],
  ): Promise<CandidateReport> {
    return this.#ask(
      candidates.toSorted().join(" "),
      "validate",
      () => ({ type: "validate", published, candidates, ...(sealed ? { kept: sealed } : this.#previousOnce()) }),
      () => (message) => (message.type === "validated" ? message : undefined),
    );
  }

  /** Reports that the last load is active. @param at epoch milliseconds @returns changes of the previous slices */
  async inForce(at: number): Promise<PreviousSliceChanges> {
    // Without a load nothing new is active.
    if (!this.#worker) return { changed: [], removed: [] };
    const changes = await this.#ask(
      OPERATOR,
      "in-force",
      () => ({ type: "in-force", at }),
      () => (message) => (message.type === "kept" ? message : undefined),
    );
    for (const owner of changes.removed) this.#previous.delete(owner);
    for (const { owner, since, sealed = this.#previous.get(owner)?.sealed } of changes.changed) {
      if (sealed !== undefined) this.#previous.set(owner, { owner, since, sealed });
    }
    return changes;
  }

  /** Parses a slice that was sent as this owner's. */
  parse(text: string, owner: string): Promise<ParsedSlice> {
    return this.#ask(
      owner,
      "parse",
      () => ({ type: "parse", text, owner }),
      () => (message) => (message.type === "parsed" ? message.slice : undefined),
    );
  }

  /** Parses slices of several owners. @param asker owner for the fair queue */
  parseChanges(text: string, asker = OPERATOR): Promise<ParsedChanges> {
    return this.#ask(
      asker,
      "parse-changes",
      () => ({ type: "parse-changes", text }),
      () => (message) => (message.type === "parsed-changes" ? message.changes : undefined),
    );
  }

  /** Routes of the last valid load, sorted by key; do not read during a load. */
  routes(): readonly RouteText[] {
    return this.#sorted;
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    await this.#worker?.terminate();
  }

  /** @param receive handles the thread's messages until it returns the result */
  #ask<T>(
    who: string,
    what: ToValidator["type"],
    question: () => ToValidator,
    receive: (thread: ValidatingThread) => (message: FromValidator) => T | undefined,
  ): Promise<T> {
    return this.#turns.take(who, async () => {
      if (this.#closed) throw new GatewayError("bundle.validator", "Cannot validate: it is closed");
      clearTimeout(this.#idle);
      const thread = this.#threadFor(what);
      const limitMs = what === "load" || what === "in-force" ? LOAD_TIMEOUT_MS : OWNER_TIMEOUT_MS;
      try {
        const answer = await converse(thread, question(), limitMs, receive(thread));
        // A load is followed by `inForce`; after that the process serves requests, so later work needs a thread.
        if (this.#isMainThread && what !== "load") this.#worker = undefined;
        return answer;
      } catch (error) {
        this.#discard(thread);
        void thread.terminate();
        throw new GatewayError("bundle.validator", `Cannot validate: ${errorText(error)}`, { cause: error });
      } finally {
        if (!this.#isMainThread && !this.#closed)
          this.#idle = setTimeout(
            task("the end of the validating thread", () => this.#endIdle()),
            this.#idleMs,
          ).unref();
      }
    });
  }

  /** Receives chunks until the load is complete. */
  #loading(thread: ValidatingThread): (message: FromValidator) => Validation | undefined {
    let good: Extract<FromValidator, { readonly type: "good" }> | undefined;
    return (message) => {
      if (message.type === "chunk") {
        for (const route of message.changed) this.#texts.set(route.key, route);
        for (const key of message.removed) this.#texts.delete(key);
        send(thread, { type: "ack" });
      } else if (message.type === "good") {
        good = message;
        // A new thread does not know what an earlier one sent.
        if (message.fresh) this.#texts.clear();
      } else if (message.type === "unchanged") {
        return { kind: "unchanged" };
      } else if (message.type === "bad") {
        this.#signature = message.signature;
        return { ...message, kind: "bad" };
      } else if (good) {
        this.#signature = good.signature;
        // Nearly sorted already, so this is a single pass.
        this.#sorted = [...this.#texts.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
        return { ...good, kind: "good" };
      }
      return undefined;
    };
  }

  #threadFor(what: ToValidator["type"]): ValidatingThread {
    const isMainThread = this.#isFirst && (what === "load" || what === "validate");
    this.#isFirst = false;
    // The active configuration was validated in the main thread.
    if (this.#isMainThread && what !== "in-force") this.#worker = undefined;
    if (this.#worker) return this.#worker;
    this.#isMainThread = isMainThread;
    this.#sentKey = "";
    this.#hasPrevious = false;
    const settings = this.#settings;
    const thread: ValidatingThread = this.#isMainThread
      ? validateInMainThread(settings)
      : startThread(import.meta.url, "validate-worker", {
          workerData: settings,
          name: "validate",
          resourceLimits: heapLimits(),
        });
    // No other listener exists between two loads: an error would end the process, and an ended thread would be awaited.
    thread.on("error", () => this.#discard(thread));
    thread.on("exit", () => this.#discard(thread));
    return (this.#worker = thread);
  }

  /** Unlike after an error, its last result is active: unchanged files need no new thread. */
  #endIdle(): void {
    const thread = this.#worker;
    this.#worker = undefined;
    void thread?.terminate();
  }

  /** Its last result may not be active yet, so everything is read again. */
  #discard(thread: ValidatingThread): void {
    if (this.#worker !== thread) return;
    this.#worker = undefined;
    this.#signature = undefined;
  }

  /** Previous slices, once per thread. */
  #previousOnce(): { readonly kept?: readonly SealedSlice[] } {
    if (this.#hasPrevious) return {};
    this.#hasPrevious = true;
    return { kept: [...this.#previous.values()] };
  }
}

/** Validates in this thread with a thread's interface. Nothing is copied: both sides only read. */
function validateInMainThread(settings: ValidationSettings): Thread<ToValidator, FromValidator> {
  const heard = new EventEmitter();
  let isOver = false;
  const receive = createValidation(settings, (message) => {
    // As with a thread: never before the caller has continued.
    setImmediate(() => isOver || heard.emit("message", message));
  });
  return Object.assign(heard, {
    postMessage(message: ToValidator): void {
      receive(message).catch((error: unknown) => isOver || heard.emit("error", error));
    },
    terminate(): Promise<void> {
      isOver = true;
      heard.emit("exit");
      return Promise.resolve();
    },
  }) as Thread<ToValidator, FromValidator>;
}
