/**
 * SHA256SUMS of published files, and its detached signature, as the Terraform registry requires them.
 *
 * `GATEFORM_GPG_KEY` (a fingerprint) names a key of the caller's GnuPG. Without it nothing is signed.
 */
import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join, relative, sep } from "node:path";

/**
 * Writes the checksums of everything in and below the directory to `file` there, as `sha256sum -c` reads them, and signs
 * that.
 *
 * @returns whether it is signed
 * @throws Error if the key cannot sign
 */
export async function signSums(directory: string, file: string): Promise<boolean> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const names = entries
    // A signature verifies itself, and differs each time.
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".sig"))
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).replaceAll(sep, "/"));
  const lines = names.toSorted().map(async (name) => {
    const content = await readFile(join(directory, name));
    return `${createHash("sha256").update(content).digest("hex")}  ${name}\n`;
  });
  const path = join(directory, file);
  await writeFile(path, (await Promise.all(lines)).join(""));
  const key = process.env["GATEFORM_GPG_KEY"];
  if (key === undefined || key === "") return false;
  const options = ["--batch", "--quiet", "--yes", "--local-user", key];
  execFileSync("gpg", [...options, "--detach-sign", "--output", `${path}.sig`, path], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  return true;
}
