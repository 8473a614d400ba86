import type { Closable } from "../clock.ts";

/**
 * Closes everything one at a time, newest first.
 *
 * A failure does not keep the others open: records would be lost, and the process would not exit.
 *
 * @param opened in the order in which they were opened
 * @throws AggregateError with every failure, after all were tried
 */
export async function closeAll(opened: readonly Closable[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of opened.toReversed()) {
    try {
      await part.close();
    } catch (error) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, "Some parts of the gateway could not be closed");
}
