/** The official MCP SDK for Python from PyPI, each version in an environment of its own. Needs Python 3.11 with venv. */
import { join } from "node:path";

import { cached, run } from "../../common/cache.ts";

export const PYTHON_SDK_VERSIONS = ["1.30.0", "2.3.0"] as const;

/** @returns the environments' Python, in the order of the versions. @throws Error with the reason where one cannot be had */
export async function installPython(): Promise<readonly string[]> {
  const found: string[] = [];
  for (const version of PYTHON_SDK_VERSIONS) {
    const directory = await cached(`python-sdk-${version}`, async (fresh) => {
      await run("python3", ["-m", "venv", "venv"], fresh);
      await run(join(fresh, "venv/bin/pip"), ["install", "-q", `mcp==${version}`, "pyjwt[crypto]", "uvicorn"], fresh);
    });
    found.push(join(directory, "venv/bin/python"));
  }
  return found;
}
