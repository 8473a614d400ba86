/**
 * Guards around functions that Node calls: listeners, timers, ticks. No caller above them catches their errors, so an
 * error would end the process with all requests.
 *
 * Promise: an error ends its owner only, and is reported (faults.ts). test/boundaries.test.ts lists all guarded
 * functions.
 */
import { reportFault } from "./faults.ts";

/** One exchange, call, connection or stream: the unit that ends when its own code fails. */
export interface Guarded {
  /** Ends the owner and reports why. Can be called more than once. */
  broke(error: unknown): void;
}

/**
 * For a listener or timer that acts for one owner. Passes on at most three arguments: no Node listener used here has
 * more.
 */
export function guard<A extends readonly unknown[], R>(
  owner: Guarded,
  run: (...args: A) => R,
): (...args: A) => R | undefined {
  const step = run as unknown as Step<R>;
  const guarded: Step<R | undefined> = (a, b, c) => {
    try {
      return step(a, b, c);
    } catch (error) {
      endOwner(owner, error);
      return undefined;
    }
  };
  return guarded as unknown as (...args: A) => R | undefined;
}

/**
 * For a function that many owners share. It gets the owner as its first argument, so no closure is created per event.
 */
export function guardEach<O extends Guarded, A extends readonly unknown[], R>(
  run: (owner: O, ...args: A) => R,
): (owner: O, ...args: A) => R | undefined {
  const step = run as unknown as (owner: O, a: unknown, b: unknown, c: unknown) => R;
  const guarded = (owner: O, a: unknown, b: unknown, c: unknown): R | undefined => {
    try {
      return step(owner, a, b, c);
    } catch (error) {
      endOwner(owner, error);
      return undefined;
    }
  };
  return guarded as unknown as (owner: O, ...args: A) => R | undefined;
}

/** For a connection without a known request: the connection is closed. */
export function guardSocket<A extends readonly unknown[], R>(
  socket: { destroy(): unknown },
  run: (...args: A) => R,
): (...args: A) => R | undefined {
  return guard(new CutSocket(socket), run);
}

class CutSocket implements Guarded {
  readonly #socket: { destroy(): unknown };

  constructor(socket: { destroy(): unknown }) {
    this.#socket = socket;
  }

  broke(error: unknown): void {
    reportFault({ scope: "request", what: "a connection", error });
    this.#socket.destroy();
  }
}

/**
 * For work outside any request: its owner continues, and runs it again the next time. @param what for the log: "the
 * sweep of the store"
 */
export function task<A extends readonly unknown[]>(what: string, run: (...args: A) => unknown): (...args: A) => void {
  const failed = (error: unknown): void => reportFault({ scope: "task", what, error });
  return (...args) => {
    try {
      const result = run(...args);
      if (result instanceof Promise) result.catch(failed);
    } catch (error) {
      failed(error);
    }
  };
}

type Step<R> = (a: unknown, b: unknown, c: unknown) => R;

/** Ends the owner. If that fails as well, nothing is left to try. */
function endOwner(owner: Guarded, error: unknown): void {
  try {
    owner.broke(error);
  } catch (second) {
    reportFault({ scope: "request", what: "the end of a request that failed", error: second });
  }
}
