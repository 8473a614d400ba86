/** A disk that can be filled: a small tmpfs. Needs the permission to mount. */
import { spawnSync } from "node:child_process";
import { closeSync, mkdtempSync, openSync, rmdirSync, rmSync, writeSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

export interface SmallDisk {
  readonly directory: string;
  /** Leaves no byte. */
  fill(): void;
  /** Takes that back. */
  clear(): void;
  unmount(): void;
}

/** @returns the reason where there can be none */
export function mountSmallDisk(mebibytes = 2): SmallDisk | { readonly missing: string } {
  const directory = mkdtempSync(join(tmpdir(), "gateform-disk-"));
  const mounted = spawnSync("mount", ["-t", "tmpfs", "-o", `size=${mebibytes}m`, "tmpfs", directory], {
    encoding: "utf8",
  });
  if (mounted.status !== 0) {
    rmdirSync(directory);
    return { missing: `no file system can be mounted here: ${(mounted.stderr ?? String(mounted.error)).trim()}` };
  }
  const filler = join(directory, "filler");
  return {
    directory,
    fill() {
      const file = openSync(filler, "a");
      const block = Buffer.alloc(mebibytes * 16_384, 1);
      try {
        for (;;) writeSync(file, block);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "ENOSPC") throw error;
      } finally {
        closeSync(file);
      }
    },
    clear: () => rmSync(filler, { force: true }),
    unmount() {
      // Lazily: a database that was just closed may be in use for a moment more.
      spawnSync("umount", ["--lazy", directory]);
      rmdirSync(directory);
    },
  };
}
