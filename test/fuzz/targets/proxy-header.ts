/** PROXY protocol, both versions: one head, the same however much of it has come, and nothing behind it is taken. */
import { isIP } from "node:net";

import { MAX_PROXY_HEADER_BYTES, readProxyHeader } from "../../../runtime/http/listener/proxy-protocol.ts";
import { must, mustEqual } from "../oracle.ts";

export function fuzz(data: Uint8Array): void {
  const bytes = Buffer.from(data);
  const read = readProxyHeader(bytes);
  must(read.kind !== "incomplete" || bytes.length < MAX_PROXY_HEADER_BYTES, "it waits for more than there may be");
  const padded = Buffer.concat([bytes, Buffer.alloc(MAX_PROXY_HEADER_BYTES, 0x20)]);
  must(readProxyHeader(padded).kind !== "incomplete", "it waits for more than there may be, whatever comes");
  for (const length of [1, 5, 6, 12, 15, 16, 17, bytes.length - 1]) {
    if (length < 1 || length >= bytes.length) continue;
    const begun = readProxyHeader(bytes.subarray(0, length));
    if (begun.kind === "ok") mustEqual(begun, read, "more bytes make another head");
    if (begun.kind === "bad") mustEqual(read.kind, "bad", "good behind a bad beginning");
  }
  if (read.kind !== "ok") return;
  must(read.length <= bytes.length, "longer than what came", read);
  must(read.source === undefined || isIP(read.source) !== 0, "not an address", read);
  mustEqual(readProxyHeader(bytes.subarray(0, read.length)), read, "what follows changes it");
}
