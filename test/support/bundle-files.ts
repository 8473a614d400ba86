/** Configuration files in a temporary directory, written like users and programs do. */
import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { TEST_SHARED_SECRET } from "./config.ts";

export interface ConfigFiles {
  readonly directory: string;
  path(name: string): string;
  /** In place, as `>` does. */
  write(name: string, text: string): void;
  /** Renames a temporary file over the old one, like publishers and editors. */
  replace(name: string, text: string): void;
  remove(name: string): void;
  /**
   * All files at once, as Kubernetes mounts a ConfigMap: `name` → `..data/name`, `..data` → a directory of this
   * generation; a new generation swaps `..data` by a rename.
   */
  swapConfigMap(files: Readonly<Record<string, string>>): void;
  close(): void;
}

export function createConfigFiles(): ConfigFiles {
  const directory = mkdtempSync(join(tmpdir(), "gateform-bundle-"));
  const path = (name: string): string => join(directory, name);
  let generation = 0;
  return {
    directory,
    path,
    write: (name, text) => writeFileSync(path(name), text),
    replace(name, text) {
      const temporary = path(`.${name}.tmp-${(generation += 1)}`);
      writeFileSync(temporary, text);
      renameSync(temporary, path(name));
    },
    remove: (name) => rmSync(path(name), { recursive: true }),
    swapConfigMap(files) {
      const old = `..generation-${generation}`;
      const next = `..generation-${(generation += 1)}`;
      mkdirSync(path(next));
      for (const [name, text] of Object.entries(files)) writeFileSync(path(join(next, name)), text);
      symlinkSync(next, path("..data_tmp"));
      renameSync(path("..data_tmp"), path("..data"));
      for (const name of Object.keys(files)) {
        try {
          symlinkSync(join("..data", name), path(name));
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
        }
      }
      rmSync(path(old), { recursive: true, force: true });
    },
    close: () => rmSync(directory, { recursive: true }),
  };
}

/** A main configuration file; `more` is added next to the settings. */
export function bootFile(more = ""): string {
  return `shared_secret: "${TEST_SHARED_SECRET}"\nstorage_url: "memory:"\ninsecure_server: true\n${more}\n`;
}

/** A published slice with routes `<prefix>0` … that all carry the same mark in a response header. */
export function sliceFile(owner: string, mark: string, routes = 1): string {
  const named = Array.from({ length: routes }, (_, index) => [
    `r${index}`,
    {
      from: `http://${owner}-${index}.example.com`,
      to: ["http://127.0.0.1:1"],
      policy: [{ allow: { or: [{ authenticated_user: true }] } }],
      set_response_headers: { "X-Mark": mark },
    },
  ]);
  return JSON.stringify({ version: 1, owner, routes: Object.fromEntries(named) });
}
