/** What the parts for devices need of others. */
import type { BrowserSessions, Csrf, Revocations } from "../interfaces.ts";

/** Of a signed-in browser. */
export interface DeviceSession {
  readonly csrf: Csrf;
  readonly browser: BrowserSessions;
  readonly revocations: Pick<Revocations, "revoke">;
}
