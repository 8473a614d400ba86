/** Compiles settings of the listeners. */
import type { listenerShape } from "./settings.ts";
import type { WithDefaults } from "../../settings/types/registry.ts";
import type { ListenerSettings } from "./compiled.ts";

export function compileForwardedFor(doc: WithDefaults<typeof listenerShape>): ListenerSettings["forwardedFor"] {
  const { xff_num_trusted_hops: trustedHops, skip_xff_append: skipAppend } = doc;
  return trustedHops === 0 && !skipAppend ? undefined : { trustedHops, skipAppend };
}
