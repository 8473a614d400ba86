/**
 * Limits on health checks: per second and concurrently, for one owner's upstreams and for all.
 *
 * Untrusted input: intervals and numbers of upstreams, which owners choose. Promise: if an owner exceeds its share, the
 * intervals of its checks are stretched by one factor, and no other owner's.
 */

/** A check costs about 200 µs of the main thread: with this limit, 8 % of it at most. */
export const MOST_A_SECOND = { owner: 100, process: 400 } as const;
/** Checks of upstreams that do not respond last as long as their timeouts, each with a connection. */
export const MOST_AT_A_TIME = { owner: 64, process: 256 } as const;

/** The checks that an owner configured. */
export interface CheckLoad {
  readonly checks: number;
  readonly perSecond: number;
}

/** Pace of an owner's checks: all of them read it whenever they wait. */
export interface Pace {
  /** Factor by which intervals are longer than configured; 1 = as configured. */
  readonly stretch: number;
  /** Shortest duration of the first round. */
  readonly firstRoundMs: number;
}

export const USUAL_PACE: Pace = { stretch: 1, firstRoundMs: 0 };

/** Small owners get what they need. Large ones share the rest of the process's limit equally. */
export function paces(loads: ReadonlyMap<string, CheckLoad>): ReadonlyMap<string, Pace> {
  const found = new Map<string, Pace>();
  let left: number = MOST_A_SECOND.process;
  let owners = loads.size;
  for (const [owner, { checks, perSecond }] of [...loads].toSorted(([, a], [, b]) => a.perSecond - b.perSecond)) {
    const share = Math.min(MOST_A_SECOND.owner, left / owners);
    const granted = Math.min(perSecond, share);
    left -= granted;
    owners -= 1;
    found.set(owner, { stretch: perSecond / granted, firstRoundMs: (checks / share) * 1000 });
  }
  return found;
}

/** Slots for checks in progress. */
export interface CheckSlots {
  /** @returns gives the slot back; undefined when there is none */
  take(owner: string): (() => void) | undefined;
}

export function createCheckSlots(): CheckSlots {
  const inProgress = new Map<string, number>();
  let all = 0;
  return {
    take(owner) {
      const own = inProgress.get(owner) ?? 0;
      if (own >= MOST_AT_A_TIME.owner || all >= MOST_AT_A_TIME.process) return undefined;
      inProgress.set(owner, own + 1);
      all += 1;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        all -= 1;
        const rest = (inProgress.get(owner) ?? 1) - 1;
        if (rest === 0) inProgress.delete(owner);
        else inProgress.set(owner, rest);
      };
    },
  };
}

/** Reports the result of a check, not before the next turn of the event loop; "" = healthy. Only the first call counts. */
export type CheckDone = (error: string) => void;
