/**
 * This side of validating: asks for a load, takes chunks in, keeps the texts of all routes.
 *
 * The first load of a process is done here, where nobody is served yet who could be held up; a thread would only load
 * once more what is loaded here already, and keep the memory. The next one, and whatever comes from others, has a thread.
 */
import { EventEmitter } from "node:events";
import { randomBytes } from "node:crypto";

import { errorText, GatewayError } from "../../shared/errors.ts";
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

/** Far above what 100,000 routes take. */
const LOAD_TIMEOUT_MS = 120_000;
/** For what an owner sent, all that is published with it: far above what 20,000 routes take, and beyond it others go on. */
const OWNER_TIMEOUT_MS = 30_000;
/** Whose questions come first: what is published is put in force for all. */
const OPERATOR = "";

type ValidatingThread = Thread<ToValidator, FromValidator>;

export interface ValidatorDeps {
  /** To seal kept slices: 32 bytes each, current first. Random ones when absent, so that only this process reads them. */
  readonly keptKeys?: readonly Uint8Array[] | undefined;
  /** Slices last in force, from before this process began. */
  readonly kept?: readonly SealedSlice[];
}

const NO_REFUSALS: Refusals = { key: 0, list: [] };

/** Questions are answered one after the other, those of several owners in turn. All throw GatewayError `bundle.validator` when the thread failed. */
export class Validator {
  readonly #settings: ValidationSettings;
  /** What a new thread has to know. */
  readonly #kept: Map<string, SealedSlice>;
  #knowsKept = false;
  readonly #texts = new Map<string, RouteText>();
  #sorted: readonly RouteText[] = [];
  #worker: ValidatingThread | undefined;
  /** Nothing was asked yet. */
  #isFirst = true;
  /** What was asked is being done here. */
  #isHere = false;
  /** Of the last load. */
  #signature: string | undefined;
  /** Key of the published slices that the thread has. */
  #sentKey = "";
  readonly #turns = createTurns();
  #closed = false;

  constructor(path: string, { keptKeys = [randomBytes(32)], kept = [] }: ValidatorDeps = {}) {
    this.#settings = { path, keptKeys };
    this.#kept = new Map(kept.map((slice) => [slice.owner, slice]));
  }

  /** Reads and validates the files and these published slices. */
  async load(published?: PublishedSources, refusals = NO_REFUSALS): Promise<Validation> {
    // Most looks at the files find nothing, for which nobody has to be asked, or even be there.
    if (published && this.#signature !== undefined) {
      const read = { signature: signatureWith(await readSignature(this.#settings.path), published) };
      if (signatureWith(read, refusals) === this.#signature) return { kind: "unchanged" };
    }
    const question = (): ToValidator => {
      // Text of megabytes, which a thread that has it does not need again.
      const news = published && published.key !== this.#sentKey ? { published } : {};
      this.#sentKey = published?.key ?? this.#sentKey;
      return { type: "load", refusals, ...news, ...this.#keptOnce() };
    };
    return this.#ask(OPERATOR, "load", question, (thread) => this.#loading(thread));
  }

  /**
   * What would be wrong if these slices were published; nothing is changed by asking.
   *
   * @param candidates owners whose slices are to be published, or removed
   * @param sealed slices last in force, for a validator that never loads
   */
  validate(
    published: PublishedSources,
    candidates: readonly string[],
    sealed?: readonly SealedSlice[],
  ): Promise<CandidateReport> {
    return this.#ask(
      candidates.toSorted().join(" "),
      "validate",
      () => ({ type: "validate", published, candidates, ...(sealed ? { kept: sealed } : this.#keptOnce()) }),
      () => (message) => (message.type === "validated" ? message : undefined),
    );
  }

  /** What was loaded last is in force. @param at epoch milliseconds @returns what became of the kept slices */
  async inForce(at: number): Promise<PreviousSliceChanges> {
    // Who has loaded nothing has nothing new in force.
    if (!this.#worker) return { changed: [], removed: [] };
    const changes = await this.#ask(
      OPERATOR,
      "in-force",
      () => ({ type: "in-force", at }),
      () => (message) => (message.type === "kept" ? message : undefined),
    );
    // From now on somebody is served.
    if (this.#isHere) this.#worker = undefined;
    for (const owner of changes.removed) this.#kept.delete(owner);
    for (const { owner, since, sealed = this.#kept.get(owner)?.sealed } of changes.changed) {
      if (sealed !== undefined) this.#kept.set(owner, { owner, since, sealed });
    }
    return changes;
  }

  /** Reads a slice that somebody sent as this owner's. */
  parse(text: string, owner: string): Promise<ParsedSlice> {
    return this.#ask(
      owner,
      "parse",
      () => ({ type: "parse", text, owner }),
      () => (message) => (message.type === "parsed" ? message.slice : undefined),
    );
  }

  /** Reads slices of several owners that somebody sent. @param asker whose turn it is */
  parseChanges(text: string, asker = OPERATOR): Promise<ParsedChanges> {
    return this.#ask(
      asker,
      "parse-changes",
      () => ({ type: "parse-changes", text }),
      () => (message) => (message.type === "parsed-changes" ? message.changes : undefined),
    );
  }

  /** Routes of the last good load, sorted by key; not to be read while a load is under way. */
  routes(): readonly RouteText[] {
    return this.#sorted;
  }

  async close(): Promise<void> {
    this.#closed = true;
    await this.#worker?.terminate();
  }

  /** @param receive takes what comes from the thread, until it has the answer */
  #ask<T>(
    who: string,
    what: ToValidator["type"],
    question: () => ToValidator,
    receive: (thread: ValidatingThread) => (message: FromValidator) => T | undefined,
  ): Promise<T> {
    return this.#turns.take(who, async () => {
      if (this.#closed) throw new GatewayError("bundle.validator", "Cannot validate: it is closed");
      const thread = this.#threadFor(what);
      const limitMs = what === "load" || what === "in-force" ? LOAD_TIMEOUT_MS : OWNER_TIMEOUT_MS;
      try {
        return await converse(thread, question(), limitMs, receive(thread));
      } catch (error) {
        this.#gone(thread);
        void thread.terminate();
        throw new GatewayError("bundle.validator", `Cannot validate: ${errorText(error)}`, { cause: error });
      }
    });
  }

  /** Takes chunks in until the load is done. */
  #loading(thread: ValidatingThread): (message: FromValidator) => Validation | undefined {
    let good: Extract<FromValidator, { readonly type: "good" }> | undefined;
    return (message) => {
      if (message.type === "chunk") {
        for (const route of message.changed) this.#texts.set(route.key, route);
        for (const key of message.removed) this.#texts.delete(key);
        send(thread, { type: "ack" });
      } else if (message.type === "good") {
        good = message;
        // A new thread knows nothing of what an earlier one has sent.
        if (message.fresh) this.#texts.clear();
      } else if (message.type === "unchanged") {
        return { kind: "unchanged" };
      } else if (message.type === "bad") {
        this.#signature = message.signature;
        return { ...message, kind: "bad" };
      } else if (good) {
        this.#signature = good.signature;
        // Nearly sorted already, which makes sorting a single pass.
        this.#sorted = [...this.#texts.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
        return { ...good, kind: "good" };
      }
      return undefined;
    };
  }

  #threadFor(what: ToValidator["type"]): ValidatingThread {
    const mayBeHere = this.#isFirst && what === "load";
    this.#isFirst = false;
    // What is in force now was found here.
    if (this.#isHere && what !== "in-force") this.#worker = undefined;
    if (this.#worker) return this.#worker;
    this.#isHere = mayBeHere;
    this.#sentKey = "";
    this.#knowsKept = false;
    const settings = this.#settings;
    const thread: ValidatingThread = this.#isHere
      ? validateHere(settings)
      : startThread(import.meta.url, "validate-worker", {
          workerData: settings,
          name: "validate",
          resourceLimits: heapLimits(),
        });
    // Between two loads nobody listens otherwise: an unheard error would end the process, and an ended thread be waited for.
    thread.on("error", () => this.#gone(thread));
    thread.on("exit", () => this.#gone(thread));
    return (this.#worker = thread);
  }

  /** What it had found may not be in force yet: all is read again. */
  #gone(thread: ValidatingThread): void {
    if (this.#worker !== thread) return;
    this.#worker = undefined;
    this.#signature = undefined;
  }

  /** For a thread that has not heard of them. */
  #keptOnce(): { readonly kept?: readonly SealedSlice[] } {
    if (this.#knowsKept) return {};
    this.#knowsKept = true;
    return { kept: [...this.#kept.values()] };
  }
}

/** Validates in this thread, as a thread of its own would. Nothing is copied: both sides only read. */
function validateHere(settings: ValidationSettings): Thread<ToValidator, FromValidator> {
  const heard = new EventEmitter();
  let isOver = false;
  const receive = createValidation(settings, (message) => {
    // As from a thread: never before who asked has gone on.
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
