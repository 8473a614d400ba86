/**
 * Maglev hashing: a table in which every upstream holds as many places as its weight says, laid out so that most places
 * stay with whom they were when upstreams come and go.
 *
 * @see Eisenbud et al., "Maglev: A Fast and Reliable Software Network Load Balancer", NSDI 2016, §3.4
 */
import { hashText } from "./apply-hash.ts";

export interface MaglevMember {
  /** What its places are derived from: the same in all processes. */
  readonly name: string;
  readonly weight: number;
}

/** Who is told by index, in the order of the members given. */
export interface MaglevTable {
  readonly size: number;
  /** Places filled so far. */
  readonly filled: number;
  /** Goes on filling, for about so many steps. @returns true once it is full */
  fill(steps: number): boolean;
  /** @param hash an unsigned 32-bit number @returns index of the member; fills what is left first */
  at(hash: number): number;
}

/**
 * Of all the places that are looked at, in sizes of the table times its natural logarithm. Members with permutations of
 * their own look at one such unit; those whose names have one hash would follow each other, and look at the whole table
 * each. Past it the next free place will do.
 */
const MAX_LOOKS = 4;

/**
 * The members take turns in claiming the next free place of their own permutation of the table. One with half the weight
 * of the heaviest has every second turn; each has one in the first round, so that none goes without a place.
 *
 * @param members at least one, at most `size`
 * @param size prime: only then does every step width visit all places
 */
export function createMaglevTable(members: readonly MaglevMember[], size: number): MaglevTable {
  const count = members.length;
  const { owners, nobody } = placesFor(count, size);
  let work: Filling | undefined;

  const begin = (): Filling => {
    owners.fill(nobody);
    const heaviest = Math.max(...members.map(({ weight }) => weight));
    const limiter = new Limiter(size, count);
    for (let member = 0; member < count; member += 1) limiter.add(0, member);
    return {
      limiter,
      next: Uint32Array.from(members, ({ name }) => hashText(`offset ${name}`) % size),
      step: Uint32Array.from(members, ({ name }) => (hashText(`skip ${name}`) % (size - 1)) + 1),
      taken: new Float64Array(count),
      pace: Float64Array.from(members, ({ weight }) => heaviest / weight),
      looksLeft: Math.ceil(MAX_LOOKS * size * Math.log(size)),
      free: 0,
    };
  };

  const fill = (steps: number): boolean => {
    if (table.filled === size) return true;
    const filling = (work ??= begin());
    const { limiter, next, step, taken, pace } = filling;
    let left = steps;
    while (left > 0 && table.filled < size) {
      const member = limiter.take();
      const before = left;
      // Its permutation, or every place in turn.
      const isLate = filling.looksLeft <= 0;
      const width = isLate ? 1 : (step[member] as number);
      let place = isLate ? filling.free : (next[member] as number);
      while (owners[place] !== nobody) {
        place += width;
        if (place >= size) place -= size;
        left -= 1;
      }
      owners[place] = member;
      table.filled += 1;
      left -= 1;
      filling.looksLeft -= before - left;
      if (isLate) filling.free = place;
      place += width;
      next[member] = place >= size ? place - size : place;
      const turn = (taken[member] as number) + 1;
      taken[member] = turn;
      limiter.add(Math.ceil(turn * (pace[member] as number)), member);
    }
    if (table.filled < size) return false;
    work = undefined;
    return true;
  };

  const table: MaglevTable & { filled: number } = {
    size,
    filled: 0,
    fill,
    at(hash) {
      if (table.filled < size) fill(Number.POSITIVE_INFINITY);
      return owners[hash % size] as number;
    },
  };
  return table;
}

/** As small as may be, for the caches of the processor. */
function placesFor(
  count: number,
  size: number,
): { readonly owners: Uint8Array | Uint16Array | Uint32Array; readonly nobody: number } {
  if (count <= 0xff) return { owners: new Uint8Array(size), nobody: 0xff };
  if (count <= 0xff_ff) return { owners: new Uint16Array(size), nobody: 0xff_ff };
  return { owners: new Uint32Array(size), nobody: 0xff_ff_ff_ff };
}

/** What is needed only while a table is being filled. */
interface Filling {
  readonly limiter: Limiter;
  /** Of each member: the place it looks at next. */
  readonly next: Uint32Array;
  readonly step: Uint32Array;
  readonly taken: Float64Array;
  /** Rounds from one of its turns to the next. */
  readonly pace: Float64Array;
  /** Places that may still be looked at by permutations. */
  looksLeft: number;
  /** No place before it is free, once they are taken in turn. */
  free: number;
}

/** Whose turn it is: members by round. With very different weights most rounds are the heaviest's alone. */
class Limiter {
  /** First and last member of each round, and the one after each member; -1 = none. */
  readonly #first: Int32Array;
  readonly #last: Int32Array;
  readonly #after: Int32Array;
  #round = 0;

  /** @param rounds the heaviest fills a place in each, so there cannot be more than places */
  constructor(rounds: number, members: number) {
    this.#first = new Int32Array(rounds).fill(-1);
    this.#last = new Int32Array(rounds);
    this.#after = new Int32Array(members);
  }

  /** Turns that would come after the table is full are dropped. */
  add(round: number, member: number): void {
    if (round >= this.#first.length) return;
    this.#after[member] = -1;
    if (this.#first[round] === -1) this.#first[round] = member;
    else this.#after[this.#last[round] as number] = member;
    this.#last[round] = member;
  }

  take(): number {
    let member = this.#first[this.#round] as number;
    while (member === -1) member = this.#first[(this.#round += 1)] as number;
    this.#first[this.#round] = this.#after[member] as number;
    return member;
  }
}
