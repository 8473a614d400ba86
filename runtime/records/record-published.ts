/** Actions of the admin listener, for the audit. */
import type { AdminAction } from "../audit/action-record.ts";
import type { Clock } from "../shared/clock.ts";
import { errorText, GatewayError } from "../shared/errors.ts";
import type { Store } from "../store/store.ts";
import { queueAction } from "./actions.ts";

interface Deps {
  readonly store: Store;
  readonly clock: Clock;
  /** Called when an action could not be recorded. */
  readonly onError: (error: GatewayError) => void;
}

/** An action on the slice of an owner. */
type OwnersAction = Omit<AdminAction, "target"> & { readonly owner: string };

/** Records published or rolled-back slices. Never throws: the publication is already done. */
export function recordPublished(deps: Deps): (change: OwnersAction) => Promise<void> {
  const record = recordQueued(deps);
  return ({ owner, ...change }) => record({ ...change, target: `slice ${owner}` });
}

/** Never throws: the action is already done. */
export function recordQueued(deps: Deps): (action: AdminAction) => Promise<void> {
  return async (action) => {
    try {
      await queueAction(deps, action);
    } catch (error) {
      const message = `Cannot record "${action.action}" of ${action.target} by ${action.by}: ${errorText(error)}`;
      deps.onError(new GatewayError("audit.action", message, { cause: error }));
    }
  };
}
