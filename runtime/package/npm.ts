/**
 * `npm run package:npm [-- DIRECTORY]`: the npm package as a file, in dist/npm/, with its bill of materials, checksums and
 * their signature.
 */
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { VERSION } from "../shared/version.ts";
import { type Signer, signSums } from "./sign.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** @param directory emptied first @returns the signer */
export async function packageNpm(directory: string): Promise<Signer> {
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  // Builds first: package.json runs the build as `prepack`.
  execFileSync("npm", ["pack", "--silent", "--pack-destination", directory], { cwd: ROOT, stdio: ["ignore", 2, 2] });
  await copyFile(join(ROOT, "dist/sbom.cdx.json"), join(directory, `gateform-${VERSION}.cdx.json`));
  return signSums(directory, `gateform-${VERSION}_SHA256SUMS`);
}

if (import.meta.main) {
  const directory = resolve(process.argv[2] ?? join(ROOT, "dist/npm"));
  console.log(`${directory}: signed with ${await packageNpm(directory)}`);
}
