/** The files of a release, made from the sources of one commit. `release.ts` starts it there. */
import { execFileSync } from "node:child_process";
import { copyFile, mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { readBuild, VERSION } from "../shared/version.ts";
import { PROVIDER_VERSION } from "../terraform/version.ts";
import { writeDocs } from "./docs.ts";
import { RELEASE_NODE } from "./node-binaries.ts";
import { PLATFORMS } from "./platforms.ts";
import { writeArchives } from "./provider.ts";
import { signSums } from "./sign.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

async function writeRelease(directory: string): Promise<void> {
  if (process.versions.node !== RELEASE_NODE)
    throw new Error(
      `A release is built by Node ${RELEASE_NODE}, this is ${process.versions.node}: use npm run release`,
    );
  if (readBuild() === undefined) throw new Error("runtime/shared/version.ts has no commit: use npm run release");
  const [npm, image, terraform] = ["npm", "image", "terraform"].map((name) => join(directory, name)) as [
    string,
    string,
    string,
  ];
  for (const folder of [npm, image, terraform]) await mkdir(folder, { recursive: true });

  say("npm package");
  // Builds first: package.json runs the build as `prepack`.
  execFileSync("npm", ["pack", "--loglevel=error", "--pack-destination", npm], {
    cwd: ROOT,
    stdio: ["ignore", "ignore", 2],
  });
  await copyFile(join(ROOT, "dist/sbom.cdx.json"), join(npm, `gateform-${VERSION}.cdx.json`));
  await copyFile(join(ROOT, "dist/image-sbom.cdx.json"), join(image, `gateform-${VERSION}-image.cdx.json`));

  say(`Terraform provider for ${PLATFORMS.length} platforms`);
  await writeArchives(terraform, PLATFORMS, async ({ name, bytes }) =>
    say(`  ${name}  ${(bytes / 1e6).toFixed(1)} MB`),
  );
  await writeDocs(join(directory, "terraform-docs"), PROVIDER_VERSION);
  await signSums(directory, "SHA256SUMS");
}

function say(text: string): void {
  console.error(text);
}

await writeRelease(process.argv[2] ?? "");
