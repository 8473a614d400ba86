/**
 * Whose files secrets are read from. A reference is a name, and a file has many: hard links, symbolic links, `..`, letter case,
 * the dated directories of Kubernetes. So files are compared by what was opened.
 *
 * Untrusted input: references of slices. Promises: an owner never reads a file that is a secret of the main configuration
 * file, whatever it is called; a pattern of `allowed_refs` gives nothing outside the directory that it names.
 */
import { realpathSync } from "node:fs";
import { open, realpath, stat, type FileHandle } from "node:fs/promises";
import { dirname, sep } from "node:path";

import { findOwnerRights, HAND_WRITTEN_OWNER } from "../../../features/process/owners.ts";
import type { BootDoc } from "../../../config/settings.ts";

/** What the main configuration file says about files. */
export interface FileRules {
  /** Its own secrets, as `file:/path`. */
  readonly reserved: readonly string[];
  readonly owners: BootDoc["owners"];
}

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

/** What the reserved files are now. Asked for before and after the files of slices are opened, since either may change between. */
export async function reservedIdentities({ reserved }: FileRules): Promise<readonly string[]> {
  const found = reserved.filter(isFile).map(async (reference) => {
    try {
      await using file = await open(reference.slice(FILE.length), "r");
      return [identityOf(await file.stat({ bigint: true }))];
    } catch {
      // What cannot be opened by its own name cannot be compared; the gateway does not start without it.
      return [];
    }
  });
  return (await Promise.all(found)).flat();
}

/** @param owner undefined: of settings, which the main configuration file and slices may write @returns why this owner may not have the file; undefined: the owner may */
export function problemFor(
  owner: string | undefined,
  reference: string,
  { identity, real }: FilePlace,
  rules: FileRules,
  reserved: ReadonlySet<string>,
): string | undefined {
  if (owner === HAND_WRITTEN_OWNER) return undefined;
  const isOwn = owner === undefined && rules.reserved.includes(reference);
  if (reserved.has(identity) && !isOwn)
    return "it is a secret of the main configuration file itself, under another name";
  const { owners } = rules;
  if (owner === undefined || owners === undefined) return undefined;
  const patterns = findOwnerRights(owners, owner)?.rights.allowed_refs ?? [];
  if (patterns.includes(reference)) return undefined;
  for (const pattern of patterns) {
    if (!pattern.endsWith("*") || !isFile(pattern) || !reference.startsWith(pattern.slice(0, -1))) continue;
    const named = pattern.slice(FILE.length, -1);
    if (real !== undefined && isBelow(real, named.endsWith(sep) ? named : dirname(named))) return undefined;
  }
  return 'it leads outside the directory that "allowed_refs" names';
}

/** @param directory as it is written */
function isBelow(real: string, directory: string): boolean {
  try {
    const top = realpathSync(directory);
    return real.startsWith(top.endsWith(sep) ? top : top + sep);
  } catch {
    return false;
  }
}

function isFile(reference: string): boolean {
  return reference.startsWith(`${FILE}/`);
}

function identityOf({ dev, ino }: { readonly dev: bigint; readonly ino: bigint }): string {
  return `${dev}:${ino}`;
}
