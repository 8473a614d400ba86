/**
 * A policy as calls of the constructs' factories; parts without a factory stay plain data, which constructs also
 * accept.
 */
import { isRecord } from "../../shared/is-record.ts";
import { code, type Use } from "./source-code.ts";

const TEXT: ReadonlyMap<string, string> = new Map(
  Object.entries({
    user: "user",
    email: "email",
    domain: "domain",
    actor: "actor",
    mcp_tool: "mcpTool",
    mcp_prompt: "mcpPrompt",
    mcp_resource: "mcpResource",
    mcp_skill: "mcpSkill",
    mcp_method: "mcpMethod",
    http_method: "httpMethod",
    http_path: "httpPath",
  }),
);
const TEXT_OPERATORS: ReadonlyMap<string, string> = new Map(
  Object.entries({
    is: "is",
    not: "isNot",
    starts_with: "startsWith",
    ends_with: "endsWith",
    contains: "contains",
    in: "in",
    not_in: "notIn",
  }),
);
const PRESENCE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    accept: "accept",
    reject: "reject",
    authenticated_user: "authenticatedUser",
    cors_preflight: "corsPreflight",
    invalid_client_certificate: "invalidClientCertificate",
  }),
);
/** Criteria whose factories take all operands as one object. */
const WHOLE: ReadonlyMap<string, string> = new Map(
  Object.entries({
    device: "device",
    client_certificate: "clientCertificate",
    mcp_tool_argument: "mcpToolArgument",
  }),
);
const CLAIMS: ReadonlyMap<string, string> = new Map([
  ["claim", "claim"],
  ["actor_claim", "actorClaim"],
]);
const GROUPS = new Set(["and", "or", "not", "nor"]);
const LIST_OPERATORS = new Set(["has", "is", "exclude"]);

export function policyCode(policy: unknown, use: Use): string {
  const rules: readonly unknown[] = Array.isArray(policy) ? policy : [policy];
  const items = rules.map((rule) => ruleCode(rule, use) ?? code(rule));
  const line = `[${items.join(", ")}]`;
  return line.length <= 90 && !line.includes("\n")
    ? line
    : `[\n${items.map((item) => `  ${item.replaceAll("\n", "\n  ")},`).join("\n")}\n]`;
}

/** @returns undefined if no factory can express the rule */
function ruleCode(rule: unknown, use: Use): string | undefined {
  if (!isRecord(rule)) return undefined;
  const [entry, ...more] = Object.entries(rule);
  if (!entry || more.length > 0) return undefined;
  const [action, body] = entry;
  if (!isRecord(body) || (action !== "allow" && action !== "deny")) return undefined;
  // Every used name is imported, so names count only once the whole rule is known to be expressible.
  const names: string[] = [];
  const note: Use = (name) => (names.push(name), name);
  const groups: string[] = [];
  for (const [operator, criteria] of Object.entries(body)) {
    // The operator becomes a name in the program, so no other text is allowed.
    if (!GROUPS.has(operator)) return undefined;
    if (!Array.isArray(criteria) || criteria.length === 0) return undefined;
    const parts = criteria.map((criterion) => criterionCode(criterion, note));
    if (parts.some((part) => part === undefined)) return undefined;
    const alone = parts.length === 1 && operator === "and" && groups.length === 0 && Object.keys(body).length === 1;
    groups.push(alone ? (parts[0] ?? "") : `${note(operator)}(${parts.join(", ")})`);
  }
  if (groups.length === 0) return undefined;
  for (const name of names) use(name);
  return `${use(action)}(${groups.join(", ")})`;
}

function criterionCode(criterion: unknown, use: Use): string | undefined {
  if (!isRecord(criterion)) return undefined;
  const [entry, ...others] = Object.entries(criterion);
  if (!entry || others.length > 0) return undefined;
  const [name, data] = entry;
  const presence = PRESENCE.get(name);
  if (presence !== undefined && data === true) return `${use(presence)}()`;
  if (name === "source_ip") {
    const ranges: readonly unknown[] = Array.isArray(data) ? data : [data];
    return `${use("sourceIp")}(${ranges.map(code).join(", ")})`;
  }
  if (!isRecord(data)) return undefined;
  const whole = WHOLE.get(name);
  if (whole !== undefined) return `${use(whole)}(${code(camelCased(data))})`;
  const { fold_case: foldsCase, ...operators } = data;
  const [match, ...more] = Object.entries(operators);
  if (!match || more.length > 0) return undefined;
  const [operator, operand] = match;
  const folding = foldsCase === true ? ".foldCase" : "";
  const text = TEXT.get(name);
  const method = TEXT_OPERATORS.get(operator);
  if (text !== undefined && method !== undefined) {
    return name === "mcp_tool" && operator === "not" ? undefined : `${use(text)}${folding}.${method}(${code(operand)})`;
  }
  if (!LIST_OPERATORS.has(operator)) return undefined;
  if (name === "mcp_tool_class") return `${use("mcpToolClass")}.${operator}(${code(operand)})`;
  if (name === "groups") return `${use("groups")}.${operator}(${code(operand)})`;
  const [, list = "", path = ""] = /^(claim|actor_claim)\/(.*)$/s.exec(name) ?? [];
  const factory = CLAIMS.get(list);
  return factory === undefined ? undefined : `${use(factory)}(${code(path)}).${operator}(${code(operand)})`;
}

function camelCased(data: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(data).map(([name, member]) => [
      name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
      isRecord(member) ? camelCased(member) : member,
    ]),
  );
}
