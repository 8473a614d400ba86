/**
 * Stored data of approvals, with keys and lifetimes.
 *
 * Promise: a tool's arguments are sealed with the record's own key as associated data; the pointer from a call to its
 * approval is found by an HMAC, so that a reader of the store cannot tell which call it was.
 */
import type { AdminAction } from "../audit/action-record.ts";
import type { UserId } from "../shared/user-id.ts";
import { userTag } from "../identity/identity-records.ts";
import { firstFormats } from "../store/formats.ts";

/** Time for a decision. */
export const WAITING_SECONDS = 3600;
/** Time for the call to be repeated once it is approved, and for which a refusal is remembered. */
export const DECIDED_SECONDS = 600;
/** How long the outcome of a call is stored. */
export const USED_SECONDS = 30 * 86_400;
/** Longer than a call can be pending and then be repeated. */
export const POINTER_SECONDS = WAITING_SECONDS + 2 * DECIDED_SECONDS;

/** How often a pending call checks for a decision, should the notification be lost. */
export const LOOK_AGAIN_MS = 5_000;

/** waiting → approved → used, or waiting → refused; each step happens once. */
export type ApprovalStep = "waiting" | "approved" | "refused" | "used";

/** `approval:<id>`: one call for which approval was requested. */
export interface ApprovalRecord {
  readonly schema: 1;
  readonly state: ApprovalStep;
  /** The caller: ID, display name, and client. */
  readonly userId: UserId;
  readonly userName: string;
  /** "" for a user without one. */
  readonly userEmail: string;
  /** "" for callers without one. */
  readonly clientId: string;
  readonly clientName: string;
  readonly routeKey: string;
  readonly routeName: string;
  /** Address of the MCP server. */
  readonly server: string;
  /** Sealed: the query of that address, which may contain keys of the client. */
  readonly query?: string;
  readonly tool: string;
  /** Sealed: canonical JSON of the tool's arguments, numbers as written; see `givenToTool`. */
  readonly given: string;
  /** Groups that can approve, see `ApprovalNeed`. */
  readonly approvers: readonly (readonly string[])[];
  /** Keys that revoke the caller's credential. */
  readonly revocationKeys: readonly string[];
  /** Epoch seconds. */
  readonly askedAt: number;
  /** The same call was approved before, and its outcome is unknown. */
  readonly afterUnknown?: true;
  /** ID and name of the user who decided. */
  readonly decidedBy?: { readonly id: UserId; readonly name: string };
  readonly decidedAt?: number;
  /** Text of the user who decided. */
  readonly note?: string;
  /** For a used approval: unknown from the moment before the call is made until its response has been sent. */
  readonly outcome?: "unknown" | "answered";
}

/** `approval-of:<hmac>`: key of the approval for a repeated call. */
export interface ApprovalPointer {
  readonly schema: 1;
  readonly id: string;
}

export const APPROVAL_FORMATS = firstFormats(["approval", "approval-of"]);

/** Feed of decisions. */
export const APPROVALS_FEED = "approvals";

export const approvalKey = (id: string): string => `approval:${id}`;
/** Associated data for sealing a query. */
export const queryOf = (key: string): string => `${key} query`;
/**
 * Associated data for arguments with header fields: versions that cannot show the fields cannot open them, and decide
 * about nothing.
 */
export const withFieldsOf = (key: string): string => `${key} fields`;
export const givenOf = (key: string, given: string): string => (given.startsWith("[") ? withFieldsOf(key) : key);
export const pointerKey = (hmac: string): string => `approval-of:${hmac}`;
/** Whether a text can be an approval's ID. */
export const isApprovalId = (text: string): boolean => /^[A-Za-z0-9_-]{22}$/.test(text);

/** Tag of approvals that another user must decide. */
export const waitingTag = (userId: string): string => `asking:${userId}`;

/** The same for all users. */
export const WAITING_TAG = "asking";

export function askerOf({ userId, userEmail }: Pick<ApprovalRecord, "userId" | "userEmail">): {
  readonly id: UserId;
  readonly email: string;
} {
  return { id: userId, email: userEmail };
}

export function tagsOf({ state, userId, clientId }: Pick<ApprovalRecord, "state" | "userId" | "clientId">): string[] {
  return [
    userTag(userId),
    ...(clientId === "" ? [] : [`client:${clientId}`]),
    ...(state === "waiting" ? [waitingTag(userId), WAITING_TAG] : []),
  ];
}

export type Decided = "approved" | "refused";

/** In UTF-16 units. */
export const MAX_NOTE = 500;

/** For the audit. @param before its state */
export function decisionAction(
  id: string,
  { userId, tool, routeKey, note }: ApprovalRecord,
  before: ApprovalStep,
  by: UserId,
  decision: Decided,
): AdminAction {
  return {
    action: decision === "approved" ? "approve" : "refuse",
    by,
    target: `approval ${id} of ${userId}: ${tool} on ${routeKey}`,
    before,
    after: decision,
    reason: note,
  };
}
