/**
 * Lists that were read before: servers send the same list to every client, and comparing it costs a fiftieth of reading it.
 *
 * Promise: a remembered reading is used only for the same bytes, except for the response's ID, which must be the ID of the
 * request, byte for byte. It says nothing about who may see what: that is decided at each use.
 */
import { readListAnswer, type ListAnswer } from "../../mcp/lists/list-answer.ts";
import { FairCache } from "./fair-cache.ts";

interface Known {
  readonly bytes: Buffer;
  readonly idLength: number;
  readonly answer: ListAnswer;
}

/** Memory of all lists, and of those of one source. */
const MAX_BYTES = 16 * 1024 * 1024;
const MAX_SOURCE_BYTES = 4 * 1024 * 1024;
/** Estimates for an entry, and for an item with its name. */
const [ENTRY_BYTES, ITEM_BYTES] = [1000, 200];

export class KnownLists {
  readonly #known = new FairCache<Known>(MAX_BYTES, MAX_SOURCE_BYTES);

  /** @param id JSON text of the request's ID @returns undefined for an unknown list */
  find(source: string, bytes: Buffer, id: string | undefined): ListAnswer | undefined {
    const known = id === undefined ? undefined : this.#known.get(keyOf(source, bytes));
    return id !== undefined && known !== undefined && isSame(known, bytes, Buffer.from(id))
      ? { ...known.answer, id }
      : undefined;
  }

  /** @returns like `readListAnswer()` */
  read(source: string, bytes: Buffer, id: string | undefined): ListAnswer | "none" | "unreadable" {
    const known = this.find(source, bytes, id);
    if (known !== undefined) return known;
    const answer = readListAnswer(bytes);
    if (typeof answer === "string" || id === undefined || answer.id !== id) return answer;
    const items = answer.lists.reduce((sum, list) => sum + list.items.length, 0);
    // Memory of its own: a part of a shared one would keep all of that.
    const copy = Buffer.allocUnsafeSlow(bytes.length);
    bytes.copy(copy);
    const kept = { bytes: copy, idLength: Buffer.byteLength(id), answer };
    const size = ENTRY_BYTES + bytes.length + items * ITEM_BYTES;
    this.#known.set(keyOf(source, bytes), kept, size, [source]);
    return answer;
  }
}

function keyOf(source: string, bytes: Buffer): string {
  return `${bytes.length} ${source}`;
}

/** One for the process: the configuration does not change what a server lists. */
export const KNOWN_LISTS = new KnownLists();

function isSame({ bytes: known, idLength, answer: { idStart } }: Known, bytes: Buffer, id: Buffer): boolean {
  const idEnd = idStart + idLength;
  return (
    id.length === idLength &&
    bytes.compare(id, 0, idLength, idStart, idEnd) === 0 &&
    bytes.compare(known, 0, idStart, 0, idStart) === 0 &&
    bytes.compare(known, idEnd, known.length, idEnd) === 0
  );
}
