/** What a policy could decide before a request is known: for the server list, for routes open to everybody, for lists of tools. */
import { FIRST_PROVIDER, providerUserId } from "../shared/user-id.ts";
import type { Facts, McpFacts, UserFacts } from "./facts.ts";
import { POSSIBLY, possibleOnTemplate, type Possible } from "./mcp/resource-template.ts";
import { FALSE, TRUE, outcomeOf } from "./packed-outcome.ts";
import { findLeaf, isLeftOut } from "./tree.ts";
import type { Leaf, OperatorRule, PolicyTree } from "./tree.ts";

/** What is known of the request; what is not, counts as anything. */
interface Known {
  /** Absent = nobody is signed in; what is about a user then never helps. */
  readonly user: UserFacts | undefined;
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

function mayBeAllowed(policy: Pick<PolicyTree, "allow" | "deny">, known: Known): boolean {
  return (
    policy.allow.some((rule) => possibleRule(rule, known).true) &&
    policy.deny.every((rule) => possibleRule(rule, known).false)
  );
}

function possibleRule({ operator, leaves }: OperatorRule, known: Known): Possible {
  const possible = leaves.map((leaf) => possibleLeaf(leaf, known));
  const allTrue = possible.every((each) => each.true);
  const allFalse = possible.every((each) => each.false);
  const anyTrue = possible.some((each) => each.true);
  const anyFalse = possible.some((each) => each.false);
  switch (operator) {
    case "and":
      return { true: allTrue, false: anyFalse };
    case "or":
      return { true: anyTrue, false: allFalse };
    case "not":
      return { true: allFalse, false: anyTrue };
    case "nor":
      return { true: anyFalse, false: allTrue };
  }
  return operator satisfies never;
}

function possibleLeaf(leaf: Leaf, { user, isAnyOfProvider = false, mcp, template }: Known): Possible {
  const { about, name } = leaf.criterion;
  if (isAnyOfProvider && !KNOWN_OF_PROVIDER.has(name)) return POSSIBLY;
  if (about === "tool" || about === "message")
    return mcp === undefined ? POSSIBLY : possibleOfMessage(leaf, mcp, template);
  if (about === "request" || about === "certificate") return possibleOfRequest(leaf, mcp);
  // With a user this is asked about MCP servers alone, and their clients cannot prove a device: no request gets past.
  if (about === "device") return NEITHER;
  if (about === "user" && user === undefined) return NEITHER;
  if (user?.leftOut !== undefined && isLeftOut(leaf, user.leftOut, user.claims)) return NEITHER;
  return certain(leaf, user === undefined ? { http: NO_REQUEST } : { user, http: NO_REQUEST });
}

function possibleOfMessage(leaf: Leaf, mcp: McpFacts, template: string | undefined): Possible {
  if (template !== undefined && leaf.key === "mcp_resource") return possibleOnTemplate(leaf.data, template);
  const found = outcomeOf(findLeaf(leaf, { http: NO_REQUEST, mcp }));
  if (found === TRUE || found === FALSE) return { true: found === TRUE, false: found === FALSE };
  // What arguments will be is open; a resource that has no one reading is refused whatever comes.
  return leaf.find ? POSSIBLY : NEITHER;
}

/** Calls come by POST; all else about their connection may differ from the one that asks. */
function possibleOfRequest(leaf: Leaf, mcp: McpFacts | undefined): Possible {
  if (mcp === undefined || leaf.key !== "http_method") return POSSIBLY;
  return certain(leaf, { http: { ...NO_REQUEST, method: "POST" } });
}

function certain(leaf: Leaf, facts: Facts): Possible {
  try {
    const holds = leaf.test(facts);
    return { true: holds, false: !holds };
  } catch {
    // Cannot be checked, so every request would be denied.
    return NEITHER;
  }
}

const NEITHER: Possible = { true: false, false: false };

/** Never read: only criteria about the user, the message or about nothing are tested here. */
const NO_REQUEST: Facts["http"] = { method: "", path: "", host: "", ip: "" };
