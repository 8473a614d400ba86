/** What a matcher on a resource's URI could say of the URIs that a template gives. */
import type { StringMatch } from "../match.ts";
import { spellResourceMatch, spellResourceUri } from "./resource-uri.ts";

/** Which outcomes something could have, over all requests this caller could make: a set of the two below. */
export type Possible = number;
export const NEITHER: Possible = 0;
export const MAY_HOLD: Possible = 1;
export const MAY_MISS: Possible = 2;
export const POSSIBLY: Possible = MAY_HOLD | MAY_MISS;

/** Goes by what stands before the first expression (RFC 6570), and errs on the side of both. @param data canonical */
export function possibleOnTemplate(data: unknown, template: string): Possible {
  const match = spellResourceMatch(data as StringMatch);
  const { starts_with: start, is, in: list } = match;
  const start0 = template.indexOf("{");
  const literal = start0 === -1 ? template : template.slice(0, start0);
  // Without an expression it is a URI; a beginning that has no spelling, or ends in half a character, may become anything.
  const prefix = /%[89A-Fa-f][0-9A-Fa-f]$/.test(literal) ? "" : (spellResourceUri(literal) ?? "");
  const wanted = [...(is === undefined ? [] : [is]), ...(list ?? [])];
  const mayEqual = wanted.length === 0 || wanted.some((text) => text.startsWith(prefix));
  const mayStart = start === undefined || prefix.startsWith(start) || start.startsWith(prefix);
  const surelyStarts = start !== undefined && prefix.startsWith(start) && Object.keys(match).length === 1;
  return (mayEqual && mayStart ? MAY_HOLD : NEITHER) | (surelyStarts ? NEITHER : MAY_MISS);
}
