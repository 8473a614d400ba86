/** The `routes` attribute in a plan and in a state. */
import type { Field } from "../../settings/field.ts";
import { isAbsent } from "../../settings/groups.ts";
import { type PlanContext, planValues } from "./bundle-values.ts";
import { fromDocument } from "../schema/document.ts";
import { hasPathsOf, inFormOf, objectOf, part, tupleOf } from "../protocol/dynamic-value.ts";
import { namesInRoutes } from "./route-values.ts";
import { allRoutes, blockRoutes, readRoutes } from "./routes-attribute.ts";
import { ROUTE_BLOCK, routeBlockFields, ROUTES_ATTRIBUTE } from "../schema/schema.ts";
import { Dynamic, equalValues, isList, isMap, type Value, type ValueMap } from "../protocol/value.ts";

/**
 * The attribute in a plan. Terraform accepts the configured value or the state's. The state's is used when both mean the
 * same, so that null for an absent member, another layout of a policy, or a list for a tuple is not a change.
 */
export function plannedRoutes(config: ValueMap, prior: ValueMap | null): Value {
  const [configured, before] = [config[ROUTES_ATTRIBUTE] ?? null, prior?.[ROUTES_ATTRIBUTE] ?? null];
  if (!prior || !isKnownMap(configured) || !isKnownMap(before)) return configured;
  if (equalValues(configured, before)) return before;
  return saySame(readRoutes(config).routes, readRoutes(prior).routes) && hasPathsOf(before, configured)
    ? before
    : configured;
}

function isKnownMap(value: Value): value is Dynamic {
  return value instanceof Dynamic && isMap(value.value);
}

function saySame(routes: ValueMap, before: ValueMap): boolean {
  const names = Object.keys(routes);
  if (names.length !== Object.keys(before).length) return false;
  const context: PlanContext = { resealAll: false, replaced: [] };
  return names.every((name) => {
    const [route, old] = [routes[name], before[name]];
    if (!isMap(route) || !isMap(old)) return false;
    const planned = (of: ValueMap): ValueMap => planValues(routeBlockFields, of, old, [], context);
    return equalValues(planned(route), planned(old));
  });
}

/**
 * Published routes in the places of the state: in the attribute those that were there, and also new ones if it had all; the
 * others as blocks.
 */
export function publishedRoutes(documents: Readonly<Record<string, unknown>>, prior: ValueMap): ValueMap {
  const attribute = prior[ROUTES_ATTRIBUTE] instanceof Dynamic ? prior[ROUTES_ATTRIBUTE] : undefined;
  const { routes } = readRoutes(prior);
  const before = new Map(Object.entries(allRoutes(prior)));
  const takesNew = Object.keys(blockRoutes(prior)).length === 0;
  const inAttribute = new Map<string, Dynamic>();
  const inBlocks: [string, Value][] = [];
  for (const [name, document] of Object.entries(documents)) {
    const values = fromDocument(routeBlockFields, document, before.get(name) ?? null);
    if (attribute && (takesNew || Object.hasOwn(routes, name))) {
      inAttribute.set(name, routeObject(routeBlockFields, values, part(attribute, name)));
    } else inBlocks.push([name, values]);
  }
  return {
    [ROUTE_BLOCK]: Object.fromEntries(inBlocks),
    [ROUTES_ATTRIBUTE]: attribute ? inFormOf(attribute, objectOf(inAttribute)) : null,
  };
}

/** The attribute without a route. */
export const NO_ROUTES: Dynamic = objectOf(new Map());

/** Values of a block as an object with the written members. @param before the previous object */
function routeObject(fields: readonly Field[], values: ValueMap, before: Dynamic): Dynamic {
  const members = new Map<string, Dynamic>();
  for (const field of fields) {
    for (const name of namesInRoutes(field)) {
      const [value, old] = [values[name] ?? null, part(before, name)];
      if (!isAbsent(field, value)) members.set(name, memberOf(field, value, old));
      // For blocks, an absent and an empty list mean the same.
      else if (isAbsent(field, old.value) && old.value !== null) members.set(name, old);
    }
  }
  return objectOf(members);
}

function memberOf(field: Field, value: Value, before: Dynamic): Dynamic {
  const block = (item: Value, old: Dynamic): Dynamic => routeObject(field.fields ?? [], isMap(item) ? item : {}, old);
  if (field.kind === "block") return block(value, before);
  if (field.kind === "block-list" && isList(value)) {
    return tupleOf(value.map((item, index) => block(item, part(before, index))));
  }
  if (field.kind === "labelled" && isMap(value)) {
    return mapMembers(value, (item, label) => block(item, part(before, label)));
  }
  return plain(value);
}

/** Texts, numbers, flags, and lists and maps of them. */
function plain(value: Value): Dynamic {
  if (isList(value)) return tupleOf(value.map(plain));
  if (isMap(value)) return mapMembers(value, plain);
  if (value === null) return new Dynamic("dynamic", null);
  if (typeof value === "boolean") return new Dynamic("bool", value);
  return new Dynamic(typeof value === "string" ? "string" : "number", value);
}

function mapMembers(value: ValueMap, change: (member: Value, name: string) => Dynamic): Dynamic {
  return objectOf(new Map(Object.entries(value).map(([name, member]) => [name, change(member, name)])));
}
