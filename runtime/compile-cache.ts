/**
 * What V8 made of this program's code, kept between starts: the next one need not compile it again.
 *
 * Whoever can write there decides what this process runs, so it is a directory of its own user that nobody else can write
 * to or replace, or there is none. Node writes it when a process ends, and leaves out what does not belong to its sources.
 */
import { existsSync, lstatSync, mkdirSync, realpathSync } from "node:fs";
import { enableCompileCache } from "node:module";
import { dirname, isAbsolute, join } from "node:path";

import { VERSION } from "./shared/version.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** For this process and those that it starts. Says nothing where there is no place: it is only slower. */
export function keepCompiledCode(env: NodeJS.ProcessEnv): void {
  // Somebody has decided.
  if (env["NODE_COMPILE_CACHE"] || env["NODE_DISABLE_COMPILE_CACHE"]) return;
  const directory = cacheDirectory(env);
  if (directory === undefined) return;
  enableCompileCache(directory);
  env["NODE_COMPILE_CACHE"] = directory;
}

/** A directory that is there, and is safe; undefined when there is none. */
export function cacheDirectory(env: Environment, uid = process.geteuid?.()): string | undefined {
  const place = placeOf(env);
  if (place === undefined || uid === undefined) return undefined;
  const { parent, below } = place;
  try {
    let directory = parent;
    // One by one: what must be there already is not made.
    for (const name of [...below, `compiled-${VERSION}`]) {
      directory = join(directory, name);
      if (!existsSync(directory)) mkdirSync(directory, { mode: 0o700 });
    }
    const real = realpathSync(directory);
    const { mode, uid: owner } = lstatSync(real);
    return owner === uid && (mode & 0o077) === 0 && isOutOfReach(dirname(real), uid) ? real : undefined;
  } catch {
    // Two that start at once make it both: the next start has it.
    return undefined;
  }
}

interface Place {
  /** Is there already. */
  readonly parent: string;
  /** Folders in it, one in the other. */
  readonly below: readonly string[];
}

/** @see systemd.exec(5), CacheDirectory=; https://specifications.freedesktop.org/basedir-spec/latest/ */
function placeOf({ CACHE_DIRECTORY: own, XDG_CACHE_HOME: caches, HOME: home }: Environment): Place | undefined {
  const [first = ""] = own?.split(":") ?? [];
  if (isAbsolute(first)) return { parent: first, below: [] };
  if (caches !== undefined && isAbsolute(caches)) return { parent: caches, below: ["gateform"] };
  return home !== undefined && isAbsolute(home) ? { parent: home, below: [".cache", "gateform"] } : undefined;
}

/** Nobody else can put another directory in the place of one below it. */
function isOutOfReach(directory: string, uid: number): boolean {
  const { mode, uid: owner } = lstatSync(directory);
  const isSticky = (mode & 0o1000) !== 0;
  const isOthers = (owner !== uid && owner !== 0) || ((mode & 0o022) !== 0 && !isSticky);
  if (isOthers) return false;
  const parent = dirname(directory);
  return parent === directory || isOutOfReach(parent, uid);
}
