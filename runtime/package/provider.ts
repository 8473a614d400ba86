/**
 * `npm run package:provider [-- DIRECTORY]`: the provider for this host, in dist/release/, to try it from a checkout.
 * `npm run release` makes what is published.
 *
 *   archives/       as below
 *   mirror-packed/  the archives as a filesystem mirror, at the addresses of Terraform and of OpenTofu
 *   mirror/         the same unpacked
 *   docs/           the pages a registry shows
 *   terraform.rc    for TF_CLI_CONFIG_FILE (also of OpenTofu): installs from the packed mirror
 */
import { link, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { OPENTOFU_ADDRESS, PROVIDER_ADDRESS } from "../terraform/schema/schema.ts";
import { PROVIDER_PROTOCOL, PROVIDER_VERSION } from "../terraform/version.ts";
import { cliConfig } from "../terraform/dev-mirror.ts";
import { writeProvider } from "./build.ts";
import { writeDocs } from "./docs.ts";
import { embeddedNode, filesFor } from "./executable.ts";
import { type Platform, thisPlatform } from "./platforms.ts";
import { readBill, renderBill } from "./sbom.ts";
import { signSums } from "./sign.ts";
import { zip, type ZipEntry } from "./zip.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const TYPE = "terraform-provider-gateway";
const PREFIX = `${TYPE}_${PROVIDER_VERSION}`;

export interface Archive {
  readonly platform: Platform;
  readonly name: string;
  readonly bytes: number;
  readonly files: readonly ZipEntry[];
}

/**
 * The files of a registry release: terraform-provider-gateway_<version>_<os>_<arch>.zip, manifest.json, SHA256SUMS and its
 * signature; and sbom.cdx.json, the contents of the archives.
 *
 * @param directory exists
 * @param each called for each archive once it is written
 */
export async function writeArchives(
  directory: string,
  platforms: readonly Platform[],
  each: (archive: Archive) => Promise<void>,
): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), "gateform-provider-"));
  try {
    const packages = await writeProvider(work);
    const bundle = join(work, "provider.cjs");
    const licenses = join(work, "THIRD_PARTY_LICENSES.txt");
    for (const platform of platforms) {
      const files = await filesFor(platform, { bundle, licenses, name: `${TYPE}_v${PROVIDER_VERSION}` });
      const name = `${PREFIX}_${platform}.zip`;
      const content = zip(files);
      await writeFile(join(directory, name), content);
      await each({ platform, name, bytes: content.length, files });
    }
    const manifest = { version: 1, metadata: { protocol_versions: [PROVIDER_PROTOCOL] } };
    await writeFile(join(directory, `${PREFIX}_manifest.json`), `${JSON.stringify(manifest, null, 2)}\n`);
    await writeFile(join(directory, `${PREFIX}_sbom.cdx.json`), await billOf(packages, platforms));
    await signSums(directory, `${PREFIX}_SHA256SUMS`);
  } finally {
    await rm(work, { recursive: true });
  }
}

/** @param directory emptied first */
export async function packageProvider(directory: string, platforms: readonly Platform[]): Promise<readonly Archive[]> {
  await rm(directory, { recursive: true, force: true });
  const packed = [PROVIDER_ADDRESS, OPENTOFU_ADDRESS].map((address) => join(directory, "mirror-packed", address));
  const archives = join(directory, "archives");
  for (const folder of [...packed, archives]) await mkdir(folder, { recursive: true });
  const made: Archive[] = [];
  await writeArchives(archives, platforms, async (archive) => {
    made.push(archive);
    for (const each of packed) await link(join(archives, archive.name), join(each, archive.name));
    await unpack(join(directory, "mirror"), archive);
  });
  await writeDocs(join(directory, "docs"), PROVIDER_VERSION);
  await writeFile(join(directory, "terraform.rc"), cliConfig(join(directory, "mirror-packed")));
  return made;
}

async function billOf(packages: readonly string[], platforms: readonly Platform[]): Promise<string> {
  const product = { name: TYPE, version: PROVIDER_VERSION, description: "Terraform provider of Gateform" };
  const node = embeddedNode(platforms);
  return renderBill(await readBill(ROOT), product, packages, node === undefined ? [] : [node]);
}

async function unpack(mirror: string, { platform, files }: Archive): Promise<void> {
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
  const directory = resolve(process.argv[2] ?? join(ROOT, "dist/release"));
  const platform = thisPlatform();
  if (platform === undefined) throw new Error(`There is no provider for ${process.platform} on ${process.arch}`);
  for (const { name, bytes } of await packageProvider(directory, [platform]))
    console.log(`${name}  ${(bytes / 1e6).toFixed(1)} MB`);
  console.log(`To install from it: export TF_CLI_CONFIG_FILE=${join(directory, "terraform.rc")}`);
}
