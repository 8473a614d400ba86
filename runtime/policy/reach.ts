/**
 * Possible decisions of a policy before a request is known: for the server list, for public routes, for lists of tools.
 */
import { FIRST_PROVIDER, providerUserId } from "../shared/user-id.ts";
import type { Facts, McpFacts, UserFacts } from "./facts.ts";
import { MAY_HOLD, MAY_MISS, NEITHER, POSSIBLY, possibleOnTemplate, type Possible } from "./mcp/resource-template.ts";
import { mayBeSkillUri } from "./mcp/resource-uri.ts";
import { FALSE, TRUE, outcomeOf } from "./packed-outcome.ts";
import { findLeaf, isOmitted } from "./tree.ts";
import type { Leaf, OperatorRule, PolicyTree } from "./tree.ts";

/** Known part of a request; every other fact can have any value. */
interface Known {
  /** Absent = not signed in: criteria about the user then never match. */
  readonly user: UserFacts | undefined;
  /** Access by browser, which can verify a device; MCP clients cannot. */
  readonly mayProveDevice?: boolean;
  /** The user represents every user of the provider. */
  readonly isAnyOfProvider?: boolean;
  /** The message without its arguments. */
  readonly mcp?: McpFacts;
  /** Template of the resource that the message reads. */
  readonly template?: string;
}

/**
 * Whether this caller could send any request that the policy allows. Only the user is known; the tool and the rest of
 * the request are not. True if in doubt: criteria are assumed to vary independently.
 */
export function mayReachSomething(policy: Pick<PolicyTree, "allow" | "deny">, user: UserFacts | undefined): boolean {
  return mayBeAllowed(policy, { user });
}

/**
 * Whether any user of this provider could send a request that the policy allows. Only the provider is known; the user
 * and the request are not. True if in doubt.
 *
 * @param name as the criterion `idp` has it
 */
export function mayReachFrom(policy: Pick<PolicyTree, "allow" | "deny">, name: string): boolean {
  const made = providerUserId(name === FIRST_PROVIDER ? undefined : name, "any-user");
  const user = { id: made.ok ? made.id : "", email: "", name: "", groups: [], claims: {} };
  return mayBeAllowed(policy, { user, isAnyOfProvider: true });
}

/** Criteria that depend neither on the individual user of a provider nor on the request. */
const KNOWN_OF_PROVIDER: ReadonlySet<string> = new Set(["accept", "reject", "authenticated_user", "idp"]);

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
export function mayUse(
  policy: Pick<PolicyTree, "allow" | "deny">,
  user: UserFacts | undefined,
  item: ListedItem,
): boolean {
  switch (item.kind) {
    case "tool":
      return mayBeAllowed(policy, { user, mcp: { method: "tools/call", tool: item.name } });
    case "prompt":
      return mayBeAllowed(policy, { user, mcp: { method: "prompts/get", prompt: item.name } });
    case "resource":
      return mayUseResource(policy, user, item);
    case "skill":
      return mayBeAllowed(policy, { user, mcp: { method: "skills/get", resource: item.uri } });
    case "template":
      return mayBeAllowed(policy, { user, mcp: { method: "resources/read" }, template: item.uriTemplate });
  }
  return item satisfies never;
}

/** A directory is read by a method of its own. One that may be a directory is not shown if the files below it are denied. */
function mayUseResource(
  policy: Pick<PolicyTree, "allow" | "deny">,
  user: UserFacts | undefined,
  { uri: resource, type }: ListedItem & { readonly kind: "resource" },
): boolean {
  const method = type === "directory" ? "resources/directory/read" : "resources/read";
  if (!mayBeAllowed(policy, { user, mcp: { method, resource } })) return false;
  if (type !== "unknown" || !mayBeSkillUri(resource)) return true;
  const files = resource.endsWith("/") ? resource : `${resource}/`;
  return !isDenied(policy, { user, mcp: { method, resource: files } });
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
export function findReach(
  policy: Pick<PolicyTree, "allow" | "deny">,
  user: UserFacts | undefined,
  mayProveDevice: boolean,
): Reach {
  const access = findAccess(policy, { user, mayProveDevice });
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

function findAccess({ allow, deny }: Pick<PolicyTree, "allow" | "deny">, known: Known): Access | undefined {
  const facts = factsOf(known);
  const stops = deny.find((rule) => (possibleRule(rule, known, facts) & MAY_MISS) === 0);
  if (stops) return { action: "deny", rule: stops, isAll: true };
  const first = firstPossible(allow, known, facts);
  if (!first) return undefined;
  const isAll = first.isSure && deny.every((rule) => possibleRule(rule, known, facts) === MAY_MISS);
  return { action: "allow", rule: first.rule, isAll };
}

/** A rule that certainly matches, or else the first that may. */
function firstPossible(
  rules: readonly OperatorRule[],
  known: Known,
  facts: Facts,
): { readonly rule: OperatorRule; readonly isSure: boolean } | undefined {
  const sure = rules.find((rule) => possibleRule(rule, known, facts) === MAY_HOLD);
  if (sure) return { rule: sure, isSure: true };
  const rule = rules.find((each) => (possibleRule(each, known, facts) & MAY_HOLD) !== 0);
  return rule && { rule, isSure: false };
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
  const known: Known = { user, mcp: { method: "tools/call", tool } };
  const access = findAccess(policy, known);
  if (!access) return { outcome: "unmatched", isPartial: false, rule: undefined };
  const { action, rule, isAll } = access;
  if (action === "deny") return { outcome: "denied", isPartial: false, rule };
  const approval = firstPossible(policy.approve, known, factsOf(known));
  if (!approval) return { outcome: "allowed", isPartial: !isAll, rule };
  return { outcome: "approval", isPartial: !isAll || !approval.isSure, rule: approval.rule };
}

function mayBeAllowed(policy: Pick<PolicyTree, "allow" | "deny">, known: Known): boolean {
  const facts = factsOf(known);
  return (
    policy.allow.some((rule) => (possibleRule(rule, known, facts) & MAY_HOLD) !== 0) && !isDenied(policy, known, facts)
  );
}

/** Whether a deny rule matches, whatever is unknown. */
function isDenied(policy: Pick<PolicyTree, "deny">, known: Known, facts = factsOf(known)): boolean {
  return policy.deny.some((rule) => (possibleRule(rule, known, facts) & MAY_MISS) === 0);
}

function factsOf({ user, mcp }: Known): Facts {
  return { http: NO_REQUEST, ...(user && { user }), ...(mcp && { mcp }) };
}

/** Called for each item of long lists: sets of outcomes are numbers, without allocation. */
function possibleRule({ operator, leaves }: OperatorRule, known: Known, facts: Facts): Possible {
  let any = NEITHER;
  let all = POSSIBLY;
  for (const leaf of leaves) {
    const possible = possibleLeaf(leaf, known, facts);
    any |= possible;
    all &= possible;
  }
  switch (operator) {
    case "and":
      return (all & MAY_HOLD) | (any & MAY_MISS);
    case "or":
      return (any & MAY_HOLD) | (all & MAY_MISS);
    case "not":
      return opposite((any & MAY_HOLD) | (all & MAY_MISS));
    case "nor":
      return opposite((all & MAY_HOLD) | (any & MAY_MISS));
  }
  return operator satisfies never;
}

function opposite(possible: Possible): Possible {
  return ((possible & MAY_HOLD) === 0 ? 0 : MAY_MISS) | ((possible & MAY_MISS) === 0 ? 0 : MAY_HOLD);
}

function possibleLeaf(
  leaf: Leaf,
  { user, isAnyOfProvider = false, mayProveDevice = false, mcp, template }: Known,
  facts: Facts,
): Possible {
  if (isAnyOfProvider && !KNOWN_OF_PROVIDER.has(leaf.criterion.name)) return POSSIBLY;
  switch (leaf.criterion.about) {
    case "tool":
    case "message":
      return mcp === undefined ? POSSIBLY : possibleOfMessage(leaf, facts, template);
    case "request":
      // Calls use POST; the rest of their connection can differ from the current one.
      return mcp === undefined || leaf.key !== "http_method" ? POSSIBLY : certain(leaf, facts);
    case "certificate":
      return POSSIBLY;
    case "device":
      // With a user, this concerns only MCP servers, whose clients cannot verify a device: no request passes.
      return mayProveDevice && user !== undefined ? POSSIBLY : NEITHER;
    case "user":
      if (user === undefined) return NEITHER;
      if (user.leftOut !== undefined && isOmitted(leaf, user.leftOut, user.claims)) return NEITHER;
      return certain(leaf, facts);
    case "nothing":
      return certain(leaf, facts);
  }
  return leaf.criterion.about satisfies never;
}

function possibleOfMessage(leaf: Leaf, facts: Facts, template: string | undefined): Possible {
  const isAboutTemplate =
    template !== undefined && (leaf.key === "mcp_resource" || (leaf.key === "mcp_skill" && mayBeSkillUri(template)));
  if (isAboutTemplate) return possibleOnTemplate(leaf.data, template);
  const found = outcomeOf(findLeaf(leaf, facts));
  if (found === TRUE) return MAY_HOLD;
  if (found === FALSE) return MAY_MISS;
  // Arguments are still open; a resource without a normal form is always denied.
  return leaf.find ? POSSIBLY : NEITHER;
}

function certain(leaf: Leaf, facts: Facts): Possible {
  try {
    return leaf.test(facts) ? MAY_HOLD : MAY_MISS;
  } catch {
    // Cannot be checked, so every request would be denied.
    return NEITHER;
  }
}

/** Only the method is read, which is the same for all calls; other criteria about the request are unknown. */
const NO_REQUEST: Facts["http"] = { method: "POST", path: "", host: "", ip: "" };
