/** The image's processes, started from the stage's folder as the container would start them: same user, same words. */
import { spawn, type ChildProcess } from "node:child_process";
import { chmod, mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";

import type { Image } from "./dockerfile.ts";

export interface Ended {
  readonly code: number | null;
  readonly output: string;
}

export interface Container {
  readonly process: ChildProcess;
  readonly ended: Promise<Ended>;
}

/** Root can start processes of another user; anybody else is not root already. */
const isRoot = process.getuid?.() === 0;

/** Makes the files what a read-only file system is to the container's user, and the volumes as a daemon makes them. */
export async function sealImage(image: Image): Promise<void> {
  // A new volume is a copy of what the image has there, owner included; where it has nothing, a folder of root.
  for (const volume of image.volumes) await mkdir(join(image.root, volume), { recursive: true });
  if (isRoot) return;
  // Our own files would be writable.
  const entries = await readdir(join(image.root, "app"), { recursive: true, withFileTypes: true });
  for (const entry of entries) if (entry.isDirectory()) await chmod(join(entry.parentPath, entry.name), 0o555);
}

/** @param words entrypoint or health check; absolute paths are the container's */
export function startInside(image: Image, words: readonly string[], more: readonly string[] = []): Container {
  const [program = "", ...args] = [...words, ...more];
  const { uid, gid } = userOf(image);
  const child = spawn(
    join(image.root, "usr/local/bin", program),
    args.map((word) => inside(image, word)),
    {
      cwd: image.root,
      env: { ...image.environment },
      stdio: ["ignore", "pipe", "pipe"],
      ...(isRoot && { uid, gid }),
    },
  );
  let output = "";
  const keep = (chunk: Buffer): void => void (output += chunk.toString());
  child.stdout.on("data", keep);
  child.stderr.on("data", keep);
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code) => resolve({ code, output }));
  });
  return { process: child, ended };
}

/** Folders of the container that the image or its mounts have. */
export function inside(image: Image, text: string): string {
  return text.replaceAll(/(^|[\s:])(\/(?:app|etc\/gateway|data|run\/secrets)\b)/g, `$1${image.root}$2`);
}

function userOf({ user }: Image): { readonly uid: number; readonly gid: number } {
  const [uid = Number.NaN, gid = Number.NaN] = user.split(":").map(Number);
  return { uid, gid };
}
