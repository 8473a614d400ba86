/**
 * Test files that share a process must leave it unchanged, or one could fail because of another: a file that leaves something
 * behind fails itself. Shared modules keep no state.
 */
import { afterAll, expect, vi } from "vitest";

const EVENTS = ["SIGTERM", "SIGINT", "SIGHUP", "uncaughtException", "unhandledRejection", "warning"] as const;

/** State that one file could change for another. */
function processState(): object {
  return {
    environment: { ...process.env },
    directory: process.cwd(),
    umask: process.umask(),
    fakeTimers: vi.isFakeTimers(),
    listeners: Object.fromEntries(EVENTS.map((event) => [event, process.listenerCount(event)])),
    fetch: globalThis.fetch,
  };
}

// Before the file itself is loaded, and after its last hook.
const before = processState();
afterAll(() => {
  expect(processState(), "left behind for the files that run later in this process").toEqual(before);
});
