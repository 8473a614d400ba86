/** X-Forwarded-For behind trusted proxies: an address is an address, and strangers add none before ours. */
import { isIP } from "node:net";

import { readForwardedFor } from "../../../runtime/http/listener/forwarded-for.ts";
import { must, mustEqual, partsOf } from "../oracle.ts";

const PEER = "192.0.2.9";

export function fuzz(data: Uint8Array): void {
  const values = partsOf(data);
  mustEqual(
    readForwardedFor({ trustedHops: 0, skipAppend: false }, values, PEER),
    { address: PEER, chain: PEER },
    "believed without a trusted proxy",
  );
  for (const trustedHops of [1, 2, 3]) {
    const { address, chain } = readForwardedFor({ trustedHops, skipAppend: false }, values, PEER);
    const entries = chain.split(", ");
    must(
      entries.every((each) => isIP(each) !== 0),
      "not an address",
      chain,
    );
    mustEqual(entries.at(-1), PEER, "the connection's own address is missing");
    mustEqual(entries[0], address, "the caller is not the first of them");
    must(entries.length === 1 || entries.length === trustedHops + 1, "more or fewer than the proxies", chain);
    const planted = readForwardedFor({ trustedHops, skipAppend: false }, ["203.0.113.7", ...values], PEER);
    if (entries.length > 1 && values.join(",").length < 4_000)
      mustEqual(planted.address, address, "planted before ours");
  }
}
