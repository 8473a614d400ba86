/**
 * The pair `regex_rewrite_pattern` and `regex_rewrite_substitution`: every match in the path is replaced (as the RE2
 * library's GlobalReplace does), in linear time. What comes out is validated by the proxy before it is sent.
 */
import { highestGroup, groupCount, parsePattern, parseSubstitution } from "../../shared/re2.ts";

/** Longer paths are not rewritten, so that nobody can make it slow. */
const MAX_REWRITTEN_PATH = 2048;
/** As long as a request target may be. */
const MAX_RESULT = 8192;

/** What may stand literally in a path: nothing that ends it, and nothing that needs an escape (RFC 3986 §3.3). */
const PATH_TEXT = /^(?:[A-Za-z0-9\-._~!$&'()*+,;=:@/]|%[0-9A-F]{2})*$/;

/** @returns undefined when the text may stand in a path as it is */
export function pathTextProblem(text: string): string | undefined {
  return PATH_TEXT.test(text)
    ? undefined
    : "has a character that is not valid in a path, must be percent-encoded with upper-case digits";
}

/** @throws TypeError with state and what is expected */
export function checkPathSubstitution(text: string): void {
  for (const part of parseSubstitution(text)) {
    const problem = typeof part === "string" ? pathTextProblem(part) : undefined;
    if (problem !== undefined) throw new TypeError(problem);
  }
}

/** Both good by themselves. @returns what is wrong with them together */
export function rewritePairProblem(pattern: string, substitution: string): string | undefined {
  const groups = groupCount(parsePattern(pattern));
  const wanted = highestGroup(parseSubstitution(substitution));
  if (wanted <= groups) return undefined;
  return `names group \\${wanted}, but the pattern has ${groups === 0 ? "no groups" : `only ${groups}`}`;
}

/** @returns the path unchanged when nothing matches; undefined when it or the result is too long */
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
      // Nothing is not matched once more behind a match.
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
