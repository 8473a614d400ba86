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
  type FromWorker,
  type CandidateReport,
  type KeptChanges,
  type ParsedChanges,
  type ParsedSlice,
  type PublishedSources,
  type Refusals,
  type RouteText,
  type SealedSlice,
  signatureWith,
  type ToWorker,
} from "./protocol.ts";
import { readSignature } from "../sources.ts";
import { heapLimits } from "./heap-limits.ts";
import { createTurns } from "./turns.ts";
import { type ValidationSettings, createValidation } from "./validation.ts";

export type Validation =
  | { readonly kind: "unchanged" }
  | ({ readonly kind: "bad" } & ValidationReport)
  | ({ readonly kind: "good" } & ValidationReport & CheckedSettings);

/** Questions are answered one after the other, those of several owners in turn. All throw GatewayError `bundle.validator` when the thread failed. */
export interface Validator {
  /** Reads and validates the files and these published slices. */
  load(published?: PublishedSources, refusals?: Refusals): Promise<Validation>;
  /**
   * What would be wrong if these slices were published; nothing is changed by asking.
   *
   * @param candidates owners whose slices are to be published, or removed
   * @param kept slices last in force, for a validator that never loads
   */
  validate(
    published: PublishedSources,
    candidates: readonly string[],
    kept?: readonly SealedSlice[],
  ): Promise<CandidateReport>;
  /** What was loaded last is in force. @param at epoch milliseconds @returns what became of the kept slices */
  inForce(at: number): Promise<KeptChanges>;
  /** Reads a slice that somebody sent as this owner's. */
  parse(text: string, owner: string): Promise<ParsedSlice>;
  /** Reads slices of several owners that somebody sent. @param asker whose turn it is */
  parseChanges(text: string, asker?: string): Promise<ParsedChanges>;
  /** Routes of the last good load, sorted by key; not to be read while a load is under way. */
  routes(): readonly RouteText[];
  close(): Promise<void>;
}

/** Far above what 100,000 routes take. */
const LOAD_TIMEOUT_MS = 120_000;
/** For what an owner sent, all that is published with it: far above what 20,000 routes take, and beyond it others go on. */
const OWNER_TIMEOUT_MS = 30_000;
/** Whose questions come first: what is published is put in force for all. */
const OPERATOR = "";

type ValidatingThread = Thread<ToWorker, FromWorker>;

export interface ValidatorDeps {
  /** To seal kept slices: 32 bytes each, current first. Random ones when absent, so that only this process reads them. */
  readonly keptKeys?: readonly Uint8Array[] | undefined;
  /** Slices last in force, from before this process began. */
  readonly kept?: readonly SealedSlice[];
}

const NO_REFUSALS: Refusals = { key: 0, list: [] };

export function createValidator(path: string, deps: ValidatorDeps = {}): Validator {
  const { keptKeys = [randomBytes(32)] } = deps;
  /** What a new thread has to know. */
  const kept = new Map((deps.kept ?? []).map((slice) => [slice.owner, slice]));
  let knowsKept = false;
  const texts = new Map<string, RouteText>();
  let sorted: readonly RouteText[] = [];
  let worker: ValidatingThread | undefined;
  /** Nothing was asked yet; and what was is being done here. */
  let [isFirst, isHere] = [true, false];
  /** Of the last load. */
  let signature: string | undefined;
  /** Key of the published slices that the thread has. */
  let sentKey = "";
  const turns = createTurns();
  let closed = false;

  return {
    async load(published, refusals = NO_REFUSALS) {
      // Most looks at the files find nothing, for which nobody has to be asked, or even be there.
      if (published && signature !== undefined) {
        const read = { signature: signatureWith(await readSignature(path), published) };
        if (signatureWith(read, refusals) === signature) return { kind: "unchanged" };
      }
      const question = (): ToWorker => {
        // Text of megabytes, which a thread that has it does not need again.
        const news = published && published.key !== sentKey ? { published } : {};
        sentKey = published?.key ?? sentKey;
        return { type: "load", refusals, ...news, ...keptOnce() };
      };
      return ask(OPERATOR, "load", question, loading);
    },
    validate: (published, candidates, sealed) =>
      ask(
        candidates.toSorted().join(" "),
        "validate",
        () => ({ type: "validate", published, candidates, ...(sealed ? { kept: sealed } : keptOnce()) }),
        () => (message) => (message.type === "validated" ? message : undefined),
      ),
    async inForce(at) {
      // Who has loaded nothing has nothing new in force.
      if (!worker) return { changed: [], removed: [] };
      const changes = await ask(
        OPERATOR,
        "in-force",
        () => ({ type: "in-force", at }),
        () => (message) => (message.type === "kept" ? message : undefined),
      );
      // From now on somebody is served.
      if (isHere) worker = undefined;
      for (const owner of changes.removed) kept.delete(owner);
      for (const { owner, since, sealed = kept.get(owner)?.sealed } of changes.changed) {
        if (sealed !== undefined) kept.set(owner, { owner, since, sealed });
      }
      return changes;
    },
    parse: (text, owner) =>
      ask(
        owner,
        "parse",
        () => ({ type: "parse", text, owner }),
        () => (message) => (message.type === "parsed" ? message.slice : undefined),
      ),
    parseChanges: (text, asker = OPERATOR) =>
      ask(
        asker,
        "parse-changes",
        () => ({ type: "parse-changes", text }),
        () => (message) => (message.type === "parsed-changes" ? message.changes : undefined),
      ),
    routes: () => sorted,
    async close() {
      closed = true;
      await worker?.terminate();
    },
  };

  /** @param receive takes what comes from the thread, until it has the answer */
  function ask<T>(
    who: string,
    what: ToWorker["type"],
    question: () => ToWorker,
    receive: (thread: ValidatingThread) => (message: FromWorker) => T | undefined,
  ): Promise<T> {
    return turns.take(who, async () => {
      if (closed) throw new GatewayError("bundle.validator", "Cannot validate: it is closed");
      const thread = threadFor(what);
      const limitMs = what === "load" || what === "in-force" ? LOAD_TIMEOUT_MS : OWNER_TIMEOUT_MS;
      try {
        return await converse(thread, question(), limitMs, receive(thread));
      } catch (error) {
        gone(thread);
        void thread.terminate();
        throw new GatewayError("bundle.validator", `Cannot validate: ${errorText(error)}`, { cause: error });
      }
    });
  }

  /** Takes chunks in until the load is done. */
  function loading(thread: ValidatingThread): (message: FromWorker) => Validation | undefined {
    let good: Extract<FromWorker, { readonly type: "good" }> | undefined;
    return (message) => {
      if (message.type === "chunk") {
        for (const route of message.changed) texts.set(route.key, route);
        for (const key of message.removed) texts.delete(key);
        send(thread, { type: "ack" });
      } else if (message.type === "good") {
        good = message;
        // A new thread knows nothing of what an earlier one has sent.
        if (message.fresh) texts.clear();
      } else if (message.type === "unchanged") {
        return { kind: "unchanged" };
      } else if (message.type === "bad") {
        ({ signature } = message);
        return { ...message, kind: "bad" };
      } else if (good) {
        ({ signature } = good);
        // Nearly sorted already, which makes sorting a single pass.
        sorted = [...texts.values()].sort((a, b) => (a.key < b.key ? -1 : 1));
        return { ...good, kind: "good" };
      }
      return undefined;
    };
  }

  function threadFor(what: ToWorker["type"]): ValidatingThread {
    const mayBeHere = isFirst && what === "load";
    isFirst = false;
    // What is in force now was found here.
    if (isHere && what !== "in-force") worker = undefined;
    if (worker) return worker;
    isHere = mayBeHere;
    sentKey = "";
    knowsKept = false;
    const settings: ValidationSettings = { path, keptKeys };
    const thread: ValidatingThread = isHere
      ? validateHere(settings)
      : startThread(import.meta.url, "validate-worker", {
          workerData: settings,
          name: "validate",
          resourceLimits: heapLimits(),
        });
    // Between two loads nobody listens otherwise: an unheard error would end the process, and an ended thread be waited for.
    thread.on("error", () => gone(thread));
    thread.on("exit", () => gone(thread));
    return (worker = thread);
  }

  /** What it had found may not be in force yet: all is read again. */
  function gone(thread: ValidatingThread): void {
    if (worker !== thread) return;
    worker = undefined;
    signature = undefined;
  }

  /** For a thread that has not heard of them. */
  function keptOnce(): { readonly kept?: readonly SealedSlice[] } {
    if (knowsKept) return {};
    knowsKept = true;
    return { kept: [...kept.values()] };
  }
}

/** Validates in this thread, as a thread of its own would. Nothing is copied: both sides only read. */
function validateHere(settings: ValidationSettings): Thread<ToWorker, FromWorker> {
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
  }) as Thread<ToWorker, FromWorker>;
}
