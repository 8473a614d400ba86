/** Tables whose columns have something in them: where there is little room, a column of nothing costs one that matters. */
import type { Html, HtmlValue } from "../html.ts";
import { table, type TableColumn, type TableParts } from "./pieces.ts";

/** The same table without columns that are empty in every row. Their heads stay where the rows are named by them. */
export function fullTable(parts: TableParts): Html {
  const { columns, rows } = parts;
  const kept = columns.flatMap((column, index) =>
    column.isHead === true || rows.some((cells) => !isEmpty(cells[index])) ? [index] : [],
  );
  const pick = <T>(some: readonly T[]): readonly T[] =>
    kept.flatMap((index) => (index in some ? [some[index] as T] : []));
  return table({ ...parts, columns: pick<TableColumn>(columns), rows: rows.map((cells) => pick<HtmlValue>(cells)) });
}

function isEmpty(value: HtmlValue): boolean {
  if (Array.isArray(value)) return value.every((each: HtmlValue) => isEmpty(each));
  return value === undefined || value === null || value === false || value === "";
}
