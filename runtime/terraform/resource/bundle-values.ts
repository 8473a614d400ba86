/**
 * What becomes of configured values in a plan: policies keep their text while they say the same, write-only secrets
 * turn into sealed ones, everything else stays exactly as configured (Terraform refuses a provider that changes it).
 */
import type { Field } from "../../settings/field.ts";
import type { AttributePath, PathStep } from "../protocol/diagnostics.ts";
import { samePolicyText } from "../schema/policy-text.ts";
import { bundleFields, routeBlockFields } from "../schema/schema.ts";
import { equalValues, isList, isMap, isUnknown, UNKNOWN, type Value, type ValueMap } from "../protocol/value.ts";

export interface PlanContext {
  /** The sealing key changed: earlier seals cannot be opened any more. */
  readonly resealAll: boolean;
  /** Paths whose change needs a new resource; filled here. */
  readonly replaced: AttributePath[];
}

/**
 * @param prior values of the same block in the state; null when there were none
 * @returns values of the fields alone; a seal that is still to be made is unknown
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

/** @param path of the block around it: most members need no path, and there are thousands of them */
function planMember(field: Field, value: Value, prior: Value, path: AttributePath, context: PlanContext): Value {
  const below = (item: Value, before: Value, step?: PathStep): Value => {
    if (!isMap(item)) return item;
    const here = [...path, { attribute: field.name }, ...(step ? [step] : [])];
    return planValues(field.fields ?? [], item, isMap(before) ? before : null, here, context);
  };
  if (field.kind === "block") return below(value, prior);
  if (field.kind === "block-list" && isList(value)) {
    return value.map((item, index) => below(item, isList(prior) ? (prior[index] ?? null) : null, { index }));
  }
  if (field.kind === "labelled" && isMap(value)) {
    const before = isMap(prior) ? prior : {};
    return Object.fromEntries(
      Object.entries(value).map(([key, item]) => [key, below(item, before[key] ?? null, { key })]),
    );
  }
  if (field.kind === "policy" && typeof value === "string" && typeof prior === "string") {
    return samePolicyText(value, prior) ? prior : value;
  }
  return value;
}

/** Names of the five attributes of one secret. */
export function secretAttributeNames(name: string): {
  readonly sealed: string;
  readonly writeOnly: string;
  readonly version: string;
} {
  return { sealed: `${name}_sealed`, writeOnly: `${name}_wo`, version: `${name}_wo_version` };
}

function planSecret(name: string, config: ValueMap, prior: ValueMap | null, context: PlanContext): ValueMap {
  const { sealed, writeOnly, version } = secretAttributeNames(name);
  const written = config[sealed] ?? null;
  const planned = {
    [name]: config[name] ?? null,
    [`${name}_ref`]: config[`${name}_ref`] ?? null,
    // Terraform demands null for write-only values in everything that it stores.
    [writeOnly]: null,
    [version]: config[version] ?? null,
  };
  if (written !== null || (config[writeOnly] ?? null) === null) return { ...planned, [sealed]: written };
  const kept = prior?.[sealed] ?? null;
  const sameVersion = equalValues(config[version] ?? null, prior?.[version] ?? null);
  // Seals of one secret differ each time, so a new one is made only when the secret is said to be new.
  return { ...planned, [sealed]: kept !== null && sameVersion && !context.resealAll ? kept : UNKNOWN };
}

export interface SecretPlace {
  readonly name: string;
  /** Attributes of the block that holds the secret. */
  readonly values: ValueMap;
  /** Of that block. */
  readonly path: AttributePath;
}

/** The fields that are secrets or have some in them: a bundle's values are thousands of others. */
export const bundleSecrets = secretsOf(bundleFields);
export const routeSecrets = secretsOf(routeBlockFields);

function secretsOf(fields: readonly Field[]): readonly Field[] {
  return fields.flatMap((field) => {
    if (field.kind === "secret") return [field];
    const inner = secretsOf(field.fields ?? []);
    return inner.length > 0 ? [{ ...field, fields: inner }] : [];
  });
}

/** Every place where the fields allow a secret, in known blocks. */
export function* secretPlaces(fields: readonly Field[], value: Value, path: AttributePath): Iterable<SecretPlace> {
  if (!isMap(value)) return;
  for (const field of fields) {
    if (field.kind === "secret") yield { name: field.name, values: value, path };
    if (!field.fields) continue;
    const member = value[field.name] ?? null;
    if (member === null) continue;
    const here = [...path, { attribute: field.name }];
    if (field.kind === "block") yield* secretPlaces(field.fields, member, here);
    else if (isList(member)) {
      for (const [index, item] of member.entries()) yield* secretPlaces(field.fields, item, [...here, { index }]);
    } else if (isMap(member)) {
      for (const [key, item] of Object.entries(member)) yield* secretPlaces(field.fields, item, [...here, { key }]);
    }
  }
}

/** The values with seals made where the plan left them open. `config` holds the write-only values. */
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
      // A secret that was unknown in the plan may have turned out to be null: then there is nothing to seal.
      if (isUnknown(result[sealed])) result[sealed] = typeof secret === "string" ? await seal(secret) : null;
      continue;
    }
    const [inner, member, from] = [field.fields, planned[field.name] ?? null, source[field.name] ?? null];
    if (!inner || member === null) continue;
    if (field.kind === "block") result[field.name] = await sealValues(inner, member, from, seal);
    else if (isList(member)) {
      const items: Value[] = [];
      for (const [index, item] of member.entries()) {
        items.push(await sealValues(inner, item, isList(from) ? (from[index] ?? null) : null, seal));
      }
      result[field.name] = items;
    } else if (isMap(member)) {
      const entries: [string, Value][] = [];
      for (const [key, item] of Object.entries(member)) {
        entries.push([key, await sealValues(inner, item, isMap(from) ? (from[key] ?? null) : null, seal)]);
      }
      result[field.name] = Object.fromEntries(entries);
    }
  }
  return result;
}
