/** Validates a value against a schema: problems in our words, and the valid members. */
import { memberNames } from "./secret-forms.ts";
import { isRecord } from "../shared/is-record.ts";
import type { Field } from "./field.ts";
import { type MemberMemory, type Schema, validDocument, unknownMember } from "./types/registry.ts";
import { withFewSuggestions } from "../shared/suggest.ts";
import { errorAt, MAX_PROBLEMS, moreProblems, type UnplacedProblem, type ValuePath } from "./problem.ts";

export { withFewSuggestions };

/** Validates a block against its schema. `valid` has the members without problems. @param recall see `soundDocument` */
export function validate<T extends object>(
  schema: Schema<T>,
  value: unknown,
  fields: readonly Field[],
  report: (problem: UnplacedProblem) => void,
  recall?: MemberMemory,
): { readonly complete: boolean; readonly valid: Partial<T> } {
  // An invalid document is read again as a whole, only to report its problems.
  const valid = withFewSuggestions(() => validDocument(schema, value, recall), 0);
  if (valid) return { complete: true, valid };
  return withFewSuggestions(() => validateWhole(schema, value, fields, report));
}

function validateWhole<T extends object>(
  schema: Schema<T>,
  value: unknown,
  fields: readonly Field[],
  reportOne: (problem: UnplacedProblem) => void,
): { readonly complete: boolean; readonly valid: Partial<T> } {
  const parsed = schema.safeParse(value);
  if (parsed.success) return { complete: true, valid: parsed.data };
  let count = 0;
  const report = (path: ValuePath, message: () => string): void => {
    if (++count <= MAX_PROBLEMS) reportOne(errorAt(path, message()));
  };
  const bad = new Set<PropertyKey>();
  for (const issue of parsed.error.issues) {
    const path = issue.path as (string | number)[];
    if (issue.code === "unrecognized_keys") {
      const known = membersAt(fields, path);
      for (const key of issue.keys) report([...path, key], () => unknownMember(key, known));
      for (const key of path.length === 0 ? issue.keys : path.slice(0, 1)) bad.add(key);
    } else {
      report(path, () => issue.message);
      if (path[0] !== undefined) bad.add(path[0]);
    }
  }
  if (count > MAX_PROBLEMS) reportOne(moreProblems("error", count - MAX_PROBLEMS));
  const members = isRecord(value) ? Object.entries(value) : [];
  return { complete: false, valid: Object.fromEntries(members.filter(([name]) => !bad.has(name))) as Partial<T> };
}

/** Names that the block at a path can have. */
function membersAt(fields: readonly Field[], path: ValuePath): readonly string[] {
  let [members, rest] = [fields, path];
  while (rest.length > 0) {
    const field = members.find((each) => each.name === rest[0]);
    if (!field?.fields) return [];
    members = field.fields;
    // Items of a list and labels of a map add a step.
    rest = rest.slice(field.kind === "block" ? 1 : 2);
  }
  return members.flatMap(memberNames);
}
