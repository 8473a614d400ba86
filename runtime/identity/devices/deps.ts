/** Dependencies of the device modules. */
import type { BrowserSessions, Csrf, Revocations } from "../interfaces.ts";

/** Session services for a signed-in browser. */
export interface DeviceSession {
  readonly csrf: Csrf;
  readonly browser: BrowserSessions;
  readonly revocations: Pick<Revocations, "revoke">;
}
