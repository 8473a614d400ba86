/**
 * The file to which records are appended. Workers append whole lines to the same file. But a disk that becomes full
 * accepts part of a write, and another process's next write would be joined to that part.
 */
import { closeSync, fstatSync, openSync, readSync } from "node:fs";

import { GatewayError, errorText } from "../shared/errors.ts";

export interface LogFile {
  readonly fd: number;
  /**
   * The rest of a batch of whole lines after `offset` written bytes: the interrupted line again from its start, and the
   * lines after it. A partial line in the file is ended first.
   */
  rest(batch: Buffer, offset: number): { readonly batch: Buffer; readonly offset: number };
  /**
   * Notes the number of bytes appended. Not called after a failed write: `rest()` is then called again for the same
   * bytes.
   */
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
  /** End of the file if no other process has written since. Unknown before the first write. */
  let end = -1;
  let size = 0;

  return {
    fd,
    rest(batch, offset) {
      if (reading === undefined) return { batch, offset };
      size = fstatSync(fd).size;
      const lineStart = offset === 0 ? 0 : batch.lastIndexOf(LINE_END, offset - 1) + 1;
      // Another process may write between this check and the write, so a partial line is never continued. It must not
      // appear twice either.
      const isCut = offset > lineStart && batch[offset] !== LINE_END;
      if (!isCut && (size === end || offset > lineStart)) return { batch, offset };
      if (!isLineOpen(reading, size)) return { batch, offset: lineStart };
      return { batch: Buffer.concat([Buffer.of(LINE_END), batch.subarray(lineStart)]), offset: 0 };
    },
    wrote: (bytes) => void (end = size + bytes),
    close() {
      closeSync(fd);
      if (reading !== undefined) closeSync(reading);
    },
  };
}

/** If it cannot be read, the disk has a bigger problem, and writing will report it. */
function isLineOpen(reading: number, size: number): boolean {
  const last = Buffer.alloc(1);
  try {
    return size > 0 && readSync(reading, last, 0, 1, size - 1) === 1 && last[0] !== LINE_END;
  } catch {
    return false;
  }
}

/**
 * Undefined for pipes and devices, and without permission: a reader of such a log may find lines joined to partial
 * ones.
 */
function openForReading(path: string, fd: number): number | undefined {
  if (!fstatSync(fd).isFile()) return undefined;
  try {
    return openSync(path, "r");
  } catch {
    return undefined;
  }
}
