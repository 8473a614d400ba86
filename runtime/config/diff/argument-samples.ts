/**
 * Sample values of tool arguments for each side of the rules' conditions: boundaries, listed values, absent, other
 * types.
 */
import type { ArgumentMatch, ValueMatch } from "../../policy/mcp/argument-match.ts";
import { compareDecimals, type Decimal, parseDecimal } from "../../policy/mcp/decimal.ts";
import { freshText, samplesOf, unique } from "./samples.ts";

/** JSON text with numbers as written; undefined: the argument is absent. */
export type ArgumentSample = string | undefined;

/** Numbers with more digits get no neighboring samples. */
const MAX_DIGITS = 400;
const MAX_PAIRS = 36;

/** @param matches all conditions of the rules for one argument */
export function argumentSamples(matches: readonly ArgumentMatch[]): readonly ArgumentSample[] {
  const inLists = matches.flatMap(({ some, every }) => [some, every].filter((match) => match !== undefined));
  const samples = valuesOf(matches);
  const elements = inLists.length === 0 ? [] : [...valuesOf(inLists), "null"];
  const pairs = elements.flatMap((one, at) => elements.slice(at + 1).map((other) => `[${one},${other}]`));
  const lists =
    inLists.length === 0 ? [] : ["[]", ...elements.map((each) => `[${each}]`), ...pairs.slice(0, MAX_PAIRS)];
  const present = samples.length + lists.length === 0 ? ['"x"'] : [];
  // No operator accepts the type of "null".
  return [undefined, ...new Set([...samples, ...lists, ...present, "null"])];
}

function valuesOf(matches: readonly ValueMatch[]): readonly string[] {
  const scalars = matches.flatMap((each) => [each.is, each.not, ...(each.in ?? []), ...(each.not_in ?? [])]);
  const texts = matches.map(textMatch).filter((match) => Object.keys(match).length > 0);
  const named = unique(
    texts.flatMap((match) => samplesOf(match)),
    ({ text }) => text,
  ).map(({ text }) => text);
  const patterns = matches.flatMap(({ matches: pattern }) => (pattern === undefined ? [] : [exampleOf(pattern)]));
  const hasText = named.length + patterns.length > 0;
  const fresh = hasText ? [freshText(texts, ["another", "q7kz", "0"])] : [];
  const bounds = [
    ...scalars.filter((each) => typeof each === "number").map(String),
    ...matches.flatMap(({ gt, gte, lt, lte }) => [gt, gte, lt, lte].filter((each) => each !== undefined).map(String)),
  ];
  const flags = scalars.some((each) => typeof each === "boolean") ? ["true", "false"] : [];
  const members = matches.flatMap(({ only }) => (only === undefined ? [] : objectsWith(only)));
  return [
    ...[...new Set([...named, ...patterns.filter((each) => each !== undefined), ...fresh])].map((text) =>
      JSON.stringify(text),
    ),
    ...numbersAround(bounds),
    ...flags,
    ...members,
  ];
}

function textMatch(match: ValueMatch): Parameters<typeof samplesOf>[0] {
  const { is, not, in: list, not_in: others, contains, starts_with: start, ends_with: end } = match;
  const texts = (values: readonly unknown[] = []): readonly string[] =>
    values.filter((value) => typeof value === "string");
  const all = [...texts([is, not]), ...texts(list), ...texts(others)];
  return {
    ...(all.length > 0 && { in: all }),
    ...(contains !== undefined && { contains }),
    ...(start !== undefined && { starts_with: start }),
    ...(end !== undefined && { ends_with: end }),
  };
}

function objectsWith(names: readonly string[]): readonly string[] {
  const members = names.map((name) => `${JSON.stringify(name)}:"x"`);
  const extra = freshText([{ in: names }], ["another", "q7kz", "0"]);
  return [`{${members.join(",")}}`, `{${[...members, `${JSON.stringify(extra)}:"x"`].join(",")}}`];
}

/** Each bound, a number between each two, one below and one above: covers every result of ordering. */
function numbersAround(bounds: readonly string[]): readonly string[] {
  const parsed = unique(
    bounds.flatMap((text) => {
      const value = parseDecimal(text);
      return value && Math.abs(value.exponent) + value.digits.length <= MAX_DIGITS ? [{ text, value }] : [];
    }),
    ({ value }) => `${value.sign} ${value.digits} ${value.exponent}`,
  ).toSorted((one, other) => compareDecimals(one.value, other.value));
  if (parsed.length === 0) return [];
  const scale = Math.max(0, ...parsed.map(({ value }) => value.digits.length - value.exponent));
  const whole = parsed.map(({ value }) => scaled(value, scale));
  const between = whole.slice(1).map((above, at) => middleOf(whole[at] ?? above, above, scale));
  const [lowest = 0n, highest = 0n] = [whole[0], whole.at(-1)];
  const one = 10n ** BigInt(scale);
  return [
    ...parsed.map(({ text }) => text),
    ...between,
    decimalText(lowest - one, scale),
    decimalText(highest + one, scale),
  ];
}

function scaled({ sign, digits, exponent }: Decimal, scale: number): bigint {
  return digits === "" ? 0n : BigInt(sign) * BigInt(digits) * 10n ** BigInt(scale + exponent - digits.length);
}

/** An integer if possible. */
function middleOf(below: bigint, above: bigint, scale: number): string {
  const one = 10n ** BigInt(scale);
  const floor = (below / one) * one;
  const next = floor > below ? floor : floor + one;
  return next > below && next < above ? decimalText(next, scale) : decimalText((below + above) * 5n, scale + 1);
}

function decimalText(value: bigint, scale: number): string {
  const digits = (value < 0n ? -value : value).toString().padStart(scale + 1, "0");
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, "");
  const whole = scale === 0 ? digits : digits.slice(0, -scale);
  return `${value < 0n ? "-" : ""}${whole}${scale === 0 || fraction === "" ? "" : `.${fraction}`}`;
}

/**
 * A text that a simple pattern may match: each piece once, the first of alternatives and classes. The decision shows
 * whether it matches.
 */
function exampleOf(pattern: string): string | undefined {
  const text = pattern
    .replace(/^\^|\$$/g, "")
    .replace(/\(\?[:i]*:?/g, "(")
    .replace(/\(([^()|]*)(?:\|[^()]*)?\)/g, "$1")
    .replace(/\[\^[^\]]*\]/g, "~")
    .replace(/\[(\\?.)[^\]]*\]/g, "$1")
    .replace(/\\d/g, "0")
    .replace(/\\w/g, "w")
    .replace(/\\s/g, " ")
    .replace(/(^|[^\\])\./g, "$1x")
    .replace(/(^|[^\\])[*+?]/g, "$1")
    .replace(/(^|[^\\])\{[^}]*\}/g, "$1")
    .replace(/\\(.)/g, "$1");
  return text === "" ? undefined : text.split("|")[0];
}
