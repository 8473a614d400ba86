/** The two headers of W3C Trace Context, strictly. @see W3C Trace Context Level 1 §3.2, §3.3 */
import { describe, expect, test } from "vitest";

import { formatTraceparent, parseTraceparent, parseTracestate } from "../../../runtime/tracing/trace-context.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const SPAN = "b7ad6b7169203331";

describe("parseTraceparent()", () => {
  test.each([
    [`00-${TRACE}-${SPAN}-01`, true],
    [`00-${TRACE}-${SPAN}-00`, false],
    // Flags that are not known do not count.
    [`00-${TRACE}-${SPAN}-fe`, false],
    [`00-${TRACE}-${SPAN}-03`, true],
    // A later version may have more parts.
    [`01-${TRACE}-${SPAN}-01`, true],
    [`cc-${TRACE}-${SPAN}-01-what-comes-later`, true],
  ])("reads %s", (text, sampled) => {
    expect(parseTraceparent([text])).toEqual({ traceId: TRACE, spanId: SPAN, sampled });
  });

  test.each([
    ["none", []],
    ["an empty one", [""]],
    ["two, even alike", [`00-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01`]],
    ["a list", [`00-${TRACE}-${SPAN}-01,00-${TRACE}-${SPAN}-01`]],
    ["upper case", [`00-${TRACE.toUpperCase()}-${SPAN}-01`]],
    ["spaces around", [` 00-${TRACE}-${SPAN}-01 `]],
    ["version ff", [`ff-${TRACE}-${SPAN}-01`]],
    ["version 00 with more", [`00-${TRACE}-${SPAN}-01-more`]],
    ["a trace id of zeros", [`00-${"0".repeat(32)}-${SPAN}-01`]],
    ["a span id of zeros", [`00-${TRACE}-${"0".repeat(16)}-01`]],
    ["a short trace id", [`00-${TRACE.slice(1)}-${SPAN}-01`]],
    ["a long span id", [`00-${TRACE}-${SPAN}0-01`]],
    ["flags of one digit", [`00-${TRACE}-${SPAN}-1`]],
    ["a line break at the end", [`00-${TRACE}-${SPAN}-01\n`]],
    ["a later version without a dash before more", [`01-${TRACE}-${SPAN}-01x`]],
    ["a later version that is endless", [`01-${TRACE}-${SPAN}-01-${"a".repeat(300)}`]],
  ])("treats as absent: %s", (_name, values) => {
    expect(parseTraceparent(values)).toBeUndefined();
  });
});

test("formatTraceparent() writes version 00 with the sampled flag alone", () => {
  expect(formatTraceparent({ traceId: TRACE, spanId: SPAN, sampled: true })).toBe(`00-${TRACE}-${SPAN}-01`);
  expect(formatTraceparent({ traceId: TRACE, spanId: SPAN, sampled: false })).toBe(`00-${TRACE}-${SPAN}-00`);
});

describe("parseTracestate()", () => {
  test.each([
    [["rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"], "rojo=00f067aa0ba902b7,congo=t61rcWkgMzE"],
    [["a=1", "b=2"], "a=1,b=2"],
    [[" a=1 ,\t, b=x y"], "a=1,b=x y"],
    [["fw529a3039@dt=FfffFffF;1"], "fw529a3039@dt=FfffFffF;1"],
    [[""], ""],
    [[], ""],
  ])("reads %j", (values, expected) => {
    expect(parseTracestate(values)).toBe(expected);
  });

  test.each([
    ["an upper-case key", "A=1"],
    ["no value", "a="],
    ["no equals sign", "a"],
    ["an equals sign in a value", "a=b=c"],
    ["the same key twice", "a=1,b=2,a=3"],
    ["a control character", "a=1\u0001"],
    ["a byte above ASCII", "a=\u00e9"],
    ["a long value", `a=${"x".repeat(257)}`],
    ["33 members", Array.from({ length: 33 }, (_, index) => `k${index}=1`).join(",")],
    ["more than anybody needs", "a=1,".repeat(3000)],
  ])("drops it all with %s", (_name, text) => {
    expect(parseTracestate([text])).toBe("");
  });

  test("passes on 512 characters, the newest members first", () => {
    const members = Array.from({ length: 10 }, (_, index) => `k${index}=${"v".repeat(97)}`);
    expect(parseTracestate([members.join(",")])).toBe(members.slice(0, 5).join(","));
  });
});
