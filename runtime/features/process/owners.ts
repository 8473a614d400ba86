/** Names of owners, and their entries in the main configuration file's `owners`. */

/** Long enough for an owner's name, a dot and a Kubernetes namespace, each of 63 characters. */
const OWNER = /^[a-z0-9][a-z0-9._-]{0,126}$/;

/** Expectation for a name that `isOwner` rejects. */
export const OWNER_EXPECTED =
  'must be at most 127 lower-case letters, digits, "-", "_" and ".", starting with a letter or digit, and not "gateway"';

/** Owner of the settings and routes in the gateway's own file; a slice with this name is rejected. */
export const HAND_WRITTEN_OWNER = "default";

/** Default name for programs and imports: accepted by a gateway with every way of publishing. */
export const DEFAULT_OWNER = "main";

/**
 * Owners are part of route keys and of file and record names; "gateway.json" is a name of the main configuration file.
 */
export function isOwner(name: string): boolean {
  return OWNER.test(name) && name !== "gateway";
}

/** Problem of an owner's name, or of a prefix with a dot and `*`: "kubernetes.*". */
export function ownerPatternProblem(text: string): string | undefined {
  const example = text.endsWith(".*") ? `${text.slice(0, -1)}x` : text;
  return isOwner(example) ? undefined : `${OWNER_EXPECTED}; or such a prefix followed by ".*"`;
}

/** @param pattern as `ownerPatternProblem` accepts it, or "*" */
export function matchesOwner(pattern: string, owner: string): boolean {
  return pattern === "*" || pattern.endsWith(".*") ? owner.startsWith(pattern.slice(0, -1)) : owner === pattern;
}

/**
 * The entry of the main configuration file's `owners` for an owner: its own, or else the one with the longest prefix of
 * its name.
 *
 * @returns undefined if there is none, which means a denial if `owners` is set
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

/**
 * Identifies the resource instance that publishes a slice: an instance never removes what another one has published
 * since.
 */
export const CLAIM = /^[A-Za-z0-9_-]{1,64}$/;
