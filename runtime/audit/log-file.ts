/**
 * The file to which records are appended. Workers append to the same one, each whole lines; but a disk that gets full takes a part
 * of a write, and what another process writes then would become one line with that part.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

import { GatewayError, errorText } from "../shared/errors.ts";

export interface LogFile {
  readonly fd: number;
  /**
   * What is written next of a batch of whole lines of which `offset` bytes have been written: the rest where nothing came behind
   * those, else the line that was cut, once more from its beginning. What is unfinished in the file becomes a line of its own.
   */
  rest(batch: Buffer, offset: number): { readonly batch: Buffer; readonly offset: number };
  /** So many bytes of it were appended. Not called where writing failed: `rest()` is asked for the same again. */
  wrote(bytes: number): void;
  close(): void;
}

const LINE_END = 0x0a;

/** @throws GatewayError `record.open` */
export function openLogFile(path: string): LogFile {
  let fd: number;
  try {
    fd = openSync(path, "a", 0o640);
  } catch (error) {
    throw new GatewayError("record.open", `Cannot open the authorization log "${path}": ${errorText(error)}`, {
      cause: error,
    });
  }
  const reading = openForReading(path, fd);
  /** Where the file ends if nobody else has written since. Before the first write it is not known how it ends. */
  let end = -1;
  let size = 0;

  return {
    fd,
    rest(batch, offset) {
      if (reading === undefined) return { batch, offset };
      size = fstatSync(fd).size;
      if (size === end) return { batch, offset };
      const lineStart = offset === 0 ? 0 : batch.lastIndexOf(LINE_END, offset - 1) + 1;
      const begun = batch.subarray(lineStart, offset);
      const tail = readTail(reading, size, Math.max(1, begun.length));
      // What others wrote stands before it.
      if (begun.length > 0 && tail.equals(begun)) return { batch, offset };
      if (size === 0 || tail.at(-1) === LINE_END) return { batch, offset: lineStart };
      return { batch: Buffer.concat([Buffer.of(LINE_END), batch.subarray(lineStart)]), offset: 0 };
    },
    wrote: (bytes) => void (end = size + bytes),
    close() {
      closeSync(fd);
      if (reading !== undefined) closeSync(reading);
    },
  };
}

/** The last bytes, or as many as there are. Where they cannot be read the disk is worse than full, and writing will say so. */
function readTail(reading: number, size: number, bytes: number): Buffer {
  const tail = Buffer.alloc(Math.min(bytes, size));
  try {
    return tail.subarray(0, readSync(reading, tail, 0, tail.length, size - tail.length));
  } catch {
    return Buffer.of(LINE_END);
  }
}

/** Undefined for pipes and devices, and where it is forbidden: whoever reads such a log finds lines that are joined to broken ones. */
function openForReading(path: string, fd: number): number | undefined {
  if (!fstatSync(fd).isFile()) return undefined;
  try {
    return openSync(path, "r");
  } catch {
    return undefined;
  }
}
