/** Replaces files as a whole: a reader sees the old content or the new one, and a power failure keeps either. */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Writes a temporary file in the same directory, flushes, renames, flushes the directory.
 *
 * @param mode permission bits, independent of the umask
 * @throws errors of node:fs; the path then has its previous content
 */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.tmp-${randomBytes(6).toString("hex")}`;
  let file: FileHandle | undefined;
  try {
    file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    await file.writeFile(text);
    // Before the rename, so that readers never find a file that they cannot read.
    await file.chmod(mode);
    await file.sync();
    await file.close();
    file = undefined;
    await rename(temporary, path);
  } catch (error) {
    await file?.close().catch(() => {});
    await unlink(temporary).catch(() => {});
    throw error;
  }
  await syncDirectory(dirname(path));
  await removeLeftovers(path);
}

/** @throws errors of node:fs, including ENOENT */
export async function removeFile(path: string): Promise<void> {
  await unlink(path);
  await syncDirectory(dirname(path));
}

/** The rename itself must survive a power failure. Some file systems cannot flush directories: ignore that. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY).catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

const LEFTOVER_AGE_MS = 3_600_000;

/** Removes temporary files of killed applies. Recent ones may belong to another running apply. */
async function removeLeftovers(path: string): Promise<void> {
  for (const name of await readdir(dirname(path)).catch(() => [])) {
    // Match the whole name: "a.json.tmp-x.json" is the slice of an owner with an unfortunate name.
    if (
      !name.startsWith(basename(path)) ||
      !/^\.(?:tmp-[0-9a-f]{12}|lock-[\w-]{8})$/.test(name.slice(basename(path).length))
    )
      continue;
    const leftover = join(dirname(path), name);
    const info = await stat(leftover).catch(() => undefined);
    if (info && Date.now() - info.mtimeMs > LEFTOVER_AGE_MS) await unlink(leftover).catch(() => {});
  }
}
