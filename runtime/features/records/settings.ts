/** Settings of the authorization log. */
import { DEFAULT_RECORD_FIELDS, RECORD_FIELDS } from "../../audit/record.ts";
import { maySuggest, nearest } from "../../shared/suggest.ts";
import { quote } from "../../settings/problem.ts";
import { flag, text } from "../../settings/types/scalar.ts";
import { textList } from "../../settings/types/list.ts";
import { secret } from "../../settings/types/secret.ts";

export const recordFieldsShape = {
  authorize_log_fields: textList({
    doc: `Fields included in authorization records. \`issuer\` is the name in \`identity_issuers\` of who let the user in, by an assertion or at sign-in, \`issuer-rules\` has those of its \`workload_rules\` that let a workload in; \`auth-method\` is \`session\` (browser), \`grant\` (MCP client with its user's consent), \`id-jag\` (MCP client by an issuer's assertion), \`application\`, \`service-account\`, \`workload\` (job, pod or machine by its platform's token), \`programmatic\` or \`provider-token\`. \`replay\` is all that the policy was asked about, for \`gateway replay\` (who, with groups and devices, what, from where, and digests of arguments and claims), see \`authorize_log_key\`. One can list: ${RECORD_FIELDS.join(", ")}.`,
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
  audit: flag({
    doc: "Records prove that they are whole: each has its place in the run of its process (`instance`, `seq`), signed checkpoints stand between them, a line of its own tells what became of each request, and what administrators do is recorded. `gateway audit verify` says what is missing, changed or moved. Needs `shared_secret`, from which the signing key is derived.",
    default: false,
  }),
  ...secret("authorize_log_key", {
    doc: "Base64 of at least 32 random bytes: the key of the digests of arguments and claims in the field `replay`, and of those that `record_arguments` of a route and copies of records have. `gateway replay` needs it, too. Make one with `openssl rand -base64 32`.",
    unset:
      "the field has types of arguments without digests, and no claims; rules that compare them cannot be decided again. Other digests have a key that is derived from `shared_secret`",
  }),
};

function recordField(value: string): string | undefined {
  if ((RECORD_FIELDS as readonly string[]).includes(value)) return undefined;
  if (!maySuggest()) return `is ${quote(value)}, which is not a field of records`;
  const near = nearest(value, RECORD_FIELDS);
  return `is ${quote(value)}, ${near === undefined ? `must be one of ${RECORD_FIELDS.join(", ")}` : `did you mean "${near}"?`}`;
}
