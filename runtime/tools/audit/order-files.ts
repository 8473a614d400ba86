/** Sorts rotated files by the time of writing, in whatever order they were named. */
import { positionOf } from "../../audit/chain/lines.ts";
import { readLines, STANDARD_INPUT } from "../replay/record-lines.ts";

interface FileStart {
  readonly file: string;
  /** Time of the first record. */
  readonly time: string;
  /** By run: the first position in this file, as far as its first lines show. */
  readonly firsts: ReadonlyMap<string, number>;
}

/** Limit per file; several workers write into one. */
const MAX_LINES = 200;

/** @throws GatewayError `replay.unreadable` */
export async function orderFiles(files: readonly string[]): Promise<readonly string[]> {
  const different = [...new Set(files)];
  // Standard input cannot be read twice.
  if (different.length < 2 || different.includes(STANDARD_INPUT)) return different;
  const starts: FileStart[] = [];
  for (const file of different) starts.push(await startOf(file));
  const sorted = starts.toSorted((a, b) => (a.time < b.time ? -1 : a.time > b.time ? 1 : 0));
  // A clock may have been set back; positions never are.
  for (let pass = 0; pass < sorted.length; pass += 1) {
    for (let at = 1; at < sorted.length; at += 1) {
      const [left, right] = [sorted[at - 1], sorted[at]];
      if (left && right && isBefore(right, left)) [sorted[at - 1], sorted[at]] = [right, left];
    }
  }
  return sorted.map(({ file }) => file);
}

function isBefore(a: FileStart, b: FileStart): boolean {
  for (const [instance, seq] of a.firsts) {
    const other = b.firsts.get(instance);
    if (other !== undefined) return seq < other;
  }
  return false;
}

/** Thrown to stop reading once enough is known. */
class Enough extends Error {}

async function startOf(file: string): Promise<FileStart> {
  const firsts = new Map<string, number>();
  let time = "";
  let lines = 0;
  try {
    await readLines(file, {
      line({ bytes }) {
        const position = bytes && positionOf(bytes);
        if (bytes !== undefined && position) {
          if (!firsts.has(position.instance)) firsts.set(position.instance, position.seq);
          if (time === "") time = /"time":"([^"]{24})"/.exec(bytes.toString("latin1", 0, 80))?.[1] ?? "";
        }
        lines += 1;
        if (lines >= MAX_LINES) throw new Enough();
      },
    });
  } catch (error) {
    if (!(error instanceof Error && error.cause instanceof Enough)) throw error;
  }
  return { file, time, firsts };
}
