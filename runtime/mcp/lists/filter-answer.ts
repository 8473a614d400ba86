/**
 * A list response without the items that its caller cannot use; hidden instructions become an empty string. The rest
 * stays byte for byte: unknown members, the form of numbers, the order.
 */
import type { ListedItem } from "../../policy/reach.ts";
import { canonicalJson, parseVerbatim } from "../../shared/canonical-json.ts";
import { spanText } from "../scan.ts";
import type { FoundItem, ListAnswer, ListKind } from "./list-answer.ts";

/** Filtered lists become outdated when the rules change. */
const MAX_TTL_MS = 60_000;

export interface FilterOptions {
  /** Whether the caller can use the item; absent: no item is checked by its name. */
  readonly keeps?: ((item: ListedItem) => boolean) | undefined;
  /** Items to omit whatever their names are. */
  readonly omitted?: ReadonlySet<FoundItem> | undefined;
  /** Revision 2026-07-28: responses state the scope and time for which clients may cache the list. */
  readonly isModern: boolean;
}

export interface FilteredAnswer {
  readonly bytes: Buffer;
  readonly hidden: number;
  readonly shown: number;
  /** It has an entry outside a list that the caller may not have. */
  readonly isDenied: boolean;
  /** Cursor of the next page. */
  readonly nextCursor: string | undefined;
}

interface Edit {
  readonly start: number;
  readonly end: number;
  readonly pieces: readonly Buffer[];
}

export function filterAnswer(bytes: Buffer, answer: ListAnswer, options: FilterOptions): FilteredAnswer {
  const edits: Edit[] = options.isModern ? [...cacheEdits(bytes, answer)] : [];
  let hidden = 0;
  let shown = 0;
  let isDenied = false;
  for (const { kind, items, start, end, isSingle } of answer.lists) {
    if (kind === "instructions") {
      const pieces = [NO_TEXT];
      if (items.some((item) => options.omitted?.has(item) === true)) edits.push({ start, end, pieces });
      continue;
    }
    if (isSingle) {
      isDenied ||= items.some((item) => !mayKeep(kind, item, options));
      continue;
    }
    const pieces: Buffer[] = [];
    const kept = keepRuns(bytes, items, pieces, (item) => mayKeep(kind, item, options));
    hidden += items.length - kept;
    shown += kept;
    if (kept < items.length) edits.push({ start: start + 1, end: end - 1, pieces });
  }
  const { nextCursor } = answer;
  return {
    bytes: edits.length === 0 ? bytes : splice(bytes, edits),
    hidden,
    shown,
    isDenied,
    nextCursor: nextCursor?.kind === "text" ? spanText(bytes, nextCursor) : undefined,
  };
}

/** @param pieces gets the kept items, neighbors as one piece with what separates them @returns the number of kept items */
function keepRuns(
  bytes: Buffer,
  items: readonly FoundItem[],
  pieces: Buffer[],
  keeps: (item: FoundItem) => boolean,
): number {
  let count = 0;
  let start = -1;
  let end = 0;
  const endRun = (): void => {
    if (start === -1) return;
    if (pieces.length > 0) pieces.push(COMMA);
    pieces.push(bytes.subarray(start, end));
    start = -1;
  };
  for (const item of items) {
    if (!keeps(item)) {
      endRun();
      continue;
    }
    count += 1;
    if (start === -1) ({ start } = item);
    ({ end } = item);
  }
  endRun();
  return count;
}

function mayKeep(kind: Exclude<ListKind, "instructions">, item: FoundItem, { keeps, omitted }: FilterOptions): boolean {
  if (omitted?.has(item) === true) return false;
  if (keeps === undefined) return true;
  const { name } = item;
  // An item without a name cannot be called by it.
  if (name === undefined) return false;
  switch (kind) {
    case "tool":
    case "prompt":
      return keeps({ kind, name });
    case "resource":
      return keeps({ kind, uri: name, ...(item.type && { type: item.type }) });
    case "skill":
      return keeps({ kind, uri: name });
    case "template":
      return keeps({ kind, uriTemplate: name });
  }
  return kind satisfies never;
}

/**
 * Restricts caching to this caller: a shared cache would show the list to others. On every page, also where nothing was
 * hidden.
 */
function* cacheEdits(bytes: Buffer, { cacheScope, ttlMs, resultStart }: ListAnswer): Iterable<Edit> {
  const at = (start: number, end: number, text: string): Edit => ({ start, end, pieces: [Buffer.from(text)] });
  if (cacheScope === undefined) yield at(resultStart, resultStart, '"cacheScope":"private",');
  else if (cacheScope.kind === "text") yield at(cacheScope.start, cacheScope.end, "private");
  else yield at(cacheScope.start, cacheScope.end, '"private"');
  if (ttlMs !== undefined && !(Number(bytes.toString("latin1", ttlMs.start, ttlMs.end)) <= MAX_TTL_MS))
    yield at(
      ttlMs.kind === "text" ? ttlMs.start - 1 : ttlMs.start,
      ttlMs.kind === "text" ? ttlMs.end + 1 : ttlMs.end,
      String(MAX_TTL_MS),
    );
}

/** The same request for another page; numbers stay as written. */
export function nextPage(request: Buffer, cursor: string): Buffer {
  const message = parseVerbatim(request.toString("utf8")) as { readonly params?: object };
  return Buffer.from(canonicalJson({ ...message, params: { ...message.params, cursor } }));
}

function splice(bytes: Buffer, edits: readonly Edit[]): Buffer {
  const pieces: Buffer[] = [];
  let position = 0;
  for (const { start, end, pieces: put } of edits.toSorted((one, other) => one.start - other.start)) {
    pieces.push(bytes.subarray(position, start), ...put);
    position = end;
  }
  pieces.push(bytes.subarray(position));
  return Buffer.concat(pieces);
}

const COMMA = Buffer.from(",");
const NO_TEXT = Buffer.from('""');
