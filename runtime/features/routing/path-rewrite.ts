/**
 * The pair `regex_rewrite_pattern` and `regex_rewrite_substitution`: replaces every match in the path (as GlobalReplace
 * of the RE2 library), in linear time. The proxy validates the result before it is sent.
 */
import { highestGroup, groupCount, parsePattern, parseSubstitution } from "../../shared/re2.ts";

/** Longer paths are not rewritten, so that no client can make it slow. */
const MAX_REWRITTEN_PATH = 2048;
/** Maximum length of a request target. */
const MAX_RESULT = 8192;

/** Text that can be literal in a path: nothing that ends it or needs an escape (RFC 3986 §3.3). */
const PATH_TEXT = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-F]{2})*$/;

/** @returns undefined if the text can be in a path unchanged */
export function pathTextProblem(text: string): string | undefined {
  return PATH_TEXT.test(text)
    ? undefined
    : "has a character that is not valid in a path, must be percent-encoded with upper-case digits";
}

/** @throws TypeError with state and expectation */
export function checkPathSubstitution(text: string): void {
  for (const part of parseSubstitution(text)) {
    const problem = typeof part === "string" ? pathTextProblem(part) : undefined;
    if (problem !== undefined) throw new TypeError(problem);
  }
}

/** For a pair that is individually valid. @returns the problem of the combination */
export function rewritePairProblem(pattern: string, substitution: string): string | undefined {
  const groups = groupCount(parsePattern(pattern));
  const wanted = highestGroup(parseSubstitution(substitution));
  if (wanted <= groups) return undefined;
  return `names group \\${wanted}, but the pattern has ${groups === 0 ? "no groups" : `only ${groups}`}`;
}

/** @returns the path unchanged if nothing matches; undefined if it or the result is too long */
export function compilePathRewrite(pattern: string, substitution: string): (path: string) => string | undefined {
  const compiled = parsePattern(pattern);
  const parts = parseSubstitution(substitution);
  return (path) => {
    if (path.length > MAX_REWRITTEN_PATH) return undefined;
    const matcher = compiled.matcher(path);
    let result = "";
    let end = 0;
    let lastEnd = -1;
    while (matcher.find()) {
      const start = matcher.start();
      const isEmpty = matcher.end() === start;
      // An empty match directly after a match does not count.
      if (isEmpty && start === lastEnd) continue;
      result += path.slice(end, start);
      for (const part of parts) result += typeof part === "string" ? part : (matcher.group(part) ?? "");
      end = lastEnd = matcher.end();
      if (result.length > MAX_RESULT) return undefined;
    }
    result += path.slice(end);
    return result.length > MAX_RESULT ? undefined : result;
  };
}
