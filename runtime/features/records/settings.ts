/** Settings of the authorization log. */
import { DEFAULT_RECORD_FIELDS, RECORD_FIELDS } from "../../audit/record.ts";
import { maySuggest, nearest } from "../../shared/suggest.ts";
import { quote } from "../../settings/problem.ts";
import { flag, text } from "../../settings/types/scalar.ts";
import { textList } from "../../settings/types/list.ts";
import { secret } from "../../settings/types/secret.ts";

export const recordFieldsShape = {
  authorize_log_fields: textList({
    doc: `Fields of authorization records. \`issuer\`: name in \`identity_issuers\` of the issuer that authenticated the user, by assertion or sign-in. \`issuer-rules\`: the \`workload_rules\` that matched. \`auth-method\`: \`session\` (browser), \`grant\` (MCP client with consent), \`id-jag\` (MCP client with an assertion), \`application\`, \`service-account\`, \`workload\` (platform token of a workload), \`programmatic\` or \`provider-token\`. \`replay\`: all inputs of the policy for \`gateway replay\`, with digests of arguments and claims, see \`authorize_log_key\`. Possible fields: ${RECORD_FIELDS.join(", ")}.`,
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
    doc: "Tamper-evident records: numbered per process (`instance`, `seq`), with signed checkpoints, request outcomes and administrator actions. Verify them with `gateway audit verify`. Requires `shared_secret`, from which the signing key is derived.",
    default: false,
  }),
  ...secret("authorize_log_key", {
    doc: "Key for digests of arguments and claims in records (`replay`, `record_arguments`, copies): base64 of at least 32 random bytes. Required by `gateway replay`. Generate one with `openssl rand -base64 32`. Without it, `replay` has no digests or claims, so that rules on them cannot be evaluated again; other digests use a key derived from `shared_secret`.",
    unset: "none",
  }),
};

function recordField(value: string): string | undefined {
  if ((RECORD_FIELDS as readonly string[]).includes(value)) return undefined;
  if (!maySuggest()) return `is ${quote(value)}, which is not a field of records`;
  const near = nearest(value, RECORD_FIELDS);
  return `is ${quote(value)}, ${near === undefined ? `must be one of ${RECORD_FIELDS.join(", ")}` : `did you mean "${near}"?`}`;
}
