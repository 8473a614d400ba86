/**
 * V8 compile cache: a restart does not compile this program's code again.
 *
 * A user who can write to the cache controls the code that this process runs. The directory must therefore belong to
 * the process's own user, and no other user may be able to write to or replace it. Otherwise there is no cache. Node
 * writes the cache when a process exits and ignores entries that do not match their sources.
 */
import { existsSync, lstatSync, mkdirSync, realpathSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { dirname, isAbsolute, join } from "node:path";

import { VERSION } from "./shared/version.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Enables the cache for this process and its children. Silent without a suitable directory: the start is only slower.
 */
export function keepCompiledCode(env: NodeJS.ProcessEnv): void {
  // The environment already decides it.
  if (env["NODE_COMPILE_CACHE"] || env["NODE_DISABLE_COMPILE_CACHE"]) return;
  const directory = cacheDirectory(env);
  if (directory === undefined) return;
  enableCompileCache(directory);
  env["NODE_COMPILE_CACHE"] = directory;
}

/** Returns an existing, safe directory, or undefined. */
export function cacheDirectory(env: Environment, uid = process.geteuid?.()): string | undefined {
  const place = placeOf(env);
  if (place === undefined || uid === undefined) return undefined;
  const { parent, below } = place;
  try {
    let directory = parent;
    // One at a time, without `recursive`: the parent must exist already.
    for (const name of [...below, `compiled-${VERSION}`]) {
      directory = join(directory, name);
      if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 });
    }
    const real = realpathSync(directory);
    const { mode, uid: owner } = lstatSync(real);
    return owner === uid && (mode & 0o077) === 0 && isOutOfReach(dirname(real), uid) ? real : undefined;
  } catch {
    // Two processes that start together may both create it. The next start uses it.
    return undefined;
  }
}

interface Place {
  /** An existing directory. */
  readonly parent: string;
  /** Names of nested folders below `parent`. */
  readonly below: readonly string[];
}

/** @see systemd.exec(5), CacheDirectory=; https://specifications.freedesktop.org/basedir-spec/latest/ */
function placeOf({ CACHE_DIRECTORY: own, XDG_CACHE_HOME: caches, HOME: home }: Environment): Place | undefined {
  const [first = ""] = own?.split(":") ?? [];
  if (isAbsolute(first)) return { parent: first, below: [] };
  if (caches !== undefined && isAbsolute(caches)) return { parent: caches, below: ["gateform"] };
  return home !== undefined && isAbsolute(home) ? { parent: home, below: [".cache", "gateform"] } : undefined;
}

/** Returns true if no other user can replace a directory below this one. */
function isOutOfReach(directory: string, uid: number): boolean {
  const { mode, uid: owner } = lstatSync(directory);
  const isSticky = (mode & 0o1000) !== 0;
  const isOthers = (owner !== uid && owner !== 0) || ((mode & 0o022) !== 0 && !isSticky);
  if (isOthers) return false;
  const parent = dirname(directory);
  return parent === directory || isOutOfReach(parent, uid);
}
