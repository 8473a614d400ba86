/** Settings of the authorization log. */
import { DEFAULT_RECORD_FIELDS, RECORD_FIELDS } from "../../audit/record.ts";
import { nearest } from "../../settings/nearest.ts";
import { quote } from "../../settings/problem.ts";
import { text } from "../../settings/types/scalar.ts";
import { textList } from "../../settings/types/list.ts";

export const recordFieldsShape = {
  authorize_log_fields: textList({
    doc: `Fields included in authorization records. \`issuer\` is the name in \`identity_issuers\` of who let the user in, by an assertion or at sign-in, \`issuer-rules\` has those of its \`workload_rules\` that let a workload in; \`auth-method\` is \`session\` (browser), \`grant\` (MCP client with its user's consent), \`id-jag\` (MCP client by an issuer's assertion), \`application\`, \`service-account\`, \`workload\` (job, pod or machine by its platform's token), \`programmatic\` or \`provider-token\`. One can list: ${RECORD_FIELDS.join(", ")}.`,
    default: DEFAULT_RECORD_FIELDS,
    itemValues: RECORD_FIELDS,
    check: recordField,
  }),
};

export const recordsShape = {
  authorize_log: text({
    doc: 'Where authorization records go: "stdout" or the path of a file.',
    default: "stdout",
    check: (value) => (value === "" || value.includes("\0") ? 'must be "stdout" or a path' : undefined),
  }),
};

function recordField(value: string): string | undefined {
  if ((RECORD_FIELDS as readonly string[]).includes(value)) return undefined;
  const near = nearest(value, RECORD_FIELDS);
  return `is ${quote(value)}, ${near === undefined ? `must be one of ${RECORD_FIELDS.join(", ")}` : `did you mean "${near}"?`}`;
}
