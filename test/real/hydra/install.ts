/** Ory Hydra, built from its Go module with SQLite. Needs Go 1.26 and a C compiler; it takes about four minutes of processor time. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { cached, run } from "../common/cache.ts";

export const HYDRA_VERSION = "2.3.0";

/** The fork of pop is the one that Hydra's own go.mod names; `replace` counts in the main module only. */
const MODULE = `module gateform.test/hydra

go 1.26

require github.com/ory/hydra/v2 v${HYDRA_VERSION}

replace github.com/gobuffalo/pop/v6 => github.com/ory/pop/v6 v6.2.1-0.20241121111754-e5dfc0f3344b

tool github.com/ory/hydra/v2
`;

/** @returns path of the program. @throws Error with the reason where it cannot be had */
export async function installHydra(): Promise<string> {
  const directory = await cached(`hydra-${HYDRA_VERSION}`, async (fresh) => {
    const sources = join(fresh, "sources");
    await run("mkdir", ["-p", sources], fresh);
    await writeFile(join(sources, "go.mod"), MODULE);
    await run("go", ["mod", "tidy"], sources);
    const tags = "sqlite,sqlite_omit_load_extension";
    const program = join(fresh, "hydra");
    const module = "github.com/ory/hydra/v2";
    await run("go", ["build", "-p", "2", "-tags", tags, "-ldflags", "-s -w", "-o", program, module], sources);
    await rm(sources, { recursive: true });
  });
  return join(directory, "hydra");
}
