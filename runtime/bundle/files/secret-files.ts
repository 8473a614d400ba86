/**
 * Whose files secrets are read from. A reference is a name, and a file has many: hard links, symbolic links, `..`, letter case,
 * the dated directories of Kubernetes. So files are compared by what was opened.
 *
 * Untrusted input: references of slices. Promises: an owner never reads a file that is a secret of the main configuration
 * file, whatever it is called; one of its routes' secrets only where `allowed_refs` names it in full; a pattern of `allowed_refs` gives nothing outside the directory that it names.
 */
import { open, realpath, stat, type FileHandle } from "node:fs/promises";
import { sep } from "node:path";

import { type FileRules, POD_TOKEN } from "../../config/rules/owners.ts";
import { findOwnerRights, HAND_WRITTEN_OWNER } from "../../features/process/owners.ts";

/** Of a file that was opened. */
export interface FilePlace {
  /** Device and inode. */
  readonly identity: string;
  /** Path without links; undefined: it changed while it was read. */
  readonly real: string | undefined;
}

const FILE = "file:";
/** A directory may be replaced between two looks at it; Kubernetes does so once a minute at most. */
const LOOKS = 3;

/** @param path by which the file was opened */
export async function placeOf(file: FileHandle, path: string): Promise<FilePlace> {
  const identity = identityOf(await file.stat({ bigint: true }));
  for (let look = 0; look < LOOKS; look += 1) {
    const real = await realpath(path).catch(() => undefined);
    const found = real === undefined ? undefined : await stat(real, { bigint: true }).catch(() => undefined);
    if (found && identityOf(found) === identity) return { identity, real };
  }
  return { identity, real: undefined };
}

/** What the names in the rules lead to now. */
export interface NamedFiles {
  /** Of the main configuration's own secrets. */
  readonly reserved: ReadonlySet<string>;
  /** Of its routes. */
  readonly ofRoutes: ReadonlySet<string>;
  /** Directory of a pattern → its paths without links. */
  readonly directories: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * @param before what was found before the files of slices were opened. Any name may lead elsewhere in between, so that both
 * are compared with.
 */
export async function findNamed(rules: FileRules, before?: NamedFiles): Promise<NamedFiles> {
  const { owners } = rules;
  const reserved = new Set(before?.reserved);
  const ofRoutes = new Set(before?.ofRoutes);
  const directories = new Map<string, ReadonlySet<string>>();
  const opened = [...addIdentities(rules.reserved, reserved), ...addIdentities(rules.ofRoutes, ofRoutes)];
  const patterns = Object.values(owners ?? {}).flatMap(({ allowed_refs: refs = [] }) => refs.filter(isPattern));
  const found = [...new Set(patterns.map(directoryOf))].map(async (directory) => {
    const real = await realpath(directory).catch(() => undefined);
    const tops = new Set(before?.directories.get(directory));
    if (real !== undefined) tops.add(real.endsWith(sep) ? real : real + sep);
    directories.set(directory, tops);
  });
  await Promise.all([...opened, ...found]);
  return { reserved, ofRoutes, directories };
}

function addIdentities(references: readonly string[], to: Set<string>): readonly Promise<void>[] {
  return references.map(async (reference) => {
    try {
      await using file = await open(reference.slice(FILE.length), "r");
      to.add(identityOf(await file.stat({ bigint: true })));
    } catch {
      // What cannot be opened by its own name cannot be compared; the main configuration is not valid without it.
    }
  });
}

/**
 * @param owner undefined: of settings, which the main configuration file and slices may write
 * @returns why this owner may not have the file; undefined: the owner may
 */
export function problemFor(
  owner: string | undefined,
  reference: string,
  place: FilePlace,
  rules: FileRules,
  named: NamedFiles,
): string | undefined {
  if (owner === HAND_WRITTEN_OWNER || (owner === undefined && rules.reserved.includes(reference))) return undefined;
  if (named.reserved.has(place.identity))
    return "it is a secret of the main configuration file itself, under another name";
  const writers = owner === undefined ? (rules.inSettings.get(reference) ?? []) : [owner];
  const isRefused = writers.some(
    (writer) => writer !== HAND_WRITTEN_OWNER && !isGiven(writer, reference, place, rules, named),
  );
  if (!isRefused) return undefined;
  return named.ofRoutes.has(place.identity)
    ? 'it is a secret of routes of the main configuration file, which "allowed_refs" must name in full'
    : 'it leads outside the directory that "allowed_refs" names';
}

/** Of a reference that `allowed_refs` gives as a text. */
function isGiven(
  owner: string,
  reference: string,
  { real, identity }: FilePlace,
  { owners }: FileRules,
  named: NamedFiles,
): boolean {
  if (owners === undefined) return true;
  const patterns = findOwnerRights(owners, owner)?.rights.allowed_refs ?? [];
  if (patterns.includes(reference)) return true;
  // The gateway's own token, and secrets of the main file's routes, must be named in full, by whatever link they are reached.
  if (real === undefined || POD_TOKEN.test(FILE + real) || named.ofRoutes.has(identity)) return false;
  const fitting = patterns.filter((pattern) => isPattern(pattern) && reference.startsWith(pattern.slice(0, -1)));
  return fitting.some((pattern) => {
    const tops = named.directories.get(directoryOf(pattern)) ?? [];
    return [...tops].some((top) => real.startsWith(top));
  });
}

function isPattern(text: string): boolean {
  return text.startsWith(`${FILE}/`) && text.endsWith("*");
}

/** "file:/etc/team/*" and "file:/etc/team/a*" → "/etc/team/". */
function directoryOf(pattern: string): string {
  return pattern.slice(FILE.length, pattern.lastIndexOf(sep) + 1);
}

function identityOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}
