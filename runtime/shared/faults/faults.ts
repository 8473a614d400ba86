/**
 * Programming errors that a guard caught, on their way to the log and the metrics.
 *
 * They belong to the process, not to one gateway: guards run where no log is available, and an uncaught error belongs
 * to no part.
 */

export interface Fault {
  /** Scope of the damage: one request, nothing (a task runs again), or the process. */
  readonly scope: "request" | "task" | "process";
  readonly error: unknown;
  /** ID of the request that ended, if known. */
  readonly request?: string | undefined;
  /** Name of the failed work, if no request is known. */
  readonly what?: string | undefined;
}

const listeners = new Set<(fault: Fault) => void>();

/** @returns unsubscribe */
export function onFault(listener: (fault: Fault) => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** Never throws: no caller is left to catch. */
export function reportFault(fault: Fault): void {
  for (const listener of listeners) {
    try {
      listener(fault);
    } catch {
      // The owner of a broken log reports it.
    }
  }
}
