/**
 * Why a recorded request was decided so: the policy of its route, evaluated again with the facts of the record.
 *
 * A record does not have all facts: groups and claims are the current ones of the user, arguments are there for auditors only, and
 * only those that are recorded in clear. So the trace says what it is based on, and whether its result is the same.
 */
import { findRoute, type Snapshot } from "../../config/snapshot.ts";
import type { CompiledRoute } from "../../config/compiled.ts";
import type { Identities } from "../../identity/interfaces.ts";
import { explain, type RuleTrace } from "../../policy/explain.ts";
import type { ArgumentFacts, Facts, McpFacts } from "../../policy/facts.ts";
import { argumentsOf, UNCLEAR } from "../../policy/mcp/argument-values.ts";
import { OmittedToken } from "../../shared/canonical-json.ts";
import { isRecord } from "../../shared/is-record.ts";
import { otherReadings } from "../../shared/http/target.ts";
import type { KeptRecord } from "../../record-store/record-reader.ts";
import { parseUserId } from "../../shared/user-id.ts";
import type { KnownPolicies } from "./policies.ts";
import { decidingRule, type DecidingRule } from "./reasons.ts";

export interface Traced {
  /** decided: by the configuration that decided; active: that one is no longer known here. */
  readonly by: "decided" | "active";
  readonly rules: readonly RuleTrace[];
  /** The rule that decided, by the record. */
  readonly deciding: { readonly trace: RuleTrace | undefined; readonly rule: DecidingRule } | undefined;
  readonly verdict: "allowed" | "denied" | "approval required";
  /** Missing facts, in words. */
  readonly notes: readonly string[];
}

export interface TraceDeps {
  readonly policies: Pick<KnownPolicies, "find">;
  readonly identities: Pick<Identities, "find">;
}

/**
 * @param withArguments evaluate rules about arguments, and show their values
 * @returns undefined: the route no longer exists, or the request did not reach a policy
 */
export async function traceRecord(
  { policies, identities }: TraceDeps,
  snapshot: Snapshot,
  record: KeptRecord,
  withArguments: boolean,
): Promise<Traced | undefined> {
  const { route: key, value } = record;
  if (key === undefined) return undefined;
  const digest = text(value, "bundle-digest") ?? "";
  const then = policies.find(digest, key);
  const route = then ?? findRoute(snapshot, key);
  if (!route) return undefined;
  const known = record.userId === undefined ? undefined : await findUser(identities, record.userId);
  const notes: string[] = [];
  const facts = factsOf(record, route, known, notes, withArguments ? recordedArguments(value) : undefined);
  const { decision, rules } = explain(route.policy, facts);
  const rule = then && decidingRule(then.policy, record);
  return {
    by: then ? "decided" : "active",
    rules,
    deciding: rule && { trace: rules[rule.number - 1], rule },
    verdict: decision.allowed ? "allowed" : decision.approval ? "approval required" : "denied",
    notes,
  };
}

async function findUser(identities: TraceDeps["identities"], userId: string) {
  return parseUserId(userId) ? identities.find(userId) : undefined;
}

function factsOf(
  { userId, email = "", tool, value }: KeptRecord,
  { mcp, policy, host }: CompiledRoute,
  known: Facts["user"],
  notes: string[],
  given: ArgumentFacts | undefined,
): Facts {
  const path = text(value, "path") ?? "/";
  const otherPaths = otherReadings(path);
  const http = {
    method: text(value, "method") ?? "GET",
    path,
    host: text(value, "host") ?? host,
    ip: text(value, "ip") ?? "",
    ...(otherPaths && { otherPaths }),
  };
  if (userId !== undefined && known) notes.push("Groups and claims are the current ones, not those of the decision.");
  if (userId !== undefined && !known)
    notes.push("The user's groups and claims are unknown. Rules about them do not match.");
  if (policy.needsDevice) notes.push("Verified devices are not recorded.");
  if (policy.needsCertificate) notes.push("The client's certificate is not recorded.");
  if (tool !== undefined && given === undefined && asksForArguments(policy))
    notes.push("Arguments are not included. Rules about them do not match.");
  const user = userId === undefined ? undefined : (known ?? { id: userId, email, name: "", groups: [], claims: {} });
  return { http, ...(user && { user }), ...(mcp?.kind === "server" && { mcp: messageOf(value, tool, given) }) };
}

function asksForArguments({ allow, deny, approve }: CompiledRoute["policy"]): boolean {
  const leaves = [...allow, ...deny, ...approve].flatMap((rule) => rule.leaves);
  return leaves.some(({ criterion }) => criterion.name === "mcp_tool_argument");
}

function messageOf(value: KeptRecord["value"], tool: string | undefined, given: ArgumentFacts | undefined): McpFacts {
  const method = text(value, "mcp-method");
  return {
    ...(method !== undefined && method !== "" && { method }),
    ...(tool !== undefined && { tool, ...(given && { arguments: given }) }),
  };
}

/** Digests are unclear, so that no rule is said to match or not to match because of one. */
function recordedArguments(value: KeptRecord["value"]): ArgumentFacts | undefined {
  const given = value["mcp-tool-parameters"];
  if (!isRecord(given)) return undefined;
  const hidden = digestedArguments(value);
  const facts = argumentsOf(hidden.size === 0 ? given : withoutDigests(given, "", hidden));
  return {
    find(pointer, withNumbers) {
      const found = facts.find(pointer, withNumbers);
      return found instanceof OmittedToken || hasDigest(found) ? UNCLEAR : found;
    },
  };
}

/** Pointers of the arguments that are digests. */
export function digestedArguments(value: KeptRecord["value"]): ReadonlySet<string> {
  const changed = value["mcp-tool-parameters-redacted"];
  const digests = isRecord(changed) ? changed["digest"] : undefined;
  return new Set(Array.isArray(digests) ? digests.filter((each) => typeof each === "string") : []);
}

function withoutDigests(value: unknown, pointer: string, hidden: ReadonlySet<string>): unknown {
  if (hidden.has(pointer)) return new OmittedToken();
  if (Array.isArray(value)) return value.map((each, index) => withoutDigests(each, `${pointer}/${index}`, hidden));
  if (!isRecord(value)) return value;
  const members = Object.entries(value).map(([name, each]) => {
    const step = name.replaceAll("~", "~0").replaceAll("/", "~1");
    return [name, withoutDigests(each, `${pointer}/${step}`, hidden)] as const;
  });
  return Object.fromEntries(members);
}

function hasDigest(value: unknown): boolean {
  if (value instanceof OmittedToken) return true;
  if (Array.isArray(value)) return value.some(hasDigest);
  return isRecord(value) && Object.values(value).some(hasDigest);
}

function text(value: KeptRecord["value"], name: string): string | undefined {
  const found = value[name];
  return typeof found === "string" ? found : undefined;
}
