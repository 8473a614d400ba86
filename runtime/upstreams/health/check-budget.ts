/**
 * How many health checks are made: so many a second and so many at a time, of one owner's upstreams and of all.
 *
 * Untrusted input: intervals and numbers of upstreams, which owners choose. Promise: an owner who wants more than its share has the
 * intervals of its checks stretched by one factor, and no other owner's are.
 */

/** A check costs some 200 µs of the main thread: 8 % of it at the most. */
export const MOST_A_SECOND = { owner: 100, process: 400 } as const;
/** Checks of upstreams that do not answer last as long as their timeouts, each with a connection. */
export const MOST_AT_A_TIME = { owner: 64, process: 256 } as const;

/** What an owner's checks would be. */
export interface Wanted {
  readonly checks: number;
  readonly perSecond: number;
}

/** How an owner's checks are spread: all of them read it whenever they wait. */
export interface Pace {
  /** By which intervals are longer than written; 1 = as written. */
  readonly stretch: number;
  /** How long the first round takes, at least. */
  readonly firstRoundMs: number;
}

export const USUAL_PACE: Pace = { stretch: 1, firstRoundMs: 0 };

/** What small owners leave of the process's share is the large ones', in equal parts. */
export function paces(wanted: ReadonlyMap<string, Wanted>): ReadonlyMap<string, Pace> {
  const found = new Map<string, Pace>();
  let left: number = MOST_A_SECOND.process;
  let owners = wanted.size;
  for (const [owner, { checks, perSecond }] of [...wanted].toSorted(([, a], [, b]) => a.perSecond - b.perSecond)) {
    const share = Math.min(MOST_A_SECOND.owner, left / owners);
    const granted = Math.min(perSecond, share);
    left -= granted;
    owners -= 1;
    found.set(owner, { stretch: perSecond / granted, firstRoundMs: (checks / share) * 1000 });
  }
  return found;
}

/** Those that are under way. */
export interface CheckSlots {
  /** @returns gives the slot back; undefined when there is none */
  take(owner: string): (() => void) | undefined;
}

export function createCheckSlots(): CheckSlots {
  const underWay = new Map<string, number>();
  let all = 0;
  return {
    take(owner) {
      const own = underWay.get(owner) ?? 0;
      if (own >= MOST_AT_A_TIME.owner || all >= MOST_AT_A_TIME.process) return undefined;
      underWay.set(owner, own + 1);
      all += 1;
      let isTaken = true;
      return () => {
        if (!isTaken) return;
        isTaken = false;
        all -= 1;
        const rest = (underWay.get(owner) ?? 1) - 1;
        if (rest === 0) underWay.delete(owner);
        else underWay.set(owner, rest);
      };
    },
  };
}

/** What a check found, not before the next turn of the event loop; "" = healthy. Only the first word counts. */
export type CheckDone = (error: string) => void;
