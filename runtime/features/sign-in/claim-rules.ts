/**
 * Required claims of a token in the configuration: names and accepted values. Pure.
 *
 * Untrusted input: the claims of a token, whose issuer is trusted to state them but not to decide about access.
 * Promises: every named claim must be present with one of the values. Text, number and flag are never equal. `*`
 * matches one whole segment, so that a name's prefix never grants access.
 */
import { quote } from "../../settings/problem.ts";
import { type About } from "../../settings/types/registry.ts";
import { quotedProblem } from "../../settings/types/checks.ts";
import { textListMap } from "../../settings/types/map.ts";
import { isRecord } from "../../shared/is-record.ts";

const JSON_VALUE = "json:";
const WILDCARD = "*";
/** Separates the segments of subjects (`repo:acme/app:ref:refs/heads/main`) and of references. */
const SEPARATOR = /[:/]/;

/** A setting with such a table. */
export function claimTable<const A extends About>(about: A): ReturnType<typeof textListMap<A>> {
  return textListMap({ ...about, checkName: claimNameProblem, checkValue: valueProblem });
}

export type ClaimTable = Readonly<Record<string, readonly string[]>>;

export interface ClaimCriterion {
  /** Names from the top of the claims to the value. */
  readonly path: readonly string[];
  readonly accepts: readonly ((value: unknown) => boolean)[];
}

/** @returns criteria in the order of the table */
export function compileClaims(table: ClaimTable): readonly ClaimCriterion[] {
  return Object.entries(table).map(([name, values]) => ({ path: claimPath(name), accepts: values.map(acceptorOf) }));
}

export function matchesClaims(criteria: readonly ClaimCriterion[], claims: Readonly<Record<string, unknown>>): boolean {
  return criteria.every(({ path, accepts }) => {
    const claim = findClaim(claims, path);
    const values: readonly unknown[] = Array.isArray(claim) ? claim : [claim];
    return values.some((value) => accepts.some((accept) => accept(value)));
  });
}

/** Claims that do not identify the subject: with only these, all tokens of the issuer match alike. */
const SAY_NOBODY: ReadonlySet<string> = new Set(
  ["iss", "aud", "exp", "iat", "nbf", "jti", "typ"].flatMap((name) => [name, `/${name}`]),
);

/** Whether all tokens of an issuer, or all tokens of one workload, can have the same value of this claim. */
export function identifiesNothing(name: string): boolean {
  return SAY_NOBODY.has(name) || name === "sub" || name === "/sub";
}

/** Whether a table does not distinguish the issuer's tokens at all. */
export function pinsNothing(table: ClaimTable): boolean {
  return !Object.entries(table).some(([name, values]) => isPinnedBy(values, -1) && !SAY_NOBODY.has(name));
}

/**
 * Whether only selected subjects have this claim: all of its values are literal up to a segment.
 *
 * @param segment number of the segment that identifies the subject: 1 in `repo:acme/app:…`
 */
export function isPinnedBy(values: readonly string[] | undefined, segment: number): boolean {
  if (values === undefined || values.length === 0) return false;
  return values.every((value) => {
    if (value.startsWith(JSON_VALUE)) return true;
    const segments = value.split(SEPARATOR);
    if (segments.every((each) => each === WILDCARD)) return false;
    return !segments.slice(0, segment + 1).includes(WILDCARD);
  });
}

/** Path of a claim by name. "~1" and "~0" represent "/" and "~" (RFC 6901 §3). */
export function claimPath(name: string): readonly string[] {
  if (!name.startsWith("/")) return [name];
  return name
    .slice(1)
    .split("/")
    .map((part) => part.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** @returns undefined if absent */
export function findClaim(claims: Readonly<Record<string, unknown>>, path: readonly string[]): unknown {
  let value: unknown = claims;
  for (const name of path) {
    if (!isRecord(value) || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

function acceptorOf(written: string): (value: unknown) => boolean {
  if (written.startsWith(JSON_VALUE)) {
    const meant: unknown = JSON.parse(written.slice(JSON_VALUE.length));
    return (value) => value === meant;
  }
  const segments = written.split(SEPARATOR);
  if (!segments.includes(WILDCARD)) return (value) => value === written;
  const separators = separatorsOf(written);
  return (value) => {
    if (typeof value !== "string" || separatorsOf(value) !== separators) return false;
    const given = value.split(SEPARATOR);
    return segments.every((segment, index) => (segment === WILDCARD ? given[index] !== "" : segment === given[index]));
  };
}

function separatorsOf(text: string): string {
  return text.replaceAll(/[^:/]/g, "");
}

export function claimNameProblem(name: string): string | undefined {
  if (!name.startsWith("/")) return undefined;
  if (/~(?![01])/.test(name)) return quotedProblem(name, 'must write "~" as "~0" and "/" within a name as "~1"');
  return name.split("/").slice(1).includes("") ? quotedProblem(name, "has a name without characters") : undefined;
}

function valueProblem(value: string): string | undefined {
  if (value === "") return "is empty, which no claim is known by";
  if (value.startsWith(JSON_VALUE)) return jsonProblem(value.slice(JSON_VALUE.length));
  const isWhole = value.split(SEPARATOR).every((segment) => segment === WILDCARD || !segment.includes(WILDCARD));
  return isWhole
    ? undefined
    : quotedProblem(value, `must have ${quote(WILDCARD)} only as a whole segment between ":" and "/"`);
}

function jsonProblem(text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return `is ${quote(JSON_VALUE + text)}, must have JSON after ${quote(JSON_VALUE)}`;
  }
  // Larger JSON numbers are rounded, or become infinite: two claims could become equal.
  const isExact =
    typeof value !== "number" || (Number.isFinite(value) && (!Number.isInteger(value) || Number.isSafeInteger(value)));
  return isExact && ["string", "number", "boolean"].includes(typeof value)
    ? undefined
    : quotedProblem(JSON_VALUE + text, "must be a text, a number of at most 15 digits, true or false");
}
