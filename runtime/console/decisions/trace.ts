/**
 * Why a recorded request was decided so: its route's policy, asked again about what the record tells.
 *
 * A record does not tell all that was asked: groups and claims are the user's of now, arguments are there only for who may
 * see them, and as far as they are kept in clear. So the trace says what it stands on, and whether it comes to the same.
 */
import type { CompiledRoute } from "../../config/compiled.ts";
import { findRoute, type Snapshot } from "../../config/snapshot.ts";
import type { Identities } from "../../identity/interfaces.ts";
import { explain, type RuleTrace } from "../../policy/explain.ts";
import type { Facts, McpFacts } from "../../policy/facts.ts";
import { ACTIONS } from "../../policy/parse.ts";
import { rulePointers } from "../../policy/recorded/deciding-rule.ts";
import { otherReadings } from "../../shared/http/target.ts";
import type { KeptRecord } from "../../record-store/record-reader.ts";
import { parseUserId } from "../../shared/user-id.ts";
import type { KnownPolicies } from "./policies.ts";

export interface Traced {
  /** decided: by the configuration that decided; in-force: that one is not known here any more. */
  readonly by: "decided" | "in-force";
  readonly rules: readonly RuleTrace[];
  /** Which of them decided, by the record. */
  readonly deciding: RuleTrace | undefined;
  readonly verdict: "allowed" | "denied" | "approval required";
  /** What the record does not tell, in words. */
  readonly notes: readonly string[];
}

export interface TraceDeps {
  readonly policies: Pick<KnownPolicies, "find">;
  readonly identities: Pick<Identities, "find">;
}

/** @returns undefined: there is no such route any more, or the request never came to a policy */
export async function traceRecord(
  { policies, identities }: TraceDeps,
  snapshot: Snapshot,
  record: KeptRecord,
): Promise<Traced | undefined> {
  const { route: key, value } = record;
  if (key === undefined) return undefined;
  const digest = text(value, "bundle-digest") ?? "";
  const now = findRoute(snapshot, key);
  const then = policies.find(digest, key) ?? (snapshot.digest === digest ? now : undefined);
  const route = then ?? now;
  if (!route) return undefined;
  const known = record.userId === undefined ? undefined : await findUser(identities, record.userId);
  const notes: string[] = [];
  const facts = factsOf(record, route, known, notes);
  const { decision, rules } = explain(route.policy, facts);
  return {
    by: then ? "decided" : "in-force",
    rules,
    deciding: then && decidingOf(then.policy, rules, text(value, "rule")),
    verdict: decision.allowed ? "allowed" : decision.approval ? "approval required" : "denied",
    notes,
  };
}

/** The record says it where its facts, such as arguments, are no longer known. */
function decidingOf(
  policy: CompiledRoute["policy"],
  rules: readonly RuleTrace[],
  pointer: string | undefined,
): RuleTrace | undefined {
  const pointers = rulePointers(policy);
  for (const action of ACTIONS) {
    const index = pointer === undefined ? -1 : pointers[action].indexOf(pointer);
    if (index !== -1) return rules.filter((rule) => rule.action === action)[index];
  }
  return undefined;
}

async function findUser(identities: TraceDeps["identities"], userId: string) {
  return parseUserId(userId) ? identities.find(userId) : undefined;
}

function factsOf(
  { userId, email = "", tool, value }: KeptRecord,
  { mcp, policy, host }: CompiledRoute,
  known: Facts["user"],
  notes: string[],
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
  if (tool !== undefined && asksForArguments(policy))
    notes.push("Arguments are not included. Rules about them do not match.");
  const user = userId === undefined ? undefined : (known ?? { id: userId, email, name: "", groups: [], claims: {} });
  return { http, ...(user && { user }), ...(mcp?.kind === "server" && { mcp: messageOf(value, tool) }) };
}

function asksForArguments({ allow, deny, approve }: CompiledRoute["policy"]): boolean {
  const leaves = [...allow, ...deny, ...approve].flatMap((rule) => rule.leaves);
  return leaves.some(({ criterion }) => criterion.name === "mcp_tool_argument");
}

function messageOf(value: KeptRecord["value"], tool: string | undefined): McpFacts {
  const method = text(value, "mcp-method");
  return { ...(method !== undefined && method !== "" && { method }), ...(tool !== undefined && { tool }) };
}

function text(value: KeptRecord["value"], name: string): string | undefined {
  const found = value[name];
  return typeof found === "string" ? found : undefined;
}
