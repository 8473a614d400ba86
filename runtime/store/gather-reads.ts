/**
 * Reads of single records as one query for all that are asked for in one turn of the event loop: of one request (its
 * session, its user) and of all requests that arrived together. Per record, messages and queries cost more than reading.
 */
import { setImmediate as nextTurn } from "node:timers/promises";

import type { RawRecord } from "./record.ts";

/** A query must not keep the next ones waiting. */
const MOST_KEYS = 100;

interface Turn {
  readonly keys: Set<string>;
  readonly found: Promise<ReadonlyMap<string, RawRecord>>;
}

/** @param getAll records that exist, in any order */
export function gatherReads(
  getAll: (keys: readonly string[]) => Promise<readonly RawRecord[]>,
): (key: string) => Promise<RawRecord | undefined> {
  let turn: Turn | undefined;

  return async (key) => {
    if (turn === undefined || turn.keys.size >= MOST_KEYS) turn = startTurn();
    const { keys, found } = turn;
    keys.add(key);
    return (await found).get(key);
  };

  function startTurn(): Turn {
    const keys = new Set<string>();
    return { keys, found: readSoon(keys) };
  }

  async function readSoon(keys: ReadonlySet<string>): Promise<ReadonlyMap<string, RawRecord>> {
    await nextTurn();
    if (turn?.keys === keys) turn = undefined;
    return new Map((await getAll([...keys])).map((raw) => [raw.key, raw]));
  }
}
