/**
 * References to secrets of a Vault or OpenBao server: `vault:<mount>/<path>#<field>`, with `@<version>` for one
 * version.
 *
 * One form for each location: permission is validated by the text of the reference.
 */
const SCHEME = "vault:";

/** No escape, no wildcard and no character with a meaning in URLs. */
const SEGMENT = /^[A-Za-z0-9_.@:~+=-]+$/;
const FIELD = /^[A-Za-z0-9_.-]+$/;
const VERSION = /^[1-9][0-9]{0,8}$/;

export interface VaultReference {
  /** At least two segments; the first belongs to the mount. */
  readonly segments: readonly string[];
  readonly field: string;
  /** Absent: the newest. */
  readonly version?: number;
}

export const VAULT_REFERENCE_FORM = "vault:<mount>/<path>#<field>";

export function isVaultReference(reference: string): boolean {
  return reference.startsWith(SCHEME);
}

/** @returns undefined if it is not a valid reference */
export function parseVaultReference(reference: string): VaultReference | undefined {
  if (!isVaultReference(reference)) return undefined;
  const [path = "", named, ...more] = reference.slice(SCHEME.length).split("#");
  const [field = "", version, ...rest] = named?.split("@") ?? [];
  const segments = path.split("/");
  const isGood =
    segments.length > 1 &&
    segments.every(isSegment) &&
    FIELD.test(field) &&
    (version === undefined || VERSION.test(version)) &&
    more.length + rest.length === 0;
  if (!isGood) return undefined;
  return { segments, field, ...(version !== undefined && { version: Number(version) }) };
}

/**
 * Whether `allowed_refs` can have the text: a reference, or a prefix that reaches beyond the mount, followed by "*".
 */
export function isVaultReferencePattern(pattern: string): boolean {
  if (!pattern.endsWith("*")) return parseVaultReference(pattern) !== undefined;
  const [path = "", ...named] = pattern.slice(SCHEME.length, -1).split("#");
  const segments = path.split("/");
  const last = segments.pop() ?? "";
  const isBeginning = last === "" || isSegment(last);
  return (
    isVaultReference(pattern) &&
    segments.length > 0 &&
    segments.every(isSegment) &&
    isBeginning &&
    named.length <= 1 &&
    named.every((text) => last !== "" && /^[A-Za-z0-9_.@-]*$/.test(text))
  );
}

/** The reference without its version: all versions are one secret. */
export function withoutVersion(reference: string): string {
  return isVaultReference(reference) ? reference.replace(/(#[^#@]*)@[0-9]+$/, "$1") : reference;
}

function isSegment(text: string): boolean {
  return SEGMENT.test(text) && text !== "." && text !== "..";
}
