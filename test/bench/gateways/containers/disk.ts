/**
 * Where the programs of small containers are. Near its limit of memory a container drops parts of its program and reads them
 * again; how much the system reads at a time then decides the figures. Some virtual disks read 8 MiB, so the programs get a
 * disk of their own that reads as much as Linux does by default.
 */
import { execFileSync } from "node:child_process";
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";

const READ_AHEAD_KIBIBYTES = 128;
const BYTES = 700 * 2 ** 20;

export interface ProgramDisk {
  /** Undefined where it is unknown. */
  readonly readAheadKibibytes: number | undefined;
  /** A copy of the program, of which nothing is in memory: the system counts a file for the group that reads it first. */
  copyOf(program: string): string;
  close(): void;
}

export function openProgramDisk(parent: string): ProgramDisk {
  const directory = join(parent, "programs");
  mkdirSync(directory);
  const close = mountOwnDisk(directory, join(parent, "programs.img"));
  return {
    readAheadKibibytes: readAheadOf(directory),
    close: close ?? (() => {}),
    copyOf(program) {
      const copy = join(directory, basename(program));
      if (!existsSync(copy)) {
        copyFileSync(program, copy);
        chmodSync(copy, 0o755);
      }
      run("dd", "if=/dev/null", `of=${copy}`, "oflag=nocache", "conv=notrunc,fdatasync", "count=0");
      return copy;
    },
  };
}

/** @returns what unmounts it; undefined where none can be mounted, then the directory is on the disk where it was */
function mountOwnDisk(directory: string, image: string): (() => void) | undefined {
  const undo: (() => unknown)[] = [];
  const close = (): void => {
    for (const step of undo.splice(0)) step();
  };
  try {
    writeFileSync(image, "");
    truncateSync(image, BYTES);
    run("mkfs.ext4", "-q", "-F", "-O", "^has_journal", image);
    const device = run("losetup", "--direct-io=on", "--find", "--show", image).trim();
    undo.unshift(() => run("losetup", "--detach", device));
    writeFileSync(`/sys/block/${basename(device)}/queue/read_ahead_kb`, String(READ_AHEAD_KIBIBYTES));
    run("mount", device, directory);
    undo.unshift(() => run("umount", directory));
    return close;
  } catch {
    close();
    return undefined;
  }
}

function readAheadOf(directory: string): number | undefined {
  const { dev } = statSync(directory);
  const [major, minor] = [(dev >> 8) & 0xfff, (dev & 0xff) | ((dev >> 12) & 0xfff00)];
  try {
    return Number(readFileSync(`/sys/class/bdi/${major}:${minor}/read_ahead_kb`, "utf8"));
  } catch {
    return undefined;
  }
}

function run(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
}
