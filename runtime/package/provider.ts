/**
 * `npm run package:provider [-- DIRECTORY]`: everything for Terraform users and registries, in dist/release/.
 *
 *   archives/       terraform-provider-gateway_<version>_<os>_<arch>.zip, SHA256SUMS and its signature, manifest.json:
 *                   the files of a registry release; sbom.cdx.json: contents of the archives
 *   mirror-packed/  the archives as a filesystem mirror, at the addresses of Terraform and of OpenTofu
 *   mirror/         the same unpacked
 *   docs/           the pages a registry shows
 *   terraform.rc    for TF_CLI_CONFIG_FILE (also of OpenTofu): installs from the packed mirror
 */
import { link, mkdir, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { OPENTOFU_ADDRESS, PROVIDER_ADDRESS } from "../terraform/schema/schema.ts";
import { PROVIDER_VERSION } from "../terraform/version.ts";
import { cliConfig } from "../terraform/dev-mirror.ts";
import { writeProvider } from "./build.ts";
import { writeDocs } from "./docs.ts";
import { embeddedNode, filesFor, type Platform, PLATFORMS } from "./executable.ts";
import { readBill, renderBill } from "./sbom.ts";
import { type Signer, signSums } from "./sign.ts";
import { zip, type ZipEntry } from "./zip.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
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
  const packed = [PROVIDER_ADDRESS, OPENTOFU_ADDRESS].map((address) => join(directory, "mirror-packed", address));
  const archives = join(directory, "archives");
  for (const folder of [work, ...packed, archives]) await mkdir(folder, { recursive: true });
  const packages = await writeProvider(work);
  const bundle = join(work, "provider.cjs");
  const licenses = join(work, "THIRD_PARTY_LICENSES.txt");

  const sizes = new Map<string, number>();
  for (const platform of platforms) {
    const files = await filesFor(platform, { bundle, licenses, name: `${TYPE}_v${PROVIDER_VERSION}` });
    const name = `${PREFIX}_${platform}.zip`;
    const content = zip(files);
    await writeFile(join(archives, name), content);
    for (const each of packed) await link(join(archives, name), join(each, name));
    sizes.set(name, content.length);
    await unpack(join(directory, "mirror"), platform, files);
  }
  const manifest = `${PREFIX}_manifest.json`;
  const manifestText = `${JSON.stringify({ version: 1, metadata: { protocol_versions: ["6.0"] } }, null, 2)}\n`;
  const papers = { [manifest]: manifestText, [`${PREFIX}_sbom.cdx.json`]: await billOf(packages, platforms) };
  for (const [name, text] of Object.entries(papers)) await writeFile(join(archives, name), text);
  const signer = await signSums(archives, `${PREFIX}_SHA256SUMS`);

  await writeDocs(join(directory, "docs"), PROVIDER_VERSION);
  await writeFile(join(directory, "terraform.rc"), cliConfig(join(directory, "mirror-packed")));
  await rm(work, { recursive: true });
  return { directory, signer, archives: sizes };
}

async function billOf(packages: readonly string[], platforms: readonly Platform[]): Promise<string> {
  const product = { name: TYPE, version: PROVIDER_VERSION, description: "Terraform provider of Gateform" };
  const node = embeddedNode(platforms);
  return renderBill(await readBill(ROOT), product, packages, node === undefined ? [] : [node]);
}

/** Terraform's name for the platform of this host. */
export function thisPlatform(): Platform | undefined {
  const name = `${process.platform}_${process.arch === "x64" ? "amd64" : process.arch}`;
  return PLATFORMS.find((platform) => platform === name);
}

async function unpack(mirror: string, platform: Platform, files: readonly ZipEntry[]): Promise<void> {
  const [target, other] = [PROVIDER_ADDRESS, OPENTOFU_ADDRESS].map((address) =>
    join(mirror, address, PROVIDER_VERSION, platform),
  ) as [string, string];
  for (const folder of [target, other]) await mkdir(folder, { recursive: true });
  for (const { name, content, mode } of files) {
    await writeFile(join(target, name), content, { mode });
    await link(join(target, name), join(other, name));
  }
}

if (import.meta.main) {
  const release = await packageProvider(resolve(process.argv[2] ?? join(ROOT, "dist/release")));
  for (const [name, bytes] of release.archives) console.log(`${name}  ${(bytes / 1e6).toFixed(1)} MB`);
  console.log(`signed with ${release.signer}`);
  console.log(`To install from it: export TF_CLI_CONFIG_FILE=${join(release.directory, "terraform.rc")}`);
}
