/**
 * Records that prove themselves: each gets its place in this run of the process, and signed checkpoints stand between them.
 *
 * Hashing is done behind the answers, some records at a time. What was written since the last checkpoint is not signed yet:
 * those of a second, and never more than twice `MAX_UNSIGNED`.
 */
import type { Clock } from "../../shared/clock.ts";
import { isoTime, jsonText } from "../record.ts";
import type { RecordWriter } from "../record-writer.ts";
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
  /** Of this run of this process, and of no other. */
  readonly instance: string;
  readonly signer: NoteSigner;
  readonly clock: Clock;
  /** The last checkpoints of other runs that are known, as notes: whoever cuts their ends off is found out by this run. */
  readonly seen: readonly string[];
  readonly version: string;
  /** A checkpoint's note, which stands in the queue by now. */
  readonly onCheckpoint?: (note: string) => void;
}

/** Lines of a segment; its checkpoint names them all. */
const MAX_UNSIGNED = 512;
const CHECKPOINT_MS = 1_000;
/** Hashed together, in about 0.1 ms. */
const HASHED_TOGETHER = 64;

/** The same writer to those who write; `lastSeq` is the place of the record that was written last. */
export function chainRecords(writer: RecordWriter, options: ChainOptions): RecordWriter {
  const { instance, signer, clock, onCheckpoint } = options;
  const tree = createMerkleTree();
  const place = `,"instance":"${instance}","seq":`;
  /** Written, not hashed. */
  let pending: string[] = [];
  let next = 0;
  let lastSeq = 0;
  /** Of the segment that no checkpoint covers. */
  let leaves = "";
  /** Records that no checkpoint covers. */
  let unsigned = 0;
  let immediate: NodeJS.Immediate | undefined;
  let timer: NodeJS.Timeout | undefined;
  let closing: Promise<void> | undefined;

  function write(line: string): Promise<void> | undefined {
    if (closing !== undefined) return writer.write(line);
    lastSeq = next;
    const text = `${line.slice(0, -2)}${place}${next},"salt":"${nextSalt()}"}\n`;
    next += 1;
    unsigned += 1;
    pending.push(text);
    if (unsigned >= MAX_UNSIGNED || pending.length >= HASHED_TOGETHER) immediate ??= setImmediate(catchUp);
    timer ??= setTimeout(checkpoint, CHECKPOINT_MS);
    const room = writer.write(text);
    // Should the event loop not come to it, nothing may grow without bound.
    if (unsigned >= 2 * MAX_UNSIGNED) checkpoint();
    return room;
  }

  function catchUp(): void {
    immediate = undefined;
    if (unsigned >= MAX_UNSIGNED) checkpoint();
    else hashPending();
  }

  function hashPending(): void {
    for (const text of pending) {
      const leaf = leafHash(text.slice(0, -1));
      tree.append(leaf);
      leaves += shortLeaf(leaf);
    }
    pending = [];
  }

  function checkpoint(): void {
    clearTimeout(timer);
    timer = undefined;
    if (unsigned === 0) return;
    hashPending();
    const said: Checkpoint = {
      instance,
      size: next,
      root: rootText(tree.root()),
      time: isoTime(clock.now()),
      leavesDigest: digestOfLeaves(leaves),
    };
    const note = signCheckpoint(said, signer);
    const line = formatCheckpointLine(said, note, leaves);
    next += 1;
    unsigned = 0;
    leaves = "";
    pending.push(line);
    void writer.write(line);
    onCheckpoint?.(note);
  }

  function writeMark(message: "audit start" | "audit end", members: string): void {
    void write(
      `{"level":"info","time":"${isoTime(clock.now())}","service":"authorize","message":"${message}"${members}}\n`,
    );
  }

  const seen = options.seen.map((note) => JSON.stringify(note)).join(",");
  writeMark("audit start", `,"version":${jsonText(options.version)},"seen":[${seen}]`);
  // Before the first request: from the beginning there is something that is signed.
  checkpoint();

  return {
    write,
    get lastSeq() {
      return lastSeq;
    },
    flush: () => writer.flush(),
    reopen: () => writer.reopen(),
    close() {
      if (closing === undefined) {
        writeMark("audit end", "");
        checkpoint();
        clearImmediate(immediate);
        closing = writer.close();
      }
      return closing;
    },
  };
}
