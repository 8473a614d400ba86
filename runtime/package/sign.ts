/**
 * SHA256SUMS of the published files, and its detached signature, as a registry requires them.
 *
 * With `GATEFORM_GPG_KEY` (a fingerprint) that key of the caller's GnuPG signs. Without it, a test key is created, used
 * once and deleted; its public half stays next to the signature, so that the verification steps can be tried. Without
 * GnuPG, Ed25519 is used (`SHA256SUMS.ed25519.sig`, raw bytes): no registry accepts that, it is for private mirrors.
 * Verify it with `openssl pkeyutl -verify -pubin -inkey test-key.pem -rawin -in FILE -sigfile FILE.…`.
 */
import { execFileSync } from "node:child_process";
import { createHash, generateKeyPairSync, sign } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

export type Signer = "gpg" | "gpg-test-key" | "ed25519-test-key";

/** Writes the checksums of everything in the directory to `file` there, as `sha256sum -c` reads them, and signs that. */
export async function signSums(directory: string, file: string): Promise<Signer> {
  const lines = (await readdir(directory)).toSorted().map(async (name) => {
    const content = await readFile(join(directory, name));
    return `${createHash("sha256").update(content).digest("hex")}  ${name}\n`;
  });
  await writeFile(join(directory, file), (await Promise.all(lines)).join(""));
  return signFile(directory, file);
}

async function signFile(directory: string, file: string): Promise<Signer> {
  const key = process.env["GATEFORM_GPG_KEY"];
  const path = join(directory, file);
  if (key !== undefined) {
    gpg([], "--local-user", key, "--yes", "--detach-sign", "--output", `${path}.sig`, path);
    return "gpg";
  }
  return hasGpg() ? signWithTestKey(directory, path) : signWithEd25519(directory, path);
}

async function signWithTestKey(directory: string, path: string): Promise<Signer> {
  const home = await mkdtemp(join(tmpdir(), "gw-gpg-"));
  const there = ["--homedir", home];
  try {
    const user = "Gateform test key, trust nothing signed by it <test@example.invalid>";
    gpg(
      there,
      "--pinentry-mode",
      "loopback",
      "--passphrase",
      "",
      "--quick-generate-key",
      user,
      "rsa3072",
      "sign",
      "1d",
    );
    gpg(there, "--yes", "--detach-sign", "--output", `${path}.sig`, path);
    await writeFile(join(directory, "test-key.asc"), gpg(there, "--armor", "--export"));
  } finally {
    // GnuPG starts an agent for each home, which stays.
    execFileSync("gpgconf", ["--homedir", home, "--kill", "all"], { stdio: "ignore" });
    await rm(home, { recursive: true, force: true });
  }
  return "gpg-test-key";
}

async function signWithEd25519(directory: string, path: string): Promise<Signer> {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  await writeFile(`${path}.ed25519.sig`, sign(null, await readFile(path), privateKey));
  await writeFile(join(directory, "test-key.pem"), publicKey.export({ type: "spki", format: "pem" }));
  return "ed25519-test-key";
}

function hasGpg(): boolean {
  try {
    gpg([], "--version");
    return true;
  } catch {
    return false;
  }
}

function gpg(home: readonly string[], ...args: string[]): string {
  return execFileSync("gpg", [...home, "--batch", "--quiet", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  });
}
