/**
 * Outcomes of rules that are possible while part of a request is unknown, as sets: a rule may match, may miss, or both.
 */
import type { Facts, McpFacts, UserFacts } from "./facts.ts";
import { MAY_HOLD, MAY_MISS, NEITHER, POSSIBLY, possibleOnTemplate, type Possible } from "./mcp/resource-template.ts";
import { mayBeSkillUri } from "./mcp/resource-uri.ts";
import { FALSE, TRUE, UNKNOWN, outcomeOf } from "./packed-outcome.ts";
import { findLeaf, isOmitted } from "./tree.ts";
import type { Leaf, OperatorRule } from "./tree.ts";

/** Known part of a request; every other fact can have any value. */
export interface PartlyKnown {
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

/** A rule with the outcomes of criteria that are the same for all tools, such as those about the user. */
export interface PreparedRule {
  readonly rule: OperatorRule;
  readonly any: Possible;
  readonly all: Possible;
  /** Criteria that depend on the tool; none if the others decide. */
  readonly open: readonly Leaf[];
}

/** Possible outcomes of a rule for one request. */
export type FindPossible = (prepared: PreparedRule) => Possible;

export function prepare(rules: readonly OperatorRule[], known: PartlyKnown): readonly PreparedRule[] {
  const facts = factsOf(known);
  return rules.map((rule) => {
    const isOpen = ({ criterion: { about } }: Leaf): boolean =>
      known.mcp !== undefined && (about === "tool" || about === "message");
    let any = NEITHER;
    let all = POSSIBLY;
    for (const leaf of rule.leaves) {
      if (isOpen(leaf)) continue;
      const possible = possibleLeaf(leaf, known, facts);
      any |= possible;
      all &= possible;
    }
    const isSettled =
      rule.operator === "and" || rule.operator === "nor"
        ? (all & MAY_HOLD) === 0 && (any & MAY_MISS) !== 0
        : (any & MAY_HOLD) !== 0 && (all & MAY_MISS) === 0;
    return { rule, any, all, open: isSettled ? [] : rule.leaves.filter(isOpen) };
  });
}

export function finder(known: PartlyKnown): FindPossible {
  const facts = factsOf(known);
  return ({ rule, any, all, open }) => {
    for (const leaf of open) {
      const possible = possibleLeaf(leaf, known, facts);
      any |= possible;
      all &= possible;
    }
    return combine(rule, any, all);
  };
}

export function factsOf({ user, mcp }: PartlyKnown): Facts {
  if (user === undefined) return mcp === undefined ? ANY_REQUEST : { http: NO_REQUEST, mcp };
  // Made for each item of long lists; spreading costs several times as much.
  return mcp === undefined ? { http: NO_REQUEST, user } : { http: NO_REQUEST, user, mcp };
}

/** Called for each item of long lists: sets of outcomes are numbers, without allocation. */
export function possibleRule(rule: OperatorRule, known: PartlyKnown, facts: Facts): Possible {
  let any = NEITHER;
  let all = POSSIBLY;
  for (const leaf of rule.leaves) {
    const possible = possibleLeaf(leaf, known, facts);
    any |= possible;
    all &= possible;
  }
  return combine(rule, any, all);
}

/** @param any outcomes of at least one criterion @param all outcomes of each */
function combine({ operator }: OperatorRule, any: Possible, all: Possible): Possible {
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
  { user, isAnyOfProvider = false, mayProveDevice = false, mcp, template }: PartlyKnown,
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
      // A claim of the actor that no criterion can read.
      if (leaf.find?.(facts) === UNKNOWN) return NEITHER;
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
const ANY_REQUEST: Facts = { http: NO_REQUEST };

/** Criteria that depend neither on the individual user of a provider nor on the request. */
const KNOWN_OF_PROVIDER: ReadonlySet<string> = new Set(["accept", "reject", "authenticated_user", "idp"]);
