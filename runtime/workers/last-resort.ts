/**
 * Handles uncaught errors: the error is reported, requests in flight finish, and the process ends so that another one
 * replaces it. It does not continue: the error may have left work half done.
 */
import { reportFault } from "../shared/faults/faults.ts";

/** Shows the parent that the process did not stop on request. */
const EXIT_CODE = 1;

/**
 * Also for unhandled promise rejections: Node turns each into an uncaught exception.
 *
 * @param drain stops accepting and lets requests in flight finish; called once
 * @param withinMs longest time for that
 */
export function installLastResort(drain: (error: unknown) => Promise<void>, withinMs: number): void {
  let isEnding = false;
  const end = async (error: unknown): Promise<void> => {
    setTimeout(exit, withinMs).unref();
    try {
      await drain(error);
    } catch (second) {
      reportFault({ scope: "process", error: second });
    }
    exit();
  };
  process.on("uncaughtException", (error: unknown) => {
    reportFault({ scope: "process", error });
    if (isEnding) return;
    isEnding = true;
    void end(error);
  });
}

function exit(): never {
  process.exit(EXIT_CODE);
}
