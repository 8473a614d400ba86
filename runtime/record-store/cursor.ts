/** Where a page ended: a segment, and the id of the last row that was looked at. */
import { GatewayError } from "../shared/errors.ts";
import { formatId, parseId } from "./record-id.ts";
import type { RecordQuery } from "./record-reader.ts";

export function formatCursor(order: RecordQuery["order"], segment: number, id: bigint): string {
  return `${order === "newest" ? "n" : "o"}${segment.toString(36)}.${formatId(id)}`;
}

/** @throws GatewayError `records.cursor` */
export function parseCursor(
  text: string,
  order: RecordQuery["order"],
): { readonly segment: number; readonly id: bigint } {
  const [, from, segment = "", id = ""] = /^([no])([0-9a-z]{1,9})\.([0-9a-z]{1,13})$/.exec(text) ?? [];
  const number = parseId(id);
  if (number === undefined || from !== (order === "newest" ? "n" : "o"))
    throw new GatewayError("records.cursor", "Cannot find records: the cursor is none of this question");
  return { segment: Number.parseInt(segment, 36), id: number };
}
