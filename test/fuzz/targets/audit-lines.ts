/** Notes and lines of an audit file: a note is signed as it was, or not at all; test/runtime/tools/audit/fuzz.test.ts changes whole files. */
import { parseCheckpoint } from "../../../runtime/audit/chain/checkpoint.ts";
import { positionOf } from "../../../runtime/audit/chain/lines.ts";
import { createNoteSigner, openNote } from "../../../runtime/audit/chain/signed-note.ts";
import { verifiers, verifyBytes } from "../../support/audit-run.ts";
import { latin1, must, mustEqual, utf8 } from "../oracle.ts";

const CHECKPOINT = `gateform/audit/one\n3\n${"A".repeat(43)}=\ntime 2026-01-01T00:00:00.000Z\nleaves ${"B".repeat(43)}=\n`;
/** The same each time, so that a corpus may hold it. */
export const NOTE = createNoteSigner("gateform/audit", Buffer.alloc(32, 7)).sign(CHECKPOINT);

export function fuzz(data: Uint8Array): void {
  const note = utf8(data);
  const opened = openNote(note, verifiers);
  if (opened.kind === "signed") mustEqual(opened.text, CHECKPOINT, "a note that nobody signed");
  const checkpoint = parseCheckpoint(note);
  must(!checkpoint || Number.isSafeInteger(checkpoint.size), "no checkpoint", note);
  must(!positionOf(Buffer.from(data)) || latin1(data).endsWith("}"), "a place outside of a line", note);
  // Whatever the file holds, it is told of: nothing is thrown.
  verifyBytes(Buffer.from(data));
}
