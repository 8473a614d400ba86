/** Structure of setting values: the only code that traverses them and the Field tree. */
import type { Field, FieldKind } from "./field.ts";

/** A list or map of texts has no Fields below it; "blocks" is a list of them, "labelled" has them by name. */
export type Shape = "scalar" | "list" | "map" | "block" | "blocks" | "labelled";

const SHAPES: Partial<Readonly<Record<FieldKind, Shape>>> = {
  "domain-pattern-list": "list",
  "text-list": "list",
  "url-list": "list",
  "text-map": "map",
  "template-map": "map",
  "text-list-map": "map",
  block: "block",
  "block-list": "blocks",
  labelled: "labelled",
};

export function shapeOf({ kind }: Field): Shape {
  return SHAPES[kind] ?? "scalar";
}

/** Index or name of a part; a single block is its only part and has none. */
export type PartKey = string | number | undefined;

/** Items, members or the block itself. @returns undefined for a scalar, and for a value of another shape */
export function partsOf<V>(field: Field, value: V): readonly (readonly [step: PartKey, part: V])[] | undefined {
  switch (shapeOf(field)) {
    case "block":
      return isPlain(value) ? [[undefined, value]] : undefined;
    case "list":
    case "blocks":
      return Array.isArray(value) ? value.map((part: V, index) => [index, part]) : undefined;
    case "map":
    case "labelled":
      return isPlain(value) ? Object.entries(value as Record<string, V>) : undefined;
    default:
      return undefined;
  }
}

/** The value with each part mapped. @returns undefined where `partsOf` does */
export function mapParts<V, Out>(
  field: Field,
  value: V,
  change: (part: V, step: PartKey) => Out,
): Out | Out[] | Record<string, Out> | undefined {
  const parts = partsOf(field, value)?.map(([step, part]) => [step, change(part, step)] as const);
  if (!parts) return undefined;
  if (shapeOf(field) === "block") return parts[0]?.[1];
  return Array.isArray(value) ? parts.map(([, part]) => part) : Object.fromEntries(parts);
}

/** Instances of classes represent a whole value, such as one that Terraform does not know yet. */
function isPlain(value: unknown): boolean {
  return typeof value === "object" && value !== null && [Object.prototype, null].includes(Object.getPrototypeOf(value));
}

/**
 * Every setting, outer before inner. @returns with path; "[]" and "<name>" are steps into lists of blocks and named
 * blocks
 */
export function* eachField(
  fields: readonly Field[],
  above: readonly string[] = [],
): Iterable<{ readonly path: readonly string[]; readonly field: Field }> {
  for (const field of fields) {
    const path = [...above, field.name];
    yield { path, field };
    const shape = shapeOf(field);
    yield* eachField(field.fields ?? [], shape === "block" ? path : [...path, shape === "blocks" ? "[]" : "<name>"]);
  }
}
