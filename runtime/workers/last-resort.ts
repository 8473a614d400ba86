/**
 * What is left where an error reached nobody: it is told, what is under way finishes, and the process ends so that another one takes
 * its place. It does not go on: nobody knows what the error left half done.
 */
import { tellFault } from "../shared/faults/faults.ts";

/** For an end that others must see: the process did not stop because somebody asked. */
const EXIT_CODE = 1;

/**
 * Also for promises that were rejected unheard: Node makes an uncaught exception of each.
 *
 * @param drain stops accepting and lets what is under way finish; called once
 * @param withinMs longest time for that
 */
export function installLastResort(drain: (error: unknown) => Promise<void>, withinMs: number): void {
  let isEnding = false;
  const end = async (error: unknown): Promise<void> => {
    setTimeout(exit, withinMs).unref();
    try {
      await drain(error);
    } catch (second) {
      tellFault({ scope: "process", error: second });
    }
    exit();
  };
  process.on("uncaughtException", (error: unknown) => {
    tellFault({ scope: "process", error });
    if (isEnding) return;
    isEnding = true;
    void end(error);
  });
}

function exit(): never {
  process.exit(EXIT_CODE);
}
