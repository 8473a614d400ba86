/**
 * A Terraform installation source for development: this checkout's provider, in the layout of an unpacked filesystem
 * mirror, and the CLI configuration that points there.
 *
 * `terraform init` links the mirrored directory and locks its hash. Only the launcher lies in there, and its text is
 * the same as long as the paths are: rebuilding the provider breaks no lock file.
 */
import { chmod, mkdir, rename, rm, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";

import { findProviderFile } from "./provider-file.ts";
import { PROVIDER_ADDRESS } from "./schema.ts";
import { PROVIDER_VERSION } from "./version.ts";

export interface DevMirror {
  /** For `TF_CLI_CONFIG_FILE`. */
  readonly cliConfigFile: string;
  /** What Terraform starts; for `dev_overrides` and tests that start it themselves. */
  readonly launcher: string;
}

/** @param directory made if it is not there; keep it as long as working directories are initialised from it */
export async function writeDevMirror(directory: string): Promise<DevMirror> {
  const root = resolve(directory);
  const entry = await findProviderFile(join(root, "provider.cjs"));
  const name = `terraform-provider-gateway_v${PROVIDER_VERSION}`;
  const platform = `${process.platform}_${GO_ARCHITECTURES[process.arch] ?? process.arch}`;
  const target = join(root, "mirror", PROVIDER_ADDRESS, PROVIDER_VERSION, platform);
  await mkdir(target, { recursive: true });
  const launcher = join(target, name);
  await replaceText(root, launcher, launcherText(join(root, "cache"), entry), 0o755);
  const cliConfigFile = join(root, "terraform.rc");
  await replaceText(root, cliConfigFile, cliConfig(join(root, "mirror")), 0o644);
  return { cliConfigFile, launcher };
}

const GO_ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

/** exec: the provider must be Terraform's child, or it would not notice when Terraform dies. */
function launcherText(cache: string, entry: string): string {
  // Compiled code kept between starts: one plan starts the provider three times, and each start waits for the compiler.
  return [
    "#!/bin/sh",
    `export NODE_COMPILE_CACHE=${shellQuote(cache)}`,
    `exec ${shellQuote(process.execPath)} ${shellQuote(entry)} "$@"`,
    "",
  ].join("\n");
}

/** The temporary file lies in the root: Terraform may be hashing the mirrored directory at this moment. */
async function replaceText(root: string, path: string, text: string, mode: number): Promise<void> {
  const temporary = join(root, `new.${process.pid}`);
  try {
    await writeFile(temporary, text, { mode });
    await chmod(temporary, mode);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** A CLI configuration that installs our provider from a filesystem mirror, and others as usual. */
export function cliConfig(mirror: string): string {
  const source = `${PROVIDER_ADDRESS.split("/").slice(0, 2).join("/")}/*`;
  return [
    "disable_checkpoint = true",
    "provider_installation {",
    "  filesystem_mirror {",
    `    path    = ${JSON.stringify(mirror)}`,
    `    include = [${JSON.stringify(source)}]`,
    "  }",
    "  direct {",
    `    exclude = [${JSON.stringify(source)}]`,
    "  }",
    "}",
    "",
  ].join("\n");
}

function shellQuote(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
