/**
 * Replacement for a record that was erased with its user: its leaf, so that the tree is unchanged, and the erasing
 * action, signed with the key of the checkpoints.
 */
import { AUDIT_KEY_NAME } from "./checkpoint.ts";
import { type NoteSigner, type NoteVerifier, openNote } from "./signed-note.ts";

export interface ErasedRecord {
  /** ID of the administrative action. */
  readonly actionId: string;
  readonly instance: string;
  readonly seq: number;
  readonly leaf: string;
}

/** @param time from the record @returns one line without its line end */
export function formatErased(time: string, erased: ErasedRecord, signer: NoteSigner): string {
  const { actionId, instance, seq, leaf } = erased;
  const note = signer.sign(textOf(erased));
  const signature = note.slice(note.lastIndexOf(" ") + 1).trimEnd();
  return (
    `{"level":"info","time":"${time}","service":"authorize","message":"erased record","forget":${JSON.stringify(actionId)}` +
    `,"leaf":"${leaf}","signature":"${signature}","instance":"${instance}","seq":${seq}}`
  );
}

/** @returns the action's ID; undefined unless one of the keys signed it */
export function forgetOf(
  line: string,
  at: Omit<ErasedRecord, "actionId">,
  verifiers: readonly NoteVerifier[],
): string | undefined {
  try {
    const { forget, signature } = JSON.parse(line) as Readonly<Record<string, unknown>>;
    if (typeof forget !== "string" || typeof signature !== "string") return undefined;
    const note = `${textOf({ ...at, actionId: forget })}\n— ${AUDIT_KEY_NAME} ${signature}\n`;
    return openNote(note, verifiers).kind === "signed" ? forget : undefined;
  } catch {
    return undefined;
  }
}

function textOf({ actionId, instance, seq, leaf }: ErasedRecord): string {
  return `gateform/erased\n${actionId}\n${instance}\n${seq}\n${leaf}\n`;
}
