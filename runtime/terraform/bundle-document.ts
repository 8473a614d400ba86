/** A bundle's values as the slice that is published, and back; and where in the configuration a part of it stands. */
import type { Field } from "../config/fields.ts";
import type { ValuePath } from "../config/problem.ts";
import { routeFields } from "../config/route.ts";
import { type AttributePath, type PathStep, pathText } from "./diagnostics.ts";
import { type Doc, fromDocument, toDocument, type ToDocument } from "./document.ts";
import type { SchemaBlock } from "./schema-model.ts";
import type { PublishedSlice } from "./publish.ts";
import { bundleFields, bundleSchema, ROUTE_BLOCK, routeBlockFields } from "./schema.ts";
import { isMap, Unknown, type ValueMap } from "./value.ts";

/** The slice document, members in a fixed readable order. */
export function renderSlice(bundle: ValueMap, options: ToDocument): Doc {
  const settings = toDocument(bundleFields, bundle, ["settings"], options);
  const routes: Record<string, Doc> = {};
  for (const [label, route] of Object.entries(routesOf(bundle))) {
    // A route that is wholly unknown (a dynamic block over unknown things) cannot be judged, and is left out.
    if (isMap(route)) routes[label] = toDocument(routeFields, route, ["routes", label], options);
  }
  const owner = bundle["owner"];
  return {
    version: 1,
    owner: owner instanceof Unknown ? "unknown" : owner,
    ...(Object.keys(settings).length > 0 && { settings }),
    routes,
  };
}

/** Text of a slice as it is published. */
export function sliceText(slice: unknown): string {
  return `${JSON.stringify(slice, null, 2)}\n`;
}

/** Values of settings and routes from a published slice. @param prior the state before, for what a slice does not hold */
export function bundleValues(slice: Doc, prior: ValueMap): ValueMap {
  const published = isRecord(slice["routes"]) ? slice["routes"] : {};
  const before = routesOf(prior);
  const routes = Object.entries(published).map(([label, route]) => [
    label,
    fromDocument(routeBlockFields, route, before[label] ?? null),
  ]);
  return { ...fromDocument(bundleFields, slice["settings"], prior), [ROUTE_BLOCK]: Object.fromEntries(routes) };
}

/** Values as they stand published. */
export function publishedValues({ document, digest }: PublishedSlice, prior: ValueMap): ValueMap {
  return { ...bundleValues(document, prior), sha256: digest, bundle_json: sliceText(document) };
}

export function routesOf(bundle: ValueMap): ValueMap {
  const routes = bundle[ROUTE_BLOCK];
  return isMap(routes) ? routes : {};
}

/** A path in the slice document → the attribute path in the configuration, as deep as Terraform knows one. */
export function attributePath(path: ValuePath): AttributePath {
  const [part, label, ...rest] = path;
  if (part === "owner") return [{ attribute: "owner" }];
  if (part === "settings") return stepsBelow(bundleFields, path.slice(1));
  if (part !== "routes") return [];
  if (label === undefined) return [{ attribute: ROUTE_BLOCK }];
  return [{ attribute: ROUTE_BLOCK }, { key: String(label) }, ...stepsBelow(routeFields, rest)];
}

/** Where Terraform shall point for a finding about the path: it prints the line that it points at. */
export function placeToPointAt(path: AttributePath): AttributePath {
  const last = path.at(-1);
  // The line of a secret may hold it in clear text, and this output goes to logs of pipelines.
  if (last && "attribute" in last && secretNames.has(last.attribute)) return placeToPointAt(path.slice(0, -1));
  const before = path.at(-2);
  if (last && "key" in last && before && "attribute" in before && labelledInRoutes.has(before.attribute)) {
    return placeToPointAt(path.slice(0, -2));
  }
  // Terraform cannot point at a labelled block, but at an attribute in it.
  return last && "key" in last && pathText(path.slice(0, -1)) === ROUTE_BLOCK ? [...path, { attribute: "from" }] : path;
}

/** Blocks of a route that hold nothing one could point at. */
const labelledInRoutes: ReadonlySet<string> = new Set(
  routeFields.flatMap(({ name, kind }) => (kind === "labelled" ? [name] : [])),
);

const secretNames: ReadonlySet<string> = new Set(namesOfSecrets(bundleSchema));

function namesOfSecrets(block: SchemaBlock): string[] {
  return [
    ...block.attributes.flatMap(({ name, sensitive }) => (sensitive ? [name] : [])),
    ...block.blocks.flatMap(({ block: inner }) => namesOfSecrets(inner)),
  ];
}

function stepsBelow(fields: readonly Field[], path: ValuePath): PathStep[] {
  const [name, ...rest] = path;
  if (name === undefined) return [];
  const field = fields.find((each) => each.name === name || (each.kind === "secret" && secretSpelling(each, name)));
  if (!field) return [];
  const here: PathStep[] = [
    ...(field.group === undefined ? [] : [{ attribute: field.group.name }]),
    { attribute: String(name) },
  ];
  const [member, ...below] = rest;
  switch (field.kind) {
    case "block":
      return [...here, ...stepsBelow(field.fields ?? [], rest)];
    case "block-list":
      return typeof member === "number" ? [...here, { index: member }, ...stepsBelow(field.fields ?? [], below)] : here;
    case "labelled":
      return member === undefined ? here : [...here, { key: String(member) }, ...stepsBelow(field.fields ?? [], below)];
    case "domain-pattern-list":
    case "text-list":
    case "url-list":
      return typeof member === "number" ? [...here, { index: member }] : here;
    case "text-map":
    case "template-map":
    case "text-list-map":
      return member === undefined ? here : [...here, { key: String(member) }];
    default:
      // Inside a policy there are only characters of one string.
      return here;
  }
}

function secretSpelling({ name }: Field, spelling: string | number): boolean {
  return spelling === `${name}_ref` || spelling === `${name}_sealed`;
}

function isRecord(value: unknown): value is Doc {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
