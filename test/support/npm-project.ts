/** The package as its users get it: packed, and installed by npm into an empty project. */
import { execFile } from "node:child_process";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, relative } from "node:path";
import { promisify } from "node:util";

import { LONG_MS } from "./limits.ts";
import { QUICK_GO } from "./quick-start.ts";

const root = new URL("../../", import.meta.url).pathname;
const execute = promisify(execFile);

export interface NpmProject {
  readonly directory: string;
  write(name: string, text: string): void;
  /** Runs a bin of the project. @returns stdout @throws with the whole output when it fails */
  run(bin: string, ...args: string[]): Promise<string>;
  close(): void;
}

interface LockEntry {
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta?: Readonly<Record<string, { optional?: boolean }>>;
}

interface Lock {
  readonly name?: string;
  readonly lockfileVersion?: number;
  readonly requires?: boolean;
  readonly packages: Readonly<Record<string, LockEntry>>;
}

/**
 * @param packages installed next to gateform, in the versions of the checkout
 * @throws when the build fails or npm cannot install; dependencies are copied from the checkout, where `npm ci` has put them
 */
export async function installPackage(packages: readonly string[]): Promise<NpmProject> {
  const directory = mkdtempSync(join(tmpdir(), "gateform-npm-"));
  try {
    // Not in the work tree, where another one's dist/ may be.
    const dist = join(directory, "dist");
    await start(process.execPath, [join(root, "runtime/package/build.ts"), dist], root);
    const tarball = await packCopy(dist, directory);
    rmSync(dist, { recursive: true });
    const about = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as LockEntry & { version: string };
    const lock = lockFor(about, basename(tarball), packages);
    writeFileSync(join(directory, "package-lock.json"), JSON.stringify(lock));
    writeFileSync(join(directory, "package.json"), JSON.stringify(lock.packages[""]));
    copyModules(directory, lock);
    await npm(directory, "install", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund");
  } catch (error) {
    rmSync(directory, { recursive: true, force: true });
    throw error;
  }
  return {
    directory,
    write: (name, text) => writeFileSync(join(directory, name), text),
    run: async (bin, ...args) => (await start(join(directory, "node_modules/.bin", bin), args, directory)).stdout,
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}

/**
 * Packs a copy of the checkout, without building it.
 *
 * @param dist what was built there or elsewhere
 * @param destination where the archive comes
 * @returns the archive's path
 */
async function packCopy(dist: string, destination: string): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "gateform copy-"));
  try {
    const left = new Set(["node_modules", "dist", ".git", "test", "test-artifacts", "coverage"]);
    const copy = join(directory, "deeper/source");
    cpSync(root, copy, { recursive: true, filter: (source) => !left.has(relative(root, source)) });
    // The only ones of the tests that are packed: pages refer to them.
    for (const list of ["test/requirements.ts", "test/threats.ts"]) cpSync(join(root, list), join(copy, list));
    cpSync(dist, join(copy, "dist"), { recursive: true });
    const { stdout } = await npm(copy, "pack", "--pack-destination", destination, "--json", "--ignore-scripts");
    const [packed] = JSON.parse(stdout) as [{ filename: string }];
    return join(destination, packed.filename);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/**
 * Copies the lock's packages, except the package itself, so that npm only installs that: a third of the time. Copies, since
 * npm writes into some files. npm's own list is also copied: without it npm would download all of them again.
 */
function copyModules(directory: string, lock: Lock): void {
  const { "": _, "node_modules/gateform": __, ...packages } = lock.packages;
  const modules = join(directory, "node_modules");
  for (const place of Object.keys(packages)) {
    // Nested packages were copied with their parent; those for other platforms do not exist.
    if (place.lastIndexOf("node_modules/") > 0 || !existsSync(join(root, place))) continue;
    cpSync(join(root, place), join(directory, place), { recursive: true });
  }
  mkdirSync(join(modules, ".bin"), { recursive: true });
  for (const bin of readdirSync(join(root, "node_modules/.bin"), { withFileTypes: true })) {
    if (!bin.isSymbolicLink()) continue;
    const target = readlinkSync(join(bin.parentPath, bin.name));
    if (existsSync(join(modules, ".bin", target))) symlinkSync(target, join(modules, ".bin", bin.name));
  }
  writeFileSync(join(modules, ".package-lock.json"), JSON.stringify({ ...lock, packages }));
}

/** The lock that npm would write: the part of the checkout's lock that is reached from what is installed. */
function lockFor(about: LockEntry & { version: string }, tarball: string, packages: readonly string[]): Lock {
  const checkout = JSON.parse(readFileSync(join(root, "package-lock.json"), "utf8")) as Lock;
  const { dependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = about;
  const bin = (JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { bin: object }).bin;
  const wanted: Record<string, string> = { gateform: `file:${tarball}` };
  const found: Record<string, LockEntry> = {};
  const visit = (name: string, from: string): void => {
    const place = placeOf(checkout, name, from);
    if (place === undefined || place in found) return;
    const entry = checkout.packages[place] as LockEntry;
    // Development packages of the checkout are plain dependencies here.
    const { dev: _, devOptional: __, peer: ___, ...rest } = entry as Record<string, unknown>;
    found[place] = rest;
    for (const needed of neededBy(entry)) visit(needed, place);
  };
  for (const name of packages) {
    wanted[name] = (checkout.packages[`node_modules/${name}`] as { version: string }).version;
    visit(name, "");
  }
  for (const name of Object.keys(dependencies)) visit(name, "");
  const gateform = {
    version: about.version,
    resolved: `file:${tarball}`,
    bin,
    dependencies,
    peerDependencies,
    peerDependenciesMeta,
  };
  const project = { name: "project", type: "module", private: true, dependencies: wanted };
  return {
    name: "project",
    lockfileVersion: 3,
    requires: true,
    packages: { "": project, "node_modules/gateform": gateform, ...found },
  };
}

function neededBy(entry: LockEntry): readonly string[] {
  const { dependencies = {}, optionalDependencies = {}, peerDependencies = {}, peerDependenciesMeta = {} } = entry;
  const peers = Object.keys(peerDependencies).filter((name) => peerDependenciesMeta[name]?.optional !== true);
  return [...Object.keys(dependencies), ...Object.keys(optionalDependencies), ...peers];
}

/** Node's search for a package: next to the one that needs it, then one level up. */
function placeOf(lock: Lock, name: string, from: string): string | undefined {
  for (let at = from; ; at = at.slice(0, Math.max(0, at.lastIndexOf("/node_modules/")))) {
    const place = at === "" ? `node_modules/${name}` : `${at}/node_modules/${name}`;
    if (place in lock.packages) return place;
    if (at === "") return undefined;
  }
}

function npm(cwd: string, ...args: string[]): Promise<{ stdout: string }> {
  return start("npm", args, cwd);
}

async function start(command: string, args: readonly string[], cwd: string): Promise<{ stdout: string }> {
  try {
    const env = { ...process.env, ...QUICK_GO };
    return await execute(command, args, { cwd, env, timeout: LONG_MS, maxBuffer: 64 * 1024 * 1024 });
  } catch (error) {
    const { stdout = "", stderr = "" } = error as { stdout?: string; stderr?: string };
    throw new Error(`Cannot run "${command} ${args.join(" ")}":\n${stdout}\n${stderr}`, { cause: error });
  }
}
