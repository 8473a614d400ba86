/** Converts a bundle's values to the published slice and back; finds the location of a slice's part in the configuration. */
import { isRecord } from "../../shared/is-record.ts";
import type { Field } from "../../settings/field.ts";
import type { ValuePath } from "../../settings/problem.ts";
import { memberNames } from "../../settings/secret-forms.ts";
import { shapeOf } from "../../settings/shapes.ts";
import { routeFields } from "../../config/route.ts";
import type { AttributePath, PathStep } from "../protocol/diagnostics.ts";
import { type Doc, fromDocument, toDocument, type ToDocument } from "../schema/document.ts";
import type { PublishedDocument } from "../publish/publish.ts";
import { allRoutes, readRoutes } from "./routes-attribute.ts";
import { publishedRoutes } from "./routes-state.ts";
import { bundleFields, ROUTE_BLOCK, ROUTES_ATTRIBUTE } from "../schema/schema.ts";
import { isMap, Unknown, type ValueMap } from "../protocol/value.ts";

/** The slice document, members in a fixed readable order. */
export function renderSlice(bundle: ValueMap, options: ToDocument): Doc {
  const settings = toDocument(bundleFields, bundle, ["settings"], options);
  const routes: Record<string, Doc> = {};
  for (const [label, route] of Object.entries(allRoutes(bundle))) {
    // A completely unknown route (a dynamic block over unknown values) cannot be validated, and is omitted.
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

/** Text of a slice in its published form. */
export function sliceText(slice: unknown): string {
  return `${JSON.stringify(slice, null, 2)}\n`;
}

/**
 * Values of settings and routes from a published slice. @param prior the state before, for values that a slice does not
 * contain
 */
export function bundleValues(slice: Doc, prior: ValueMap): ValueMap {
  const published = isRecord(slice["routes"]) ? slice["routes"] : {};
  return { ...fromDocument(bundleFields, slice["settings"], prior), ...publishedRoutes(published, prior) };
}

/** Values of a published slice. */
export function publishedValues({ document, digest }: PublishedDocument, prior: ValueMap): ValueMap {
  return { ...bundleValues(document, prior), sha256: digest, bundle_json: sliceText(document) };
}

/** A path in the slice document → the attribute path in the configuration, as deep as Terraform knows it. */
export function attributePath(path: ValuePath, bundle: ValueMap): AttributePath {
  const [part, label, ...rest] = path;
  if (part === "owner") return [{ attribute: "owner" }];
  if (part === "settings") return stepsBelow(bundleFields, path.slice(1));
  if (part !== "routes") return [];
  if (label === undefined) return [{ attribute: ROUTE_BLOCK }];
  const holder = Object.hasOwn(readRoutes(bundle).routes, label) ? ROUTES_ATTRIBUTE : ROUTE_BLOCK;
  return [{ attribute: holder }, { key: String(label) }, ...stepsBelow(routeFields, rest)];
}

function stepsBelow(fields: readonly Field[], path: ValuePath): PathStep[] {
  const [name, ...rest] = path;
  if (name === undefined) return [];
  const field = fields.find((each) => memberNames(each).includes(String(name)));
  if (!field) return [];
  const here: PathStep[] = [
    ...(field.group === undefined ? [] : [{ attribute: field.group.name }]),
    { attribute: String(name) },
  ];
  const [member, ...below] = rest;
  switch (shapeOf(field)) {
    case "block":
      return [...here, ...stepsBelow(field.fields ?? [], rest)];
    case "list":
    case "blocks":
      return typeof member === "number" ? [...here, { index: member }, ...stepsBelow(field.fields ?? [], below)] : here;
    case "map":
    case "labelled":
      return member === undefined ? here : [...here, { key: String(member) }, ...stepsBelow(field.fields ?? [], below)];
    default:
      // A policy is one string for Terraform: there are no paths inside.
      return here;
  }
}
