/** Query of a list or a resource: filter, page and selected attributes (RFC 7644 §3.4.2, §3.9). */
import type { Parameters } from "../../shared/http/query.ts";
import type { ScimShape } from "./attributes.ts";
import { parseFilter, type Term } from "./path.ts";
import { ScimRefusal } from "./refusal.ts";

export const LIST_SCHEMA = "urn:ietf:params:scim:api:messages:2.0:ListResponse";

export const MAX_COUNT = 200;
const DEFAULT_COUNT = 100;

export interface ListQuery {
  /** Absent: all resources. */
  readonly filter?: readonly Term[];
  /** From 1. */
  readonly startIndex: number;
  /** 0: only the total. */
  readonly count: number;
}

/** @throws ScimRefusal */
export function readListQuery(shape: ScimShape, parameters: Parameters): ListQuery {
  const filter = parameters.get("filter");
  return {
    ...(filter === undefined ? {} : { filter: parseFilter(shape, filter) }),
    // "A value less than 1 SHALL be interpreted as 1", "a negative value … as "0"" (RFC 7644 §3.4.2.4).
    startIndex: Math.max(1, readInteger(parameters, "startIndex") ?? 1),
    count: Math.min(MAX_COUNT, Math.max(0, readInteger(parameters, "count") ?? DEFAULT_COUNT)),
  };
}

function readInteger(parameters: Parameters, name: string): number | undefined {
  const text = parameters.get(name);
  if (text === undefined || text === "") return undefined;
  if (!/^-?\d{1,9}$/.test(text)) throw new ScimRefusal(400, `"${name}" must be a number`, "invalidValue");
  return Number(text);
}

export interface Selection {
  /** Lower-case attribute names; undefined: all. */
  readonly only: ReadonlySet<string> | undefined;
  readonly without: ReadonlySet<string>;
}

/** Parses `attributes` and `excludedAttributes`. A request for a sub-attribute returns the whole attribute. */
export function readSelection(parameters: Parameters): Selection {
  const names = (parameter: string): Set<string> | undefined => {
    const text = parameters.get(parameter)?.slice(0, 4096).trim();
    if (text === undefined || text === "") return undefined;
    return new Set(
      text.split(",").map((each) => {
        const name = each.trim().toLowerCase();
        // Schema names contain dots.
        return name.startsWith("urn:") ? name : (name.split(".", 1)[0] as string);
      }),
    );
  };
  return { only: names("attributes"), without: names("excludedAttributes") ?? new Set() };
}

const ALWAYS = new Set(["schemas", "id", "meta"]);

export function isSelected({ only, without }: Selection, name: string): boolean {
  const lower = name.toLowerCase();
  if (ALWAYS.has(lower)) return true;
  if (only) return only.has(lower) || [...only].some((each) => each.startsWith(`${lower}:`));
  return !without.has(lower);
}

export function select(resource: object, selection: Selection): object {
  return Object.fromEntries(Object.entries(resource).filter(([name]) => isSelected(selection, name)));
}

export function listBody(resources: readonly unknown[], total: number, startIndex: number): object {
  return {
    schemas: [LIST_SCHEMA],
    totalResults: total,
    startIndex,
    itemsPerPage: resources.length,
    Resources: resources,
  };
}
