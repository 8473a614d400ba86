/** What a policy could decide before a request is known: for the server list, for routes open to everybody, for lists of tools. */
import { FIRST_PROVIDER, providerUserId } from "../shared/user-id.ts";
import type { Facts, McpFacts, UserFacts } from "./facts.ts";
import { MAY_HOLD, MAY_MISS, NEITHER, POSSIBLY, possibleOnTemplate, type Possible } from "./mcp/resource-template.ts";
import { FALSE, TRUE, outcomeOf } from "./packed-outcome.ts";
import { findLeaf, isLeftOut } from "./tree.ts";
import type { Leaf, OperatorRule, PolicyTree } from "./tree.ts";

/** What is known of the request; what is not, counts as anything. */
interface Known {
  /** Absent = nobody is signed in; what is about a user then never helps. */
  readonly user: UserFacts | undefined;
  /** Comes by a browser, which may prove a device; MCP clients cannot. */
  readonly mayProveDevice?: boolean;
  /** The user stands for everybody who signs in where they do. */
  readonly isAnyOfProvider?: boolean;
  /** The message, but for its arguments. */
  readonly mcp?: McpFacts;
  /** The template of the resource that the message reads. */
  readonly template?: string;
}

/**
 * Could this caller send any request that the policy allows? The tool, and everything else about the request, counts as
 * unknown; only the user is given. Errs on the side of yes: each criterion is taken to vary on its own.
 */
export function mayReachSomething(policy: Pick<PolicyTree, "allow" | "deny">, user: UserFacts | undefined): boolean {
  return mayBeAllowed(policy, { user });
}

/**
 * Could anybody of this provider send a request that the policy allows? Who they are and what they ask for counts as
 * unknown; only where they come from is given. Errs on the side of yes.
 *
 * @param name as the criterion `idp` has it
 */
export function mayReachFrom(policy: Pick<PolicyTree, "allow" | "deny">, name: string): boolean {
  const made = providerUserId(name === FIRST_PROVIDER ? undefined : name, "somebody");
  const user = { id: made.ok ? made.id : "", email: "", name: "", groups: [], claims: {} };
  return mayBeAllowed(policy, { user, isAnyOfProvider: true });
}

/** The criteria that do not depend on which of a provider's users it is, nor on the request. */
const KNOWN_OF_PROVIDER: ReadonlySet<string> = new Set(["accept", "reject", "authenticated_user", "idp"]);

/** What a list of an MCP server has. */
export type ListedItem =
  | { readonly kind: "tool" | "prompt"; readonly name: string }
  | { readonly kind: "resource"; readonly uri: string }
  | { readonly kind: "template"; readonly uriTemplate: string };

/**
 * Could some call of this tool (some use of this prompt or resource) be allowed to this caller? The arguments, and the
 * connection that it comes by, count as unknown: never hidden but callable, never shown but surely denied.
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
      return mayBeAllowed(policy, { user, mcp: { method: "resources/read", resource: item.uri } });
    case "template":
      return mayBeAllowed(policy, { user, mcp: { method: "resources/read" }, template: item.uriTemplate });
  }
  return item satisfies never;
}

/** What a policy could say to one caller, and the rule that makes it so. */
export interface Reach {
  /** Every request; some of them, or that depends on what is not known; none. */
  readonly may: "all" | "some" | "none";
  /** The deny rule that stops every request, or an allow rule that lets requests in; undefined: no allow rule does. */
  readonly by: { readonly action: "allow" | "deny"; readonly rule: OperatorRule } | undefined;
}

/**
 * The same as `mayReachSomething`, with the reason.
 *
 * @param mayProveDevice whether they come by a browser
 */
export function findReach(
  policy: Pick<PolicyTree, "allow" | "deny">,
  user: UserFacts | undefined,
  mayProveDevice: boolean,
): Reach {
  const known: Known = { user, mayProveDevice };
  const facts: Facts = { http: NO_REQUEST, ...(user && { user }) };
  const all = (rules: readonly OperatorRule[]) =>
    rules.map((rule) => ({ rule, possible: possibleRule(rule, known, facts) }));
  const [allow, deny] = [all(policy.allow), all(policy.deny)];
  const stops = deny.find(({ possible }) => (possible & MAY_MISS) === 0);
  if (stops) return { may: "none", by: { action: "deny", rule: stops.rule } };
  const surely = allow.find(({ possible }) => possible === MAY_HOLD);
  const perhaps = surely ?? allow.find(({ possible }) => (possible & MAY_HOLD) !== 0);
  if (!perhaps) return { may: "none", by: undefined };
  const isAll = surely !== undefined && deny.every(({ possible }) => possible === MAY_MISS);
  return { may: isAll ? "all" : "some", by: { action: "allow", rule: perhaps.rule } };
}

function mayBeAllowed(policy: Pick<PolicyTree, "allow" | "deny">, known: Known): boolean {
  const facts: Facts = {
    http: NO_REQUEST,
    ...(known.user && { user: known.user }),
    ...(known.mcp && { mcp: known.mcp }),
  };
  return (
    policy.allow.some((rule) => (possibleRule(rule, known, facts) & MAY_HOLD) !== 0) &&
    policy.deny.every((rule) => (possibleRule(rule, known, facts) & MAY_MISS) !== 0)
  );
}

/** Asked for each item of long lists: sets of outcomes are numbers, and nothing is allocated. */
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
      // Calls come by POST; all else about their connection may differ from the one that asks.
      return mcp === undefined || leaf.key !== "http_method" ? POSSIBLY : certain(leaf, facts);
    case "certificate":
      return POSSIBLY;
    case "device":
      // With a user this is asked about MCP servers alone, and their clients cannot prove a device: no request gets past.
      return mayProveDevice && user !== undefined ? POSSIBLY : NEITHER;
    case "user":
      if (user === undefined) return NEITHER;
      if (user.leftOut !== undefined && isLeftOut(leaf, user.leftOut, user.claims)) return NEITHER;
      return certain(leaf, facts);
    case "nothing":
      return certain(leaf, facts);
  }
  return leaf.criterion.about satisfies never;
}

function possibleOfMessage(leaf: Leaf, facts: Facts, template: string | undefined): Possible {
  if (template !== undefined && leaf.key === "mcp_resource") return possibleOnTemplate(leaf.data, template);
  const found = outcomeOf(findLeaf(leaf, facts));
  if (found === TRUE) return MAY_HOLD;
  if (found === FALSE) return MAY_MISS;
  // What arguments will be is open; a resource that has no one reading is refused whatever comes.
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

/** Of it only the method is read, which all calls have; other criteria about the request count as unknown. */
const NO_REQUEST: Facts["http"] = { method: "POST", path: "", host: "", ip: "" };
