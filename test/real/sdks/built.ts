/** Programs of the tests that are built outside the repository, again where their text has changed. */
import { createHash } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { cached } from "../common/cache.ts";

/** @param base URL of the folder that the files are in. @returns their texts by their paths */
export async function textsOf(base: string, ...paths: readonly string[]): Promise<ReadonlyMap<string, string>> {
  const texts = paths.map(async (path) => [path, await readFile(new URL(path, base), "utf8")] as const);
  return new Map(await Promise.all(texts));
}

/**
 * @param name with the version
 * @param texts of the files, by their paths in the directory
 * @param build makes the programs there. @throws Error with the reason where it cannot
 * @returns the directory
 */
export function builtFrom(
  name: string,
  texts: ReadonlyMap<string, string>,
  build: (directory: string) => Promise<unknown>,
): Promise<string> {
  const digest = createHash("sha256")
    .update(JSON.stringify([...texts]))
    .digest("hex")
    .slice(0, 12);
  return cached(`${name}-${digest}`, async (fresh) => {
    for (const [path, text] of texts) {
      await mkdir(dirname(join(fresh, path)), { recursive: true });
      await writeFile(join(fresh, path), text);
    }
    await build(fresh);
  });
}
