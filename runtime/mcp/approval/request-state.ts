/**
 * `requestState` of calls pending their user's approval: the approval's ID, sealed for the caller.
 *
 * Untrusted input: the state that clients send. Promise: it opens only for the same user, client and route. It is a
 * hint and grants nothing: each time, the content of the call itself decides.
 */
import type { Keys } from "../../shared/keys.ts";
import type { SessionBinding } from "../mcp-sessions.ts";

/** Distinguishes our states from those of upstreams. */
export const OWN_STATE = "gateform-approval.";
/** Key id, nonce, tag and an id in base64url are far below this. */
const MAX_SEALED = 256;

export interface ApprovalStates {
  seal(approvalId: string, binding: SessionBinding): string;
  /** @returns undefined for a foreign state, and for one of another caller */
  open(requestState: string, binding: SessionBinding): string | undefined;
}

export function isOwnState(requestState: unknown): requestState is string {
  return typeof requestState === "string" && requestState.startsWith(OWN_STATE);
}

export function createApprovalStates({ keys }: { readonly keys: Keys }): ApprovalStates {
  const sealer = keys.sealer("approval-state");
  // JSON, so that two different bindings never share a text.
  const contextOf = ({ userId, clientId, route }: SessionBinding): string => JSON.stringify([userId, clientId, route]);
  return {
    seal: (approvalId, binding) => OWN_STATE + sealer.seal(approvalId, contextOf(binding)),
    open(requestState, binding) {
      if (!isOwnState(requestState) || requestState.length > MAX_SEALED) return undefined;
      return sealer.open(requestState.slice(OWN_STATE.length), contextOf(binding))?.toString("utf8");
    },
  };
}
