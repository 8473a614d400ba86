/** Canaille, an identity provider on PyPI, in a virtual environment of its own. Needs Python 3.10 or newer with venv. */
import { join } from "node:path";

import { cached, run } from "../common/cache.ts";

export const CANAILLE_VERSION = "0.3.6";

/** @returns path of the environment's Python. @throws Error with the reason where it cannot be had */
export async function installCanaille(): Promise<string> {
  const directory = await cached(`canaille-${CANAILLE_VERSION}`, async (fresh) => {
    await run("python3", ["-m", "venv", "venv"], fresh);
    await run(
      join(fresh, "venv/bin/pip"),
      ["install", "-q", `canaille[front,oidc,server]==${CANAILLE_VERSION}`],
      fresh,
    );
  });
  return join(directory, "venv/bin/python");
}
