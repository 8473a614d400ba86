/** Session cookies, codes and tickets: nothing opens but what was sealed here, for this purpose, in its one spelling. */
import { createSealer } from "../../../runtime/shared/keys.ts";
import { latin1, must } from "../oracle.ts";

const ours = createSealer([Buffer.alloc(32, 1)]);
const others = createSealer([Buffer.alloc(32, 2)]);
const PURPOSE = "session";
/** The same each time, so that a corpus may hold them. */
export const SEALED = ours.sealAlike("alice", PURPOSE);
const ELSEWHERE = [ours.sealAlike("alice", "ticket"), others.sealAlike("alice", PURPOSE)];

export function fuzz(data: Uint8Array): void {
  const text = latin1(data);
  const opened = ours.open(text, PURPOSE);
  must((opened !== undefined) === (text === SEALED), "opened what was not sealed so, or did not open it", text);
  must(opened === undefined || opened.toString() === "alice", "opened as something else");
  must(
    ELSEWHERE.every((each) => ours.open(each, PURPOSE) === undefined),
    "opened for another purpose or key",
  );
}
