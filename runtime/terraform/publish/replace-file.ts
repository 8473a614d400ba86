/** Files that are replaced as a whole: a reader meets the old content or the new one, and a power cut keeps either. */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, open, readdir, rename, stat, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

/**
 * Writes beside the path, flushes, renames, flushes the directory.
 *
 * @param mode permission bits, whatever the umask says
 * @throws errors of node:fs; the path then has its earlier content
 */
export async function replaceFile(path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.tmp-${randomBytes(6).toString("hex")}`;
  let file: FileHandle | undefined;
  try {
    file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    await file.writeFile(text);
    // Before the rename, so that readers never meet a file that they may not read.
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

/** @throws errors of node:fs, ENOENT included */
export async function removeFile(path: string): Promise<void> {
  await unlink(path);
  await syncDirectory(dirname(path));
}

/** The rename itself must survive a power cut. Some file systems cannot flush directories; they are no worse for trying. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY).catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

const LEFTOVER_AGE_MS = 3_600_000;

/** Temporary files of applies that were killed. Young ones may belong to a running apply of a confused pipeline. */
async function removeLeftovers(path: string): Promise<void> {
  for (const name of await readdir(dirname(path)).catch(() => [])) {
    // The whole name is compared: "a.json.tmp-x.json" is the slice of an owner whom nobody should have called that.
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
