/**
 * A copy of one collection of the API server, maintained by list and watch.
 *
 * Untrusted: input from the wire. A line that is not an event, or an event without a version, ends the watch, and the
 * collection is listed again, so that no change is missed. Promises: `items` is a recent state of the server, never part of a
 * list; it recovers automatically after an outage; requests are never more frequent than the back-off allows.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import { setTimeout as delay } from "node:timers/promises";

import { errorText, GatewayError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { type Backoff, createBackoff } from "../../shared/backoff.ts";
import { isStatus, type KubeClient, KubeError, missingRight, SilentWatch } from "./kube-client.ts";
import { withoutManagers } from "./status.ts";
import { keyOf } from "../translate/objects.ts";
import type { KubeObject } from "../kube-object.ts";
import { isRecord } from "../../shared/is-record.ts";

export interface ReflectorOptions {
  readonly client: KubeClient;
  /** Path of the collection. */
  readonly path: string;
  /** "metadata.name=web". */
  readonly fieldSelector?: string;
  /** Called after a change, or when the first list is complete. */
  readonly onChange: () => void;
  readonly log: Log;
  readonly backoff?: Backoff;
  /** Time for which the server shall keep one watch open. */
  readonly watchSeconds?: number;
  /** Additional time for which a silent watch counts as alive. */
  readonly graceMs?: number;
  /** Objects per page of a list. */
  readonly pageSize?: number;
}

const WATCH_SECONDS = 300;
const GRACE_MS = 15_000;
const PAGE_SIZE = 500;

/** The server no longer has our version: list everything again. */
class Expired extends Error {}

export class Reflector<T extends KubeObject> {
  readonly #options: ReflectorOptions;
  readonly #backoff: Backoff;
  readonly #collection: string;
  readonly #stop = new AbortController();
  #items = new Map<string, T>();
  #synced = false;
  #forbidden = false;
  /** Ensures that a lasting problem is logged once, not with each attempt. */
  #lastReason = "";
  #problem: string | undefined;
  /** "" when the next step is a list. */
  #version = "";
  readonly #running: Promise<void>;

  constructor(options: ReflectorOptions) {
    this.#options = options;
    this.#backoff = options.backoff ?? createBackoff({ firstMs: 500, mostMs: 30_000 });
    this.#collection = options.path.slice(options.path.lastIndexOf("/") + 1);
    this.#running = this.#run();
  }

  /** By "namespace/name". */
  items(): ReadonlyMap<string, T> {
    return this.#items;
  }

  /** False until the first list is complete. */
  isSynced(): boolean {
    return this.#synced;
  }

  /** The server denied reading it, and has not allowed it since. */
  isForbidden(): boolean {
    return this.#forbidden;
  }

  /** Reason why it cannot be read now, without names; undefined while it can. */
  problem(): string | undefined {
    return this.#problem;
  }

  async close(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { path, fieldSelector, onChange, log } = this.#options;
    while (!this.#stop.signal.aborted) {
      try {
        if (this.#version === "") await this.#list();
        const lived = await this.#watch();
        this.#isWell();
        // Pause before repeating a watch that the server ended immediately.
        if (lived) this.#backoff.reset();
        else await this.#pause(this.#backoff.next());
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        if (error instanceof Expired || isStatus(error, 410)) {
          log.debug({ path, reason: errorText(error) }, "watch expired, listing again");
          this.#version = "";
          // Pause, since the server may respond like this each time.
          await this.#pause(this.#backoff.next());
          continue;
        }
        const waitMs = Math.round((error instanceof KubeError && error.retryAfterMs) || this.#backoff.next());
        const reason = errorText(error);
        const { right } = missingRight(error);
        const about = { path, fieldSelector, reason, waitMs };
        if (reason !== this.#lastReason && right === undefined)
          log.warn({ ...about }, "cannot reach cluster, retrying");
        else if (reason !== this.#lastReason)
          log.warn({ ...about, right }, "permission to read cluster missing, retrying");
        this.#lastReason = reason;
        this.#problem = right === undefined ? `${this.#collection} cannot be read` : `right missing: ${right}`;
        if (isStatus(error, 403) && !this.#forbidden) {
          this.#forbidden = true;
          onChange();
        }
        await this.#pause(waitMs);
      }
    }
  }

  #isWell(): void {
    this.#lastReason = "";
    this.#problem = undefined;
  }

  async #list(): Promise<void> {
    const { client, path, pageSize = PAGE_SIZE } = this.#options;
    const found = new Map<string, T>();
    let next: string | undefined;
    let listed = "";
    do {
      const page = await client.request<unknown>({
        method: "GET",
        path,
        query: { ...this.#selector(), limit: String(pageSize), ...(next === undefined ? {} : { continue: next }) },
        signal: this.#stop.signal,
      });
      const { metadata, items: objects } = isRecord(page) ? page : {};
      if (!isRecord(metadata) || typeof metadata["resourceVersion"] !== "string" || !Array.isArray(objects ?? [])) {
        throw new GatewayError("kube.unreadable", `Cannot list ${path}: the response is not a list`);
      }
      for (const object of (objects ?? []) as readonly unknown[]) {
        if (isObject(object)) found.set(keyOf(object), withoutManagers(object as T));
      }
      listed = metadata["resourceVersion"];
      next = typeof metadata["continue"] === "string" && metadata["continue"] !== "" ? metadata["continue"] : undefined;
    } while (next !== undefined);
    this.#items = found;
    this.#version = listed;
    this.#synced = true;
    this.#forbidden = false;
    this.#isWell();
    this.#options.onChange();
  }

  /** @returns false if the server ended the watch early without an event */
  async #watch(): Promise<boolean> {
    const { client, path, log, watchSeconds = WATCH_SECONDS, graceMs = GRACE_MS } = this.#options;
    const patience = AbortSignal.timeout(watchSeconds * 1000 + graceMs);
    const query = {
      ...this.#selector(),
      watch: "true",
      resourceVersion: this.#version,
      allowWatchBookmarks: "true",
      timeoutSeconds: String(watchSeconds),
    };
    let lived = false;
    const startedMs = performance.now();
    try {
      const signal = AbortSignal.any([this.#stop.signal, patience]);
      const onOpen = (): void => void (this.#problem = undefined);
      for await (const line of client.watch({ path, query, signal, onOpen })) {
        this.#apply(line);
        lived = true;
        this.#isWell();
        this.#backoff.reset();
      }
    } catch (error) {
      // Neither data nor end: the connection is dead, or nothing changes. The version stays valid, and the next watch
      // decides.
      if (!patience.aborted && !(error instanceof SilentWatch)) throw error;
      log.debug({ path }, "watch timed out, restarting");
      return true;
    }
    return lived || performance.now() - startedMs >= (watchSeconds * 1000) / 2;
  }

  #apply(line: string): void {
    const { path } = this.#options;
    const { type, object } = readEvent(line);
    if (type === "ERROR") {
      const code = isRecord(object) ? object["code"] : undefined;
      if (code === 410) throw new Expired("the server no longer has our version");
      const message = isRecord(object) && typeof object["message"] === "string" ? object["message"] : "no reason given";
      throw new KubeError(`Cannot watch ${path}: ${message}`, { status: typeof code === "number" ? code : 500 });
    }
    if (!isRecord(object) || !isRecord(object["metadata"])) throw new Expired("an event has no object");
    const at = object["metadata"]["resourceVersion"];
    if (typeof at !== "string" || at === "") throw new Expired("an event has no version");
    if (type !== "BOOKMARK") {
      if (!isObject(object)) throw new Expired("an event has an object without a name");
      this.#change(type, object as T);
    }
    // Last, so that a failed event comes again.
    this.#version = at;
  }

  #change(type: string, object: T): void {
    if (type === "DELETED") this.#items.delete(keyOf(object));
    else if (type === "ADDED" || type === "MODIFIED") this.#items.set(keyOf(object), withoutManagers(object));
    else throw new Expired(`an event has the unknown type ${JSON.stringify(type)}`);
    this.#options.onChange();
  }

  #selector(): Record<string, string> {
    const { fieldSelector } = this.#options;
    return fieldSelector === undefined ? {} : { fieldSelector };
  }

  async #pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#stop.signal }).catch(() => {});
  }
}

function readEvent(line: string): { readonly type: string; readonly object: unknown } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Expired("a line is not JSON");
  }
  if (!isRecord(value) || typeof value["type"] !== "string") throw new Expired("a line is not an event");
  return { type: value["type"], object: value["object"] };
}

function isObject(value: unknown): value is KubeObject {
  return isRecord(value) && isRecord(value["metadata"]) && typeof value["metadata"]["name"] === "string";
}
