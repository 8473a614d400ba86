/**
 * Values that a record has without telling them: their type is known, and mostly whether they equal what a policy names.
 *
 * Whatever a rule asks beyond that cannot be told, and the caller says so instead of guessing.
 */
import { ORDERS, PIECES, scalarsOf, type ArgumentMatch, type ValueMatch } from "../mcp/argument-match.ts";
import { NumberToken, OmittedToken, ValueToken } from "../../shared/canonical-json.ts";

export type WithheldType = "string" | "number" | "boolean";

export class Withheld extends ValueToken {
  readonly type: WithheldType;
  readonly text = undefined;
  /** Of a value that equals none that a policy names; undefined: whether it equals one is not known either. */
  readonly digest: string | undefined;

  constructor(type: WithheldType, digest: string | undefined) {
    super();
    this.type = type;
    this.digest = digest;
  }
}

/** @param value as it was read from a record @returns false when the rule asks for more than the record tells */
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
  // Of another type than all that it is compared with: what it is does not matter.
  return digest !== undefined || !scalarsOf(match).some((each) => typeof each === type);
}

/** What stands for a value in comparisons: of its type, and equal to nothing that a policy can name. */
export function standIn(value: unknown): unknown {
  if (value instanceof Withheld) return standInOf(value);
  return Array.isArray(value) && value.some((each) => each instanceof Withheld) ? value.map(standIn) : value;
}

/** A policy's numbers have no such exponent. */
const NUMBER = new NumberToken("9e999999");

function standInOf({ type, digest = "" }: Withheld): unknown {
  if (type === "number") return NUMBER;
  return type === "string" ? `\0${digest}` : true;
}
