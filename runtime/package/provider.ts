/**
 * `npm run package:provider [-- DIRECTORY]`: everything a Terraform user or registry needs, in dist/release/.
 *
 *   archives/       terraform-provider-gateway_<version>_<os>_<arch>.zip, SHA256SUMS and its signature, manifest.json:
 *                   the files of a registry release
 *   mirror-packed/  the archives as a filesystem mirror
 *   mirror/         the same unpacked
 *   docs/           the pages a registry shows
 *   terraform.rc    for TF_CLI_CONFIG_FILE: installs from the packed mirror
 */
import { createHash } from "node:crypto";
import { copyFile, mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { PROVIDER_ADDRESS } from "../terraform/schema/schema.ts";
import { PROVIDER_VERSION } from "../terraform/version.ts";
import { cliConfig } from "../terraform/dev-mirror.ts";
import { writeProvider } from "./build.ts";
import { writeDocs } from "./docs.ts";
import { filesFor, type Platform, PLATFORMS } from "./executable.ts";
import { type Signer, signFile } from "./sign.ts";
import { zip, type ZipEntry } from "./zip.ts";

const TYPE = "terraform-provider-gateway";
const PREFIX = `${TYPE}_${PROVIDER_VERSION}`;

export interface Release {
  readonly directory: string;
  readonly signer: Signer;
  /** File name → bytes. */
  readonly archives: ReadonlyMap<string, number>;
}

/** @param directory emptied first */
export async function packageProvider(directory: string, platforms = PLATFORMS): Promise<Release> {
  await rm(directory, { recursive: true, force: true });
  const work = join(directory, "work");
  const packed = join(directory, "mirror-packed", PROVIDER_ADDRESS);
  const archives = join(directory, "archives");
  for (const folder of [work, packed, archives]) await mkdir(folder, { recursive: true });
  await writeProvider(work);
  const bundle = join(work, "provider.cjs");
  const licenses = join(work, "THIRD_PARTY_LICENSES.txt");

  const sizes = new Map<string, number>();
  const sums: string[] = [];
  for (const platform of platforms) {
    const files = await filesFor(platform, { bundle, licenses, name: `${TYPE}_v${PROVIDER_VERSION}` });
    const name = `${PREFIX}_${platform}.zip`;
    const content = zip(files);
    await writeFile(join(archives, name), content);
    await copyFile(join(archives, name), join(packed, name));
    sizes.set(name, content.length);
    sums.push(sumLine(content, name));
    await unpack(join(directory, "mirror"), platform, files);
  }
  const manifest = `${PREFIX}_manifest.json`;
  const manifestText = `${JSON.stringify({ version: 1, metadata: { protocol_versions: ["6.0"] } }, null, 2)}\n`;
  await writeFile(join(archives, manifest), manifestText);
  sums.push(sumLine(Buffer.from(manifestText), manifest));
  await writeFile(join(archives, `${PREFIX}_SHA256SUMS`), sums.toSorted(byName).join(""));
  const signer = await signFile(archives, `${PREFIX}_SHA256SUMS`);

  await writeDocs(join(directory, "docs"), PROVIDER_VERSION);
  await writeFile(join(directory, "terraform.rc"), cliConfig(join(directory, "mirror-packed")));
  await rm(work, { recursive: true });
  return { directory, signer, archives: sizes };
}

/** The name that Terraform gives to the platform of this machine. */
export function thisPlatform(): Platform | undefined {
  const name = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  return PLATFORMS.find((platform) => platform === name);
}

async function unpack(mirror: string, platform: Platform, files: readonly ZipEntry[]): Promise<void> {
  const target = join(mirror, PROVIDER_ADDRESS, PROVIDER_VERSION, platform);
  await mkdir(target, { recursive: true });
  for (const { name, content, mode } of files) await writeFile(join(target, name), content, { mode });
}

function sumLine(content: Buffer, name: string): string {
  return `${createHash("sha256").update(content).digest("hex")}  ${name}\n`;
}

function byName(one: string, other: string): number {
  return one.slice(66) < other.slice(66) ? -1 : 1;
}

if (import.meta.main) {
  const root = fileURLToPath(new URL("../../", import.meta.url));
  const release = await packageProvider(resolve(process.argv[2] ?? join(root, "dist/release")));
  for (const [name, bytes] of release.archives) console.log(`${name}  ${(bytes / 1e6).toFixed(1)} MB`);
  console.log(`signed with ${release.signer}`);
  console.log(`To install from it: export TF_CLI_CONFIG_FILE=${join(release.directory, "terraform.rc")}`);
}
