/**
 * Reads the texts of configuration files so that they belong together.
 *
 * A path is a file, or a directory with one main configuration file (`gateway.yaml`, `.yml` or `.json`) and slices next
 * to it. Names that start with a dot are ignored: editors, publishers and Kubernetes use them for temporary and
 * `..data` entries. An unreadable file is a problem like a wrong setting, so that all problems are reported together.
 */
import { readdir, readFile, realpath, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { formatProblem, type Problem, type SliceSource } from "../config/load.ts";
import { errorText, GatewayError } from "../shared/errors.ts";

const SLICE_NAME = /^[^.].*\.(json|ya?ml)$/;
const BOOT_NAME = /^gateway\.(json|ya?ml)$/;
const MAX_FILE_BYTES = 64 * 1024 * 1024;

/** A file changed less than this ago may be changed again within the resolution of file times (4 ms on Linux). */
const SETTLED_AFTER_MS = 25;
const MAX_READS = 40;

export interface SourceReading {
  readonly sources: readonly SliceSource[];
  /** Without the path or the main configuration file there is no configuration. */
  readonly problems: readonly Problem[];
  /** Unreadable slices, which affect only their owners. */
  readonly unread: readonly Problem[];
  /** Equal signatures mean equal files; undefined: read again even if nothing changes. */
  readonly signature: string | undefined;
  /** Directories in which a change of these files is visible. */
  readonly directories: readonly string[];
}

/**
 * Reads files and directories from the command line; the first is or contains the main configuration file.
 *
 * @throws GatewayError `config.unreadable` with every problem
 */
export async function readSources(paths: readonly string[]): Promise<readonly SliceSource[]> {
  const listings = await Promise.all(paths.map((path, index) => list(path, index === 0)));
  const { sources, problems: fatal, unread } = await readAll(merged(listings));
  const problems = [...fatal, ...unread];
  if (problems.length > 0) throw new GatewayError("config.unreadable", problems.map(formatProblem).join("\n"));
  return sources;
}

/**
 * Reads until nothing changed between the first and the last file. So files replaced together are read together, and
 * never half written.
 */
export async function readTogether(path: string): Promise<SourceReading> {
  for (let reads = 1; ; reads++) {
    const before = await list(path, true);
    const unsettledMs = before.newestMs + SETTLED_AFTER_MS - Date.now();
    const { sources, problems, unread } = await readAll(before);
    const { directories } = before;
    // If the clock is far behind the file system's, do not wait: trust the file times.
    if (unsettledMs > 0 && unsettledMs <= SETTLED_AFTER_MS && reads < MAX_READS) {
      await delay(unsettledMs);
      continue;
    }
    const after = await list(path, true);
    if (after.signature === before.signature) {
      // A file that was listed but not read (a network file system) may become readable without a change.
      const isListed = problems.length + unread.length === before.problems.length + before.unread.length;
      return { sources, problems, unread, signature: isListed ? before.signature : undefined, directories };
    }
    if (reads < MAX_READS) continue;
    return { ...restless(path, before, after, { sources, problems, unread }), signature: undefined, directories };
  }
}

/** The signature that `readTogether` would return without concurrent writes, without reading any file. */
export async function readSignature(path: string): Promise<Pick<SourceReading, "signature">> {
  const { signature } = await list(path, true);
  return { signature };
}

/** A writer that never stops must not keep other owners' files from being read. */
function restless(
  path: string,
  before: Listing,
  after: Listing,
  read: Pick<SourceReading, "sources" | "problems" | "unread">,
) {
  const names = new Set([...before.states.keys(), ...after.states.keys()]);
  const changing = new Set([...names].filter((file) => before.states.get(file) !== after.states.get(file)));
  const isSlice = (file: string): boolean => file !== path && !BOOT_NAME.test(basename(file));
  if (changing.size === 0 || ![...changing].every(isSlice)) {
    return { sources: read.sources, problems: [problem(path, "keeps changing while it is read")], unread: [] };
  }
  return {
    sources: read.sources.filter(({ file }) => !changing.has(file)),
    problems: read.problems,
    unread: [
      ...read.unread.filter(({ file }) => !changing.has(file)),
      ...[...changing].map((file) => problem(file, "keeps changing while it is read")),
    ],
  };
}

interface Listing {
  readonly files: readonly { readonly path: string; readonly boot: boolean }[];
  readonly problems: readonly Problem[];
  readonly unread: readonly Problem[];
  readonly signature: string;
  /** File → state that changes with the file. */
  readonly states: ReadonlyMap<string, string>;
  readonly directories: readonly string[];
  /** Epoch milliseconds of the newest change. */
  readonly newestMs: number;
}

async function list(path: string, mayBoot: boolean): Promise<Listing> {
  const problems: Problem[] = [];
  const unread: Problem[] = [];
  const states = new Map<string, string>();
  const directories = new Set<string>();
  const files: { path: string; boot: boolean }[] = [];
  let newestMs = 0;

  const names = await readdir(path).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== "ENOTDIR") problems.push(problem(path, unreadable(error)));
    return undefined;
  });
  directories.add(names ? path : dirname(path));
  const candidates = names?.filter((name) => SLICE_NAME.test(name)).sort() ?? [];
  const boots = mayBoot ? candidates.filter((name) => BOOT_NAME.test(name)) : [];
  if (boots.length > 1)
    problems.push(problem(path, `has ${boots.join(" and ")}, must have one main configuration file`));
  if (names) for (const name of candidates) await add(join(path, name), boots[0] === name);
  else if (problems.length === 0) await add(path, mayBoot);
  // Two files exchanged for equal ones differ in inode and change time.
  const signature = JSON.stringify([[...states], problems, unread]);
  return { files, problems, unread, signature, states, directories: [...directories], newestMs };

  async function add(file: string, boot: boolean): Promise<void> {
    const into = boot ? problems : unread;
    try {
      const found = await stat(file, { bigint: true });
      const { dev, ino, size, mtimeNs, ctimeNs } = found;
      states.set(file, `${dev}:${ino} ${size} ${mtimeNs} ${ctimeNs}`);
      newestMs = Math.max(newestMs, Number(ctimeNs / 1_000_000n));
      // Changes of a symbolic link's target are visible only in the target's directory.
      directories.add(dirname(await realpath(file)));
      if (!found.isFile()) into.push(problem(file, "is not a file"));
      else if (size > MAX_FILE_BYTES) into.push(problem(file, "is larger than 64 MiB"));
      else files.push({ path: file, boot });
    } catch (error) {
      into.push(problem(file, unreadable(error)));
    }
  }
}

type Found = Pick<Listing, "files" | "problems" | "unread">;

function merged(listings: readonly Listing[]): Found {
  return {
    files: listings.flatMap((each) => each.files),
    problems: listings.flatMap((each) => each.problems),
    unread: listings.flatMap((each) => each.unread),
  };
}

async function readAll(found: Found) {
  const problems = [...found.problems];
  const unread = [...found.unread];
  const sources: SliceSource[] = [];
  for (const { path, boot } of found.files) {
    try {
      sources.push({ file: path, text: decode(await readFile(path)), boot });
    } catch (error) {
      (boot ? problems : unread).push(problem(path, unreadable(error)));
    }
  }
  return { sources, problems, unread };
}

/** Strict: a wrong byte inside a host or tool name must not silently become another name. */
function decode(bytes: Buffer): string {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch (error) {
    throw new Error("is not UTF-8 text", { cause: error });
  }
}

function unreadable(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return "does not exist";
  return code === undefined ? errorText(error) : `cannot be read: ${code}`;
}

function problem(file: string, message: string): Problem {
  return { severity: "error", file, path: [], message };
}
