/**
 * Checks of single texts. Each returns the predicate of `"<setting>" …`, actual state then expectation, or undefined if
 * valid.
 */
import { describe, quote } from "../problem.ts";
import type { Reading } from "../values.ts";
import { isVaultReference, parseVaultReference, VAULT_REFERENCE_FORM } from "../vault-reference.ts";

export type ValueCheck = (value: string) => string | undefined;

/** Problem of a missing value or a wrong type. Does not quote text, which may be a misplaced secret. */
export function wrongType(input: unknown, problem: string): string {
  return input === undefined ? "is missing" : `is ${describe(input)}, must be ${problem}`;
}

/** Like wrongType, but quotes text: for settings that never contain a secret. */
export function wrongValue(input: unknown, problem: string): string {
  return typeof input === "string" ? `is ${quote(input)}, must be ${problem}` : wrongType(input, problem);
}

/** The value and its problem: `is "x y", which is not a header name`. */
export function quotedProblem(value: string, problem: string | undefined): string | undefined {
  if (problem === undefined) return undefined;
  return `is ${quote(value)}, ${/^(must|has|begins|did) /.test(problem) ? problem : `which ${problem}`}`;
}

export function filePathProblem(path: string): string | undefined {
  return path === "" || path.includes("\0") ? quotedProblem(path, "must be the path of a file") : undefined;
}

const MAX_NAME_CHARACTERS = 40;

/** Checks a name that pages show. */
export function displayNameProblem(name: string): string | undefined {
  const isPlain = /^[\p{L}\p{N}\p{P}\p{S}]+(?: [\p{L}\p{N}\p{P}\p{S}]+)*$/u.test(name);
  return isPlain && name.length <= MAX_NAME_CHARACTERS
    ? undefined
    : `is ${quote(name)}, must be 1 to ${MAX_NAME_CHARACTERS} printable characters, without spaces around them`;
}

/** Error message of a parser that throws TypeError. */
export function parseErrorOf(parse: () => unknown): string | undefined {
  try {
    parse();
    return undefined;
  } catch (error) {
    if (error instanceof TypeError) return error.message;
    throw error;
  }
}

/** Check by a reader of values.ts. */
export function readable(read: (value: string) => Reading<unknown>): ValueCheck {
  return (value) => {
    const reading = read(value);
    if (reading.ok) return undefined;
    // Never repeat a URL that may contain a password.
    return value.includes("@") ? reading.problem : quotedProblem(value, reading.problem);
  };
}

/** Source of a secret. One form per file: permission is validated by the text of the reference. */
export function checkReference(value: string): string | undefined {
  if (/^env:[A-Za-z_][A-Za-z0-9_]*$/.test(value)) return undefined;
  if (isVaultReference(value)) return parseVaultReference(value) ? undefined : VAULT_REFERENCE_PROBLEM;
  const path = /^file:\/([^\0]+)$/.exec(value)?.[1];
  if (path === undefined) return 'must be "env:NAME", "file:/absolute/path" or "vault:<mount>/<path>#<field>"';
  const hasOtherForm = path.split("/").some((segment) => ["", ".", ".."].includes(segment));
  return hasOtherForm ? 'must be a plain path, without "//", "." and ".." segments and a slash at its end' : undefined;
}

const VAULT_REFERENCE_PROBLEM = `must be like "${VAULT_REFERENCE_FORM}", with "@<version>" at its end for one version: plain path segments and a field of letters, digits, "_", "." and "-"`;

/** The seal is opened when the snapshot is built; this only rejects impossible texts. */
export function checkSealed(value: string): string | undefined {
  const isSeal = /^[A-Za-z0-9_-][A-Za-z0-9_.-]*$/.test(value);
  return isSeal ? undefined : "must be a sealed secret (base64url parts joined by dots)";
}

/** @see RFC 6749 §3.3: scope-token = 1*( %x21 / %x23-5B / %x5D-7E ) */
export function checkScope(value: string): string | undefined {
  return /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(value) ? undefined : "must be one scope without spaces";
}
