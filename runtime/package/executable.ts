/** Provider executables per platform: one self-contained executable, or a launcher that needs Node on the path. */
import { execFileSync } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { LAUNCHER, PROVIDER_FILE } from "../terraform/launcher.ts";
import type { Component } from "./sbom.ts";
import type { ZipEntry } from "./zip.ts";

/** Terraform's name of a platform. */
export type Platform = `${"linux" | "darwin"}_${"amd64" | "arm64"}`;

export const PLATFORMS: readonly Platform[] = ["linux_amd64", "linux_arm64", "darwin_amd64", "darwin_arm64"];

/** The one platform with a self-contained executable, which contains the Node of this host. */
const SELF_CONTAINED: Platform = "linux_amd64";

export interface ProviderFiles {
  /** Path of the bundle. */
  readonly bundle: string;
  /** Path of the licenses of its contents. */
  readonly licenses: string;
  /** "terraform-provider-gateway_v1.2.3": Terraform searches for this name. */
  readonly name: string;
}

/** @returns the files of the archive; the executable is the first */
export async function filesFor(platform: Platform, files: ProviderFiles): Promise<readonly ZipEntry[]> {
  const licenses = { name: "THIRD_PARTY_LICENSES.txt", content: await readFile(files.licenses), mode: 0o644 };
  if (platform === SELF_CONTAINED && canBuildHere()) {
    const content = await selfContained(files.bundle);
    return [{ name: files.name, content, mode: 0o755 }, licenses, { ...NODE_NOTICE, mode: 0o644 }];
  }
  const bundle = { name: PROVIDER_FILE, content: await readFile(files.bundle), mode: 0o644 };
  return [{ name: files.name, content: Buffer.from(LAUNCHER), mode: 0o755 }, bundle, licenses];
}

/** Node as a part of the self-contained executable, for bills of materials; undefined if none is made here. */
export function embeddedNode(platforms: readonly Platform[]): Component | undefined {
  if (!platforms.includes(SELF_CONTAINED) || !canBuildHere()) return undefined;
  return {
    "bom-ref": `node@${process.versions.node}`,
    type: "platform",
    name: "node",
    version: process.versions.node,
    description: `Node.js, in the executable for ${SELF_CONTAINED} alone`,
    purl: `pkg:generic/node@${process.versions.node}`,
    licenses: [{ license: { id: "MIT" } }],
  };
}

function canBuildHere(): boolean {
  return process.platform === "linux" && process.arch === "x64" && Number(process.versions.node.split(".")[0]) >= 26;
}

/**
 * By Node's own means: a copy of the running `node` with the bundle and its compiled code inside.
 *
 * The same bytes at each build: Node writes the path of the bundle into it, so the path is a bare name; and V8 compiles
 * to the same code only with `--predictable`, which the code cache does not require when the executable starts.
 */
async function selfContained(bundle: string): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), "gateform-sea-"));
  try {
    await copyFile(bundle, join(directory, PROVIDER_FILE));
    const settings = {
      main: PROVIDER_FILE,
      output: "provider",
      disableExperimentalSEAWarning: true,
      useCodeCache: true,
    };
    await writeFile(join(directory, "sea.json"), JSON.stringify(settings));
    const stdio = ["ignore", "pipe", 2] as const;
    execFileSync(process.execPath, ["--predictable", "--build-sea", "sea.json"], { cwd: directory, stdio: [...stdio] });
    return await readFile(join(directory, "provider"));
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** Node's npm package has no license text, which is long because of the contents of Node itself. */
const NODE_NOTICE = {
  name: "NODE_LICENSE.txt",
  content: Buffer.from(
    `This executable contains Node.js ${process.version}, copyright Node.js contributors, under the MIT licence.\n` +
      `The licence and those of what is in it: https://github.com/nodejs/node/blob/${process.version}/LICENSE\n`,
  ),
};
