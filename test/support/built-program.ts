/**
 * The gateway's program as the package has it, built from this checkout's sources once for all tests. It starts with half of the
 * CPU time of the sources, where Node finds, reads and links 1,300 modules.
 */
import { readdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";

import { writePrograms } from "../../runtime/package/program-files.ts";
import { madeOnce } from "./made-once.ts";

const ROOT = new URL("../../", import.meta.url).pathname;

let made: Promise<string> | undefined;

/** @returns what Node runs, up to the command */
export function builtProgram(): Promise<string> {
  return (made ??= make());
}

async function make(): Promise<string> {
  const sources = readdirSync(join(ROOT, "runtime"), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
    .map((entry) => join(entry.parentPath, entry.name))
    .toSorted();
  const texts = [join(ROOT, "package.json"), join(ROOT, "package-lock.json"), ...sources].map((file) =>
    readFileSync(file, "utf8"),
  );
  const directory = await madeOnce("program", [ROOT, ...sources, ...texts], async (making) => {
    await writePrograms(ROOT, join(making, "dist/runtime"));
    // It reads its version there, and imports the packages that are not in the build.
    for (const name of ["package.json", "node_modules"]) symlinkSync(join(ROOT, name), join(making, name));
  });
  return join(directory, "dist/runtime/main.js");
}
