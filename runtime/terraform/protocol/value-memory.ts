/**
 * Caches the last few encoded values: one plan passes the same state and the same configuration through several calls, and
 * decoding thousands of routes costs more than comparing their bytes.
 */
import { decodeValue, encodeValue } from "./value-codec.ts";
import { equalValues, type Value, type ValueType } from "./value.ts";

export interface ValueMemory {
  /** @throws GatewayError `terraform.value` */
  decode(type: ValueType, msgpack: Uint8Array): Value;
  /** May return the bytes of an equal value that was decoded or encoded before. */
  encode(type: ValueType, value: Value): Uint8Array;
}

interface Cached {
  readonly type: ValueType;
  readonly value: Value;
  readonly bytes: Uint8Array;
}

/** A state, a configuration and a plan. */
const MAX_CACHED = 3;
/** Small values are encoded faster than they are found. */
const LEAST_BYTES = 4096;

export function createValueMemory(): ValueMemory {
  let cached: readonly Cached[] = [];
  const keep = (one: Cached): Cached => {
    if (one.bytes.length >= LEAST_BYTES) cached = [one, ...cached.filter((each) => each !== one)].slice(0, MAX_CACHED);
    return one;
  };
  return {
    decode(type, msgpack) {
      const known = cached.find((each) => each.type === type && Buffer.compare(each.bytes, msgpack) === 0);
      return keep(known ?? { type, value: decodeValue(type, msgpack), bytes: msgpack }).value;
    },
    encode(type, value) {
      const known = cached.find((each) => each.type === type && equalValues(each.value, value));
      return keep(known ?? { type, value, bytes: encodeValue(type, value) }).bytes;
    },
  };
}
