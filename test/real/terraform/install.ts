/**
 * A newer Terraform than the one on the PATH, built from its Go module (Business Source License) for these tests only.
 * Needs Go 1.26; it takes about four minutes of processor time.
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { cached, run } from "../common/cache.ts";

export const TERRAFORM_VERSION = "1.16.0";

const MODULE = "github.com/hashicorp/terraform";
/** Backends for state in clouds are modules of their own, which the module proxy does not serve. No test uses them. */
const BACKENDS = ["azure", "consul", "cos", "gcs", "kubernetes", "oci", "oss", "pg", "s3"];

/**
 * @returns the environment in which the repository's programs run it
 * @throws Error with the reason where it cannot be had
 */
export async function installTerraform(): Promise<Readonly<Record<string, string>>> {
  const directory = await cached(`terraform-${TERRAFORM_VERSION}`, async (fresh) => {
    const sources = join(fresh, "sources");
    const absent = [
      ...BACKENDS.map((name) => ({ path: `internal/backend/remote-state/${name}`, file: absentBackend(name) })),
      // Only its own tests use it.
      { path: "internal/legacy", file: "package legacy\n" },
      { path: "internal/legacy/terraform", file: "package terraform\n" },
    ];
    for (const { path, file } of absent) {
      await mkdir(join(sources, path), { recursive: true });
      await writeFile(join(sources, path, "absent.go"), file);
    }
    const replaced = absent.map(({ path }) => path).filter((path) => path !== "internal/legacy/terraform");
    for (const path of replaced)
      await writeFile(join(sources, path, "go.mod"), `module ${MODULE}/${path}\n\ngo 1.26\n`);
    const replacements = replaced.map((path) => `replace ${MODULE}/${path} => ./${path}`).join("\n");
    const main = `require ${MODULE} v${TERRAFORM_VERSION}\n\n${replacements}\n\ntool ${MODULE}\n`;
    await writeFile(join(sources, "go.mod"), `module gateform.test/terraform\n\ngo 1.26\n\n${main}`);
    await run("go", ["mod", "tidy"], sources);
    const flags = `-s -w -X ${MODULE}/version.dev=no`;
    await run("go", ["build", "-p", "2", "-ldflags", flags, "-o", join(fresh, "bin", "terraform"), MODULE], sources);
    await rm(sources, { recursive: true });
  });
  return {
    PATH: `${join(directory, "bin")}:${process.env["PATH"]}`,
    EXPECTED_TERRAFORM: `Terraform v${TERRAFORM_VERSION}`,
  };
}

function absentBackend(name: string): string {
  return `package ${name}

import "${MODULE}/internal/backend"

func New() backend.Backend { panic("this backend is not built in") }
`;
}
