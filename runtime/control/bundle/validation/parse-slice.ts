/** A slice that somebody sent, in the validating thread: thousands of routes take longer to parse than a request may wait. */
import { isRecord } from "../../../shared/is-record.ts";
import { digestOf } from "../../../shared/canonical-json.ts";
import { readSource } from "../../../settings/source.ts";
import { publishedName, type ParsedSlice } from "./protocol.ts";

/** Three times what 20,000 routes have; 100 MiB at most. */
const MAX_SLICE_VALUES = 1_000_000;

/** @param owner whose slice it must be */
export function parseSlice(text: string, owner: string): ParsedSlice {
  const { value, problems } = readSource(publishedName(owner), text, { maxValues: MAX_SLICE_VALUES });
  if (problems.length > 0) return { ok: false, problems };
  if (!isRecord(value) || value["owner"] === undefined) {
    return { ok: false, message: 'the body must be a slice: "version", "owner", "settings", "routes" by name' };
  }
  if (value["owner"] !== owner) {
    const message = `the slice names the owner ${JSON.stringify(value["owner"])}, the path names "${owner}"`;
    return { ok: false, message };
  }
  return { ok: true, digest: digestOf(value) };
}
