/** Slices that were published or rolled back, for the audit. */
import type { Clock } from "../../shared/clock.ts";
import { errorText, GatewayError } from "../../shared/errors.ts";
import type { Store } from "../../store/store.ts";
import { queueAction } from "./actions.ts";

export interface PublishedChange {
  readonly action: "publish" | "rollback";
  readonly by: string;
  readonly owner: string;
  readonly before: string | null;
  readonly after: string | null;
}

/** It never throws: what was published is published. */
export function recordPublished(deps: {
  readonly store: Store;
  readonly clock: Clock;
  /** It could not be recorded. */
  readonly onError: (error: GatewayError) => void;
}): (change: PublishedChange) => Promise<void> {
  return async ({ owner, ...change }) => {
    try {
      await queueAction(deps, { ...change, target: `slice ${owner}` });
    } catch (error) {
      const message = `Cannot record that ${change.by} changed the slice of "${owner}": ${errorText(error)}`;
      deps.onError(new GatewayError("audit.action", message, { cause: error }));
    }
  };
}
