/** Possible outcomes of a matcher for the URIs that a resource template can produce. */
import type { StringMatch } from "../match.ts";
import { normalResourceMatch, normalResourcePrefix } from "./resource-uri.ts";

/** Possible outcomes over all requests of this caller: a set of the two below. */
export type Possible = number;
export const NEITHER: Possible = 0;
export const MAY_HOLD: Possible = 1;
export const MAY_MISS: Possible = 2;
export const POSSIBLY: Possible = MAY_HOLD | MAY_MISS;

/**
 * Uses the text before the first expression (RFC 6570); if in doubt, both outcomes are possible. @param data canonical
 */
export function possibleOnTemplate(data: unknown, template: string): Possible {
  const match = normalResourceMatch(data as StringMatch);
  const { starts_with: start, is, in: list } = match;
  const start0 = template.indexOf("{");
  const literal = start0 === -1 ? template : template.slice(0, start0);
  // Without an expression it is a URI. A prefix without a normal form, or ending within a character, allows any
  // continuation.
  const prefix = /%[89A-Fa-f][0-9A-Fa-f]$/.test(literal) ? "" : (normalResourcePrefix(literal) ?? "");
  const texts = [...(is === undefined ? [] : [is]), ...(list ?? [])];
  const mayEqual = texts.length === 0 || texts.some((text) => text.startsWith(prefix));
  const mayStart = start === undefined || prefix.startsWith(start) || start.startsWith(prefix);
  const surelyStarts = start !== undefined && prefix.startsWith(start) && Object.keys(match).length === 1;
  return (mayEqual && mayStart ? MAY_HOLD : NEITHER) | (surelyStarts ? NEITHER : MAY_MISS);
}
