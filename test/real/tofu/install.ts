/** OpenTofu, built from its Go module. Needs Go 1.26; it takes about nine minutes of processor time. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { cached, run } from "../common/cache.ts";

export const OPENTOFU_VERSION = "1.12.6";

/** The fork of HCL is the one that OpenTofu's own go.mod names; `replace` counts in the main module only. */
const MODULE = `module gateform.test/tofu

go 1.26

require github.com/opentofu/opentofu v${OPENTOFU_VERSION}

replace github.com/hashicorp/hcl/v2 v2.20.1 => github.com/opentofu/hcl/v2 v2.20.2-0.20251021132045-587d123c2828

tool github.com/opentofu/opentofu/cmd/tofu
`;

/**
 * @returns the environment in which the repository's programs run OpenTofu where they run Terraform
 * @throws Error with the reason where it cannot be had
 */
export async function installOpenTofu(): Promise<Readonly<Record<string, string>>> {
  const directory = await cached(`opentofu-${OPENTOFU_VERSION}`, async (fresh) => {
    const sources = join(fresh, "sources");
    await run("mkdir", ["-p", sources, join(fresh, "bin")], fresh);
    await writeFile(join(sources, "go.mod"), MODULE);
    await run("go", ["mod", "tidy"], sources);
    const version = `-X github.com/opentofu/opentofu/version.dev=no`;
    const program = join(fresh, "bin", "terraform");
    await run(
      "go",
      ["build", "-p", "2", "-ldflags", `-s -w ${version}`, "-o", program, "github.com/opentofu/opentofu/cmd/tofu"],
      sources,
    );
    await rm(sources, { recursive: true });
  });
  return {
    PATH: `${join(directory, "bin")}:${process.env["PATH"]}`,
    EXPECTED_TERRAFORM: `OpenTofu v${OPENTOFU_VERSION}`,
  };
}
