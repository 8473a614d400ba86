/** Settings with one value: text, flag, number, duration, URL, choice. */
import * as z from "zod/mini";
import { type ValueCheck, readable, wrongType, wrongValue } from "./checks.ts";
import { quote } from "../problem.ts";
import { parseDuration, type Reading } from "../values.ts";
import { type About, type Made, made, found } from "./registry.ts";

export function text<const A extends About & { readonly default?: string; readonly check?: ValueCheck }>(
  about: A,
): Made<z.ZodMiniString, A> {
  return made(checked(str(), about.check), "text", about);
}

/** Path of a file that is read at each compilation, as references to secrets are. */
export function file<const A extends About>(about: A): Made<z.ZodMiniString, A> {
  const check: ValueCheck = (value) =>
    /^\/[^\0]+$/.test(value) ? undefined : `is ${quote(value)}, must be an absolute path`;
  return made(checked(str("a path"), check), "text", about, { readsFile: true });
}

export function flag<const A extends About & { readonly default?: boolean }>(about: A): Made<z.ZodMiniBoolean, A> {
  return made(z.boolean({ error: (issue) => wrongValue(issue.input, "true or false") }), "flag", about);
}

/** An integer within bounds. */
export function count<
  const A extends About & { readonly default?: number; readonly min: number; readonly max: number },
>(about: A): Made<z.ZodMiniNumber, A> {
  const expected = `a whole number from ${about.min} to ${about.max}`;
  const schema = z.number({ error: (issue) => wrongValue(issue.input, expected) }).check(({ value, issues }) => {
    if (!Number.isInteger(value) || value < about.min || value > about.max) {
      issues.push(found(value, `is ${quote(value)}, must be ${expected}`));
    }
  });
  return made(schema, "count", about);
}

export function duration<const A extends About & { readonly default?: string; readonly minMs?: number }>(
  about: A,
): Made<z.ZodMiniString, A> {
  const check: ValueCheck = (value) => {
    const parsed = parseDuration(value);
    if (!parsed.ok) return `is ${quote(value)}, ${parsed.problem}`;
    return parsed.value < (about.minMs ?? 0)
      ? `is ${quote(value)}, must be at least ${(about.minMs ?? 0) / 1000}s`
      : undefined;
  };
  return made(checked(str('a duration such as "30s"'), check), "duration", about);
}

export function url<const A extends About & { readonly read: (value: string) => Reading<unknown> }>(
  about: A,
): Made<z.ZodMiniString, A> {
  return made(checked(str("a URL"), readable(about.read)), "url", about);
}

export function choice<
  const V extends readonly [string, ...string[]],
  const A extends About & { readonly default?: V[number] },
>(values: V, about: A): Made<z.ZodMiniEnum<{ [K in V[number]]: K }>, A> {
  const expected = values.map((value) => quote(value)).join(values.length === 2 ? " or " : ", ");
  const schema = z.enum(values, {
    error: ({ input }) => {
      const suggestion = values.find((value) => typeof input === "string" && value === input.toLowerCase());
      if (suggestion !== undefined) return `is ${quote(input)}, did you mean ${quote(suggestion)}?`;
      return wrongValue(input, `${values.length === 2 ? "" : "one of "}${expected}`);
    },
  });
  return made(schema, "choice", about, { values });
}

export function str(expected = "text"): z.ZodMiniString {
  return z.string({ error: (issue) => wrongType(issue.input, expected) });
}

export function checked(schema: z.ZodMiniString, check: ValueCheck | undefined): z.ZodMiniString {
  if (!check) return schema;
  return schema.check(({ value, issues }) => {
    const message = check(value);
    if (message !== undefined) issues.push(found(value, message));
  });
}
