/** A copy of the program with one bug in it. */
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { Bug } from "./bugs.ts";

const ROOT = new URL("../../../", import.meta.url).pathname;

export interface SeededProgram {
  /** Its main.ts. */
  readonly program: string;
  close(): void;
}

/** @throws Error when a text that is to be replaced does not stand where it should, exactly once */
export function seedBug(bug: Bug): SeededProgram {
  const directory = mkdtempSync(join(tmpdir(), "gateform-bug-"));
  const close = (): void => rmSync(directory, { recursive: true, force: true });
  try {
    cpSync(join(ROOT, "runtime"), join(directory, "runtime"), { recursive: true });
    cpSync(join(ROOT, "package.json"), join(directory, "package.json"));
    symlinkSync(join(ROOT, "node_modules"), join(directory, "node_modules"));
    for (const [file, text] of withBug(bug)) writeFileSync(join(directory, "runtime", file), text);
    return { program: join(directory, "runtime/main.ts"), close };
  } catch (error) {
    close();
    throw error;
  }
}

/** The files that it changes, as they are with it. @throws Error as above */
export function withBug({ name, changes }: Bug): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  for (const { file, find, replace } of changes) {
    const text = files.get(file) ?? readFileSync(join(ROOT, "runtime", file), "utf8");
    const times = text.split(find).length - 1;
    if (times !== 1)
      throw new Error(`Cannot seed ${name}: its text stands ${times} times in ${file}, must be once:\n${find}`);
    files.set(
      file,
      text.replace(find, () => replace),
    );
  }
  return files;
}
