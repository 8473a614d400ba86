/**
 * Guards around what Node calls: listeners, timers, ticks. What such a function throws has nobody above it to catch it, and would end
 * the process with the requests of everybody.
 *
 * Promise: what is thrown ends its owner alone, and is told (faults.ts). test/boundaries.test.ts has the list of all places.
 */
import { tellFault } from "./faults.ts";

/** One exchange, call, connection or stream: what ends where its own code fails. */
export interface Guarded {
  /** Ends it, and tells why. May be called more than once. */
  broke(error: unknown): void;
}

/** For a listener or timer that acts for one owner. At most three arguments are passed on: Node has no listener of ours with more. */
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

/** For a function that many owners share, each of which it gets as its first argument: none is made for each event. */
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

/** For a connection of which no request is known: it is cut. */
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
    tellFault({ scope: "request", what: "a connection", error });
    this.#socket.destroy();
  }
}

/** For work that acts for no exchange: its owner goes on, and does it again the next time. @param what for the log: "the sweep of the store" */
export function task<A extends readonly unknown[]>(what: string, run: (...args: A) => unknown): (...args: A) => void {
  const failed = (error: unknown): void => tellFault({ scope: "task", what, error });
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

/** Of what fails even while it is ended nothing is left to try. */
function endOwner(owner: Guarded, error: unknown): void {
  try {
    owner.broke(error);
  } catch (second) {
    tellFault({ scope: "request", what: "the end of a request that failed", error: second });
  }
}
