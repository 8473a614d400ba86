/** `matches` patterns of arguments: the total cost for one call, and when they are compiled. */
import { errorText } from "../../shared/errors.ts";
import { parsePattern } from "../../shared/re2.ts";
import type { ReportAt, StringMatch } from "../match.ts";
import { FALSE, TRUE, UNKNOWN, type Truth } from "../packed-outcome.ts";
import type { Find } from "./argument-find.ts";

/**
 * Instructions of all patterns of a policy that one call may be matched against. Time grows with instructions times
 * text length: some 0.1 s at these limits in the worst case, microseconds for common patterns.
 */
const MAX_CALL_WORK = 2000;
/** Time grows with pattern times text. */
export const MAX_PATTERN_SUBJECT = 8192;

/** Cost of one criterion's patterns. */
export interface CriterionPatternWork {
  /** The tools that it names; undefined: any tool. */
  readonly tools: readonly string[] | undefined;
  /** Instructions. */
  readonly work: number;
}

export function toolsOf({ is, in: list }: StringMatch): readonly string[] | undefined {
  return is === undefined ? list : [is];
}

/** @returns instructions; undefined after a problem of the pattern was reported */
export function patternWork(source: string, at: string, report: ReportAt): number | undefined {
  try {
    return parsePattern(source).programSize();
  } catch (error) {
    report(at, errorText(error));
    return undefined;
  }
}

/** A flag that makes all or part of a pattern case-insensitive. */
const FOLDS_CASE = /\(\?[a-zA-Z]*i/;
// oxlint-disable-next-line no-control-regex -- exactly these are meant
const ASCII = /^[\0-\x7f]*$/;

/**
 * Compiles a pattern at its first use: compiling thousands during publication would delay all requests.
 *
 * A text with several possible readings is unknown unless the pattern has the same result for all of them. Such a text
 * would match only if `.` matched a line end, or only without its trailing line ends (in other languages `$` matches
 * before them), or has letters that fold to others (Kelvin sign, long s).
 *
 * @param source a pattern that `patternWork` accepts; matching throws for any other
 */
export function matching(source: string): Find {
  let pattern: ReturnType<typeof parsePattern> | undefined;
  let acrossLines: ReturnType<typeof parsePattern> | undefined;
  const foldsCase = FOLDS_CASE.test(source);
  const read = (text: string): Truth => {
    if ((pattern ??= parsePattern(source)).matches(text)) return TRUE;
    const line = withoutLineEnds(text);
    if (line === text && !text.includes("\n")) return FALSE;
    acrossLines ??= parsePattern(source, { acrossLines: true });
    return acrossLines.matches(text) || (line !== text && acrossLines.matches(line)) ? UNKNOWN : FALSE;
  };
  return (value) => {
    if (typeof value !== "string" || value.length > MAX_PATTERN_SUBJECT) return UNKNOWN;
    const outcome = read(value);
    if (!foldsCase || ASCII.test(value)) return outcome;
    return otherReadings(value).every((text) => text.length <= MAX_PATTERN_SUBJECT && read(text) === outcome)
      ? outcome
      : UNKNOWN;
  };
}

const LINE_ENDS = "\n\r\u0085\u2028\u2029";

function withoutLineEnds(text: string): string {
  let end = text.length;
  while (end > 0 && LINE_ENDS.includes(text.charAt(end - 1))) end -= 1;
  return end === text.length ? text : text.slice(0, end);
}

/** Cache for one text that many patterns check. */
let lastText = "";
let lastReadings: readonly string[] = [];

/**
 * The text as read by servers with other case folding than RE2, which folds the Kelvin sign to k and the long s to s.
 */
function otherReadings(text: string): readonly string[] {
  if (text !== lastText) {
    const unfolded = text.replace(/[\u017f\u212a]/g, "\ufffd");
    const folded = text.normalize("NFKC").replace(/[\u0130\u0131]/g, "i");
    lastReadings = [unfolded, folded].filter((reading) => reading !== text);
    lastText = text;
  }
  return lastReadings;
}

/** Adds up the costs of one policy. @returns a function that reports the first criterion over the limit */
export function callWork(): (added: CriterionPatternWork) => string | undefined {
  const byTool = new Map<string, number>();
  let ofAny = 0;
  let most = 0;
  let isReported = false;
  return ({ tools, work }) => {
    if (tools === undefined) ofAny += work;
    for (const tool of tools ?? []) {
      const sum = (byTool.get(tool) ?? 0) + work;
      byTool.set(tool, sum);
      most = Math.max(most, sum);
    }
    if (isReported || ofAny + most <= MAX_CALL_WORK) return undefined;
    isReported = true;
    return `is one pattern too many: all patterns for one tool have ${ofAny + most} instructions together, must have at most ${MAX_CALL_WORK}; name the tools, or use shorter repetitions`;
  };
}
