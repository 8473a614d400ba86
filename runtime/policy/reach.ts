/**
 * Possible decisions of a policy before a request is known: for the server list, for public routes, for lists of tools.
 */
import { FIRST_PROVIDER, providerUserId } from "../shared/user-id.ts";
import type { UserFacts } from "./facts.ts";
import { MAY_HOLD, MAY_MISS } from "./mcp/resource-template.ts";
import { mayBeSkillUri } from "./mcp/resource-uri.ts";
import {
  factsOf,
  type FindPossible,
  finder,
  type PartlyKnown,
  possibleRule,
  prepare,
  type PreparedRule,
} from "./possible.ts";
import type { OperatorRule, PolicyTree } from "./tree.ts";

type Rules = Pick<PolicyTree, "allow" | "deny">;

interface PreparedRules {
  readonly allow: readonly PreparedRule[];
  readonly deny: readonly PreparedRule[];
}

/**
 * Whether this caller could send any request that the policy allows. Only the user is known; the tool and the rest of
 * the request are not. True if in doubt: criteria are assumed to vary independently.
 */
export function mayReachSomething(policy: Rules, user: UserFacts | undefined): boolean {
  return mayBeAllowed(policy, { user });
}

/**
 * Whether any user of this provider could send a request that the policy allows. Only the provider is known; the user
 * and the request are not. True if in doubt.
 *
 * @param name as the criterion `idp` has it
 */
export function mayReachFrom(policy: Rules, name: string): boolean {
  const made = providerUserId(name === FIRST_PROVIDER ? undefined : name, "any-user");
  const user = { id: made.ok ? made.id : "", email: "", name: "", groups: [], claims: {} };
  return mayBeAllowed(policy, { user, isAnyOfProvider: true });
}

/** Item in a list of an MCP server. */
export type ListedItem =
  | { readonly kind: "tool" | "prompt"; readonly name: string }
  | { readonly kind: "resource"; readonly uri: string; readonly type?: ResourceType }
  | { readonly kind: "skill"; readonly uri: string }
  | { readonly kind: "template"; readonly uriTemplate: string };

/** unknown: the server does not say whether it is a directory. Absent: a file. */
export type ResourceType = "directory" | "unknown";

/**
 * Whether some call of this tool (or use of this prompt or resource) could be allowed for this caller. Arguments and
 * connection are unknown. An item is never hidden but callable, and never shown but certainly denied.
 */
export function mayUse(policy: Rules, user: UserFacts | undefined, item: ListedItem): boolean {
  return useFinder(policy, user)(item);
}

/** The same for many items: criteria about the user are checked once. */
export function useFinder({ allow, deny }: Rules, user: UserFacts | undefined): (item: ListedItem) => boolean {
  const anyItem: PartlyKnown = { user, mcp: {} };
  const prepared = { allow: prepare(allow, anyItem), deny: prepare(deny, anyItem) };
  // Facts are made for each item: with one object for all tools this loop is faster, but requests for lists are slower (measured).
  return (item) => {
    switch (item.kind) {
      case "tool":
        return mayPass(prepared, { user, mcp: { method: "tools/call", tool: item.name } });
      case "prompt":
        return mayPass(prepared, { user, mcp: { method: "prompts/get", prompt: item.name } });
      case "resource":
        return mayUseResource(prepared, user, item);
      case "skill":
        return mayPass(prepared, { user, mcp: { method: "skills/get", resource: item.uri } });
      case "template":
        return mayPass(prepared, { user, mcp: { method: "resources/read" }, template: item.uriTemplate });
    }
    return item satisfies never;
  };
}

/** A directory is read by a method of its own. One that may be a directory is not shown if the files below it are denied. */
function mayUseResource(
  prepared: PreparedRules,
  user: UserFacts | undefined,
  { uri: resource, type }: ListedItem & { readonly kind: "resource" },
): boolean {
  const method = type === "directory" ? "resources/directory/read" : "resources/read";
  if (!mayPass(prepared, { user, mcp: { method, resource } })) return false;
  if (type !== "unknown" || !mayBeSkillUri(resource)) return true;
  const files = resource.endsWith("/") ? resource : `${resource}/`;
  return !isDeniedBy(prepared.deny, finder({ user, mcp: { method, resource: files } }));
}

/** Possible decisions for one caller, and the rule responsible. */
export interface Reach {
  /** all: every request. some: some requests, or it depends on unknown facts. none: no request. */
  readonly may: "all" | "some" | "none";
  /** The deny rule that stops every request, or an allow rule that admits requests; undefined: no allow rule does. */
  readonly by: { readonly action: "allow" | "deny"; readonly rule: OperatorRule } | undefined;
}

/**
 * Like `mayReachSomething`, with the reason.
 *
 * @param mayProveDevice whether the user has a browser
 */
export function findReach(policy: Rules, user: UserFacts | undefined, mayProveDevice: boolean): Reach {
  const known: PartlyKnown = { user, mayProveDevice };
  const find = finder(known);
  const access = findAccess(prepare(policy.allow, known), prepare(policy.deny, known), find);
  if (!access) return { may: "none", by: undefined };
  const { action, rule, isAll } = access;
  return { may: action === "deny" ? "none" : isAll ? "all" : "some", by: { action, rule } };
}

/** Whether requests can pass, and the rule responsible; undefined: no allow rule lets one in. */
interface Access {
  /** deny: every request. */
  readonly action: "allow" | "deny";
  readonly rule: OperatorRule;
  /** Every request, whatever is unknown of it. */
  readonly isAll: boolean;
}

function findAccess(
  allow: readonly PreparedRule[],
  deny: readonly PreparedRule[],
  find: FindPossible,
): Access | undefined {
  let isUndenied = true;
  for (const each of deny) {
    const possible = find(each);
    if ((possible & MAY_MISS) === 0) return { action: "deny", rule: each.rule, isAll: true };
    isUndenied &&= possible === MAY_MISS;
  }
  const first = firstPossible(allow, find);
  return first && { action: "allow", rule: first.rule, isAll: first.isSure && isUndenied };
}

/** A rule that certainly matches, or else the first that may. */
function firstPossible(
  rules: readonly PreparedRule[],
  find: FindPossible,
): { readonly rule: OperatorRule; readonly isSure: boolean } | undefined {
  let first: OperatorRule | undefined;
  for (const each of rules) {
    const possible = find(each);
    if (possible === MAY_HOLD) return { rule: each.rule, isSure: true };
    if ((possible & MAY_HOLD) !== 0) first ??= each.rule;
  }
  return first && { rule: first, isSure: false };
}

/** Possible decisions of a policy for calls of one tool, and the rule responsible. */
export interface ToolReach {
  /** approval: a call waits until a user approves it. unmatched: no allow rule lets a call in. */
  readonly outcome: "allowed" | "approval" | "denied" | "unmatched";
  /** Applies to some calls only, depending on arguments or connection. */
  readonly isPartial: boolean;
  /** Undefined with "unmatched". */
  readonly rule: OperatorRule | undefined;
}

/** Like `mayUse` for a tool, with the reason and with approvals. Arguments and connection count as unknown. */
export function findToolReach(
  policy: Pick<PolicyTree, "allow" | "deny" | "approve">,
  user: UserFacts | undefined,
  tool: string,
): ToolReach {
  return toolReachFinder(policy, user)(tool);
}

/** The same for many tools: criteria about the user are checked once. */
export function toolReachFinder(
  policy: Pick<PolicyTree, "allow" | "deny" | "approve">,
  user: UserFacts | undefined,
): (tool: string) => ToolReach {
  const anyTool: PartlyKnown = { user, mcp: { method: "tools/call" } };
  const [allow, deny, approve] = [policy.allow, policy.deny, policy.approve].map((rules) => prepare(rules, anyTool));
  return (tool) => {
    const known: PartlyKnown = { user, mcp: { method: "tools/call", tool } };
    const find = finder(known);
    const access = findAccess(allow ?? [], deny ?? [], find);
    if (!access) return { outcome: "unmatched", isPartial: false, rule: undefined };
    const { action, rule, isAll } = access;
    if (action === "deny") return { outcome: "denied", isPartial: false, rule };
    const approval = firstPossible(approve ?? [], find);
    if (!approval) return { outcome: "allowed", isPartial: !isAll, rule };
    return { outcome: "approval", isPartial: !isAll || !approval.isSure, rule: approval.rule };
  };
}

/** For one question; stops at the first rule that decides. */
function mayBeAllowed({ allow, deny }: Rules, known: PartlyKnown): boolean {
  const facts = factsOf(known);
  return (
    allow.some((rule) => (possibleRule(rule, known, facts) & MAY_HOLD) !== 0) &&
    !deny.some((rule) => (possibleRule(rule, known, facts) & MAY_MISS) === 0)
  );
}

function mayPass({ allow, deny }: PreparedRules, known: PartlyKnown): boolean {
  const find = finder(known);
  for (const rule of allow) if ((find(rule) & MAY_HOLD) !== 0) return !isDeniedBy(deny, find);
  return false;
}

/** Whether a deny rule matches, whatever is unknown. */
function isDeniedBy(deny: readonly PreparedRule[], find: FindPossible): boolean {
  for (const rule of deny) if ((find(rule) & MAY_MISS) === 0) return true;
  return false;
}
