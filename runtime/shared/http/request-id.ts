/** IDs of requests: unique, unguessable, and cheap, since every request gets one. */
import { randomFillSync } from "node:crypto";

const ID_BYTES = 16;
/** Random bytes are fetched in bulk: a call for each ID would cost more than the rest of it. */
const pool = Buffer.allocUnsafeSlow(ID_BYTES * 256);
let used = pool.length;

/** 32 lower-case hexadecimal digits, the form of a W3C trace id. */
export function createRequestId(): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += ID_BYTES;
  return pool.toString("hex", used - ID_BYTES, used);
}
