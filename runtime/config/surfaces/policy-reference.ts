/** The policy language as Markdown, reference/policy.md, generated from the criteria so that it cannot be outdated. */
import { CRITERIA } from "../../policy/criteria.ts";
import { LIST_OPERATORS, STRING_OPERATORS } from "../../policy/match.ts";
import { OPERATORS } from "../../policy/parse.ts";
import { pageTable } from "./reference.ts";

const POLICY = `A policy is a list of rules. Each has \`allow\`, \`deny\` or \`approve\` blocks, made of ${named(OPERATORS)}: lists of criteria of
which all match, at least one matches, **none** matches, **at least one does not** match (as in Pomerium; not the usual NOR).
One operator of a rule is enough. Truth tables: [guide](../guide/policy.md#operators).

- Deny takes precedence over allow. Without a matching allow rule, the request is denied.
- Unknown values never allow a request, such as the email address of a request without sign-in.
- An approve rule that matches an otherwise allowed tool call requires approval on a page of the gateway: by the user, or by another
  user in one of the groups in \`approvers\`. It does not apply to other requests, and hides nothing from lists.
- \`gateway explain\` shows the deciding rule.
- Text matchers: a value, or ${named(STRING_OPERATORS)}. List matchers: a value, or ${named(LIST_OPERATORS)}.`;

export function policyReference(): string {
  const table = pageTable(["Criterion", "Description", "Reasons"], CRITERIA.map(criterionRow));
  return ["# Policy", POLICY, table].join("\n\n");
}

function criterionRow({ name, takesPath, doc, reasons, omitted }: (typeof CRITERIA)[number]): readonly string[] {
  const possible = new Set([reasons.ok, reasons.no, ...(omitted ? [omitted.reason] : [])]);
  return [`\`${name}${takesPath ? "/<path>" : ""}\``, doc, named([...possible])];
}

function named(names: readonly string[]): string {
  return names.map((name) => `\`${name}\``).join(", ");
}
