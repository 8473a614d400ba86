/**
 * JSON numbers, compared exactly.
 *
 * `JSON.parse` rounds to the nearest double: 9007199254740993 equals ...992, and 1e400 becomes infinite. An upstream
 * with exact arithmetic would then act on another number than the one in the decision.
 */

/** ± 0.digits × 10^exponent. */
export interface Decimal {
  readonly sign: -1 | 0 | 1;
  /** Without leading or trailing zeros; "" for zero. */
  readonly digits: string;
  readonly exponent: number;
}

const JSON_NUMBER = /^(-?)(0|[1-9][0-9]*)(?:\.([0-9]+))?(?:[eE]([+-]?[0-9]+))?$/;
/** Exceeds any meaningful number; the exponent plus a length stays exact. */
const MAX_EXPONENT_DIGITS = 6;

/**
 * @param text a number by the grammar of JSON @returns undefined for anything else, and for exponents beyond any use
 */
export function parseDecimal(text: string): Decimal | undefined {
  const found = JSON_NUMBER.exec(text);
  if (!found) return undefined;
  const [, minus, whole = "", fraction = "", power = "0"] = found;
  if (power.replace(/^[+-]?0*/, "").length > MAX_EXPONENT_DIGITS) return undefined;
  const all = whole + fraction;
  const first = all.search(/[1-9]/);
  if (first === -1) return { sign: 0, digits: "", exponent: 0 };
  return {
    sign: minus === "-" ? -1 : 1,
    digits: withoutZerosAtEnd(all.slice(first)),
    exponent: whole.length - first + Number(power),
  };
}

/** @returns below 0, 0 or above 0, as for sorting */
export function compareDecimals(one: Decimal, other: Decimal): number {
  if (one.sign !== other.sign) return one.sign - other.sign;
  if (one.exponent !== other.exponent) return one.sign * (one.exponent - other.exponent);
  if (one.digits === other.digits) return 0;
  return one.sign * (one.digits < other.digits ? -1 : 1);
}

/** Not a pattern: on "1000…01" each zero would start a new attempt. */
function withoutZerosAtEnd(digits: string): string {
  let end = digits.length;
  while (digits.charCodeAt(end - 1) === 0x30) end--;
  return digits.slice(0, end);
}

/** Digits after the point that sums keep. */
const DECIMALS = 6;

/**
 * A number in units of 10^-6, for exact sums.
 *
 * @returns Infinity above 10^16 units; undefined if it is negative or has more decimals
 */
export function unitsOf({ sign, digits, exponent }: Decimal): number | undefined {
  if (sign === 0) return 0;
  const zeros = exponent + DECIMALS - digits.length;
  if (sign < 0 || zeros < 0) return undefined;
  return digits.length + zeros > 16 ? Infinity : Number(digits + "0".repeat(zeros));
}
