/** A query as conditions on rows. */
import { lowerAscii } from "../shared/ascii.ts";
import type { RecordQuery } from "./record-reader.ts";
import { type Column, kindNumber, nameNumber, outcomeNumber } from "./row.ts";

/** Rows that have one of these in a column. */
export interface ColumnFilter {
  readonly alternatives: readonly { readonly column: Column; readonly value: number; readonly but?: string }[];
  /** The same as a condition on a row, without an index. */
  readonly condition: string;
  readonly values: readonly number[];
  /** Null is also searched, and no index contains it. */
  readonly isScanned: boolean;
}

export function criteriaOf({
  user,
  route,
  tool,
  client,
  request,
  outcomes,
  owners,
  kind,
}: Omit<RecordQuery, "order" | "limit">): readonly ColumnFilter[] {
  const criteria: ColumnFilter[] = [];
  if (user !== undefined) {
    const usr = nameNumber(user);
    criteria.push({
      // One query each: an ID may also be an address.
      alternatives: [
        { column: "usr", value: usr },
        { column: "mail", value: nameNumber(lowerAscii(user)), but: `(usr IS NULL OR usr <> ${usr})` },
      ],
      condition: "(+usr = ? OR +mail = ?)",
      values: [usr, nameNumber(lowerAscii(user))],
      isScanned: false,
    });
  }
  const named = { request, client, tool, route };
  for (const column of ["request", "client", "tool", "route"] as const) {
    const name = named[column];
    if (name !== undefined) criteria.push(oneOf(column, [nameNumber(name)]));
  }
  if (owners !== undefined) criteria.push(oneOf("owner", [...new Set(owners)].map(nameNumber)));
  if (outcomes !== undefined) criteria.push(oneOf("outcome", [...new Set(outcomes)].map(outcomeNumber)));
  if (kind !== undefined) criteria.push(oneOf("kind", [kindNumber(kind)]));
  return criteria;
}

/** @param values null: the column has none */
function oneOf(column: Column, values: readonly (number | null)[]): ColumnFilter {
  const numbers = values.filter((value) => value !== null);
  const has = numbers.map(() => `+${column} = ?`);
  if (numbers.length < values.length) has.push(`${column} IS NULL`);
  return {
    alternatives: numbers.map((value) => ({ column, value })),
    condition: has.length === 0 ? "1 = 0" : `(${has.join(" OR ")})`,
    values: numbers,
    isScanned: numbers.length < values.length || numbers.length > MAX_ALTERNATIVES,
  };
}

/** With more values, rows are checked one by one. */
const MAX_ALTERNATIVES = 8;
