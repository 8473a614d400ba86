/** Provider executables per platform: one self-contained executable, or a launcher that needs Node on the path. */
import { execFileSync } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { LAUNCHER, PROVIDER_FILE } from "../terraform/launcher.ts";
import { BINARIES, type Binary, nodeBinary, RELEASE_NODE } from "./node-binaries.ts";
import { type Platform, thisPlatform } from "./platforms.ts";
import type { Component } from "./sbom.ts";
import type { ZipEntry } from "./zip.ts";

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
  const binary = binaryFor(platform);
  if (binary) {
    const name = platform.startsWith("windows_") ? `${files.name}.exe` : files.name;
    const content = await selfContained(platform, binary, files.bundle);
    return [{ name, content, mode: 0o755 }, licenses, { ...NODE_NOTICE, mode: 0o644 }];
  }
  const bundle = { name: PROVIDER_FILE, content: await readFile(files.bundle), mode: 0o644 };
  return [{ name: files.name, content: Buffer.from(LAUNCHER), mode: 0o755 }, bundle, licenses];
}

/** Node as a part of the executables, for bills of materials; undefined if these platforms have none. */
export function embeddedNode(platforms: readonly Platform[]): Component | undefined {
  const having = platforms.filter((platform) => binaryFor(platform) !== undefined);
  if (having.length === 0) return undefined;
  return {
    "bom-ref": `node@${RELEASE_NODE}`,
    type: "platform",
    name: "node",
    version: RELEASE_NODE,
    description: `Node.js, in the executables for ${having.join(", ")}`,
    purl: `pkg:generic/node@${RELEASE_NODE}`,
    licenses: [{ license: { id: "MIT" } }],
  };
}

/** With another Node, a checkout still makes archives that work: those with the launcher. */
function binaryFor(platform: Platform): Binary | undefined {
  return process.versions.node === RELEASE_NODE ? BINARIES[platform] : undefined;
}

/**
 * By Node's own means: a copy of its binary with the bundle inside, for this host also with the bundle's compiled code.
 *
 * The same bytes at each build: Node writes the path of the bundle into it, so the path is a bare name; and V8 compiles
 * to the same code only with `--predictable`, which the code cache does not require when the executable starts.
 */
async function selfContained(platform: Platform, binary: Binary, bundle: string): Promise<Buffer> {
  const directory = await mkdtemp(join(tmpdir(), "gateform-sea-"));
  try {
    await copyFile(bundle, join(directory, PROVIDER_FILE));
    const settings = {
      main: PROVIDER_FILE,
      output: "provider",
      executable: await nodeBinary(binary, directory),
      disableExperimentalSEAWarning: true,
      useCodeCache: platform === thisPlatform(),
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
    `This executable contains Node.js v${RELEASE_NODE}, copyright Node.js contributors, under the MIT licence.\n` +
      `The licence and those of what is in it: https://github.com/nodejs/node/blob/v${RELEASE_NODE}/LICENSE\n`,
  ),
};
