/**
 * Files that share a process leave it as they found it, or one would fail for what another did: whoever leaves something
 * behind fails himself. The modules that they share keep nothing.
 */
import { afterAll, expect, vi } from "vitest";

const EVENTS = ["SIGTERM", "SIGINT", "SIGHUP", "uncaughtException", "unhandledRejection", "warning"] as const;

/** What one file could change for another. */
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
