/** Connection sharing between upstreams. */
import type { Upstream } from "./compiled.ts";

/** Upstreams with the same key share connections. */
export function poolKeyOf({ origin, connect }: Upstream): string {
  return connect?.poolKey ?? origin;
}
