/** A kind's table (`administration/`) in a page, and the way from its rows to what can be done. */
import type { Html } from "../../pages/html.ts";
import { table, type TableParts } from "../../pages/console/pieces.ts";
import type { ObjectTable } from "../../administration/kind.ts";

/** @param draw `fullTable` omits columns that are empty in every row */
export function objectTable<T, S>(
  { id, caption, columns, empty }: ObjectTable<T, S>,
  things: readonly T[],
  seen: S,
  { isCut = false, draw = table }: { readonly isCut?: boolean; readonly draw?: (parts: TableParts) => Html } = {},
): Html {
  return draw({
    id,
    caption: caption(things.length, isCut),
    columns,
    rows: things.map((thing) => columns.map((column) => column.cell(thing, seen))),
    empty,
  });
}
