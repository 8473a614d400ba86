/** Settings that map names to values. */
import { listOf } from "./list.ts";
import { checked, str } from "./scalar.ts";
import * as z from "zod/mini";
import { type ValueCheck, parseErrorOf, wrongType } from "./checks.ts";
import { headerValueProblem } from "../../shared/http/header-syntax.ts";
import { type About, type Made, made, found } from "./registry.ts";

type Entries = z.ZodMiniRecord<z.ZodMiniString, z.ZodMiniString>;

/** Maps names to texts. `checkName` and `checkValue` return problems; values are only quoted by their own problem. */
export function textMap<const A extends About & { readonly checkName?: ValueCheck; readonly checkValue?: ValueCheck }>(
  about: A,
): Made<Entries, A> {
  return made(mapOf(about.checkName, about.checkValue), "text-map", about);
}

/** Maps names to lists of texts. */
export function textListMap<
  const A extends About & { readonly checkName?: ValueCheck; readonly checkValue?: ValueCheck },
>(about: A): Made<z.ZodMiniRecord<z.ZodMiniString, z.ZodMiniArray<z.ZodMiniString>>, A> {
  const schema = z.record(z.string(), listOf(checked(str(), about.checkValue), "a list of texts"), {
    error: (issue) => wrongType(issue.input, "a block of names and lists of texts"),
  });
  return made(schema.check(names(about.checkName)), "text-list-map", about);
}

/** Maps header names to templates, which `parse` must accept. */
export function templateMap<
  const A extends About & { readonly checkName: ValueCheck; readonly parse: (value: string) => unknown },
>(about: A): Made<Entries, A> {
  const checkValue: ValueCheck = (value) => headerValueProblem(value) ?? parseErrorOf(() => about.parse(value));
  return made(mapOf(about.checkName, checkValue), "template-map", about);
}

/** Validated in one check, because zod skips the names once a value has the wrong type. */
function mapOf(checkName: ValueCheck | undefined, checkValue: ValueCheck | undefined): Entries {
  const checkNames = names(checkName);
  const schema = z.record(z.string(), z.unknown(), {
    error: (issue) => wrongType(issue.input, "a block of names and texts"),
  });
  const checked = schema.check(checkNames, ({ value, issues }) => {
    for (const [name, each] of Object.entries(value)) {
      const message = typeof each === "string" ? checkValue?.(each) : wrongType(each, "text");
      if (message !== undefined) issues.push(found(each, message, [name]));
    }
  });
  return checked as unknown as Entries;
}

/** Validates the keys of a record; zod's own key schema would skip the values. */
export function names(
  checkName: ValueCheck | undefined,
): (payload: z.core.ParsePayload<Readonly<Record<string, unknown>>>) => void {
  return ({ value, issues }) => {
    for (const name of Object.keys(value)) {
      const message = name === "" ? "has an empty name" : checkName?.(name);
      if (message !== undefined) issues.push(found(name, message, [name]));
    }
  };
}
