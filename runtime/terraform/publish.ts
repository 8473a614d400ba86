/**
 * Where a bundle goes. A target holds one owner's slice and is asked by content: whoever replaces or removes a slice
 * says which content it believes to find.
 *
 * The file target promises whole files: a reader sees the old slice or the new one, also when this process or the
 * machine dies in between. Slices of other owners are never touched.
 */
import { randomBytes } from "node:crypto";
import { constants } from "node:fs";
import { type FileHandle, mkdir, open, readdir, readFile, rename, stat, unlink } from "node:fs/promises";
import { join } from "node:path";

import { digestOf } from "../config/slice.ts";
import { readSource } from "../config/source.ts";
import { errorText, GatewayError } from "../errors.ts";

export interface PublishedSlice {
  readonly kind: "slice";
  /** As it stands there, unchecked. */
  readonly document: Record<string, unknown>;
  /** Of its canonical JSON. */
  readonly digest: string;
}

export type Published =
  | { readonly kind: "absent" }
  | PublishedSlice
  /** Something is there that is no slice. */
  | { readonly kind: "unreadable"; readonly reason: string };

export interface Target {
  /** For messages. */
  readonly place: string;
  /** @throws GatewayError `publish.read` */
  read(): Promise<Published>;
  /**
   * Replaces the slice in one step.
   *
   * @param expected digest that the caller last saw; null when it saw none
   * @throws GatewayError `publish.conflict`, `publish.foreign`, `publish.write`
   */
  write(text: string, expected: string | null): Promise<void>;
  /** Removes the owner's slice; it is fine when there is none. @throws GatewayError `publish.foreign`, `publish.write` */
  remove(): Promise<void>;
}

export interface FileTargetOptions {
  readonly directory: string;
  readonly owner: string;
  /** Permission bits; 0o644 when absent. */
  readonly mode: number | undefined;
}

const DEFAULT_MODE = 0o644;

export function createFileTarget({ directory, owner, mode = DEFAULT_MODE }: FileTargetOptions): Target {
  const path = join(directory, `${owner}.json`);

  async function read(): Promise<Published> {
    let text: string;
    try {
      text = await readFile(path, "utf8");
    } catch (error) {
      if (isMissing(error)) return { kind: "absent" };
      throw new GatewayError("publish.read", `Cannot read "${path}": ${errorText(error)}`, { cause: error });
    }
    return readSliceText(text);
  }

  function refuseForeign(published: Published): void {
    if (published.kind !== "slice" || published.document["owner"] === owner) return;
    throw new GatewayError(
      "publish.foreign",
      `Cannot touch "${path}": it holds the slice of owner ${JSON.stringify(published.document["owner"])}, not of "${owner}"`,
    );
  }

  return {
    place: path,
    read,
    async write(text, expected) {
      const published = await read();
      refuseForeign(published);
      refuseStale(published, { path, owner, expected, next: text });
      try {
        await mkdir(directory, { recursive: true });
        await replaceFile(directory, path, text, mode);
      } catch (error) {
        throw new GatewayError("publish.write", `Cannot publish to "${path}": ${errorText(error)}`, { cause: error });
      }
    },
    async remove() {
      const published = await read();
      if (published.kind === "absent") return;
      refuseForeign(published);
      try {
        await unlink(path);
        await syncDirectory(directory);
      } catch (error) {
        if (isMissing(error)) return;
        throw new GatewayError("publish.write", `Cannot remove "${path}": ${errorText(error)}`, { cause: error });
      }
    },
  };
}

/** The slice in a text, read as the gateway reads it, or the reason why there is none. */
export function readSliceText(text: string): Published {
  const { value, problems } = readSource("slice", text);
  const [problem] = problems;
  if (problem) {
    const line = problem.line === undefined ? "" : ` in line ${problem.line}`;
    return { kind: "unreadable", reason: `it${line} ${problem.message}` };
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    return { kind: "unreadable", reason: "it is no slice" };
  }
  return { kind: "slice", document: value as Record<string, unknown>, digest: digestOf(value) };
}

/** @throws GatewayError `publish.conflict` when somebody else wrote since the caller last looked */
function refuseStale(
  published: Published,
  { path, owner, expected, next }: { path: string; owner: string; expected: string | null; next: string },
): void {
  if (published.kind === "unreadable") {
    // Where a slice of ours was, this is the damage that the plan repairs. Elsewhere it could be anybody's.
    if (expected !== null) return;
    throw new GatewayError(
      "publish.conflict",
      `Cannot create "${path}": a file is there and ${published.reason}; remove it first`,
    );
  }
  const found = published.kind === "slice" ? published.digest : null;
  if (found === expected) return;
  // An apply that died after publishing and before its state was saved: the same content is there already.
  const planned = readSliceText(next);
  if (planned.kind === "slice" && found === planned.digest) return;
  if (expected === null) {
    throw new GatewayError(
      "publish.conflict",
      `Cannot create "${path}": a slice of owner "${owner}" is there already; take it over with: terraform import <address> ${path}`,
    );
  }
  // Somebody removed it: nothing of theirs is overwritten by putting it back.
  if (found === null) return;
  throw new GatewayError(
    "publish.conflict",
    `Cannot replace "${path}": it was changed outside Terraform after this plan was made; make a new plan and review it`,
  );
}

/** Write beside, flush, rename, flush the directory. @throws errors of node:fs */
async function replaceFile(directory: string, path: string, text: string, mode: number): Promise<void> {
  const temporary = `${path}.tmp-${randomBytes(6).toString("hex")}`;
  let file: FileHandle | undefined;
  try {
    file = await open(temporary, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600);
    await file.writeFile(text);
    // Before the rename, so that readers never meet a file that they may not read.
    await file.chmod(mode);
    await file.sync();
    await file.close();
    file = undefined;
    await rename(temporary, path);
  } catch (error) {
    await file?.close().catch(() => {});
    await unlink(temporary).catch(() => {});
    throw error;
  }
  await syncDirectory(directory);
  await removeLeftovers(directory, path);
}

/** The rename itself must survive a power cut. Some file systems cannot flush directories; they are no worse for trying. */
async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, constants.O_RDONLY).catch(() => undefined);
  await handle?.sync().catch(() => {});
  await handle?.close();
}

const LEFTOVER_AGE_MS = 3_600_000;

/** Temporary files of applies that were killed. Young ones may belong to a running apply of a confused pipeline. */
async function removeLeftovers(directory: string, path: string): Promise<void> {
  const prefix = `${path}.tmp-`;
  const names = await readdir(directory).catch(() => []);
  for (const name of names) {
    const candidate = join(directory, name);
    if (!candidate.startsWith(prefix)) continue;
    const info = await stat(candidate).catch(() => undefined);
    if (info && Date.now() - info.mtimeMs > LEFTOVER_AGE_MS) await unlink(candidate).catch(() => {});
  }
}

function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException | undefined)?.code === "ENOENT";
}
