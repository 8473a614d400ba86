/** GnuPG with a separate home, for signing and verifying a release. */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** @returns why tests that need it are skipped @throws Error instead with GATEWAY_REQUIRE_ALL */
export function gpgMissing(): string | undefined {
  try {
    execFileSync("gpg", ["--version"], { stdio: "ignore" });
    return undefined;
  } catch {
    const missing = "gpg is not on the PATH";
    if (process.env["GATEWAY_REQUIRE_ALL"] === "1") throw new Error(`${missing}, and GATEWAY_REQUIRE_ALL is set`);
    return missing;
  }
}

export interface GpgHome {
  readonly directory: string;
  /** Makes a key that signs, without a passphrase. @returns its fingerprint */
  makeKey(user: string): string;
  /** @returns stdout @throws when gpg says no */
  run(...args: string[]): string;
  close(): void;
}

export function createGpgHome(): GpgHome {
  // A short path: the agent's socket is in there.
  const directory = mkdtempSync(join(tmpdir(), "gw-gpg-"));
  const run = (...args: string[]): string =>
    execFileSync("gpg", ["--homedir", directory, "--batch", "--quiet", ...args], { encoding: "utf8", stdio: "pipe" });
  return {
    directory,
    run,
    makeKey(user) {
      const options = ["--pinentry-mode", "loopback", "--passphrase", ""];
      run(...options, "--quick-generate-key", user, "rsa2048", "sign", "1d");
      return /^fpr:+([0-9A-F]{40}):/m.exec(run("--with-colons", "--list-keys", user))?.[1] ?? "";
    },
    close() {
      execFileSync("gpgconf", ["--homedir", directory, "--kill", "all"], { stdio: "ignore" });
      rmSync(directory, { recursive: true, force: true });
    },
  };
}
