/** What this process has seen of the tools of each route with a lock; it outlives reloads. */
import type { CompiledRoute } from "../../config/compiled.ts";
import type { ToolLock } from "../../features/mcp/tool-lock.ts";
import type { ToolDrift, ToolsCheck } from "./check-tools.ts";
import { checkTools } from "./check-tools.ts";
import { SeenTools, type ToolState } from "./seen-tools.ts";
import type { ListAnswer } from "../lists/list-answer.ts";

export interface ToolLocks {
  stateOf(route: CompiledRoute, lock: ToolLock, tool: string): ToolState;
  check(route: CompiledRoute, lock: ToolLock, bytes: Buffer, answer: ListAnswer): ToolsCheck;
  /** Takes what an answer showed for what the server lists now. @returns what differs and was not known to */
  observe(route: CompiledRoute, check: ToolsCheck): readonly ToolDrift[];
  /** Forgets routes and tools that have no lock any more. */
  follow(routes: readonly CompiledRoute[]): void;
}

export function createToolLocks(): ToolLocks {
  const seen = new Map<string, SeenTools>();
  const seenOf = ({ key }: CompiledRoute): SeenTools => {
    let known = seen.get(key);
    if (!known) seen.set(key, (known = new SeenTools()));
    return known;
  };
  return {
    stateOf: (route, lock, tool) => seenOf(route).stateOf(lock, tool),
    check: (route, lock, bytes, answer) => checkTools(lock, seenOf(route).memory, bytes, answer),
    observe: (route, check) => seenOf(route).observe(check),
    follow(routes) {
      const locks = new Map(
        routes.flatMap((route) => {
          const lock = toolLockOf(route);
          return lock ? [[route.key, lock] as const] : [];
        }),
      );
      for (const [key, tools] of seen) {
        const lock = locks.get(key);
        if (lock) tools.keep(lock);
        else seen.delete(key);
      }
    },
  };
}

export function toolLockOf({ mcp }: CompiledRoute): ToolLock | undefined {
  return mcp?.kind === "server" ? mcp.toolLock : undefined;
}
