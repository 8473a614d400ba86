/** What is looked for, as it stands in an address → a question to the record store. */
import type { KeptRecord, RecordQuery } from "../../record-store/record-reader.ts";
import type { ConsoleRights } from "../screen.ts";

export interface DecisionFilters {
  readonly user: string;
  readonly route: string;
  readonly tool: string;
  readonly client: string;
  /** One of them, "others" (all but allowed), or "": all. */
  readonly outcome: string;
  /** As written: UTC. */
  readonly since: string;
  readonly until: string;
  /** What was not allowed stands before what was. */
  readonly isDeniedFirst: boolean;
}

type Outcome = KeptRecord["outcome"];

export const NOT_ALLOWED = ["denied", "limited", "waiting", "error"] as const satisfies readonly Outcome[];
const OUTCOMES: readonly Outcome[] = ["allowed", ...NOT_ALLOWED];

const MAX_CHARACTERS = 256;

export function readFilters(query: ReadonlyMap<string, string>): DecisionFilters {
  const text = (name: string): string => (query.get(name) ?? "").trim().slice(0, MAX_CHARACTERS);
  return {
    user: text("user"),
    route: text("route"),
    tool: text("tool"),
    client: text("client"),
    outcome: text("outcome"),
    since: text("since"),
    until: text("until"),
    isDeniedFirst: query.get("view") === "denied-first",
  };
}

/** @returns the problem with what is written, in words */
export function toQuery(
  { user, route, tool, client, outcome, since, until }: DecisionFilters,
  { owners }: ConsoleRights,
): { readonly query: Omit<RecordQuery, "limit" | "order"> } | { readonly problem: string } {
  const sinceMs = parseTime(since);
  const untilMs = parseTime(until);
  if (Number.isNaN(sinceMs) || Number.isNaN(untilMs))
    return { problem: "Enter a time such as 2026-11-23T09:30, in UTC." };
  const outcomes = OUTCOMES.filter((each) => each === outcome || (outcome === "others" && each !== "allowed"));
  if (outcome !== "" && outcomes.length === 0) return { problem: "Unknown outcome." };
  return {
    query: {
      kind: "decision",
      ...(user !== "" && { user }),
      ...(route !== "" && { route }),
      ...(tool !== "" && { tool }),
      ...(client !== "" && { client }),
      ...(outcomes.length > 0 && { outcomes }),
      ...(sinceMs !== undefined && { sinceMs }),
      ...(untilMs !== undefined && { untilMs }),
      ...(owners && { owners }),
    },
  };
}

/** Of the filters that are set, for links that keep them. @param changes others; "" leaves one out */
export function filterQuery(filters: DecisionFilters, changes: Readonly<Record<string, string>> = {}): string {
  const { isDeniedFirst, ...texts } = filters;
  const values = { ...texts, view: isDeniedFirst ? "denied-first" : "", ...changes };
  const set = Object.entries(values).filter(([, value]) => value !== "");
  return set.length === 0 ? "" : `?${new URLSearchParams(set).toString()}`;
}

/** Without a zone it is UTC: an address that is shared means the same everywhere. */
function parseTime(text: string): number | undefined {
  if (text === "") return undefined;
  const [, day, time = "T00:00", zone = "Z"] = TIME.exec(text) ?? [];
  return day === undefined ? Number.NaN : Date.parse(day + time + zone);
}

/** What else `Date.parse` reads is in the time zone of the server. */
const TIME = /^(\d{4}-\d\d-\d\d)(T\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?)?(Z|[+-]\d\d:\d\d)?$/;
