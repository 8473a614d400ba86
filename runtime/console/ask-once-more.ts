/** What pages that ask once more, and the actions behind them, have in common: the reason, and where to go on. */
import type { ActionOutcome } from "./screen.ts";

const MAX_REASON_CHARACTERS = 500;

export type Reason =
  | { readonly ok: true; readonly value: string }
  | ({ readonly ok: false } & { readonly refused: string });

/** Required: whoever reads the record wants to know. @param needsReason the refusal where there is none */
export function readReason(
  form: ReadonlyMap<string, string>,
  needsReason = "No changes were made: enter a reason.",
): Reason {
  const value = (form.get("reason") ?? "").trim();
  if (value === "") return { ok: false, refused: needsReason };
  if (value.length > MAX_REASON_CHARACTERS)
    return {
      ok: false,
      refused: `No changes were made: the reason has more than ${MAX_REASON_CHARACTERS} characters.`,
    };
  return { ok: true, value };
}

/** The one behind it, or before it where there is none; undefined: it was alone. */
export function neighbourOf(ids: readonly string[], id: string): string | undefined {
  const at = ids.indexOf(id);
  return at === -1 ? undefined : (ids[at + 1] ?? ids[at - 1]);
}

export const GONE: ActionOutcome = { refused: "No changes were made: the item no longer exists." };
