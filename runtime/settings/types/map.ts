/** Settings that are names with values. */
import { listOf } from "./list.ts";
import { checked, str } from "./scalar.ts";
import * as z from "zod";
import { type ValueCheck, parseErrorOf, wrongType } from "./checks.ts";
import { headerValueProblem } from "../../shared/http/header-syntax.ts";
import { type About, type Made, made, found } from "./registry.ts";

type Entries = z.ZodRecord<z.ZodString, z.ZodString>;

/** Names to texts. `checkName` and `checkValue` give problems; values are not quoted unless their own problem does. */
export function textMap<const A extends About & { readonly checkName?: ValueCheck; readonly checkValue?: ValueCheck }>(
  about: A,
): Made<Entries, A> {
  return made(mapOf(about.checkName, about.checkValue), "text-map", about);
}

/** Names to lists of texts. */
export function textListMap<
  const A extends About & { readonly checkName?: ValueCheck; readonly checkValue?: ValueCheck },
>(about: A): Made<z.ZodRecord<z.ZodString, z.ZodArray<z.ZodString>>, A> {
  const schema = z.record(z.string(), listOf(checked(str(), about.checkValue), "a list of texts"), {
    error: (issue) => wrongType(issue.input, "a block of names and lists of texts"),
  });
  return made(schema.check(names(about.checkName)), "text-list-map", about);
}

/** Header names to templates, each of which `parse` must take. */
export function templateMap<
  const A extends About & { readonly checkName: ValueCheck; readonly parse: (value: string) => unknown },
>(about: A): Made<Entries, A> {
  const checkValue: ValueCheck = (value) => headerValueProblem(value) ?? parseErrorOf(() => about.parse(value));
  return made(mapOf(about.checkName, checkValue), "template-map", about);
}

/** Validated in one check, because zod stops before the names once a value has the wrong type. */
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

/** Validates the keys of a record; zod's own key schema would stop the values from being validated. */
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
