/**
 * Operands that no request ever has, each with its probable intention: wildcards, which the language lacks; names where
 * addresses are compared; empty names; line breaks of YAML. (Paths without a slash and domains with an "@" are errors
 * in all rules, see validate-rules.ts.)
 *
 * Such a criterion never matches. An allow rule with it admits no user, which is noticed. A deny rule with it denies
 * nothing, and if negated it matches everything.
 */
import type { ListMatch, StringMatch } from "../match.ts";
import type { PolicyAction, Operator } from "../parse.ts";

interface Operand {
  readonly text: string;
  /** Type of comparison. */
  readonly kind: "whole" | "start" | "end" | "part";
  /** True if the criterion matches everything except this. */
  readonly isNegative: boolean;
}

export interface ImpossibleOperand {
  readonly message: string;
  readonly isError: boolean;
}

/** Placeholder in constructs for a value known only to Terraform, as "${…}" in Terraform's own functions. */
export const UNKNOWN_VALUE = "unknown-value-";

/** Names without "*"; in a path, URI or ID, a "*" that is not at an end may be literal. */
const WITHOUT_STAR = new Set(["mcp_tool", "mcp_prompt", "mcp_method", "domain", "email", "idp"]);
const SELDOM_STAR = new Set(["http_path", "mcp_resource", "mcp_skill", "user"]);
const NEVER_EMPTY = new Set(["mcp_tool", "mcp_method", "user", "groups"]);

/**
 * @param name name of the criterion
 * @param data canonical
 * @returns the problem of the first impossible operand; undefined: all are possible
 */
export function impossibleOperand(
  name: string,
  data: unknown,
  action: PolicyAction,
  operator: Operator,
): ImpossibleOperand | undefined {
  const isNegated = operator === "not" || operator === "nor";
  if (name === "mcp_tool_argument")
    return impossibleOperand("mcp_tool", (data as { readonly tool: StringMatch }).tool, action, operator);
  for (const operand of operandsOf(name, data)) {
    if (operand.text.includes("${") || operand.text.includes(UNKNOWN_VALUE)) continue;
    const message = problemOf(name, operand);
    if (message !== undefined) return { message, isError: action !== "allow" || isNegated !== operand.isNegative };
  }
  return undefined;
}

function* operandsOf(name: string, data: unknown): Iterable<Operand> {
  if (name === "groups") {
    const { has, is, exclude } = data as ListMatch;
    for (const text of [has, is]) if (text !== undefined) yield { text, kind: "whole", isNegative: false };
    if (exclude !== undefined) yield { text: exclude, kind: "whole", isNegative: true };
    return;
  }
  if (!WITHOUT_STAR.has(name) && !SELDOM_STAR.has(name)) return;
  const {
    is,
    not,
    starts_with: start,
    ends_with: end,
    contains,
    in: list = [],
    not_in: others = [],
  } = data as StringMatch;
  for (const text of [...(is === undefined ? [] : [is]), ...list]) yield { text, kind: "whole", isNegative: false };
  for (const text of [...(not === undefined ? [] : [not]), ...others]) yield { text, kind: "whole", isNegative: true };
  if (start !== undefined) yield { text: start, kind: "start", isNegative: false };
  if (end !== undefined) yield { text: end, kind: "end", isNegative: false };
  if (contains !== undefined) yield { text: contains, kind: "part", isNegative: false };
}

function problemOf(name: string, { text, kind }: Operand): string | undefined {
  // A YAML block text ends with a line break.
  if (/\p{Cc}/u.test(text))
    return `has ${quote(text)}, which never occurs: it has a line break or control character in it, must be without`;
  if (kind === "whole" && text === "" && NEVER_EMPTY.has(name)) return 'has "", which never occurs, must be a name';
  const isStar = WITHOUT_STAR.has(name)
    ? text.includes("*")
    : SELDOM_STAR.has(name) && (text.startsWith("*") || text.endsWith("*"));
  if (isStar && isWildcard(text, kind, name))
    return `has ${quote(text)}, which never occurs: "*" is not a wildcard here, ${intendedValue(text, name)}`;
  if (name === "domain") return domainProblem(text, kind);
  if (name === "email" && /\s/.test(text))
    return `has ${quote(text)}, which never occurs: addresses have no blanks, must be ${quote(text.replaceAll(/\s+/g, ""))}`;
  if (name === "email" && kind === "whole" && text !== "" && !text.includes("@"))
    return `has ${quote(text)}, which is not an address, must be a whole one, { starts_with: ${quote(`${text}@`)} }, or the criterion "user"`;
  return undefined;
}

function domainProblem(text: string, kind: Operand["kind"]): string | undefined {
  const never = `has ${quote(text)}, which never occurs, must be`;
  if (/[\s/:]/.test(text)) return `${never} the part of an address after the "@", such as "example.com"`;
  if ((kind === "whole" || kind === "start") && text.startsWith("."))
    return `${never} ${quote(text.slice(1))}, or { ends_with: ${quote(text)} } for what is below it`;
  if ((kind === "whole" || kind === "end") && text.length > 1 && text.endsWith("."))
    return `${never} ${quote(text.slice(0, -1))} without the dot at the end`;
  return undefined;
}

/** A "*" in other positions than those of a wildcard may be literal. */
function isWildcard(text: string, kind: Operand["kind"], name: string): boolean {
  if (kind === "whole" || name === "domain") return true;
  if (kind === "part") return false;
  return kind === "start" ? text.endsWith("*") : text.startsWith("*");
}

function intendedValue(text: string, name: string): string {
  const [start = "", ...rest] = text.split("*");
  const end = rest.at(-1) ?? "";
  const parts = text.split("*").filter((part) => part !== "");
  if (parts.length === 0) return "leave the criterion out";
  if (name === "domain" && start === "" && parts.length === 1 && end.startsWith("."))
    return `use { ends_with: ${quote(end)} }, and ${quote(end.slice(1))} for the domain itself`;
  if (name === "email" && start === "" && parts.length === 1 && end.startsWith("@"))
    return `use { domain: ${quote(end.slice(1))} }`;
  const [part = ""] = parts;
  if (parts.length === 1 && start === "" && end === "") return `use { contains: ${quote(part)} }`;
  const operators = [
    ...(start === "" ? [] : [`starts_with: ${quote(start)}`]),
    ...(end === "" ? [] : [`ends_with: ${quote(end)}`]),
  ];
  return `use { ${operators.join(", ")} }`;
}

function quote(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 60)}…` : text);
}
