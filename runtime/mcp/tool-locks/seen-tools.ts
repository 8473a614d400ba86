/**
 * The latest definition that a server listed for each locked key (features/mcp/locked-items.ts). Calls carry no
 * definition, so they are checked against it. Everything here about tools also applies to prompts and other locked
 * items.
 *
 * A server may show one caller another list than the rest. So a list counts for its own viewer's calls, whatever others
 * see. Only a later request replaces it: not another page of the same list, not an unrequested response, and not the
 * response to a request for another kind of list.
 */
import { hashSecret } from "../../shared/keys.ts";
import { kindOfKey, type LockedKind } from "../../features/mcp/locked-items.ts";
import type { ToolLock } from "../../features/mcp/tool-lock.ts";
import { DigestMemory, type ToolDrift, type ToolsCheck } from "./check-tools.ts";

export type ToolState =
  /** Not in any list yet. */
  "unseen" | "reviewed" | "changed" | "unlocked";

/** Whether calls of a tool of this state are denied. */
export function isLockedAway(
  lock: Pick<ToolLock, "onDrift" | "onUnlisted"> | undefined,
  state: ToolState,
): state is "unseen" | "changed" | "unlocked" {
  if (lock === undefined || state === "reviewed") return false;
  return state === "unseen" ? lock.onUnlisted === "deny" : lock.onDrift !== "warn";
}

/** By key: the digest that does not match the lock, "" for an unreadable definition; undefined: it matches again. */
export type DriftChanges = ReadonlyMap<string, string | undefined>;

export interface Observation {
  /** Newly detected differences, for the log. */
  readonly newDrifts: readonly ToolDrift[];
  /** Changes that other processes do not know yet. */
  readonly changes: DriftChanges;
}

/** A list of a server, as one viewer sees it. */
export interface Viewing {
  /** User and client. */
  readonly viewer: string;
  /**
   * When the first page of such a list was requested, see `begin`; NEVER if this response was not to such a request.
   */
  readonly since: (kind: LockedKind) => number;
}

export const NEVER = -1;

interface Run {
  readonly since: number;
  /** JSON text of the id of its latest request. */
  readonly id: string | undefined;
}

export class SeenTools {
  readonly memory = new DigestMemory();
  /** By name; "" for an unreadable definition. Never more names than were locked at the same time. */
  readonly #digests = new Map<string, string>();
  /** Names whose last listed definition did not match the lock, with the time; also by viewer, see `#ownKey`. */
  readonly #drifted = new Map<string, number>();
  /** By `#ownKey`: the digest that this viewer saw instead of the locked one. */
  readonly #own = new Map<string, string>();
  /** By kind and viewer: two lists of one viewer may arrive at the same time. */
  readonly #runs = new Map<string, Run>();
  /** Definitions that differ from the lock or are not in it, for display. */
  readonly #texts = new Map<string, string>();
  /** Counts the requested lists. */
  #time = 0;
  /** Reported names that are not in the lock. */
  readonly #unlocked = new Set<string>();

  stateOf(lock: ToolLock, tool: string, viewer: string): ToolState {
    const digests = lock.items.get(tool);
    if (digests === undefined) return "unlocked";
    const own = this.#own.size === 0 ? undefined : this.#own.get(ownKey(viewer, tool));
    if (own !== undefined && !digests.has(own)) return "changed";
    const seen = this.#digests.get(tool);
    return seen === undefined ? "unseen" : digests.has(seen) ? "reviewed" : "changed";
  }

  /** Known differences from the lock, for any viewer, and listed tools that are not in it. */
  differences(): { readonly changed: ReadonlySet<string>; readonly unlocked: ReadonlySet<string> } {
    return { changed: new Set([...this.#drifted.keys()].map(toolOfKey)), unlocked: new Set(this.#unlocked) };
  }

  /** Notes a request for a list, or for another page of it. @returns when it began */
  begin(viewer: string, kind: LockedKind, id: string | undefined, isFirstPage: boolean): number {
    const key = runKey(viewer, kind);
    const known = this.#runs.get(key);
    if (isFirstPage) this.#time += 1;
    const since = isFirstPage ? this.#time : (known?.since ?? NEVER);
    this.#runs.delete(key);
    this.#runs.set(key, { since, id });
    if (this.#runs.size > MAX_VIEWERS) this.#runs.delete(first(this.#runs));
    return since;
  }

  /** When the list was requested, for a response on another connection than the request. */
  sinceOf(viewer: string, kind: LockedKind, id: string | undefined): number {
    const run = this.#runs.get(runKey(viewer, kind));
    return run !== undefined && id !== undefined && run.id === id ? run.since : NEVER;
  }

  /** Text of a tool's definition that differs from the lock; undefined if another process has seen it. */
  definitionOf(tool: string): string | undefined {
    return this.#texts.get(tool);
  }

  /** @param sharesSeen also share matching definitions with other processes */
  observe({ drifts, reviewed, textOf }: ToolsCheck, { viewer, since }: Viewing, sharesSeen = false): Observation {
    const changes = new Map<string, string | undefined>();
    const ownPrefix = ownKey(viewer, "");
    for (const [tool, digest] of reviewed) {
      const own = ownPrefix + tool;
      const at = since(kindOfKey(tool));
      if (this.#ends(own, at)) {
        this.#own.delete(own);
        changes.set(own, undefined);
      }
      const isOver = this.#ends(tool, at);
      if (isOver) changes.set(tool, undefined);
      if (sharesSeen && !this.#digests.has(tool)) changes.set(seenKey(tool), digest);
      if (isOver || !this.#drifted.has(tool)) this.#digests.set(tool, digest);
    }
    const newDrifts = drifts.filter(({ key: tool, kind, digest = "" }) => {
      if (kind === "unlocked") return this.#isNewUnlocked(tool);
      const isNew = this.#digests.get(tool) !== digest;
      if (isNew || !this.#drifted.has(tool)) changes.set(tool, digest);
      this.#digests.set(tool, digest);
      this.#drifted.set(tool, this.#time);
      // No call is checked against instructions: their viewers do not matter.
      if (kindOfKey(tool) === "instructions") return isNew;
      const own = ownPrefix + tool;
      if (this.#own.get(own) !== digest) changes.set(own, digest);
      this.#setOwn(own, digest);
      return isNew;
    });
    for (const { key } of newDrifts) this.#keepText(key, textOf(key));
    return { newDrifts, changes };
  }

  /** Merges the drift seen by all processes. @param pending names with newer knowledge in this process */
  learn(drifted: ReadonlyMap<string, string>, pending: DriftChanges): void {
    for (const [key, digest] of drifted) {
      if (pending.has(key) || isSeenKey(key)) continue;
      const known = isOwnKey(key) ? this.#own.get(key) : this.#digests.get(key);
      if (known === digest && this.#drifted.has(key)) continue;
      if (isOwnKey(key)) this.#setOwn(key, digest);
      else {
        this.#digests.set(key, digest);
        this.#drifted.set(key, this.#time);
      }
    }
    for (const key of this.#drifted.keys()) {
      if (drifted.has(key) || pending.has(key)) continue;
      this.#drifted.delete(key);
      this.#digests.delete(key);
      this.#own.delete(key);
    }
    for (const [key, digest] of drifted) {
      const tool = key.slice(SEEN.length);
      if (isSeenKey(key) && !this.#digests.has(tool)) this.#digests.set(tool, digest);
    }
  }

  /** Drops names that are no longer locked, but not drifted ones: a lock that returns still applies to them. */
  keep(lock: ToolLock): void {
    const isFull = this.#drifted.size > MAX_DRIFTED;
    for (const key of this.#drifted.keys())
      if (isFull && !lock.items.has(toolOfKey(key))) {
        this.#drifted.delete(key);
        this.#own.delete(key);
      }
    for (const tool of this.#digests.keys())
      if (!lock.items.has(tool) && !this.#drifted.has(tool)) this.#digests.delete(tool);
    for (const tool of this.#unlocked)
      if (lock.items.has(tool) || !lock.kinds.has(kindOfKey(tool))) this.#unlocked.delete(tool);
  }

  #keepText(tool: string, text: string | undefined): void {
    this.#texts.delete(tool);
    if (text === undefined) return;
    this.#texts.set(tool, text);
    if (this.#texts.size > MAX_TEXTS) this.#texts.delete(first(this.#texts));
  }

  /** Whether a list that shows the locked definition ends a drift. */
  #ends(key: string, since: number): boolean {
    const at = this.#drifted.get(key);
    return at !== undefined && since > at && this.#drifted.delete(key);
  }

  #setOwn(key: string, digest: string): void {
    this.#own.delete(key);
    this.#own.set(key, digest);
    this.#drifted.set(key, this.#time);
    if (this.#own.size <= MAX_OWN) return;
    const oldest = first(this.#own);
    this.#own.delete(oldest);
    this.#drifted.delete(oldest);
  }

  #isNewUnlocked(tool: string): boolean {
    if (this.#unlocked.has(tool)) return false;
    // Names that a server makes up are reported only from time to time.
    if (this.#unlocked.size >= MAX_UNLOCKED) this.#unlocked.clear();
    this.#unlocked.add(tool);
    return true;
  }
}

const MAX_UNLOCKED = 1_000;
/** Above it, names that are no longer locked are dropped. */
const MAX_DRIFTED = 10_000;
/** The latest ones, of 32 KiB at most. */
const MAX_TEXTS = 32;
/** Limit for viewers: those of the latest lists. */
const MAX_VIEWERS = 10_000;
/** Limit for tools that a viewer saw in another form: those of the latest lists. */
export const MAX_OWN = 1_000;

function runKey(viewer: string, kind: LockedKind): string {
  return kind + viewer;
}

/** Key of a tool as one viewer saw it; no item key has this prefix. */
function ownKey(viewer: string, tool: string): string {
  return `\0${hashSecret(viewer)}\0${tool}`;
}

export function isOwnKey(key: string): boolean {
  return key.startsWith("\0");
}

/** Prefix for a tool that some process saw matching the lock; no item key has it. */
const SEEN = "\u0001";

function seenKey(tool: string): string {
  return SEEN + tool;
}

export function isSeenKey(key: string): boolean {
  return key.startsWith(SEEN);
}

export function toolOfKey(key: string): string {
  return isOwnKey(key) ? key.slice(key.indexOf("\0", 1) + 1) : key;
}

function first(map: ReadonlyMap<string, unknown>): string {
  return map.keys().next().value ?? "";
}
