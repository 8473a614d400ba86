/** What a server last listed under each name that is locked: by it calls are judged, which carry no definition. */
import type { ToolLock } from "../../features/mcp/tool-lock.ts";
import { DigestMemory, type ToolDrift, type ToolsCheck } from "./check-tools.ts";

export type ToolState =
  /** No list has shown it yet. */
  "unseen" | "reviewed" | "changed" | "unlocked";

/** By name: the digest that is not a reviewed one, "" where it could not be read; undefined: it is as reviewed again. */
export type DriftChanges = ReadonlyMap<string, string | undefined>;

export interface Observation {
  /** What differs and was not known to, for people. */
  readonly news: readonly ToolDrift[];
  /** What other processes do not know, for them. */
  readonly changes: DriftChanges;
}

export class SeenTools {
  readonly memory = new DigestMemory();
  /** By name; "" for a definition that could not be read. No more names than were ever locked at once. */
  readonly #digests = new Map<string, string>();
  /** Those of them that were not as reviewed when they were listed. */
  readonly #drifted = new Set<string>();
  /** Names without a lock that have been told of. */
  readonly #strangers = new Set<string>();

  stateOf(lock: ToolLock, tool: string): ToolState {
    const digests = lock.tools.get(tool);
    if (digests === undefined) return "unlocked";
    const seen = this.#digests.get(tool);
    return seen === undefined ? "unseen" : digests.has(seen) ? "reviewed" : "changed";
  }

  observe({ drifts, reviewed }: ToolsCheck): Observation {
    const changes = new Map<string, string | undefined>();
    for (const [tool, digest] of reviewed) {
      this.#digests.set(tool, digest);
      if (this.#drifted.delete(tool)) changes.set(tool, undefined);
    }
    const news = drifts.filter(({ tool, kind, digest = "" }) => {
      if (kind === "unlocked") return this.#isNewStranger(tool);
      const isNew = this.#digests.get(tool) !== digest;
      if (isNew || !this.#drifted.has(tool)) changes.set(tool, digest);
      this.#digests.set(tool, digest);
      this.#drifted.add(tool);
      return isNew;
    });
    return { news, changes };
  }

  /** What all processes together have seen drift. @param pending names of which this one knows better */
  learn(drifted: ReadonlyMap<string, string>, pending: DriftChanges): void {
    for (const [tool, digest] of drifted) {
      if (pending.has(tool)) continue;
      this.#digests.set(tool, digest);
      this.#drifted.add(tool);
    }
    for (const tool of this.#drifted) {
      if (drifted.has(tool) || pending.has(tool)) continue;
      this.#drifted.delete(tool);
      this.#digests.delete(tool);
    }
  }

  /** Forgets what is no longer locked. */
  keep(lock: ToolLock): void {
    for (const tool of this.#digests.keys()) if (!lock.tools.has(tool)) this.#digests.delete(tool);
    for (const tool of this.#drifted) if (!lock.tools.has(tool)) this.#drifted.delete(tool);
    for (const tool of this.#strangers) if (lock.tools.has(tool)) this.#strangers.delete(tool);
  }

  #isNewStranger(tool: string): boolean {
    if (this.#strangers.has(tool)) return false;
    // A server that makes up names is told of now and then.
    if (this.#strangers.size >= MAX_STRANGERS) this.#strangers.clear();
    this.#strangers.add(tool);
    return true;
  }
}

const MAX_STRANGERS = 1_000;
