/** Names of owners, and the entries of the boot file's `owners` that hold for them. */

/** Leaves room for an owner's name, a dot and a Kubernetes namespace, each of 63 characters. */
const OWNER = /^[a-z0-9][a-z0-9._-]{0,126}$/;

/** What a name that `isOwner` refuses must be. */
export const OWNER_EXPECTED =
  'must be at most 127 lower-case letters, digits, "-", "_" and ".", starting with a letter or digit, and not "gateway"';

/** Whose the settings and routes in the gateway's own file are; a slice of that name is refused beside it. */
export const HAND_WRITTEN_OWNER = "default";

/** The name that programs and imports take when none is given: one that a gateway takes by every way of publishing. */
export const DEFAULT_OWNER = "main";

/** Owners are part of route keys and of file and record names; the file "gateway.json" is the boot file's. */
export function isOwner(name: string): boolean {
  return OWNER.test(name) && name !== "gateway";
}

/** An owner's name, or a beginning with a dot and `*`: "kubernetes.*". */
export function ownerPatternProblem(text: string): string | undefined {
  const example = text.endsWith(".*") ? `${text.slice(0, -1)}x` : text;
  return isOwner(example) ? undefined : `${OWNER_EXPECTED}; or such a prefix followed by ".*"`;
}

/** @param pattern as `ownerPatternProblem` accepts it, or "*" */
export function matchesOwner(pattern: string, owner: string): boolean {
  return pattern === "*" || pattern.endsWith(".*") ? owner.startsWith(pattern.slice(0, -1)) : owner === pattern;
}

/**
 * The entry of the boot file's `owners` that holds for an owner: its own, or else the one with the longest beginning of
 * its name.
 *
 * @returns undefined when there is none, which is a refusal wherever `owners` is set
 */
export function findOwnerRights<Rights>(
  owners: Readonly<Record<string, Rights>>,
  owner: string,
): { readonly entry: string; readonly rights: Rights } | undefined {
  let entry: string | undefined;
  for (const pattern of Object.keys(owners)) {
    if (pattern === owner) return { entry: pattern, rights: owners[pattern] as Rights };
    if (pattern.length > (entry?.length ?? 0) && matchesOwner(pattern, owner)) entry = pattern;
  }
  return entry === undefined ? undefined : { entry, rights: owners[entry] as Rights };
}

/** Which instance of a resource publishes a slice: what another one has published since is not removed. */
export const CLAIM = /^[A-Za-z0-9_-]{1,64}$/;
