/** Administrative actions: one line of the audit per action. */
import { isoTime, jsonText } from "./record.ts";

export interface AdminAction {
  readonly action:
    | "publish"
    | "rollback"
    | "block"
    | "unblock"
    | "revoke"
    | "create"
    | "renew"
    | "approve"
    | "refuse"
    | "approve-device"
    | "withdraw-device-approval"
    | "forget"
    | "console";
  /** Actor: a user's ID, "root@host" for commands, the name of the token for the admin listener. */
  readonly by: string;
  /** Target of the action: "slice team-a", "session abc". */
  readonly target: string;
  /** State before and after: digests of slices and of records in the store, else states; null: nothing. */
  readonly before?: string | null | undefined;
  readonly after?: string | null | undefined;
  readonly reason?: string | undefined;
  /** Absent: the action succeeded. */
  readonly outcome?: "refused" | "failed" | undefined;
}

/**
 * @param id of this action: a line that a crash writes twice has the same one
 * @param given as stored: a writer of the store must not be able to start another line
 * @returns one line with its line end
 */
export function formatAction(timeMs: number, id: string, given: AdminAction): string {
  const { action, by, target, before, after, reason, outcome } = given;
  const member = (name: string, value: string | null | undefined): string =>
    value === undefined ? "" : `,"${name}":${value === null ? "null" : jsonText(value)}`;
  return (
    `{"level":"info","time":"${isoTime(timeMs)}","service":"authorize","message":"administrative action"` +
    `,"action-id":${jsonText(id)},"action":${jsonText(action)},"by":${jsonText(by)},"target":${jsonText(target)}` +
    `${member("before", before)}${member("after", after)}${member("reason", reason || undefined)}${member("outcome", outcome)}}\n`
  );
}
