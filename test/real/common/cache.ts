/** Real systems are installed or built once, outside the repository, and are found again by the next run. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";

const CACHE = join(process.env["XDG_CACHE_HOME"] ?? join(homedir(), ".cache"), "gateform-real");
/** Length of a failed command's output in its error. */
const SHOWN_CHARACTERS = 2000;

/**
 * @param name with the version: another version is another directory
 * @param make fills the directory; what an aborted run left there is removed before
 * @returns the directory
 */
export async function cached(name: string, make: (directory: string) => Promise<void>): Promise<string> {
  const directory = join(CACHE, name);
  const whole = join(directory, ".whole");
  if (existsSync(whole)) return directory;
  await rm(directory, { recursive: true, force: true });
  await mkdir(directory, { recursive: true });
  await make(directory);
  await writeFile(whole, "");
  return directory;
}

/** Runs a command of a set-up, which leaves the processor to others. @throws Error with the end of what it printed */
export async function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  const child = spawn("nice", [command, ...args], { cwd, stdio: ["ignore", "pipe", "pipe"] });
  let text = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  if (code !== 0) throw new Error(`"${command} ${args.join(" ")}" failed:\n${text.slice(-SHOWN_CHARACTERS)}`);
  return text;
}
