/** What a server last listed under each name that is locked: by it calls are judged, which carry no definition. */
import type { ToolLock } from "../../features/mcp/tool-lock.ts";
import { DigestMemory, type ToolDrift, type ToolsCheck } from "./check-tools.ts";

export type ToolState =
  /** No list has shown it yet. */
  "unseen" | "reviewed" | "changed" | "unlocked";

export class SeenTools {
  readonly memory = new DigestMemory();
  /** By name; "" for a definition that could not be read. No more names than were ever locked at once. */
  readonly #digests = new Map<string, string>();
  /** Names without a lock that have been told of. */
  readonly #strangers = new Set<string>();

  stateOf(lock: ToolLock, tool: string): ToolState {
    const digests = lock.tools.get(tool);
    if (digests === undefined) return "unlocked";
    const seen = this.#digests.get(tool);
    return seen === undefined ? "unseen" : digests.has(seen) ? "reviewed" : "changed";
  }

  /** @returns what differs and was not known to */
  observe({ drifts, reviewed }: ToolsCheck): readonly ToolDrift[] {
    for (const [tool, digest] of reviewed) this.#digests.set(tool, digest);
    return drifts.filter(({ tool, kind, digest = "" }) => {
      if (kind === "unlocked") return this.#isNewStranger(tool);
      if (this.#digests.get(tool) === digest) return false;
      this.#digests.set(tool, digest);
      return true;
    });
  }

  /** Forgets what is no longer locked. */
  keep(lock: ToolLock): void {
    for (const tool of this.#digests.keys()) if (!lock.tools.has(tool)) this.#digests.delete(tool);
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
