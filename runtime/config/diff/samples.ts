/** Texts that a matcher accepts, and texts that none accepts: examples for conditions such as "begins with". */
import type { ListMatch, StringMatch } from "../../policy/match.ts";

export interface TextSample {
  readonly text: string;
  /** The condition that it represents: `"a"`, `that begins with "delete_"`. Absent: the text itself. */
  readonly how?: string;
}

/** Completes pieces to a whole text. */
export interface Filling {
  /** @param filled pieces in order; fill where the matcher leaves the text open */
  (pieces: { readonly start: string; readonly middle: string; readonly end: string }): string;
}

const FILLER = "x";

/** Joins the pieces, with one letter for an open start or end. */
export const plainFilling: Filling = ({ start, middle, end }) =>
  `${start}${start === "" ? FILLER : ""}${middle}${end === "" ? FILLER : ""}${end}`;

/** Each text that the matcher names, allowed or not, and one for its prefix, suffix and substring. */
export function samplesOf(match: StringMatch, fill: Filling = plainFilling): readonly TextSample[] {
  const { is, not, in: list = [], not_in: others = [], starts_with: start, ends_with: end, contains } = match;
  const texts = [is, not, ...list, ...others].filter((text) => text !== undefined);
  // A name in the other case shows whether case matters.
  const named = (match.fold_case === true ? texts.flatMap((text) => [text, otherCase(text)]) : texts).map((text) => ({
    text,
  }));
  const pieces = [
    ...(start === undefined ? [] : [`begins with ${quoted(start)}`]),
    ...(contains === undefined ? [] : [`has ${quoted(contains)} in it`]),
    ...(end === undefined ? [] : [`ends with ${quoted(end)}`]),
  ];
  if (pieces.length === 0) return named;
  const text = fill({ start: start ?? "", middle: contains ?? "", end: end ?? "" });
  return [...named, { text, how: pieces.join(" and ") }];
}

function otherCase(text: string): string {
  const upper = text.toUpperCase();
  return upper === text ? text.toLowerCase() : upper;
}

/** Elements that the matcher names. */
export function elementsOf({ has, is, exclude }: ListMatch): readonly string[] {
  return [has, is, exclude].filter((text) => text !== undefined);
}

/** A text that represents all others: the first that no matcher names and that contains no matcher's piece. */
export function freshText(matches: readonly StringMatch[], candidates: readonly string[]): string {
  const isNamed = (text: string): boolean =>
    matches.some(({ is, not, in: list = [], not_in: others = [], starts_with: start, ends_with: end, contains }) => {
      if ([is, not, ...list, ...others].includes(text)) return true;
      const pieces = [start, end, contains].filter((piece) => piece !== undefined);
      return (
        pieces.length > 0 && text.startsWith(start ?? "") && text.endsWith(end ?? "") && text.includes(contains ?? "")
      );
    });
  return candidates.find((text) => !isNamed(text)) ?? candidates[0] ?? "";
}

/** Removes duplicates by `key`. */
export function unique<T>(items: readonly T[], key: (item: T) => string): readonly T[] {
  return [...new Map(items.map((item) => [key(item), item])).values()];
}

export function quoted(text: string): string {
  return JSON.stringify(text);
}
