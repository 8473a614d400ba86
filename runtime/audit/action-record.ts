/** What administrators do: one line of the audit for each action. */
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
  /** Who: a user's id, "root@host" for commands, which token for the admin listener. */
  readonly by: string;
  /** What it was done to: "slice team-a", "session abc". */
  readonly target: string;
  /** What was there and what is: digests of slices and of records in the store, else states; null: nothing. */
  readonly before?: string | null | undefined;
  readonly after?: string | null | undefined;
  readonly reason?: string | undefined;
  /** Absent: it was done. */
  readonly outcome?: "refused" | "failed" | undefined;
}

/**
 * @param id of this action: one that a crash writes twice has one
 * @param given as the store has it: whoever writes that must not begin another line
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
