/** Unit of publishing, and the canonical JSON for comparing slices and snapshots. */
import type { SettingsDoc } from "./settings.ts";

import type { RouteDoc } from "./route.ts";

/**
 * The configuration that one owner publishes. A hand-written file with a `routes` list is the same with owner
 * "default".
 */
export interface Slice {
  readonly version: 1;
  readonly owner: string;
  readonly settings?: SettingsDoc;
  /** By route name. */
  readonly routes: Readonly<Record<string, RouteDoc>>;
}
