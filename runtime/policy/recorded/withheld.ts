/**
 * Values that a record omits: their type is known, and mostly whether they equal a value in a policy.
 *
 * Any rule that needs more is undecidable, and the caller reports that instead of guessing.
 */
import { ORDERS, PIECES, scalarsOf, type ArgumentMatch, type ValueMatch } from "../mcp/argument-match.ts";
import { NumberToken, OmittedToken, ValueToken } from "../../shared/canonical-json.ts";

export type WithheldType = "string" | "number" | "boolean";

export class Withheld extends ValueToken {
  readonly type: WithheldType;
  readonly text = undefined;
  /** Digest of a value that equals none in a policy; undefined: whether it equals one is also unknown. */
  readonly digest: string | undefined;

  constructor(type: WithheldType, digest: string | undefined) {
    super();
    this.type = type;
    this.digest = digest;
  }
}

/** @param value as read from a record @returns false if the rule needs more than the record has */
export function canTell(match: ArgumentMatch, value: unknown): boolean {
  if (value instanceof OmittedToken) return false;
  if (value instanceof Withheld) return canTellOne(match, value);
  if (!Array.isArray(value)) return true;
  const ofElements = [match.some, match.every].filter((each) => each !== undefined);
  return value.every((each) => {
    if (each instanceof OmittedToken) return ofElements.length === 0;
    return !(each instanceof Withheld) || ofElements.every((one) => canTellOne(one, each));
  });
}

function canTellOne(match: ValueMatch, { type, digest }: Withheld): boolean {
  if (type === "string" && PIECES.some((name) => match[name] !== undefined)) return false;
  if (type === "number" && ORDERS.some((name) => match[name] !== undefined)) return false;
  // Its type differs from all operands, so its value does not matter.
  return digest !== undefined || !scalarsOf(match).some((each) => typeof each === type);
}

/** Placeholder for comparisons: of the value's type, and equal to no value in any policy. */
export function placeholder(value: unknown): unknown {
  if (value instanceof Withheld) return placeholderOf(value);
  return Array.isArray(value) && value.some((each) => each instanceof Withheld) ? value.map(placeholder) : value;
}

/** No number in a policy has such an exponent. */
const NUMBER = new NumberToken("9e999999");

function placeholderOf({ type, digest = "" }: Withheld): unknown {
  if (type === "number") return NUMBER;
  return type === "string" ? `\0${digest}` : true;
}
