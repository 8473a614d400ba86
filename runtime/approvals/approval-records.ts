/**
 * What is kept of approvals, under which keys, for how long.
 *
 * Promise: what a tool is given is sealed with the record's own key as associated data; the pointer from a call to its
 * approval is found by an HMAC, so that nobody who reads the store can tell which call it was.
 */
import type { AdminAction } from "../audit/action-record.ts";
import type { UserId } from "../shared/user-id.ts";
import { userTag } from "../identity/identity-records.ts";
import { firstFormats } from "../store/formats.ts";

/** How long somebody may take to decide. */
export const WAITING_SECONDS = 3600;
/** How long the call may take to come again once it is approved, and how long a refusal is remembered. */
export const DECIDED_SECONDS = 600;
/** How long it stays known what became of a call. */
export const USED_SECONDS = 30 * 86_400;
/** Longer than a call can wait for its approval and then come again. */
export const POINTER_SECONDS = WAITING_SECONDS + 2 * DECIDED_SECONDS;

/** How long a call waits before it looks for a decision by itself, should the hint of one be lost. */
export const LOOK_AGAIN_MS = 5_000;

/** waiting → approved → used, or waiting → refused; each step is taken once. */
export type ApprovalStep = "waiting" | "approved" | "refused" | "used";

/** `approval:<id>`: one call that somebody asked for. */
export interface ApprovalRecord {
  readonly schema: 1;
  readonly state: ApprovalStep;
  /** Who asks: id, how people know them, and by which client. */
  readonly userId: UserId;
  readonly userName: string;
  /** "" for who has none. */
  readonly userEmail: string;
  /** "" for callers without one. */
  readonly clientId: string;
  readonly clientName: string;
  readonly routeKey: string;
  readonly routeName: string;
  /** Address of the MCP server. */
  readonly server: string;
  /** Sealed: the query of that address, in which clients may send keys. */
  readonly query?: string;
  readonly tool: string;
  /** Sealed: canonical JSON of what the tool is given, numbers as they were written; see `givenToTool`. */
  readonly given: string;
  /** Who may approve, see `ApprovalNeed`. */
  readonly approvers: readonly (readonly string[])[];
  /** What ends the credential that asked. */
  readonly revocationKeys: readonly string[];
  /** Epoch seconds. */
  readonly askedAt: number;
  /** The same call was approved before, and nobody knows what became of it. */
  readonly afterUnknown?: true;
  /** Id and name of who decided. */
  readonly decidedBy?: { readonly id: UserId; readonly name: string };
  readonly decidedAt?: number;
  /** Of a used one: unknown from the moment before the call is made until its answer has been sent. */
  readonly outcome?: "unknown" | "answered";
}

/** `approval-of:<hmac>`: where the approval of a call stands that comes again. */
export interface ApprovalPointer {
  readonly schema: 1;
  readonly id: string;
}

export const APPROVAL_FORMATS = firstFormats(["approval", "approval-of"]);

/** Feed that says that one was decided. */
export const APPROVALS_FEED = "approvals";

export const approvalKey = (id: string): string => `approval:${id}`;
/** What a query is sealed for. */
export const queryOf = (key: string): string => `${key} query`;
/** The same of what is given with header fields: versions that cannot show them cannot open it, and decide about nothing. */
export const withFieldsOf = (key: string): string => `${key} fields`;
export const givenOf = (key: string, given: string): string => (given.startsWith("[") ? withFieldsOf(key) : key);
export const pointerKey = (hmac: string): string => `approval-of:${hmac}`;
/** Whether a text can be the id of an approval. */
export const isApprovalId = (text: string): boolean => /^[A-Za-z0-9_-]{22}$/.test(text);

/** Of those alone on which somebody has to decide. */
export const waitingTag = (userId: string): string => `asking:${userId}`;

/** The same of all users. */
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

/** For the audit. @param record as it was before */
export function decisionAction(
  id: string,
  { userId, tool, routeKey, state }: ApprovalRecord,
  by: UserId,
  decision: "approved" | "refused",
): AdminAction {
  return {
    action: decision === "approved" ? "approve" : "refuse",
    by,
    target: `approval ${id} of ${userId}: ${tool} on ${routeKey}`,
    before: state,
    after: decision,
  };
}
