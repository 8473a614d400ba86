/** The `matches` patterns of arguments: what all of them cost that one call is matched against, and when they are compiled. */
import { errorText } from "../../shared/errors.ts";
import { parsePattern } from "../../shared/re2.ts";
import type { Report, StringMatch } from "../match.ts";
import { type Find, ofText } from "./argument-find.ts";

/**
 * Instructions of all patterns of a policy that one call may have to be matched against. Time grows with instructions times
 * length of the text: some 0.1 s at these bounds in the worst case, where common patterns take microseconds.
 */
const MAX_CALL_WORK = 2000;
/** Time grows with pattern times text. */
export const MAX_PATTERN_SUBJECT = 8192;

/** What the patterns of one criterion cost. */
export interface PatternWork {
  /** Of the tools that it names; undefined: of any tool. */
  readonly tools: readonly string[] | undefined;
  /** Instructions. */
  readonly work: number;
}

export function toolsOf({ is, in: list }: StringMatch): readonly string[] | undefined {
  return is === undefined ? list : [is];
}

/** @returns instructions; undefined after what is wrong with the pattern was reported */
export function patternWork(source: string, at: string, report: Report): number | undefined {
  try {
    return parsePattern(source).programSize();
  } catch (error) {
    report(at, errorText(error));
    return undefined;
  }
}

/**
 * Compiled with the first text that is matched: thousands of patterns would hold up all requests while they are published.
 *
 * @param source a pattern that `patternWork` takes; of any other one matching throws
 */
export function matching(source: string): Find {
  let pattern: ReturnType<typeof parsePattern> | undefined;
  return ofText((text) => (pattern ??= parsePattern(source)).matches(text), MAX_PATTERN_SUBJECT);
}

/** Adds up one policy. @returns tells which criterion is the first too many */
export function callWork(): (added: PatternWork) => string | undefined {
  const byTool = new Map<string, number>();
  let ofAny = 0;
  let most = 0;
  let isTold = false;
  return ({ tools, work }) => {
    if (tools === undefined) ofAny += work;
    for (const tool of tools ?? []) {
      const sum = (byTool.get(tool) ?? 0) + work;
      byTool.set(tool, sum);
      most = Math.max(most, sum);
    }
    if (isTold || ofAny + most <= MAX_CALL_WORK) return undefined;
    isTold = true;
    return `is one pattern too many: all patterns for one tool have ${ofAny + most} instructions together, must have at most ${MAX_CALL_WORK}; name the tools, or use shorter repetitions`;
  };
}
