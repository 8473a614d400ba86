/** What a policy could decide before a request is known: for the server list and for routes open to everybody. */
import type { Facts, UserFacts } from "./facts.ts";
import { isLeftOut } from "./tree.ts";
import type { Leaf, OperatorRule, PolicyTree } from "./tree.ts";

/** Which outcomes something could have, over all requests this caller could make. */
interface Possible {
  readonly true: boolean;
  readonly false: boolean;
}

/**
 * Could this caller send any request that the policy allows? The tool, and everything else about the request, counts as
 * unknown; only the user is given. Errs on the side of yes: each criterion is taken to vary on its own.
 *
 * @param user absent = nobody is signed in; what is about a user then never helps
 */
export function mayReachSomething(policy: Pick<PolicyTree, "allow" | "deny">, user: UserFacts | undefined): boolean {
  const mayBeAllowed = policy.allow.some((rule) => possibleRule(rule, user).true);
  return mayBeAllowed && policy.deny.every((rule) => possibleRule(rule, user).false);
}

function possibleRule({ operator, leaves }: OperatorRule, user: UserFacts | undefined): Possible {
  const possible = leaves.map((leaf) => possibleLeaf(leaf, user));
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

function possibleLeaf(leaf: Leaf, user: UserFacts | undefined): Possible {
  const about = leaf.criterion.about;
  if (about === "tool" || about === "request" || about === "certificate") return { true: true, false: true };
  // With a user this is asked about MCP servers alone, and their clients cannot prove a device: no request gets past.
  if (about === "device") return { true: false, false: false };
  if (about === "user" && user === undefined) return { true: false, false: false };
  if (user?.leftOut !== undefined && isLeftOut(leaf, user.leftOut, user.claims)) return { true: false, false: false };
  try {
    const holds = leaf.test(user === undefined ? { http: NO_REQUEST } : { user, http: NO_REQUEST });
    return { true: holds, false: !holds };
  } catch {
    // Cannot be checked, so every request would be denied.
    return { true: false, false: false };
  }
}

/** Never read: only criteria about the user or about nothing are tested here. */
const NO_REQUEST: Facts["http"] = { method: "", path: "", host: "", ip: "" };
