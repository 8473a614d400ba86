/** A stored record as pages show it: untrusted text visible and bounded, arguments for auditors only. */
import { ownerOfRoute } from "../../shared/route-key.ts";
import type { CompiledRoute } from "../../config/compiled.ts";
import type { DecisionRow } from "../../pages/console/decisions.ts";
import type { KeptRecord } from "../../record-store/record-reader.ts";
import { showUntrusted } from "../show-untrusted.ts";
import type { ConsoleRights } from "../screen.ts";
import { type DecisionFilters, filterQuery } from "./filters.ts";
import type { KnownPolicies } from "./policies.ts";
import { reasonText } from "./reasons.ts";

export const DECISIONS_PATH = "/.gateway/console/decisions";

const MAX_VALUE_CHARACTERS = 4_000;
const MAX_CELL_CHARACTERS = 48;
const MAX_REASON_CHARACTERS = 240;

export interface RowOptions {
  /** Filters of the list that the row is in. */
  readonly filters: DecisionFilters;
  readonly policies: Pick<KnownPolicies, "find">;
}

export function rowOf(record: KeptRecord, { filters, policies }: RowOptions): DecisionRow {
  const { id, timeMs, outcome, result, email, userId, clientId, route, tool } = record;
  const cell = (text: string): string => showUntrusted(text, MAX_CELL_CHARACTERS);
  const link = (name: "user" | "client" | "route", value: string | undefined, text: string) => ({
    text: cell(text),
    href: value === undefined || value === "" ? undefined : DECISIONS_PATH + filterQuery(filters, { [name]: value }),
  });
  return {
    id,
    timeMs,
    outcome,
    outcomeHref: DECISIONS_PATH + filterQuery(filters, { outcome }),
    href: `${DECISIONS_PATH}${filterQuery(filters, { open: id })}`,
    user: link("user", email || userId, email || userId || "Anonymous"),
    client: link("client", clientId, clientId?.replace(/^https:\/\//, "") ?? textOf(record, "auth-method") ?? ""),
    route: link("route", route, route ?? ""),
    what: cell(tool ?? whatOf(record)),
    reason: showUntrusted(reasonText(record, policyOf(policies, record)), MAX_REASON_CHARACTERS),
    durationMs: result?.durationMs,
  };
}

/** Policy of the configuration that decided. @returns undefined if it is no longer known here */
export function policyOf(
  policies: Pick<KnownPolicies, "find">,
  record: KeptRecord,
): CompiledRoute["policy"] | undefined {
  const { route } = record;
  return route === undefined ? undefined : policies.find(textOf(record, "bundle-digest") ?? "", route)?.policy;
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

/** The arguments of a call in any form, and the facts that its policy read. */
function isArgument(name: string): boolean {
  return name.startsWith("mcp-tool-parameters") || name === "replay";
}

/** @returns the fields that this user can see, and whether there are others */
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
