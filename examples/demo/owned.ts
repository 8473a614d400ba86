/** What a stage has opened, in order: closed together, the newest first. */
import type { Closable } from "../../runtime/shared/clock.ts";
import { closeAll } from "../../runtime/shared/faults/close-all.ts";

export interface Owned {
  /** @returns the same part */
  readonly own: <T extends Closable>(part: T) => T;
  readonly close: () => Promise<void>;
}

export function createOwned(): Owned {
  const opened: Closable[] = [];
  return {
    own(part) {
      opened.push(part);
      return part;
    },
    close: () => closeAll(opened.splice(0)),
  };
}
