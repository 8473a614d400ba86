/** A kept record as the pages show it: texts of strangers visible and bounded, arguments for auditors alone. */
import { ownerOfRoute } from "../../shared/route-key.ts";
import type { DecisionRow } from "../../pages/console/decisions.ts";
import type { KeptRecord } from "../../record-store/record-reader.ts";
import { showUntrusted } from "../show-untrusted.ts";
import type { ConsoleRights } from "../screen.ts";
import { reasonText } from "./reasons.ts";

export const DECISIONS_PATH = "/.gateway/console/decisions";

const MAX_VALUE_CHARACTERS = 4_000;
const MAX_CELL_CHARACTERS = 48;

export function rowOf(record: KeptRecord): DecisionRow {
  const { id, timeMs, outcome, result } = record;
  const cell = (text: string): string => showUntrusted(text, MAX_CELL_CHARACTERS);
  return {
    id,
    timeMs,
    outcome,
    href: `${DECISIONS_PATH}/${id}`,
    who: cell(record.email || record.userId || "not signed in"),
    client: cell(record.clientId?.replace(/^https:\/\//, "") ?? textOf(record, "auth-method") ?? ""),
    route: cell(record.route ?? ""),
    what: cell(record.tool ?? whatOf(record)),
    reason: showUntrusted(reasonText(record)),
    status: result?.status,
    durationMs: result?.durationMs,
  };
}

/** "tools/call delete_repo", "GET /x". */
export function whatOf(record: KeptRecord): string {
  const method = textOf(record, "mcp-method") ?? "";
  if (method !== "") return record.tool === undefined ? method : `${method} ${record.tool}`;
  return `${textOf(record, "method") ?? ""} ${textOf(record, "path") ?? ""}`.trim();
}

export function textOf({ value }: KeptRecord, name: string): string | undefined {
  const found = value[name];
  return typeof found === "string" ? found : undefined;
}

/** @returns undefined for what belongs to no route */
export function ownerOf({ route = "" }: KeptRecord): string | undefined {
  return ownerOfRoute(route) || undefined;
}

export function mayRead(rights: ConsoleRights, record: KeptRecord): boolean {
  return record.kind === "decision" && rights.may("viewer", ownerOf(record));
}

/** What a call was given, in whatever form, and what its policy was asked. */
function isArgument(name: string): boolean {
  return name.startsWith("mcp-tool-parameters") || name === "replay";
}

/** @returns the fields that this person may see, and whether there are others */
export function visibleFields(
  record: KeptRecord,
  rights: ConsoleRights,
): { readonly fields: readonly (readonly [string, unknown])[]; readonly isWithheld: boolean } {
  const all = Object.entries(record.value);
  if (rights.may("auditor", ownerOf(record))) return { fields: all, isWithheld: false };
  const fields = all.filter(([name]) => !isArgument(name));
  return { fields, isWithheld: fields.length < all.length };
}

export function fieldText(value: unknown): string {
  return showUntrusted(typeof value === "string" ? value : JSON.stringify(value), MAX_VALUE_CHARACTERS);
}
