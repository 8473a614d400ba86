/**
 * Mistakes of ours that a guard caught, on their way to the log and the metrics.
 *
 * Of the process, not of one gateway: guards stand where no log is at hand, and what nobody caught belongs to no part.
 */

export interface Fault {
  /** What ended: one request, nothing (a task goes on), or the process. */
  readonly scope: "request" | "task" | "process";
  readonly error: unknown;
  /** Of the request that ended, where one is known. */
  readonly request?: string | undefined;
  /** What failed, where no request is known. */
  readonly what?: string | undefined;
}

const listeners = new Set<(fault: Fault) => void>();

/** @returns unsubscribe */
export function onFault(listener: (fault: Fault) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Never throws: it is called where nobody is left to catch. */
export function tellFault(fault: Fault): void {
  for (const listener of listeners) {
    try {
      listener(fault);
    } catch {
      // A log that cannot be written is reported by its owner.
    }
  }
}
