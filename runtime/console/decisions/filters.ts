/** Filters of decisions, as addresses have them → a question to the record store. */
import type { KeptRecord, RecordQuery } from "../../record-store/record-reader.ts";
import type { ConsoleRights } from "../screen.ts";

export interface DecisionFilters {
  readonly user: string;
  readonly route: string;
  readonly tool: string;
  readonly client: string;
  /** Request ID. */
  readonly request: string;
  /** One of them, "not-allowed", "others" (not allowed or failed), or "": all. */
  readonly outcome: string;
  /** Key of PRESETS, or "". */
  readonly last: string;
  /** As in the address: UTC unless it names a zone. */
  readonly since: string;
  readonly until: string;
  /** Two lists: first all that was not allowed or failed, then the rest. */
  readonly isDeniedFirst: boolean;
}

type Outcome = KeptRecord["outcome"];

/** A caller who was asked to sign in was not denied anything, and a request that failed was allowed. */
export const NOT_ALLOWED = ["denied", "limited", "waiting"] as const satisfies readonly Outcome[];
/** All that needs a look: first in lists with "denied first". */
export const NOT_ALLOWED_OR_FAILED = [...NOT_ALLOWED, "error"] as const satisfies readonly Outcome[];
const OUTCOMES: readonly Outcome[] = ["allowed", ...NOT_ALLOWED_OR_FAILED, "sign-in"];

/** Values of addresses for several outcomes. */
const SEVERAL: Readonly<Record<string, readonly Outcome[]>> = {
  "not-allowed": NOT_ALLOWED,
  others: NOT_ALLOWED_OR_FAILED,
};

/** Names of outcomes in the field "Outcome" of the form, in addition to the values. */
export const OUTCOME_NAMES: Readonly<Record<Outcome | "others" | "not-allowed", string>> = {
  "not-allowed": "Not allowed",
  others: "Not allowed or failed",
  denied: "Denied",
  limited: "Rate limited",
  waiting: "Pending approval",
  error: "Failed",
  "sign-in": "Sign-in",
  allowed: "Allowed",
};

export const PRESETS: Readonly<Record<string, { readonly ms: number; readonly text: string }>> = {
  "15m": { ms: 15 * 60_000, text: "15 minutes" },
  "1h": { ms: 3_600_000, text: "1 hour" },
  "24h": { ms: 24 * 3_600_000, text: "24 hours" },
  "7d": { ms: 7 * 24 * 3_600_000, text: "7 days" },
};

export const TEXT_FILTERS = ["user", "route", "tool", "client", "request"] as const;
const FIELDS = [...TEXT_FILTERS, "outcome", "last", "since", "until"] as const;

const MAX_CHARACTERS = 256;

/** With what the form "Add filter" adds: `add` names the field, `value` has its text. */
export function readFilters(query: ReadonlyMap<string, string>): DecisionFilters {
  const added = query.get("add");
  const text = (name: string): string =>
    (query.get(added === name ? "value" : name) ?? "").trim().slice(0, MAX_CHARACTERS);
  const [user, route, tool, client, request, outcome, last, since, until] = FIELDS.map(text);
  return {
    user: user ?? "",
    route: route ?? "",
    tool: tool ?? "",
    client: client ?? "",
    request: request ?? "",
    outcome: outcomeNamed(outcome ?? ""),
    last: last ?? "",
    since: since ?? "",
    until: until ?? "",
    isDeniedFirst: query.get("view") === "denied-first",
  };
}

function outcomeNamed(text: string): string {
  const found = Object.entries(OUTCOME_NAMES).find(([, name]) => name.toLowerCase() === text.toLowerCase());
  return found ? found[0] : text;
}

/** @returns the problem of the filters, in words */
export function toQuery(
  { user, route, tool, client, request, outcome, last, since, until }: DecisionFilters,
  { owners }: Pick<ConsoleRights, "owners">,
  now: number,
): { readonly query: Omit<RecordQuery, "limit" | "order"> } | { readonly problem: string } {
  const preset = PRESETS[last];
  const sinceMs = preset ? now - preset.ms : parseTime(since);
  const untilMs = preset ? undefined : parseTime(until);
  if (Number.isNaN(sinceMs) || Number.isNaN(untilMs))
    return { problem: "Enter a time such as 2026-11-23T09:30, in UTC." };
  if (last !== "" && !preset) return { problem: "Unknown time range." };
  const outcomes = Object.hasOwn(SEVERAL, outcome)
    ? (SEVERAL[outcome] ?? [])
    : OUTCOMES.filter((each) => each === outcome);
  if (outcome !== "" && outcomes.length === 0) return { problem: "Unknown outcome." };
  return {
    query: {
      kind: "decision",
      ...(user !== "" && { user }),
      ...(route !== "" && { route }),
      ...(tool !== "" && { tool }),
      ...(client !== "" && { client }),
      ...(request !== "" && { request }),
      ...(outcomes.length > 0 && { outcomes }),
      ...(sinceMs !== undefined && { sinceMs }),
      ...(untilMs !== undefined && { untilMs }),
      ...(owners && { owners }),
    },
  };
}

/** The filters that are set, for links that keep them. @param changes others; "" removes one */
export function filterEntries(
  filters: DecisionFilters,
  changes: Readonly<Record<string, string>> = {},
): readonly (readonly [name: string, value: string])[] {
  const { isDeniedFirst, ...texts } = filters;
  const values = { ...texts, view: isDeniedFirst ? "denied-first" : "", ...changes };
  return Object.entries(values).filter(([, value]) => value !== "");
}

/** The same as the query of an address. */
export function filterQuery(filters: DecisionFilters, changes: Readonly<Record<string, string>> = {}): string {
  const set = filterEntries(filters, changes);
  return set.length === 0 ? "" : `?${new URLSearchParams(set.map(([name, value]) => [name, value])).toString()}`;
}

/** Without a zone it is UTC: an address that is shared means the same everywhere. */
export function parseTime(text: string): number | undefined {
  if (text === "") return undefined;
  const [, day, time = "T00:00", zone = "Z"] = TIME.exec(text) ?? [];
  return day === undefined ? Number.NaN : Date.parse(day + time + zone);
}

/** `Date.parse` reads other forms in the time zone of the server. */
const TIME = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?(Z|[+-]\d\d:\d\d)?$/;
