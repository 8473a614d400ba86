/**
 * An installation source for Terraform and OpenTofu: this package's or checkout's provider, in the layout of an unpacked
 * filesystem mirror, and the CLI configuration for it.
 *
 * `terraform init` links the mirrored directory and locks its hash, and lock files are committed. So its content is the same
 * on every host and platform: the provider in one file, and a launcher without a path. Files of this host (path of Node,
 * compiled code, the CLI configuration) are next to the mirror.
 */
import { chmod, mkdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";

import { LAUNCHER, NODE_PATH_FILE, PROVIDER_FILE } from "./launcher.ts";
import { findProviderFile } from "./provider-file.ts";
import { OPENTOFU_ADDRESS, PROVIDER_ADDRESS } from "./schema/schema.ts";
import { PROVIDER_VERSION } from "./version.ts";

export interface DevMirror {
  /** For `TF_CLI_CONFIG_FILE`. */
  readonly cliConfigFile: string;
  /** The executable that Terraform starts; for `dev_overrides` and tests that start it themselves. */
  readonly launcher: string;
}

/** @param directory created if it does not exist; keep it while working directories are initialized from it */
export async function writeDevMirror(directory: string): Promise<DevMirror> {
  const root = resolve(directory);
  const platform = `${process.platform}_${GO_ARCHITECTURES[process.arch] ?? process.arch}`;
  // Not in the mirrored directory, which Terraform may be hashing now.
  const temporary = join(root, `new.${process.pid}`);
  const replace = (path: string, content: string | Buffer, mode = 0o644): Promise<void> =>
    replaceFile(temporary, path, content, mode);
  const provider = await findProviderFile(join(root, PROVIDER_FILE));
  const install = async (address: string): Promise<string> => {
    const target = join(root, "mirror", address, PROVIDER_VERSION, platform);
    await mkdir(target, { recursive: true });
    if (provider.endsWith(".cjs")) await replace(join(target, PROVIDER_FILE), await readFile(provider));
    else await replaceByLink(temporary, join(target, PROVIDER_FILE), provider);
    const launcher = join(target, `terraform-provider-gateway_v${PROVIDER_VERSION}`);
    await replace(launcher, LAUNCHER, 0o755);
    return launcher;
  };
  await install(OPENTOFU_ADDRESS);
  const launcher = await install(PROVIDER_ADDRESS);
  await replace(join(root, NODE_PATH_FILE), `${process.execPath}\n`);
  const cliConfigFile = join(root, "terraform.rc");
  await replace(cliConfigFile, cliConfig(join(root, "mirror")));
  return { cliConfigFile, launcher };
}

const GO_ARCHITECTURES: Readonly<Record<string, string>> = { x64: "amd64", ia32: "386" };

async function replaceFile(temporary: string, path: string, content: string | Buffer, mode: number): Promise<void> {
  if (await holds(path, content, mode)) return;
  try {
    await writeFile(temporary, content, { mode });
    await chmod(temporary, mode);
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Sources resolve imports by their real path. Terraform hashes the link's target, so no path is in the hash. */
async function replaceByLink(temporary: string, path: string, source: string): Promise<void> {
  await rm(temporary, { force: true });
  await symlink(source, temporary);
  await rename(temporary, path);
}

async function holds(path: string, content: string | Buffer, mode: number): Promise<boolean> {
  try {
    return ((await stat(path)).mode & 0o777) === mode && (await readFile(path)).equals(Buffer.from(content));
  } catch {
    return false;
  }
}

/** A CLI configuration for Terraform and OpenTofu that installs our provider from a filesystem mirror, and others as usual. */
export function cliConfig(mirror: string): string {
  const sources = [PROVIDER_ADDRESS, OPENTOFU_ADDRESS].map((address) => `${dirname(address)}/*`);
  const list = `[${sources.map((source) => JSON.stringify(source)).join(", ")}]`;
  return [
    "disable_checkpoint = true",
    "provider_installation {",
    "  filesystem_mirror {",
    `    path    = ${JSON.stringify(mirror)}`,
    `    include = ${list}`,
    "  }",
    "  direct {",
    `    exclude = ${list}`,
    "  }",
    "}",
    "",
  ].join("\n");
}
