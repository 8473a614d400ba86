/**
 * A copy of one collection of the API server, kept by list and watch.
 *
 * Untrusted: what comes over the wire; a line that is no event, or an event without a version, ends the watch and the
 * collection is listed anew, so that nothing is missed unseen. Promises: `items` is what the server had at some moment
 * not long ago, never half of a list; after an outage it is right again without anybody's help; it never asks faster than
 * the back-off allows.
 *
 * @see https://kubernetes.io/docs/reference/using-api/api-concepts/#efficient-detection-of-changes
 */
import { setTimeout as delay } from "node:timers/promises";

import { errorText, GatewayError } from "../../shared/errors.ts";
import type { Log } from "../../shared/log.ts";
import { type Backoff, createBackoff } from "./backoff.ts";
import { isStatus, type KubeClient, KubeError, missingRight, SilentWatch } from "./kube-client.ts";
import { withoutManagers } from "./status.ts";
import { keyOf, type KubeObject } from "../translate/objects.ts";
import { isRecord } from "../../shared/is-record.ts";

export interface ReflectorOptions {
  readonly client: KubeClient;
  /** Of the collection. */
  readonly path: string;
  /** "metadata.name=web". */
  readonly fieldSelector?: string;
  /** Something changed, or the first list is there. */
  readonly onChange: () => void;
  readonly log: Log;
  readonly backoff?: Backoff;
  /** How long the server shall keep one watch open. */
  readonly watchSeconds?: number;
  /** How much longer than that a silent watch is believed to live. */
  readonly graceMs?: number;
  /** Objects of one page of a list. */
  readonly pageSize?: number;
}

export interface Reflector<T extends KubeObject> {
  /** By "namespace/name". */
  items(): ReadonlyMap<string, T>;
  /** False until the first list is there. */
  isSynced(): boolean;
  /** The server said that it may not be read, and did not take that back since. */
  isForbidden(): boolean;
  /** Why it cannot be read now, without names; undefined while it can. */
  problem(): string | undefined;
  close(): Promise<void>;
}

const WATCH_SECONDS = 300;
const GRACE_MS = 15_000;
const PAGE_SIZE = 500;

/** The server no longer knows the version we stand at: everything must be listed anew. */
class Expired extends Error {}

export function createReflector<T extends KubeObject>(options: ReflectorOptions): Reflector<T> {
  const { client, path, fieldSelector, onChange, log } = options;
  const { watchSeconds = WATCH_SECONDS, graceMs = GRACE_MS, pageSize = PAGE_SIZE } = options;
  const backoff = options.backoff ?? createBackoff({ firstMs: 500, mostMs: 30_000 });
  const collection = path.slice(path.lastIndexOf("/") + 1);
  const stop = new AbortController();
  let items = new Map<string, T>();
  let synced = false;
  let forbidden = false;
  /** So that what stays wrong is said once, not with each try. */
  let lastReason = "";
  let problem: string | undefined;
  /** "" when the next step is a list. */
  let version = "";
  const running = run();

  return {
    items: () => items,
    isSynced: () => synced,
    isForbidden: () => forbidden,
    problem: () => problem,
    async close() {
      stop.abort();
      await running;
    },
  };

  async function run(): Promise<void> {
    while (!stop.signal.aborted) {
      try {
        if (version === "") await list();
        const lived = await watch();
        isWell();
        // A server that ends each watch at once must not be asked without a pause.
        if (lived) backoff.reset();
        else await pause(backoff.next());
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error instanceof Expired || isStatus(error, 410)) {
          log.debug({ path, reason: errorText(error) }, "watch expired, listing anew");
          version = "";
          // A server that says so each time must not be asked without pauses.
          await pause(backoff.next());
          continue;
        }
        const waitMs = Math.round((error instanceof KubeError && error.retryAfterMs) || backoff.next());
        const reason = errorText(error);
        const { right } = missingRight(error);
        const about = { path, fieldSelector, reason, waitMs };
        if (reason !== lastReason && right === undefined) log.warn({ ...about }, "cluster not reached, trying again");
        else if (reason !== lastReason)
          log.warn({ ...about, right }, "a right to read the cluster is missing, trying again");
        lastReason = reason;
        problem = right === undefined ? `${collection} cannot be read` : `right missing: ${right}`;
        if (isStatus(error, 403) && !forbidden) {
          forbidden = true;
          onChange();
        }
        await pause(waitMs);
      }
    }
  }

  function isWell(): void {
    lastReason = "";
    problem = undefined;
  }

  async function list(): Promise<void> {
    const found = new Map<string, T>();
    let next: string | undefined;
    let listed = "";
    do {
      const page = await client.request<unknown>({
        method: "GET",
        path,
        query: { ...selector(), limit: String(pageSize), ...(next === undefined ? {} : { continue: next }) },
        signal: stop.signal,
      });
      const { metadata, items: objects } = isRecord(page) ? page : {};
      if (!isRecord(metadata) || typeof metadata["resourceVersion"] !== "string" || !Array.isArray(objects ?? [])) {
        throw new GatewayError("kube.unreadable", `Cannot list ${path}: the answer is no list`);
      }
      for (const object of (objects ?? []) as readonly unknown[]) {
        if (isObject(object)) found.set(keyOf(object), withoutManagers(object as T));
      }
      listed = metadata["resourceVersion"];
      next = typeof metadata["continue"] === "string" && metadata["continue"] !== "" ? metadata["continue"] : undefined;
    } while (next !== undefined);
    items = found;
    version = listed;
    synced = true;
    forbidden = false;
    isWell();
    onChange();
  }

  /** @returns whether the watch did anything before the server ended it */
  async function watch(): Promise<boolean> {
    const patience = AbortSignal.timeout(watchSeconds * 1000 + graceMs);
    const query = {
      ...selector(),
      watch: "true",
      resourceVersion: version,
      allowWatchBookmarks: "true",
      timeoutSeconds: String(watchSeconds),
    };
    let lived = false;
    const startedMs = performance.now();
    try {
      const signal = AbortSignal.any([stop.signal, patience]);
      for await (const line of client.watch({ path, query, signal, onOpen: () => void (problem = undefined) })) {
        apply(line);
        lived = true;
        isWell();
        backoff.reset();
      }
    } catch (error) {
      // Neither data nor end: the connection is dead, or nothing happens there. The version stays good, and the next watch shows which.
      if (!patience.aborted && !(error instanceof SilentWatch)) throw error;
      log.debug({ path }, "watch fell silent, starting anew");
      return true;
    }
    return lived || performance.now() - startedMs >= (watchSeconds * 1000) / 2;
  }

  function apply(line: string): void {
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
      change(type, object as T);
    }
    // Last, so that an event that could not be taken comes again.
    version = at;
  }

  function change(type: string, object: T): void {
    if (type === "DELETED") items.delete(keyOf(object));
    else if (type === "ADDED" || type === "MODIFIED") items.set(keyOf(object), withoutManagers(object));
    else throw new Expired(`an event has the unknown type ${JSON.stringify(type)}`);
    onChange();
  }

  function selector(): Record<string, string> {
    return fieldSelector === undefined ? {} : { fieldSelector };
  }

  async function pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: stop.signal }).catch(() => {});
  }
}

function readEvent(line: string): { readonly type: string; readonly object: unknown } {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new Expired("a line is no JSON");
  }
  if (!isRecord(value) || typeof value["type"] !== "string") throw new Expired("a line is no event");
  return { type: value["type"], object: value["object"] };
}

function isObject(value: unknown): value is KubeObject {
  return isRecord(value) && isRecord(value["metadata"]) && typeof value["metadata"]["name"] === "string";
}
