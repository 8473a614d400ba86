/**
 * Tamper-evident records: each gets a position in this run of the process, with signed checkpoints between them.
 *
 * Records after the last checkpoint are not signed yet: see `countPlaces`, which decides where checkpoints come.
 */
import type { Clock } from "../../shared/clock.ts";
import { isoTime, jsonText } from "../record.ts";
import {
  digestOfLeaves,
  formatCheckpointLine,
  rootText,
  shortLeaf,
  signCheckpoint,
  type Checkpoint,
} from "./checkpoint.ts";
import { nextSalt } from "./lines.ts";
import { createMerkleTree, leafHash } from "./merkle-tree.ts";
import type { NoteSigner } from "./signed-note.ts";

export interface ChainOptions {
  /** ID of this run of this process. */
  readonly instance: string;
  readonly signer: NoteSigner;
  readonly clock: Clock;
  /** The latest known checkpoints of other runs, as notes: this run reveals when the end of one is removed. */
  readonly seen: readonly string[];
  readonly version: string;
  /** A line is ready, with its line end; its buffer is reused afterwards. */
  readonly write: (line: Buffer) => void;
  /** Called with a checkpoint's note after its line is written. */
  readonly onCheckpoint?: (note: string) => void;
}

export interface Chain {
  /** @param line with its line end @returns its position */
  add(line: Uint8Array): number;
  checkpoint(): void;
  /** The last line of the run, and its checkpoint. */
  end(): void;
}

/** Position of the first record, after the run's first line and a checkpoint. */
export const FIRST_PLACE = 2;

/** Starts a run, with a signed checkpoint at its start. */
export function startChain(options: ChainOptions): Chain {
  const { instance, signer, clock, onCheckpoint } = options;
  const tree = createMerkleTree();
  const place = `,"instance":"${instance}","seq":`;
  let next = 0;
  /** Leaf hashes of the segment that no checkpoint covers yet. */
  let leaves = "";
  let buffer = Buffer.allocUnsafeSlow(16 << 10);

  function add(line: Uint8Array): number {
    const seq = next;
    const tail = `${place}${seq},"salt":"${nextSalt()}"}\n`;
    const body = line.length - 2;
    const length = body + tail.length;
    if (length > buffer.length) buffer = Buffer.allocUnsafeSlow(length * 2);
    buffer.set(line.subarray(0, body));
    buffer.write(tail, body, "latin1");
    append(buffer.subarray(0, length));
    return seq;
  }

  function append(line: Buffer): void {
    const leaf = leafHash(line.subarray(0, -1));
    tree.append(leaf);
    leaves += shortLeaf(leaf);
    next += 1;
    options.write(line);
  }

  function checkpoint(): void {
    const checkpointData: Checkpoint = {
      instance,
      size: next,
      root: rootText(tree.root()),
      time: isoTime(clock.now()),
      leavesDigest: digestOfLeaves(leaves),
    };
    const note = signCheckpoint(checkpointData, signer);
    const line = Buffer.from(formatCheckpointLine(checkpointData, note, leaves));
    leaves = "";
    append(line);
    onCheckpoint?.(note);
  }

  function mark(message: "audit start" | "audit end", members: string): void {
    const time = isoTime(clock.now());
    add(Buffer.from(`{"level":"info","time":"${time}","service":"authorize","message":"${message}"${members}}\n`));
  }

  const seen = options.seen.map((note) => JSON.stringify(note)).join(",");
  mark("audit start", `,"version":${jsonText(options.version)},"seen":[${seen}]`);
  checkpoint();

  return {
    add,
    checkpoint,
    end() {
      mark("audit end", "");
      checkpoint();
    },
  };
}
