/**
 * A list response without the items that its caller cannot use; hidden instructions become an empty string. The rest
 * stays byte for byte: unknown members, the form of numbers, the order.
 */
import type { ListedItem } from "../../policy/reach.ts";
import { canonicalJson, parseVerbatim } from "../../shared/canonical-json.ts";
import { spanText } from "../scan.ts";
import type { FoundItem, FoundList, ListAnswer, ListKind } from "./list-answer.ts";

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
  /** Instead of the bytes between; absent: they are removed. */
  readonly put?: Buffer;
}

export function filterAnswer(bytes: Buffer, answer: ListAnswer, options: FilterOptions): FilteredAnswer {
  const edits: Edit[] = options.isModern ? [...cacheEdits(bytes, answer)] : [];
  let hidden = 0;
  let shown = 0;
  let isDenied = false;
  for (const list of answer.lists) {
    const { kind, items, start, end, isSingle } = list;
    if (kind === "instructions") {
      if (items.some((item) => options.omitted?.has(item) === true)) edits.push({ start, end, put: NO_TEXT });
      continue;
    }
    if (isSingle) {
      isDenied ||= items.some((item) => !mayKeep(kind, item, options));
      continue;
    }
    const kept = hideItems(list, edits, (item) => mayKeep(kind, item, options));
    hidden += items.length - kept;
    shown += kept;
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

/** Removes items, each with what separates it from the one before. @returns the number of kept items */
function hideItems({ items, start, end }: FoundList, edits: Edit[], keeps: (item: FoundItem) => boolean): number {
  let count = 0;
  /** Start of what is removed before the current item; -1: the item before is kept. */
  let from = items[0]?.start ?? -1;
  let lastEnd = 0;
  for (const item of items) {
    if (keeps(item)) {
      // Without a kept item before, there is nothing to separate.
      const to = count === 0 ? item.start : lastEnd;
      if (from !== -1 && from < to) edits.push({ start: from, end: to });
      count += 1;
      from = -1;
    } else if (from === -1) {
      from = lastEnd;
    }
    lastEnd = item.end;
  }
  if (count === 0 && items.length > 0) edits.push({ start: start + 1, end: end - 1 });
  else if (count > 0 && from !== -1) edits.push({ start: from, end: lastEnd });
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
  const at = (start: number, end: number, text: string): Edit => ({ start, end, put: Buffer.from(text) });
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
  let length = bytes.length;
  for (const { start, end, put } of edits) length += start - end + (put?.length ?? 0);
  const spliced = Buffer.allocUnsafe(length);
  let [from, to] = [0, 0];
  for (const { start, end, put } of edits.toSorted((one, other) => one.start - other.start)) {
    to += bytes.copy(spliced, to, from, start);
    if (put) to += put.copy(spliced, to);
    from = end;
  }
  bytes.copy(spliced, to, from);
  return spliced;
}

const NO_TEXT = Buffer.from('""');
