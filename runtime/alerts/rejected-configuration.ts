/** Notifies that the newest configuration is not the active one. */
import type { Notify } from "../audit/events.ts";
import type { Closable } from "../shared/clock.ts";
import type { Bundle } from "../bundle/bundle.ts";

/** Enough to see the cause; the rest is in `/status`. */
const MAX_PROBLEMS = 5;
const MAX_LENGTH = 400;

export function startAlertingOnRejection(bundle: Pick<Bundle, "status" | "onReport">, notify: Notify): Closable {
  /** Sent once while it is unchanged, however often it is checked. */
  let last = "";
  const stop = bundle.onReport(check);
  check();
  return { close: async () => stop() };

  function check(): void {
    const { lastError, published, degraded } = bundle.status();
    // For files, only the list of problems shows that the state is the same.
    const subject = lastError ? JSON.stringify([published?.generation ?? 0, lastError.problems]) : "";
    if (subject === last) return;
    last = subject;
    if (!lastError) return;
    const { partial = false } = lastError;
    const isWarning = (line: string): number => Number(line.includes(": warning: "));
    const problems = lastError.problems.toSorted((a, b) => isWarning(a) - isWarning(b));
    const shown = problems.slice(0, MAX_PROBLEMS).map((problem) => problem.slice(0, MAX_LENGTH));
    const owners = degraded.slice(0, MAX_PROBLEMS).map(({ owner }) => owner);
    const data = { partial, problems: shown, more: problems.length - shown.length, owners };
    notify({ type: "configuration.refused", subject, data });
  }
}
