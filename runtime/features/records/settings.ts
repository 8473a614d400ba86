/** Settings of the authorization log. */
import { DEFAULT_RECORD_FIELDS, RECORD_FIELDS } from "../../audit/record.ts";
import { maySuggest, nearest } from "../../shared/suggest.ts";
import { quote } from "../../settings/problem.ts";
import { flag, text } from "../../settings/types/scalar.ts";
import { textList } from "../../settings/types/list.ts";
import { secret } from "../../settings/types/secret.ts";

export const recordFieldsShape = {
  authorize_log_fields: textList({
    doc: `Fields of authorization records: ${RECORD_FIELDS.join(", ")}.`,
    default: DEFAULT_RECORD_FIELDS,
    itemValues: RECORD_FIELDS,
    check: recordField,
  }),
};

export const recordsShape = {
  authorize_log: text({
    doc: 'Destination of authorization records: "stdout" or the path of a file.',
    default: "stdout",
    check: (value) => (value === "" || value.includes("\0") ? 'must be "stdout" or a path' : undefined),
  }),
  audit: flag({
    doc: "Tamper-evident records, verified with `gateway audit verify`. Requires `shared_secret`.",
    default: false,
  }),
  ...secret("authorize_log_key", {
    doc: "Key for digests in records, required by `gateway replay`: base64 of at least 32 random bytes.",
    unset: "none",
  }),
};

function recordField(value: string): string | undefined {
  if ((RECORD_FIELDS as readonly string[]).includes(value)) return undefined;
  if (!maySuggest()) return `is ${quote(value)}, which is not a field of records`;
  const near = nearest(value, RECORD_FIELDS);
  return `is ${quote(value)}, ${near === undefined ? `must be one of ${RECORD_FIELDS.join(", ")}` : `did you mean "${near}"?`}`;
}
