/** Administrative actions, out of the stored records. */
import type { ActionRow } from "../../pages/console/policy/changes.ts";
import type { KeptRecord, RecordReader } from "../../record-store/record-reader.ts";
import type { ConsoleRights } from "../screen.ts";
import { showUntrusted } from "../show-untrusted.ts";

export interface ActionsPage {
  readonly rows: readonly ActionRow[];
  readonly next?: string | undefined;
}

const PAGE = 50;
/** Limit of pages that are read for users who can see few of the actions. */
const MAX_PAGES = 4;

/** Users with a role for some owners see the actions on these owners' slices. */
export async function listActions(
  reader: Pick<RecordReader, "find">,
  rights: ConsoleRights,
  cursor: string | undefined,
): Promise<ActionsPage> {
  const rows: ActionRow[] = [];
  let next = cursor;
  for (let pages = 0; pages < MAX_PAGES && rows.length < PAGE; pages += 1) {
    const limit = rights.owners === undefined ? PAGE - rows.length : PAGE;
    const page = await reader.find({
      kind: "action",
      order: "newest",
      limit,
      ...(next !== undefined && { cursor: next }),
    });
    rows.push(...page.records.filter((record) => maySee(rights, record)).map(actionRow));
    next = page.next;
    if (next === undefined) break;
  }
  return { rows, next };
}

function maySee({ owners }: ConsoleRights, { value }: KeptRecord): boolean {
  if (owners === undefined) return true;
  return owners.some((owner) => value["target"] === `slice ${owner}`);
}

function actionRow({ timeMs, value }: KeptRecord): ActionRow {
  const [before, after] = [shortened(value["before"]), shortened(value["after"])];
  const outcome = textOf(value["outcome"]);
  return {
    timeMs,
    by: showUntrusted(textOf(value["by"])),
    action: showUntrusted(textOf(value["action"])) + (outcome === "" ? "" : `, ${showUntrusted(outcome)}`),
    target: showUntrusted(textOf(value["target"])),
    change: before === after ? "" : `${before || "none"} → ${after || "none"}`,
    reason: showUntrusted(textOf(value["reason"]), 500),
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** Digests are truncated. */
function shortened(value: unknown): string {
  const text = textOf(value);
  return /^[0-9a-f]{64}$/.test(text) ? text.slice(0, 12) : showUntrusted(text, 80);
}
