/**
 * `requestState` of calls that wait for their user's approval: which approval it is, sealed for who asks.
 *
 * Untrusted input: what clients send. Promise: it opens only for the same user, client and route. It is a hint and no right:
 * whether a call goes on is decided by what the call itself says, each time.
 */
import type { Keys } from "../../shared/keys.ts";
import type { SessionBinding } from "../mcp-sessions.ts";

/** Tells ours from those of upstreams. */
export const OWN_STATE = "gateform-approval.";
/** Key id, nonce, tag and an id in base64url are far below this. */
const MAX_SEALED = 256;

export interface ApprovalStates {
  seal(approvalId: string, binding: SessionBinding): string;
  /** @returns undefined for what is not ours, or not for this caller */
  open(requestState: string, binding: SessionBinding): string | undefined;
}

export function isOwnState(requestState: unknown): requestState is string {
  return typeof requestState === "string" && requestState.startsWith(OWN_STATE);
}

export function createApprovalStates({ keys }: { readonly keys: Keys }): ApprovalStates {
  const sealer = keys.sealer("approval-state");
  // JSON, so that no two bindings share a text however their parts are spelled.
  const contextOf = ({ userId, clientId, route }: SessionBinding): string => JSON.stringify([userId, clientId, route]);
  return {
    seal: (approvalId, binding) => OWN_STATE + sealer.seal(approvalId, contextOf(binding)),
    open(requestState, binding) {
      if (!isOwnState(requestState) || requestState.length > MAX_SEALED) return undefined;
      return sealer.open(requestState.slice(OWN_STATE.length), contextOf(binding))?.toString("utf8");
    },
  };
}
