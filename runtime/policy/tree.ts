/** Compiled form of a policy: operators over leaves, each leaf with its possible packed outcomes. */
import { GatewayError } from "../shared/errors.ts";
import { fewerLeaves, fewerRules, MANY } from "./operands/alike-leaves.ts";
import { CERTIFICATE_REQUIRED, DEVICE_UNAUTHENTICATED, USER_UNAUTHENTICATED, findCriterion } from "./criteria.ts";
import type { Criterion, ReadCriterion, Test } from "./criterion.ts";
import type { Facts, LeftOut, UserFacts } from "./facts.ts";
import {
  FALSE,
  MAX_REASONS,
  TRUE,
  UNKNOWN,
  packOutcome,
  outcomeOf,
  reasonAt,
  reasonsOf,
  unite,
} from "./packed-outcome.ts";
import type { PackedOutcome } from "./packed-outcome.ts";
import { ACTIONS, OPERATORS, canonicalGroups } from "./parse.ts";
import type { PolicyAction, CriterionDoc, Operator, RulesDoc } from "./parse.ts";

/** One criterion of a policy. */
export interface Leaf {
  readonly criterion: Criterion;
  /** As written: "email", "claim/department". */
  readonly key: string;
  readonly subPath: string;
  /** Canonical data. */
  readonly data: unknown;
  readonly test: Test;
  readonly find: ReadCriterion["find"];
  readonly actual: (facts: Facts) => string;
  readonly yes: PackedOutcome;
  readonly no: PackedOutcome;
  /** The criterion is about the user or their device, and the request is anonymous. */
  readonly unauthenticated: PackedOutcome;
  /** The provider omitted the value that the criterion checks. */
  readonly omitted: PackedOutcome;
  /** The criterion is about a device, and the session verified none. */
  readonly noDevice: PackedOutcome;
  /** The criterion is about messages of another kind. */
  readonly ofOthers: PackedOutcome;
  /** The checked value is unknown. */
  readonly unknown: PackedOutcome;
  /** The criterion is about the certificate, and there is no valid one. */
  readonly noCertificate: PackedOutcome;
}

/** An operator over its criteria, at least one. */
export interface OperatorRule {
  readonly operator: Operator;
  readonly leaves: readonly Leaf[];
}

/** An operator that requires an approval. */
export interface ApproveRule extends OperatorRule {
  /** Groups whose members can approve, sorted; undefined: the calling user. */
  readonly approvers: readonly string[] | undefined;
}

export interface PolicyTree {
  readonly allow: readonly OperatorRule[];
  readonly deny: readonly OperatorRule[];
  readonly approve: readonly ApproveRule[];
  /** Every reason of this policy, sorted; outcomes contain positions in this list. */
  readonly reasons: readonly string[];
}

/** @param rules canonical */
export function compileTree(rules: readonly RulesDoc[]): PolicyTree {
  const placed = ACTIONS.flatMap((action) =>
    rules.flatMap((each) =>
      OPERATORS.map((operator) => ({
        action,
        operator,
        criteria: each[action]?.[operator] ?? [],
        approvers: each.approvers && canonicalGroups(each.approvers),
      })),
    ),
  );
  const reasons = [
    ...new Set(
      placed.flatMap(({ action, operator, criteria }) => criteria.flatMap((doc) => leafReasons(doc, action, operator))),
    ),
  ].sort();
  if (reasons.length > MAX_REASONS) {
    throw new GatewayError(
      "policy.invalid",
      `Cannot compile the policy: it can give ${reasons.length} reasons, at most ${MAX_REASONS} fit`,
    );
  }
  const compile = (selected: PolicyAction): readonly ApproveRule[] =>
    placed
      .filter(({ action, criteria }) => action === selected && criteria.length > 0)
      .map(({ operator, criteria, approvers }) => ({
        operator,
        approvers,
        leaves: criteria.map((doc) => compileLeaf(doc, selected, operator, reasons)),
      }));
  return { allow: compile("allow"), deny: compile("deny"), approve: compile("approve"), reasons };
}

/** Outcome of one criterion. */
export function findLeaf(leaf: Leaf, facts: Facts): PackedOutcome {
  const about = leaf.criterion.about;
  if (about === "user") {
    if (facts.user === undefined) return leaf.unauthenticated;
    if (facts.user.leftOut !== undefined && isOmitted(leaf, facts.user.leftOut, facts.user.claims)) return leaf.omitted;
  }
  if (about === "device") {
    if (facts.user === undefined) return leaf.unauthenticated;
    if (facts.devices === undefined) return leaf.noDevice;
  }
  if (leaf.criterion.ofOthers?.applies(facts) === false) return leaf.ofOthers;
  if (about === "certificate" && leaf.criterion.without?.isMissing(facts) === true) return leaf.noCertificate;
  if (leaf.criterion.unknownReason !== undefined) return findKnown(leaf, facts);
  return leaf.test(facts) ? leaf.yes : leaf.no;
}

function findKnown(leaf: Leaf, facts: Facts): PackedOutcome {
  if (leaf.criterion.isUnknown?.(facts) === true) return leaf.unknown;
  const outcome = leaf.find ? leaf.find(facts) : leaf.test(facts) ? TRUE : FALSE;
  if (outcome === UNKNOWN) return leaf.unknown;
  return outcome === TRUE ? leaf.yes : leaf.no;
}

/** Neither true nor false: "in none of these groups" must not allow a user with unknown groups. */
export function isOmitted({ criterion, subPath }: Leaf, leftOut: LeftOut, claims: UserFacts["claims"]): boolean {
  return criterion.omitted?.isMissing(leftOut, subPath, claims) === true;
}

/** Outcome of one operator over its criteria. */
export function findRule({ operator, leaves }: OperatorRule, facts: Facts): PackedOutcome {
  // Reasons of the true, false and unknown leaves. Each leaf has a reason, so 0 means no such leaf. No early exit: the
  // record names every criterion that supports the outcome.
  let held = 0;
  let missed = 0;
  let unknown = 0;
  for (const leaf of leaves.length < MANY ? leaves : fewerLeaves(leaves)) {
    const one = findLeaf(leaf, facts);
    const outcome = outcomeOf(one);
    if (outcome === TRUE) held = unite(held, reasonsOf(one));
    else if (outcome === FALSE) missed = unite(missed, reasonsOf(one));
    else unknown = unite(unknown, reasonsOf(one));
  }
  switch (operator) {
    case "and":
      if (missed !== 0) return packOutcome(FALSE, missed);
      return unknown === 0 ? packOutcome(TRUE, held) : packOutcome(UNKNOWN, unknown);
    case "or":
      if (held !== 0) return packOutcome(TRUE, held);
      return unknown === 0 ? packOutcome(FALSE, missed) : packOutcome(UNKNOWN, unknown);
    case "not": // all false
      if (held !== 0) return packOutcome(FALSE, held);
      return unknown === 0 ? packOutcome(TRUE, missed) : packOutcome(UNKNOWN, unknown);
    case "nor": // at least one false
      if (missed !== 0) return packOutcome(TRUE, missed);
      return unknown === 0 ? packOutcome(FALSE, held) : packOutcome(UNKNOWN, unknown);
  }
  return operator satisfies never;
}

/** Several operators, and several rules of one action, are joined by "or". Without rules: false, without a reason. */
export function findAny(rules: readonly OperatorRule[], facts: Facts): PackedOutcome {
  let held = 0;
  let missed = 0;
  let unknown = 0;
  for (const rule of rules.length < MANY ? rules : fewerRules(rules)) {
    const one = findRule(rule, facts);
    const outcome = outcomeOf(one);
    if (outcome === TRUE) held = unite(held, reasonsOf(one));
    else if (outcome === FALSE) missed = unite(missed, reasonsOf(one));
    else unknown = unite(unknown, reasonsOf(one));
  }
  if (held !== 0) return packOutcome(TRUE, held);
  return unknown === 0 ? packOutcome(FALSE, missed) : packOutcome(UNKNOWN, unknown);
}

function compileLeaf(doc: CriterionDoc, action: PolicyAction, operator: Operator, reasons: readonly string[]): Leaf {
  const { key, data, criterion, subPath } = openCriterion(doc);
  const fail = (path: string, message: string): never => {
    throw new GatewayError("policy.invalid", `Cannot compile the policy: "${path}" ${message}`);
  };
  const read = criterion.read(data, subPath, key, fail, true);
  if (!read) throw new GatewayError("policy.invalid", `Cannot compile the policy: "${key}" cannot be read`);
  const bit = (reason: string): number => reasonAt(reasons.indexOf(reason));
  const { yes, no } = spokenReasons(criterion, action, operator);
  return {
    criterion,
    key,
    subPath,
    data: read.canonical,
    test: read.test,
    find: read.find,
    actual: read.actual ?? ((facts) => criterion.actual(facts, subPath)),
    yes: packOutcome(TRUE, bit(yes)),
    no: packOutcome(FALSE, bit(no)),
    unauthenticated: packOutcome(UNKNOWN, isAboutPerson(criterion) ? bit(USER_UNAUTHENTICATED) : 0),
    omitted: packOutcome(UNKNOWN, criterion.omitted ? bit(criterion.omitted.reason) : 0),
    noDevice: packOutcome(UNKNOWN, criterion.about === "device" ? bit(DEVICE_UNAUTHENTICATED) : 0),
    ofOthers: packOutcome(FALSE, criterion.ofOthers ? bit(criterion.ofOthers.reason) : 0),
    unknown: packOutcome(UNKNOWN, criterion.unknownReason === undefined ? 0 : bit(criterion.unknownReason)),
    noCertificate: criterion.without
      ? packOutcome(criterion.without.outcome, bit(CERTIFICATE_REQUIRED))
      : packOutcome(UNKNOWN, 0),
  };
}

/**
 * A reason states whether a criterion supports access, so it depends on position. A tool that matches under `deny` or
 * `approve`, or under `allow` in a `not`, is `mcp-tool-unauthorized`; one that does not match there is `mcp-tool-ok`.
 */
function spokenReasons({ reasons }: Criterion, action: PolicyAction, operator: Operator): { yes: string; no: string } {
  const isInverted = (action !== "allow") !== (operator === "not" || operator === "nor");
  return isInverted && reasons.fixed !== true
    ? { yes: reasons.no, no: reasons.ok }
    : { yes: reasons.ok, no: reasons.no };
}

function leafReasons(doc: CriterionDoc, action: PolicyAction, operator: Operator): readonly string[] {
  const { criterion } = openCriterion(doc);
  const { yes, no } = spokenReasons(criterion, action, operator);
  if (criterion.about === "user") {
    const unknown = [criterion.omitted?.reason, criterion.unknownReason].filter((each) => each !== undefined);
    return [yes, no, USER_UNAUTHENTICATED, ...unknown];
  }
  if (criterion.about === "device") return [yes, no, USER_UNAUTHENTICATED, DEVICE_UNAUTHENTICATED];
  if (criterion.without) return [yes, no, CERTIFICATE_REQUIRED];
  const { ofOthers, unknownReason } = criterion;
  return [yes, no, ...(ofOthers ? [ofOthers.reason] : []), ...(unknownReason === undefined ? [] : [unknownReason])];
}

/** Unknown for anonymous requests. */
function isAboutPerson({ about }: Criterion): boolean {
  return about === "user" || about === "device";
}

function openCriterion(doc: CriterionDoc): { key: string; data: unknown; criterion: Criterion; subPath: string } {
  const [key = "", data] = Object.entries(doc)[0] ?? [];
  const found = findCriterion(key);
  if (!found) throw new GatewayError("policy.invalid", `Cannot compile the policy: there is no criterion "${key}"`);
  return { key, data, ...found };
}
