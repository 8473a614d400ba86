/**
 * A ZIP archive of a few files, the same bytes for the same content: no times, files in the given order. Release
 * archives are compared by checksum, so a second build must not differ.
 *
 * @see PKWARE APPNOTE 6.3, §4.3.6 (order of parts), §4.3.7 (local header), §4.3.12 (central directory)
 */
import { crc32, deflateRawSync } from "node:zlib";

export interface ZipEntry {
  readonly name: string;
  readonly content: Buffer;
  /** Permission bits; Terraform runs the unpacked file. */
  readonly mode: number;
}

const LOCAL_HEADER = 0x04034b50;
const CENTRAL_HEADER = 0x02014b50;
const END_OF_DIRECTORY = 0x06054b50;
const DEFLATED = 8;
/** Version 2.0 of the format, the first with deflation. */
const VERSION = 20;
/** "Made by" Unix: the permission bits below apply. */
const UNIX = 3 << 8;
/** The earliest time of the format: 1 January 1980. */
const DATE = 0x21;
const REGULAR_FILE = 0o100000;

export function zip(entries: readonly ZipEntry[]): Buffer {
  const files: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const { name, content, mode } of entries) {
    const packed = deflateRawSync(content);
    const common = [
      u16(VERSION),
      u16(0),
      u16(DEFLATED),
      u16(0),
      u16(DATE),
      u32(crc32(content)),
      u32(packed.length),
      u32(content.length),
      u16(Buffer.byteLength(name)),
      u16(0),
    ];
    const file = Buffer.concat([u32(LOCAL_HEADER), ...common, Buffer.from(name), packed]);
    const attributes = ((REGULAR_FILE | mode) << 16) >>> 0;
    directory.push(
      // Comment length, disk, internal attributes; then the permission bits and the start of the file.
      Buffer.concat([u32(CENTRAL_HEADER), u16(UNIX | VERSION), ...common, u16(0), u16(0), u16(0)]),
      Buffer.concat([u32(attributes), u32(offset), Buffer.from(name)]),
    );
    files.push(file);
    offset += file.length;
  }
  const central = Buffer.concat(directory);
  const counts = [u16(0), u16(0), u16(entries.length), u16(entries.length)];
  const end = Buffer.concat([u32(END_OF_DIRECTORY), ...counts, u32(central.length), u32(offset), u16(0)]);
  return Buffer.concat([...files, central, end]);
}

function u16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeUInt16LE(value);
  return bytes;
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  return bytes;
}
