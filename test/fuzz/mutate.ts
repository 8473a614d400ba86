/** Inputs made of others: small changes of bytes, as fuzzers make them, told by numbers alone. */

export interface Mutation {
  readonly kind: number;
  readonly at: number;
  readonly length: number;
  readonly byte: number;
}

/** What readers look at. */
const BYTES = Buffer.from("\0\t\n\r \"#%&'()*+,-./019:;<=>?@AZ[\\]^_az{|}~\x7f\x80\xc3\xe2\xed\xff", "latin1");
const MAX_BYTES = 8_192;

/** @param other another input, of which a piece may be taken */
export function mutate(input: Uint8Array, mutations: readonly Mutation[], other: Uint8Array): Uint8Array {
  let bytes = Buffer.from(input);
  for (const { kind, at: place, length: wanted, byte } of mutations) {
    const at = bytes.length === 0 ? 0 : place % (bytes.length + 1);
    const length = Math.min(wanted % 17, bytes.length - at);
    const [before, piece, after] = [
      bytes.subarray(0, at),
      bytes.subarray(at, at + length),
      bytes.subarray(at + length),
    ];
    const from = other.length === 0 ? 0 : (place * 31 + wanted) % other.length;
    switch (kind % 7) {
      case 0:
        bytes = Buffer.concat([before, Buffer.of(byte), bytes.subarray(at + 1)]);
        break;
      case 1:
        bytes = Buffer.concat([before, after]);
        break;
      case 2:
        bytes = Buffer.concat([before, Buffer.of(BYTES[byte % BYTES.length] ?? 0), bytes.subarray(at)]);
        break;
      case 3:
        bytes = Buffer.concat([before, piece, piece, after]);
        break;
      case 4:
        bytes = Buffer.concat([before, other.subarray(from, from + length + 1), after]);
        break;
      case 5:
        bytes = Buffer.concat([before, Buffer.of(BYTES[byte % BYTES.length] ?? 0), bytes.subarray(at + 1)]);
        break;
      default:
        // Letters in the other case, and the lowest bit elsewhere.
        bytes = Buffer.concat([
          before,
          Buffer.from(piece.map((each) => (each >= 0x40 ? each ^ 0x20 : each ^ 1))),
          after,
        ]);
    }
  }
  return bytes.subarray(0, MAX_BYTES);
}
