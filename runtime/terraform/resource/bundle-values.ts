/**
 * Plans configured values: policies keep their text while their meaning is the same, write-only secrets become sealed ones,
 * everything else stays exactly as configured (Terraform rejects a provider that changes it).
 */
import type { Field } from "../../settings/field.ts";
import { secretAttributeNames } from "../../settings/secret-forms.ts";
import { mapParts, partsOf, type PartKey } from "../../settings/shapes.ts";
import type { AttributePath } from "../protocol/diagnostics.ts";
import { samePolicyText } from "../schema/policy-text.ts";
import { bundleFields, routeBlockFields } from "../schema/schema.ts";
import { equalValues, isList, isMap, isUnknown, UNKNOWN, type Value, type ValueMap } from "../protocol/value.ts";

export interface PlanContext {
  /** The sealing key changed: earlier seals can no longer be opened. */
  readonly resealAll: boolean;
  /** Paths whose change requires a new resource; filled here. */
  readonly replaced: AttributePath[];
}

/**
 * @param prior values of the same block in the state; null when there were none
 * @returns values of the fields only; a seal that is not made yet is unknown
 */
export function planValues(
  fields: readonly Field[],
  config: ValueMap,
  prior: ValueMap | null,
  path: AttributePath,
  context: PlanContext,
): ValueMap {
  const planned: Record<string, Value> = {};
  for (const field of fields) {
    if (field.kind === "secret") {
      Object.assign(planned, planSecret(field.name, config, prior, context));
      continue;
    }
    const before = prior?.[field.name] ?? null;
    const written = config[field.name] ?? null;
    const value = written === null ? null : planMember(field, written, before, path, context);
    if (field.replaces && prior !== null && !equalValues(value, before)) {
      context.replaced.push([...path, { attribute: field.name }]);
    }
    planned[field.name] = value;
  }
  return planned;
}

/** @param path of the enclosing block: most of the thousands of members need no path */
function planMember(field: Field, value: Value, prior: Value, path: AttributePath, context: PlanContext): Value {
  const { fields } = field;
  if (fields) {
    const planned = mapParts(field, value, (item, step): Value => {
      if (!isMap(item)) return item;
      const before = partAt(prior, step);
      return planValues(fields, item, isMap(before) ? before : null, [...path, ...stepsTo(field, step)], context);
    });
    return planned ?? value;
  }
  if (
    (field.kind === "policy" || field.kind === "criteria") &&
    typeof value === "string" &&
    typeof prior === "string"
  ) {
    return samePolicyText(value, prior) ? prior : value;
  }
  return value;
}

function partAt(value: Value, step: PartKey): Value {
  if (step === undefined) return value;
  if (isList(value)) return value[step as number] ?? null;
  return isMap(value) ? (value[step] ?? null) : null;
}

function stepsTo({ name }: Field, step: PartKey): AttributePath {
  if (step === undefined) return [{ attribute: name }];
  return [{ attribute: name }, typeof step === "number" ? { index: step } : { key: step }];
}

function planSecret(name: string, config: ValueMap, prior: ValueMap | null, context: PlanContext): ValueMap {
  const { plain, reference, sealed, writeOnly, version } = secretAttributeNames(name);
  const written = config[sealed] ?? null;
  const planned = {
    [plain]: config[plain] ?? null,
    [reference]: config[reference] ?? null,
    // Terraform requires null for write-only values in everything that it stores.
    [writeOnly]: null,
    [version]: config[version] ?? null,
  };
  if (written !== null || (config[writeOnly] ?? null) === null) return { ...planned, [sealed]: written };
  const kept = prior?.[sealed] ?? null;
  const sameVersion = equalValues(config[version] ?? null, prior?.[version] ?? null);
  // Seals of one secret differ each time, so make a new one only when the version says that the secret is new.
  return { ...planned, [sealed]: kept !== null && sameVersion && !context.resealAll ? kept : UNKNOWN };
}

export interface SecretPlace {
  readonly name: string;
  /** Attributes of the block that contains the secret. */
  readonly values: ValueMap;
  /** Path of that block. */
  readonly path: AttributePath;
}

/** Fields that are or contain secrets: a bundle has thousands of other values. */
export const bundleSecrets = secretsOf(bundleFields);
export const routeSecrets = secretsOf(routeBlockFields);

function secretsOf(fields: readonly Field[]): readonly Field[] {
  return fields.flatMap((field) => {
    if (field.kind === "secret") return [field];
    const inner = secretsOf(field.fields ?? []);
    return inner.length > 0 ? [{ ...field, fields: inner }] : [];
  });
}

/** Every location where the fields allow a secret, in known blocks. */
export function* secretPlaces(fields: readonly Field[], value: Value, path: AttributePath): Iterable<SecretPlace> {
  if (!isMap(value)) return;
  for (const field of fields) {
    if (field.kind === "secret") yield { name: field.name, values: value, path };
    if (!field.fields) continue;
    for (const [step, part] of partsOf(field, value[field.name] ?? null) ?? []) {
      yield* secretPlaces(field.fields, part, [...path, ...stepsTo(field, step)]);
    }
  }
}

/** The values, with seals for those that the plan left unknown. `config` has the write-only values. */
export async function sealValues(
  fields: readonly Field[],
  planned: Value,
  config: Value,
  seal: (secret: string) => Promise<string>,
): Promise<Value> {
  if (!isMap(planned)) return planned;
  const source = isMap(config) ? config : {};
  const result: Record<string, Value> = { ...planned };
  for (const field of fields) {
    if (field.kind === "secret") {
      const { sealed, writeOnly } = secretAttributeNames(field.name);
      const secret = source[writeOnly];
      // A secret that was unknown in the plan may turn out to be null: then there is nothing to seal.
      if (isUnknown(result[sealed])) result[sealed] = typeof secret === "string" ? await seal(secret) : null;
      continue;
    }
    const [inner, member, from] = [field.fields, planned[field.name] ?? null, source[field.name] ?? null];
    const parts = inner && partsOf(field, member);
    if (!parts) continue;
    const sealed = new Map<PartKey, Value>();
    for (const [step, part] of parts) sealed.set(step, await sealValues(inner, part, partAt(from, step), seal));
    result[field.name] = mapParts(field, member, (part, step) => sealed.get(step) ?? part) ?? member;
  }
  return result;
}
