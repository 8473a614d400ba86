/** Settings that are lists of texts. */
import { str, checked } from "./scalar.ts";
import * as z from "zod/mini";
import { type ValueCheck, quotedProblem, readable, parseErrorOf, wrongType } from "./checks.ts";
import { parseDomainPattern } from "../domains.ts";
import type { Reading } from "../values.ts";
import { type About, type Made, made, found } from "./registry.ts";

/** One URL, or a list of at least one. */
export function urlList<const A extends About & { readonly read: (value: string) => Reading<unknown> }>(
  about: A,
): Made<z.ZodMiniUnion<readonly [z.ZodMiniString, z.ZodMiniArray<z.ZodMiniString>]>, A> {
  return made(oneOrMany(readable(about.read), "a URL or a list of URLs"), "url-list", about);
}

export function domainPatternList<const A extends About>(about: A): Made<z.ZodMiniArray<z.ZodMiniString>, A> {
  const check: ValueCheck = (value) =>
    quotedProblem(
      value,
      parseErrorOf(() => parseDomainPattern(value)),
    );
  return made(
    listOf(checked(str("a domain pattern"), check), "a list of domain patterns"),
    "domain-pattern-list",
    about,
  );
}

export function textList<
  const A extends About & {
    readonly default?: readonly string[];
    readonly check?: ValueCheck;
    readonly itemValues?: readonly string[];
  },
>(about: A): Made<z.ZodMiniArray<z.ZodMiniString>, A> {
  const { itemValues } = about;
  return made(listOf(checked(str(), about.check), "a list of texts"), "text-list", about, itemValues && { itemValues });
}

export function listOf<T extends z.ZodMiniType>(item: T, expected: string): z.ZodMiniArray<T> {
  return z.array(item, { error: (issue) => wrongType(issue.input, expected) });
}

/** One text or a non-empty list of texts. Validated in one check: a zod union would hide the intended branch. */
export function oneOrMany(
  check: ValueCheck,
  expected: string,
): z.ZodMiniUnion<readonly [z.ZodMiniString, z.ZodMiniArray<z.ZodMiniString>]> {
  const schema = z.unknown().check(({ value, issues }) => {
    const push = (message: string, path: number[] = []): void => {
      issues.push(found(value, message, path));
    };
    if (typeof value !== "string" && !Array.isArray(value)) return push(wrongType(value, expected));
    if (value.length === 0 && Array.isArray(value)) return push(`is an empty list, must be ${expected}`);
    const items: readonly unknown[] = typeof value === "string" ? [value] : value;
    for (const [index, item] of items.entries()) {
      const message = typeof item === "string" ? check(item) : wrongType(item, "text");
      if (message !== undefined) push(message, typeof value === "string" ? [] : [index]);
    }
    return undefined;
  });
  return schema as unknown as z.ZodMiniUnion<readonly [z.ZodMiniString, z.ZodMiniArray<z.ZodMiniString>]>;
}
