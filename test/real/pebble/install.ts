/** Pebble with renewal information, built from its Go module. Needs Go; it takes a minute of processor time. */
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { cached, run } from "../common/cache.ts";

export const PEBBLE_VERSION = "2.10.3";

const MODULE = `module gateform.test/pebble

go 1.25

require github.com/letsencrypt/pebble/v2 v${PEBBLE_VERSION}

tool (
	github.com/letsencrypt/pebble/v2/cmd/pebble
	github.com/letsencrypt/pebble/v2/cmd/pebble-challtestsrv
)
`;

/**
 * @returns the environment in which tests run it instead of Debian's
 * @throws Error with the reason where it cannot be had
 */
export async function installPebble(): Promise<Readonly<Record<string, string>>> {
  const directory = await cached(`pebble-${PEBBLE_VERSION}`, async (fresh) => {
    const sources = join(fresh, "sources");
    await run("mkdir", ["-p", sources], fresh);
    await writeFile(join(sources, "go.mod"), MODULE);
    await run("go", ["mod", "tidy"], sources);
    for (const name of ["pebble", "pebble-challtestsrv"]) {
      const command = `github.com/letsencrypt/pebble/v2/cmd/${name}`;
      await run("go", ["build", "-p", "2", "-ldflags", "-s -w", "-o", join(fresh, name), command], sources);
    }
    await rm(sources, { recursive: true });
  });
  return { GATEWAY_PEBBLE: directory };
}
