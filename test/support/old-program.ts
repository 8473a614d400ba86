/**
 * The program of before the newest step of the store's tables, to be run beside the present one.
 *
 * From the repository's own history where it reaches back so far. In a shallow clone, or without git: the present program, which
 * is told to know the first step alone.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const ROOT = new URL("../..", import.meta.url).pathname;
/** The first version of the tables, and the last commit without the second. */
const COMMIT = "1efb75889a386ae77317f68030e355d0c3b19813";

export interface OldProgram {
  /** What Node runs, up to the command. */
  readonly program: readonly string[];
  close(): void;
}

export function oldProgram(): OldProgram {
  const directory = mkdtempSync(join(tmpdir(), "gateway-old-"));
  const close = (): void => rmSync(directory, { recursive: true, force: true });
  const archive = spawnSync("git", ["archive", COMMIT, "runtime", "package.json"], {
    cwd: ROOT,
    maxBuffer: 64 * 1024 * 1024,
  });
  if (archive.status !== 0) {
    const fewer = new URL("fewer-steps.ts", import.meta.url).pathname;
    return { program: ["--import", fewer, join(ROOT, "runtime/main.ts")], close };
  }
  const unpacked = spawnSync("tar", ["-x", "-C", directory], { input: archive.stdout });
  if (unpacked.status !== 0) throw new Error(`Cannot unpack ${COMMIT}: ${unpacked.stderr.toString()}`);
  symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
  return { program: [join(directory, "runtime/main.ts")], close };
}
