/** A directory and the programs of one measurement; all are gone when it ends. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import type { PeerStart } from "../peers/peer.ts";
import { startChild } from "./child.ts";

export interface Stage {
  readonly directory: string;
  readonly start: PeerStart;
  /** Closes at the end, the latest first. */
  atEnd(close: () => unknown): void;
}

export async function onStage<T>(work: (stage: Stage) => Promise<T>): Promise<T> {
  const directory = await mkdtemp(join(tmpdir(), "gateway-bench-"));
  const closers: (() => unknown)[] = [() => rm(directory, { recursive: true, force: true })];
  const atEnd = (close: () => unknown): void => void closers.unshift(close);
  try {
    return await work({
      directory,
      atEnd,
      async start(core, command, ...args) {
        const child = await startChild(core, command, args);
        atEnd(() => child.stop());
        return child;
      },
    });
  } finally {
    for (const close of closers) await close();
  }
}
