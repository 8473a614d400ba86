/**
 * Decides whose secret a file is. One file has many names: hard links, symbolic links, `..`, letter case, the dated
 * directories of Kubernetes. So the opened files are compared, not their names.
 *
 * Untrusted input: references of slices. Promises: an owner never reads a file that is a secret of the main
 * configuration file, under any name. A secret of its routes is readable only if `allowed_refs` names it in full. A
 * pattern of `allowed_refs` never reaches outside its directory.
 */
import { open, realpath, stat, type FileHandle } from "node:fs/promises";
import { sep } from "node:path";

import { type FileRules, POD_TOKEN } from "../../config/rules/owners.ts";
import { findOwnerRights, HAND_WRITTEN_OWNER } from "../../features/process/owners.ts";

/** Identity and path of an opened file. */
export interface FileLocation {
  /** Device and inode. */
  readonly identity: string;
  /** Path without links; undefined if it changed during the read. */
  readonly real: string | undefined;
}

const FILE = "file:";
/** A directory may be replaced between two reads; Kubernetes does so at most once a minute. */
const ATTEMPTS = 3;

/** @param path by which the file was opened */
export async function locateFile(file: FileHandle, path: string): Promise<FileLocation> {
  const identity = identityOf(await file.stat({ bigint: true }));
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    const real = await realpath(path).catch(() => undefined);
    const found = real === undefined ? undefined : await stat(real, { bigint: true }).catch(() => undefined);
    if (found && identityOf(found) === identity) return { identity, real };
  }
  return { identity, real: undefined };
}

/** Files to which the names in the rules lead now. */
export interface NamedFiles {
  /** Secrets of the main configuration file itself. */
  readonly reserved: ReadonlySet<string>;
  /** Secrets of its routes. */
  readonly ofRoutes: ReadonlySet<string>;
  /** Directory of a pattern → its paths without links. */
  readonly directories: ReadonlyMap<string, ReadonlySet<string>>;
}

/**
 * @param before result from before the files of slices were opened. A name may change its target in between, so both
 *   results count.
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
      // A file that cannot be opened by its own name cannot be compared, but the main configuration is invalid without
      // it.
    }
  });
}

/**
 * @param owner undefined for settings, which both the main configuration file and slices can set
 * @returns why this owner cannot read the file; undefined if it can
 */
export function problemFor(
  owner: string | undefined,
  reference: string,
  location: FileLocation,
  rules: FileRules,
  named: NamedFiles,
): string | undefined {
  if (owner === HAND_WRITTEN_OWNER || (owner === undefined && rules.reserved.includes(reference))) return undefined;
  if (named.reserved.has(location.identity))
    return "it is a secret of the main configuration file itself, under another name";
  const writers = owner === undefined ? (rules.inSettings.get(reference) ?? []) : [owner];
  const isRefused = writers.some(
    (writer) => writer !== HAND_WRITTEN_OWNER && !isPermitted(writer, reference, location, rules, named),
  );
  if (!isRefused) return undefined;
  return named.ofRoutes.has(location.identity)
    ? 'it is a secret of routes of the main configuration file, which "allowed_refs" must name in full'
    : 'it leads outside the directory that "allowed_refs" names';
}

/** Whether `allowed_refs` permits the opened file, for a reference that it permits as text. */
function isPermitted(
  owner: string,
  reference: string,
  { real, identity }: FileLocation,
  { owners }: FileRules,
  named: NamedFiles,
): boolean {
  if (owners === undefined) return true;
  const patterns = findOwnerRights(owners, owner)?.rights.allowed_refs ?? [];
  if (patterns.includes(reference)) return true;
  // The gateway's own token and secrets of the main file's routes must be named in full, whatever link leads to them.
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
