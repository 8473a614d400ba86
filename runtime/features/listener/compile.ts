/** Settings of the listeners → their compiled form. */
import type { ListenerDoc } from "./settings.ts";
import type { ListenerSettings } from "./compiled.ts";

export function compileForwardedFor(doc: ListenerDoc): ListenerSettings["forwardedFor"] {
  const { xff_num_trusted_hops: trustedHops = 0, skip_xff_append: skipAppend = false } = doc;
  return trustedHops === 0 && !skipAppend ? undefined : { trustedHops, skipAppend };
}
