/**
 * Pomerium's policies and its older allow keys → our policy.
 *
 * Trap of any translation: omitting a condition from an `and` lets more users in, and so does omitting one from a
 * `deny`. If a single condition cannot be converted, the whole route denies all users until an administrator decides.
 */
import { validatePolicy } from "../../policy/validate-rules.ts";
import { isWritten } from "./secret.ts";
import { readSource } from "../../settings/source.ts";
import { parsePolicy, type PolicyDoc, type RulesDoc } from "../../policy/parse.ts";
import { type Members, isRecord } from "../../shared/is-record.ts";

const PRESENCE = new Set(["accept", "reject", "authenticated_user", "cors_preflight", "invalid_client_certificate"]);
const KNOWN_ONLY_THERE: Readonly<Record<string, string>> = {
  ssh_username: "SSH",
  ssh_publickey: "SSH",
  date: "dates and times",
  day_of_week: "dates and times",
  time_of_day: "dates and times",
  record: "external data sources",
};

export interface ConvertedPolicy {
  /** undefined when the route had none: both products then deny all users. */
  readonly policy: PolicyDoc | undefined;
  /** Reasons why the route now denies all users. */
  readonly closedBy: readonly string[];
  /** Meanings that differ. */
  readonly differences: readonly string[];
}

/** @param route the route as written, with its `policy` and the older keys */
export function convertPolicy(route: Members): ConvertedPolicy {
  const closedBy: string[] = [];
  const rules = [
    ...olderRules(route, closedBy),
    ...subPolicyRules(route["sub_policies"], closedBy),
    ...newerRules(route["policy"], "policy", closedBy),
  ];
  for (const key of ["tls_downstream_client_ca", "tls_downstream_client_ca_file"]) {
    if (isWritten(route[key]))
      closedBy.push(`"${key}" requires certificates of its own CA; here one ("downstream_mtls") is for all`);
  }
  const parsed = parsePolicy(rules);
  const problems = !parsed.ok ? parsed.problems : closedBy.length === 0 ? validatePolicy(parsed.policy) : [];
  closedBy.push(...problems.map(({ path, message }) => `"policy${path}" ${message}`));
  // Without any rule all users are denied; half of the rules might allow more users than all of them.
  const policy = parsed.ok && closedBy.length === 0 ? parsed.policy : [];
  const none = rules.length === 0 && closedBy.length === 0;
  return { policy: none ? undefined : policy, closedBy, differences: differencesOf(rules) };
}

/** @param written blocks of rules, or their text */
function newerRules(written: unknown, place: string, closedBy: string[]): RulesDoc[] {
  if (written === undefined || written === null) return [];
  if (typeof written === "string") {
    const { value, problems } = readSource(place, written);
    if (problems.length === 0 && typeof value === "object") return newerRules(value, place, closedBy);
    closedBy.push(`"${place}" is text without rules`);
    return [];
  }
  const list: readonly unknown[] = Array.isArray(written) ? written : [written];
  return list.flatMap((rules, at) => splitRules(convertRules(rules, `${place}[${at}]`, closedBy)));
}

/** Policies that a management console attaches to a route; each has the older keys, and rules as text. */
function subPolicyRules(written: unknown, closedBy: string[]): RulesDoc[] {
  if (written === undefined || written === null) return [];
  const list: readonly unknown[] = Array.isArray(written) ? written : [written];
  return list.flatMap((sub, at) => {
    const place = `sub_policies[${at}]`;
    if (!isRecord(sub)) {
      closedBy.push(`"${place}" is not a block`);
      return [];
    }
    const { source_ppl: text, rego } = sub;
    // Rego is the compiled form of the text.
    if (!isWritten(text) && Array.isArray(rego) && rego.length > 0)
      closedBy.push(`"${place}" has rules in Rego, which is not supported`);
    return [...olderRules(sub, closedBy), ...(isWritten(text) ? newerRules(text, place, closedBy) : [])];
  });
}

/** Splits `allow` and `deny` of one block: the same meaning, and the form that constructs write. */
function splitRules(rules: RulesDoc): RulesDoc[] {
  // Also misspelled actions: they must be reported further down.
  return Object.entries(rules).map(([action, body]) => ({ [action]: body }));
}

function convertRules(rules: unknown, place: string, closedBy: string[]): RulesDoc {
  if (!isRecord(rules)) {
    closedBy.push(`"${place}" is not a block of rules`);
    return {};
  }
  const converted: Record<string, unknown> = {};
  for (const [action, body] of Object.entries(rules)) {
    if (!isRecord(body)) converted[action] = body;
    else {
      // "action" only repeats the enclosing key. Pomerium ignores empty lists, which are rejected here.
      const groups = Object.entries(body).filter(
        ([operator, criteria]) => operator !== "action" && !(Array.isArray(criteria) && criteria.length === 0),
      );
      converted[action] = Object.fromEntries(
        groups.map(([operator, criteria]) => [
          operator,
          criteriaOf(criteria, `${place}.${action}.${operator}`, closedBy, isTurned(action, operator)),
        ]),
      );
    }
  }
  return converted;
}

/** Whether a condition that is never true lets users in. */
function isTurned(action: string, operator: string): boolean {
  return (action === "deny") !== (operator === "not" || operator === "nor");
}

function criteriaOf(criteria: unknown, place: string, closedBy: string[], turned: boolean): unknown {
  if (!Array.isArray(criteria)) return criteria;
  return criteria.flatMap((criterion: unknown) => {
    if (!isRecord(criterion)) return [criterion];
    const [name = ""] = Object.keys(criterion);
    const device = criterion["device"];
    // In Pomerium it excludes a device; here no device has that ID.
    if (turned && isRecord(device) && device["is"] !== undefined)
      closedBy.push(`"${place}" excludes the device ${JSON.stringify(device["is"])}, which gets another ID here`);
    const base = name.split("/")[0] ?? "";
    if (PRESENCE.has(base)) return [{ [base]: true }];
    const topic = KNOWN_ONLY_THERE[base];
    if (topic === undefined) return [criterion];
    closedBy.push(`"${place}" has the condition "${name}" (${topic}), which is not supported`);
    return [];
  });
}

/** Pomerium's keys from before its policy language. Each of them allows separately. */
function olderRules(route: Members, closedBy: string[]): RulesDoc[] {
  const rules: RulesDoc[] = [];
  const allow = (criteria: readonly Members[]): void => {
    if (criteria.length > 0) rules.push({ allow: { [criteria.length === 1 ? "and" : "or"]: criteria } });
  };
  const list = (key: string): readonly string[] => {
    const value = route[key] ?? [];
    if (Array.isArray(value) && value.every((item) => typeof item === "string")) return value;
    closedBy.push(`"${key}" is not a list of strings`);
    return [];
  };
  if (route["allow_public_unauthenticated_access"] === true) allow([{ accept: true }]);
  if (route["cors_allow_preflight"] === true) allow([{ cors_preflight: true }]);
  if (route["allow_any_authenticated_user"] === true) allow([{ authenticated_user: true }]);
  const [domains, groups, users] = [list("allowed_domains"), list("allowed_groups"), list("allowed_users")];
  if (domains.length > 0) allow([{ domain: { in: domains } }]);
  allow(groups.map((name) => ({ groups: { has: name } })));
  // In Pomerium an entry is an email address or a user's ID.
  if (users.length > 0) allow([{ email: { in: users } }, { user: { in: users } }]);
  const claims = route["allowed_idp_claims"];
  if (isRecord(claims)) {
    const pairs = Object.entries(claims).flatMap(([name, values]) =>
      (Array.isArray(values) ? values : [values]).map((value) => [`claim/${name}`, { has: String(value) }] as const),
    );
    allow(pairs.map(([name, data]) => ({ [name]: data })));
  } else if (claims !== undefined) closedBy.push('"allowed_idp_claims" is not a block of claims');
  return rules;
}

function differencesOf(rules: readonly RulesDoc[]): string[] {
  const names = new Set(JSON.stringify(rules).match(/"(?:email|domain|mcp_tool|groups|device)":/g));
  return [
    ...(names.has('"email":') || names.has('"domain":')
      ? ["email addresses and domains are compared in lower case here, case-sensitively in Pomerium"]
      : []),
    ...(names.has('"groups":')
      ? ["groups come from the identity provider's claim (idp_groups_claim); no directory is queried"]
      : []),
    ...(names.has('"device":')
      ? ["devices are registered again and get other IDs here, type any matches all, and MCP clients never have one"]
      : []),
    ...(names.has('"mcp_tool":') ? ["unreadable messages are rejected here; there they pass uninspected"] : []),
  ];
}
