import * as fc from "fast-check";
import { describe, expect, test } from "vitest";

import { compareDecimals, parseDecimal, type Decimal } from "../../../../runtime/policy/mcp/decimal.ts";

function parsed(text: string): Decimal {
  const decimal = parseDecimal(text);
  if (!decimal) throw new Error(`${text} is no number`);
  return decimal;
}

describe("compareDecimals()", () => {
  test.each([
    ["0", "-0"],
    ["0", "0e9"],
    ["0", "0.000"],
    ["1", "1.0"],
    ["500", "5e2"],
    ["500", "0.5E+3"],
    ["0.001", "1e-3"],
    ["-12.50", "-125e-1"],
    ["1e0000000001", "10"],
  ])("%s equals %s", (one, other) => {
    expect(compareDecimals(parsed(one), parsed(other))).toBe(0);
  });

  test.each([
    ["9007199254740992", "9007199254740993"],
    ["500", "500.0000000000000000001"],
    ["-500.0000000000000000001", "-500"],
    ["0.3", "0.30000000000000000001"],
    ["1e308", "1e400"],
    ["-1e400", "-1e308"],
    ["-1", "0"],
    ["0", "1e-400"],
    ["9", "10"],
    ["99.9", "100"],
    ["1e-2", "1e-1"],
  ])("%s is below %s", (less, more) => {
    expect(compareDecimals(parsed(less), parsed(more))).toBeLessThan(0);
    expect(compareDecimals(parsed(more), parsed(less))).toBeGreaterThan(0);
  });

  test.each(["", "+1", "01", "1.", ".5", "0x10", "1e", "1e1.5", "NaN", "Infinity", "1 ", "1e1234567", "--1"])(
    "%j is not a comparable number",
    (text) => {
      expect(parseDecimal(text)).toBeUndefined();
    },
  );

  test("agrees with integers of any length, however they are written", () => {
    const written = fc
      .tuple(fc.bigInt({ min: -(10n ** 40n), max: 10n ** 40n }), fc.nat({ max: 9 }))
      .map(([value, shift]) => ({
        value,
        text: `${value}${"0".repeat(value === 0n ? 0 : shift)}e-${shift}`,
      }));
    fc.assert(
      fc.property(written, written, (one, other) => {
        const order = Math.sign(compareDecimals(parsed(one.text), parsed(other.text)));
        expect(order).toBe(one.value === other.value ? 0 : one.value < other.value ? -1 : 1);
      }),
    );
  });
});
