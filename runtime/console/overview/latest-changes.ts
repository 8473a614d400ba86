/** The latest publications and administrative actions. */
import { readPublication } from "../../bundle/published.ts";
import type { ActionRow, ChangeRow } from "../../pages/console/policy/changes.ts";
import type { ChangeItem } from "../../pages/console/overview.ts";
import type { RecordReader } from "../../record-store/record-reader.ts";
import type { Store } from "../../store/store.ts";
import { listActions } from "../changes/list-actions.ts";
import { CHANGES_PATH, listChanges } from "../changes/list-changes.ts";
import type { ConsoleRequest } from "../screen.ts";

const SHOWN = 4;

/** @throws GatewayError where the store or the record store is unavailable */
export async function latestChanges(
  { store, records }: { readonly store: Store; readonly records: Pick<RecordReader, "find"> | undefined },
  { rights }: Pick<ConsoleRequest, "rights">,
): Promise<readonly ChangeItem[]> {
  const maySee = (owner: string): boolean => rights.may("viewer", owner);
  const [{ publication }, actions] = await Promise.all([
    readPublication(store),
    records ? listActions(records, rights, undefined) : undefined,
  ]);
  const published = listChanges(publication, { owner: "", maySee }).rows.slice(0, SHOWN).map(changeItem);
  // A publication is recorded as an action as well.
  const done = (actions?.rows ?? [])
    .filter(({ action }) => !action.startsWith("publish"))
    .slice(0, SHOWN)
    .map(actionItem);
  return [...published, ...done].toSorted((a, b) => b.timeMs - a.timeMs).slice(0, SHOWN);
}

function changeItem({ generation, href, owner, what, by, atMs }: ChangeRow): ChangeItem {
  return {
    icon: "changes",
    href,
    title: `Generation ${generation} of ${owner}`,
    text: `${what} · by ${by}`,
    timeMs: atMs,
  };
}

function actionItem({ action, target, reason, by, timeMs }: ActionRow): ChangeItem {
  const text = [reason === "" ? undefined : `“${reason}”`, `by ${by}`].filter((part) => part !== undefined);
  return {
    icon: "people",
    href: `${CHANGES_PATH}#actions`,
    title: `${action} ${target}`,
    text: text.join(" · "),
    timeMs,
  };
}
