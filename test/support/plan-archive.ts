/** Looking into saved Terraform plans, which are zip archives. */
import { inflateRawSync } from "node:zlib";

/** The bytes as text; of an archive also its members, unpacked. */
export function unpacked(bytes: Buffer): string {
  const texts = [bytes.toString("latin1")];
  for (let at = bytes.indexOf("PK\u0001\u0002"); at !== -1; at = bytes.indexOf("PK\u0001\u0002", at + 4)) {
    const [method, size, offset] = [
      bytes.readUInt16LE(at + 10),
      bytes.readUInt32LE(at + 20),
      bytes.readUInt32LE(at + 42),
    ];
    const start = offset + 30 + bytes.readUInt16LE(offset + 26) + bytes.readUInt16LE(offset + 28);
    const packed = bytes.subarray(start, start + size);
    texts.push((method === 8 ? inflateRawSync(packed) : packed).toString("latin1"));
  }
  return texts.join("\n");
}
