/**
 * The pair `host_path_regex_rewrite_pattern` and `…_substitution`, in linear time.
 *
 * RE2 syntax (re2js): the operator writes the pattern, but any client chooses the path.
 */
import { parsePattern, parseSubstitution } from "../../shared/re2.ts";

const MAX_PATH_LENGTH = 2048;

/**
 * @returns the path with its first match replaced, or undefined if nothing matches or the path exceeds 2,048 characters
 */
export function compileHostRegex(pattern: string, substitution: string): (path: string) => string | undefined {
  const compiled = parsePattern(pattern);
  const parts = parseSubstitution(substitution);
  return (path) => {
    if (path.length > MAX_PATH_LENGTH) return undefined;
    const matcher = compiled.matcher(path);
    if (!matcher.find()) return undefined;
    let replaced = "";
    for (const part of parts) replaced += typeof part === "string" ? part : (matcher.group(part) ?? "");
    return path.slice(0, matcher.start()) + replaced + path.slice(matcher.end());
  };
}
